from dataclasses import replace

import pytest

from aligngraph.ranking import Option
from aligngraph.trials.comparison import RANDOM, RECORDED_REWARDS, VOTE, Entrant, Setting, compare
from aligngraph.trials.cost import Cost
from aligngraph.trials.journal import Journal
from aligngraph.trials.recorded import RecordedQuestion


def question(number, right=(False, True, False), votes=(2, 1, 1), scores=None):
    options = tuple(Option(str(place), f"I say {place}.\nAnswer: {place}") for place in range(len(right)))
    return RecordedQuestion(f"q{number}", f"Question {number}?", "number", options, right, votes, scores)


QUESTIONS = [question(number) for number in range(4)]


def setting(swap_questions=0, journal=None, seed=0):
    return Setting("panel", journal or Journal.open(None), seed, swap_questions)


async def test_a_judge_that_knows_the_answer_orders_every_contested_pair_rightly(played, sorting):
    contender, _ = played(sorting(lambda solution, answer: answer != "1"))
    line = await compare(Entrant.of(contender), QUESTIONS, setting(swap_questions=2))
    assert (line.accuracy.hits, line.accuracy.of, line.decided.of) == (8, 8, 8)
    assert (line.first_right, line.agreement, line.abstentions, line.failures) == (1.0, 0.0, 0, 0)
    assert line.cost == Cost(4, 40, 8), "the second rankings are not part of the cost"


async def test_f27_a_judge_that_goes_by_place_never_agrees_with_itself_when_swapped(played, sorting):
    contender, model = played(sorting(lambda solution, answer: 0))
    line = await compare(Entrant.of(contender), QUESTIONS, setting(swap_questions=3))
    assert (line.swapped.hits, line.swapped.of) == (0, 9)
    assert len(model.prompts) == 4 + 3


async def test_a_consistent_judge_agrees_with_itself_however_options_are_shown(played, sorting):
    contender, _ = played(sorting(lambda solution, answer: answer))
    line = await compare(Entrant.of(contender), QUESTIONS, setting(swap_questions=4))
    assert line.swapped.value == 1
    assert (line.first_right, line.agreement) == (0.0, 1.0)


async def test_the_vote_is_a_line_that_costs_nothing_and_leaves_ties_open():
    line = await compare(VOTE, QUESTIONS, setting(swap_questions=4))
    assert (line.accuracy.hits, line.accuracy.of, line.decided.of) == (0, 4, 8)
    assert (line.agreement, line.first_right, line.cost) == (1.0, 0.0, Cost())
    assert line.swapped.value == 1


async def test_chance_orders_about_half_of_the_pairs_rightly_and_half_alike_when_swapped():
    many = [question(number, right=(True, False), votes=(1, 1)) for number in range(400)]
    line = await compare(RANDOM, many, setting(swap_questions=400))
    assert 0.42 < line.accuracy.value < 0.58
    assert 0.42 < line.swapped.value < 0.58


async def test_chance_is_the_same_again_with_the_same_seed_and_another_with_another():
    many = [question(number, votes=(1, 1, 1)) for number in range(50)]
    first, again, other = [
        replace(await compare(RANDOM, many, setting(swap_questions=50, seed=seed)), seconds=0) for seed in (0, 0, 1)
    ]
    assert first == again
    assert first != other


async def test_recorded_rewards_rank_as_a_program_does():
    rewarded = [question(1, scores=(5.2, 5.5, -3.9)), question(2, scores=(1.0, 0.5, 0.0))]
    line = await compare(RECORDED_REWARDS, rewarded, setting())
    assert (line.accuracy.hits, line.accuracy.of) == (3, 4)
    assert line.first_right == 0.5
    assert (line.cost.calls, line.cost.prompt) == (6, 0)


async def test_an_abstention_is_counted_and_decides_nothing(played):
    contender, _ = played(lambda prompt, metadata: '{"order": "abstain"}')
    line = await compare(Entrant.of(contender), QUESTIONS, setting(swap_questions=1))
    assert (line.abstentions, line.decided.hits, line.accuracy.value) == (4, 0, None)
    assert line.first_right is line.agreement is line.swapped.value is None


async def test_a_question_without_a_wrong_answer_has_no_contested_pair(played, sorting):
    contender, _ = played(sorting(lambda solution, answer: answer))
    line = await compare(Entrant.of(contender), [question(1, right=(True, True, True))], setting())
    assert (line.questions, line.decided.of, line.first_right) == (1, 0, 1.0)


async def test_a_first_tier_of_several_counts_by_its_share_of_right_ones():
    line = await compare(VOTE, [question(1, right=(True, False, False), votes=(2, 2, 1))], setting())
    assert (line.first_right, line.agreement) == (0.5, 1.0)


async def test_a_comparison_that_was_stopped_goes_on_where_it_stopped(played, sorting, tmp_path):
    path = tmp_path / "rankers.jsonl"
    contender, model = played(sorting(lambda solution, answer: answer))
    entrant = Entrant.of(contender)
    await compare(entrant, QUESTIONS[:2], setting(journal=Journal.open(path)))
    line = await compare(entrant, QUESTIONS, setting(journal=Journal.open(path)))
    assert line.questions == 4
    assert len(model.prompts) == 4


async def test_a_question_on_which_every_call_failed_is_left_out_and_asked_again(played, sorting, tmp_path):
    path = tmp_path / "rankers.jsonl"

    def reply(prompt, metadata):
        return (
            ConnectionError("busy") if metadata["task"] == "q2" else sorting(lambda s, answer: answer)(prompt, metadata)
        )

    broken, _ = played(reply)
    line = await compare(Entrant.of(broken), QUESTIONS, setting(journal=Journal.open(path)))
    assert (line.questions, line.failures) == (3, 1)
    mended, model = played(sorting(lambda solution, answer: answer))
    line = await compare(Entrant.of(mended), QUESTIONS, setting(journal=Journal.open(path)))
    assert (line.questions, line.failures, len(model.prompts)) == (4, 0, 1)


async def test_the_json_is_plain_and_complete():
    table = (await compare(VOTE, QUESTIONS, setting())).as_json()
    assert {"entrant", "questions", "failures", "first_right", "agreement", "abstentions", "seconds"} < set(table)
    assert (table["calls"], table["prompt"], table["completion"]) == (0, 0, 0)
    assert table["accuracy"]["of"] == 4
    assert table["swapped"]["value"] is None


@pytest.mark.parametrize("seed", [0, 1])
async def test_the_same_seed_shows_the_same(played, sorting, seed):
    shown = []
    for _ in range(2):
        contender, model = played(sorting(lambda solution, answer: answer))
        await compare(Entrant.of(contender), QUESTIONS, setting(seed=seed))
        shown.append(model.prompts)
    assert shown[0] == shown[1]
