import pytest

from aligngraph.prompts import STRATEGIES, render


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_asks_for_the_declared_final_line(strategy):
    assert render(strategy).splitlines()[-1] == "Answer: <the final answer alone>"


def test_variables_are_filled_in():
    assert "1. 42\n2. 41" in render("reconsider", order="1. 42\n2. 41")


def test_braces_in_a_value_stay_as_they_are():
    assert '{"order": "A"}' in render("retry", problem='got {"order": "A"}', reminder="Again.")


def test_a_missing_or_unknown_variable_is_an_error():
    with pytest.raises(ValueError, match=r"prompt 'reconsider': missing variables \['order'\]"):
        render("reconsider")
    with pytest.raises(ValueError, match=r"unknown variables \['mood'\]"):
        render("direct", mood="brisk")


def test_an_unknown_prompt_is_an_error():
    with pytest.raises(KeyError):
        render("no_such_prompt")
