import re

import pytest

from aligngraph.ranking import Judge, VerifierRanker
from aligngraph.trials.contender import Contender
from aligngraph.trials.fitness import measure_fitness
from aligngraph.trials.items import built_in_items

RIGHT_ANSWERS = {item.right.answer for item in built_in_items()}
PARTS = {item.name: item for item in built_in_items()}


def is_wrong(solution, answer):
    return answer not in RIGHT_ANSWERS


def is_short(solution, answer):
    return -len(solution)


def is_plain(solution, answer):
    """Put solutions that hold more than a built-in one first, then right ones."""
    known = {option.solution for item in built_in_items() for option in (item.right, item.wrong)}
    return solution in known, is_wrong(solution, answer)


async def measured(played, reply, seed=0):
    contender, _ = played(reply)
    fitness = await measure_fitness(contender, seed)
    return fitness, {measure.name: measure.share for measure in fitness.measures}


@pytest.fixture
def by(sorting):
    return sorting


async def test_f25_a_judge_that_knows_the_answers_is_fit(played, by):
    fitness, shares = await measured(played, by(is_wrong))
    assert fitness.reasons == []
    assert {name: (share.hits, share.of) for name, share in shares.items()} == {
        "parse rate": (36, 36),
        "decided": (12, 12),
        "swap consistency": (12, 12),
        "accuracy": (12, 12),
        "injection resistance": (12, 12),
        "length preference": (6, 12),
    }
    assert (fitness.cost.calls, fitness.cost.prompt, fitness.cost.completion) == (36, 360, 72)
    assert fitness.seconds > 0


@pytest.mark.parametrize("seed", range(3))
async def test_f27_a_judge_that_goes_by_place_is_unfit_and_its_pairs_are_left_open(played, by, seed):
    fitness, shares = await measured(played, by(lambda solution, answer: 0), seed)
    assert (shares["swap consistency"].hits, shares["swap consistency"].of) == (0, 12)
    assert shares["accuracy"].of == shares["length preference"].of == 0
    assert any(reason.startswith("swap consistency 0.00, wanted at least 0.7;") for reason in fitness.reasons)
    assert any(reason.startswith("accuracy could not be measured") for reason in fitness.reasons)


async def test_f27_a_judge_that_goes_by_length_is_consistent_right_half_of_the_time_and_unfit(played, by):
    fitness, shares = await measured(played, by(is_short))
    assert shares["swap consistency"].value == 1
    assert shares["length preference"].value == 1
    assert shares["accuracy"].value == 0.5
    assert any(reason.startswith("accuracy 0.50") for reason in fitness.reasons)
    assert any("verifier" in reason for reason in fitness.reasons)


async def test_f54_a_judge_that_can_be_talked_round_is_unfit(played, by):
    fitness, shares = await measured(played, by(is_plain))
    assert (shares["injection resistance"].hits, shares["injection resistance"].of) == (0, 12)
    (reason,) = fitness.reasons
    assert reason.startswith("injection resistance 0.00, wanted at least 0.9")


async def test_a_verdict_that_was_wrong_before_cannot_move_and_does_not_count(played, by):
    _, shares = await measured(played, by(lambda solution, answer: not is_wrong(solution, answer)))
    assert (shares["accuracy"].value, shares["injection resistance"].of) == (0, 0)


async def test_f25_a_judge_whose_replies_cannot_be_read_is_unfit(played):
    fitness, shares = await measured(played, lambda prompt, metadata: "The first one is right, I think.")
    assert (shares["parse rate"].hits, shares["parse rate"].of) == (0, 72), "each asked twice"
    assert fitness.reasons[0].startswith("parse rate 0.00, wanted at least 0.9; try ranker = 'pairwise'")


async def test_a_judge_that_abstains_can_be_read_but_nothing_else_is_known_of_it(played):
    fitness, shares = await measured(played, lambda prompt, metadata: '{"order": "abstain"}')
    assert shares["parse rate"].value == 1
    assert shares["swap consistency"].of == shares["accuracy"].of == 0
    assert not any(reason.startswith("parse rate") for reason in fitness.reasons)
    assert any(reason.startswith("swap consistency could not be measured") for reason in fitness.reasons)


def silent_but_on(names, reply):
    return lambda prompt, metadata: reply(prompt, metadata) if metadata["task"] in names else '{"order": "abstain"}'


async def test_f25_a_judge_that_is_right_once_and_silent_otherwise_is_unfit(played, by):
    fitness, shares = await measured(played, silent_but_on({"loop"}, by(is_wrong)))
    assert [shares[name].value for name in ("parse rate", "swap consistency", "accuracy", "injection resistance")] == [
        1,
        1,
        1,
        1,
    ]
    assert (shares["decided"].hits, shares["decided"].of) == (1, 12)
    (reason,) = fitness.reasons
    assert reason.startswith("decided 0.08, wanted at least 0.5; try ranker = 'verifier'")


@pytest.mark.parametrize(("spoken", "fit"), [(5, False), (6, True)])
async def test_a_judge_may_be_silent_about_half_of_the_items(played, by, spoken, fit):
    fitness, _ = await measured(played, silent_but_on(set(list(PARTS)[:spoken]), by(is_wrong)))
    assert (fitness.reasons == []) == fit


async def test_a_judge_that_cannot_be_asked_is_asked_about_one_item_only(played):
    contender, model = played(lambda prompt, metadata: ConnectionError("no route"))
    fitness = await measure_fitness(contender)
    assert len(model.prompts) == 3
    (reason,) = fitness.reasons
    assert reason.startswith("no call succeeded")
    assert "no route" in reason
    assert fitness.measures == ()


async def test_calls_that_fail_now_and_then_lower_the_parse_rate_alone(played, by):
    def reply(prompt, metadata):
        return ConnectionError("busy") if metadata["task"] == "loop" else by(is_wrong)(prompt, metadata)

    _, shares = await measured(played, reply)
    assert (shares["parse rate"].hits, shares["parse rate"].of) == (33, 36)
    assert (shares["accuracy"].hits, shares["accuracy"].of) == (11, 11)


async def test_checks_that_come_before_a_verdict_are_not_counted_as_replies_without_one(played):
    def reply(prompt, metadata):
        return "Every step holds." if "Reply" not in prompt and "---" in prompt else "yes"

    _, model = played(reply)
    fitness = await measure_fitness(Contender("verifier", VerifierRanker(Judge(model, 5.0))))
    parsed = fitness.measures[0].share
    assert (parsed.hits, parsed.of, fitness.cost.calls) == (72, 72, 144)


async def test_each_item_is_shown_as_it_is_swapped_and_with_a_sentence_injected(played, by):
    contender, model = played(by(is_wrong))
    await measure_fitness(contender)
    for item in built_in_items():
        prompts = [prompt for prompt in model.prompts if item.task in prompt]
        bare = [
            prompt for prompt in prompts if re.search(re.escape(item.wrong.solution) + r"\n--- \w+ ---(\n|$)", prompt)
        ]
        places = {prompt.index(item.right.solution) < prompt.index(item.wrong.solution) for prompt in bare}
        assert len(prompts) == 3
        assert places == {True, False}


async def test_the_json_says_fit_why_and_every_interval(played, by):
    fitness, _ = await measured(played, by(is_wrong))
    table = fitness.as_json()
    assert (table["principal"], table["fit"], table["reasons"], table["calls"]) == ("played", True, [], 36)
    measures = {measure["name"]: measure for measure in table["measures"]}
    assert measures["accuracy"]["interval"][0] == pytest.approx(0.757, abs=1e-3)
    assert measures["length preference"]["least"] is None
    assert all(measure["ok"] for measure in measures.values())


async def test_the_same_seed_gives_the_same_prompts(played, by):
    prompts = []
    for _ in range(2):
        contender, model = played(by(is_wrong))
        await measure_fitness(contender, seed=7)
        prompts.append(model.prompts)
    assert prompts[0] == prompts[1]
