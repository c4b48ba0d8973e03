import pytest

from aligngraph.prompts import STRATEGIES, render


def test_strategies_are_no_prompts_of_a_role():
    assert {"direct", "step_by_step", "plan_then_solve"} <= set(STRATEGIES)
    with pytest.raises(KeyError):
        render("direct")


def test_variables_are_filled_in():
    assert "1. 42\n2. 41" in render("reconsider", order="1. 42\n2. 41")


def test_braces_in_a_value_stay_as_they_are():
    assert '{"order": "A"}' in render("retry", problem='got {"order": "A"}', reminder="Again.")


def test_a_missing_or_unknown_variable_is_an_error():
    with pytest.raises(ValueError, match=r"prompt 'reconsider': missing variables \['order'\]"):
        render("reconsider")
    with pytest.raises(ValueError, match=r"unknown variables \['mood'\]"):
        render("same_answer", mood="brisk")


def test_an_unknown_prompt_is_an_error():
    with pytest.raises(KeyError):
        render("no_such_prompt")
