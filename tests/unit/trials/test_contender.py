from dataclasses import replace

import pytest

from aligngraph.answers import AnswerForm
from aligngraph.errors import ModelError, UsageError
from aligngraph.models import ModelSpec
from aligngraph.ranking import Option, Preference, RankingCall, RankingTask
from aligngraph.ranking.specs import HumanSpec, ListwiseSpec, ProgramSpec, VerifierSpec
from aligngraph.trials.contender import (
    Contender,
    contender_label,
    failed,
    open_contender,
    parse_ranker,
    reordered,
    swapped_order,
    winner,
)
from aligngraph.trials.cost import Cost


def work_of(count, seed):
    options = tuple(Option(str(number), f"Answer: {number}") for number in range(count))
    return RankingTask("Which?", options, seed, 4000, {}, AnswerForm.of("Which?", "number"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [2, 3, 5])
async def test_f27_the_swapped_order_shows_every_two_options_the_other_way_round(played, count, seed):
    contender, _ = played(lambda prompt, metadata: '{"order": "abstain"}')
    work = work_of(count, seed)
    first = await contender.ranker.rank(work)
    order = swapped_order(first)
    second = await contender.ranker.rank(reordered(work, order))
    shown = [work.options[number].answer for number in first.calls[0].labels.values()]
    again = [reordered(work, order).options[number].answer for number in second.calls[0].labels.values()]
    assert again == shown[::-1]


def test_where_no_call_shows_all_options_their_order_is_reversed():
    preference = Preference.from_scores([0.9, 0.5, 0.1], [RankingCall({"A": 0}, "", "ranked", score=0.9)])
    assert swapped_order(preference) == [2, 1, 0]


def test_the_winner_is_the_preferred_one_and_nobody_where_both_are_even():
    preference = Preference.from_order([2, 0], 3)
    assert (winner(preference, 0, 2), winner(preference, 2, 0), winner(preference, 0, 1)) == (2, 2, None)


def test_only_a_ranking_of_failed_calls_alone_has_failed():
    lost, read = RankingCall({}, "", "failed", problem="x"), RankingCall({}, "?", "unusable", problem="y")
    assert failed(Preference.none(2, [lost, lost]))
    assert not failed(Preference.none(2, [lost, read]))
    assert not failed(Preference.none(2))


def test_a_check_whose_verdict_failed_says_nothing_about_the_ranker():
    checked, lost = RankingCall({}, "fine", "checked"), RankingCall({}, "", "failed", problem="x")
    assert failed(Preference.none(2, [checked, lost]))


def test_a_ranker_is_named_as_in_a_team_file():
    assert parse_ranker("verifier") == VerifierSpec()
    assert parse_ranker('{ name = "listwise", shuffles = 4 }') == ListwiseSpec(shuffles=4)


@pytest.mark.parametrize("text", ["listwize", "{ name = ", '{ name = "listwise", shuffles = 0 }', "{ shuffles = 2 }"])
def test_an_unknown_ranker_is_a_usage_error(text):
    with pytest.raises(UsageError, match="ranker "):
        parse_ranker(text)


def test_the_label_tells_apart_what_differs():
    model = ModelSpec(provider="openai", name="q", base_url="http://127.0.0.1:1/v1")
    assert contender_label(VerifierSpec(), model) == "verifier @ openai:q at http://127.0.0.1:1/v1"
    assert (
        contender_label(VerifierSpec(checks=3), ModelSpec(provider="openai", name="q"))
        == "verifier(checks=3) @ openai:q"
    )
    assert contender_label(ProgramSpec(command=("true", "{answer}")), None) == "program(command=['true', '{answer}'])"


async def test_a_contender_knows_what_its_model_reads(tmp_path):
    script = tmp_path / "s.jsonl"
    script.write_text('{"agent": "principal", "text": "x"}')
    model = ModelSpec(provider="scripted", name=str(script), max_input_tokens=2000)
    opened = await open_contender(ListwiseSpec(), model, 5.0)
    assert opened.room_for("", 2) == (2000 - 600) * 3 // 2
    assert Contender("x", opened.ranker).room_for("", 2) == 4000, "no model, no limit"


async def test_a_program_needs_no_model_and_a_person_cannot_be_tried(tmp_path):
    opened = await open_contender(ProgramSpec(score=lambda task, answer, solution: 0.5), None, 5.0)
    assert opened.model is None
    with pytest.raises(UsageError, match="person"):
        await open_contender(HumanSpec(), None, 5.0)
    with pytest.raises(UsageError, match="asks a model"):
        await open_contender(ListwiseSpec(), None, 5.0)
    with pytest.raises(ModelError):
        await open_contender(ListwiseSpec(), ModelSpec(provider="openai", name="x"), 5.0)


def test_costs_add_up_and_calls_without_a_model_have_no_tokens(played):
    call = RankingCall({}, "", "ranked")
    asked = replace(call, usage=None)
    assert Cost.of([asked, call]) == Cost(2, 0, 0)
    assert Cost.of([replace(call, asked=2), call]).calls == 3
    assert sum([Cost(1, 10, 2), Cost(2, 5, 1)], Cost()) == Cost(3, 15, 3)
