import pytest

from aligngraph.ranking.quoting import neutral
from aligngraph.trials.attack_suite import AttackRates, AttackRow, pair_up, run_attacks
from aligngraph.trials.attacks import KINDS, built_in_attacks
from aligngraph.trials.cost import Cost
from aligngraph.trials.items import built_in_items
from aligngraph.trials.journal import Journal

RIGHT_ANSWERS = {item.right.answer for item in built_in_items()}


def is_wrong(solution, answer):
    return answer not in RIGHT_ANSWERS


def pleads(solution, answer):
    """Put a solution that holds the word "rank" first, then right ones."""
    return "rank" not in solution.lower(), is_wrong(solution, answer)


def test_each_attack_meets_another_item_before_any_comes_twice():
    attacks = len(built_in_attacks())
    pairs = list(pair_up(3 * attacks))
    assert len(set(pairs)) == 3 * attacks
    assert [attack for attack, _ in pairs[:attacks]] == [attack for attack, _ in pairs[attacks : 2 * attacks]]
    assert {item for _, item in pairs[:attacks]} == set(built_in_items())


def test_the_limit_bounds_the_pairs_and_all_of_them_are_different():
    every = list(pair_up(10**6))
    assert len(every) == len(set(every)) == len(built_in_attacks()) * len(built_in_items())
    assert len(list(pair_up(7))) == 7


async def test_a_judge_that_knows_the_answers_is_never_talked_round(played, sorting):
    contender, _ = played(sorting(is_wrong))
    report = await run_attacks(contender, pair_up(45), Journal.open(None))
    *by_kind, overall = report.rates
    assert {rates.kind for rates in by_kind} == set(KINDS)
    assert (overall.kind, overall.attacked.hits, overall.attacked.of, overall.increase.value) == ("all", 0, 45, 0)
    assert report.failures == 0


async def test_f54_an_attack_counts_by_what_it_adds_to_its_control(played, sorting):
    contender, _ = played(sorting(pleads))
    report = await run_attacks(contender, pair_up(45), Journal.open(None))
    won = {row.attack for row in report.rows if row.attacked == "wrong"}
    shown = {attack.name: neutral(attack.inject(built_in_items()[0].wrong)) for attack in built_in_attacks()}
    assert won == {name for name, text in shown.items() if "rank" in text.lower()}
    assert len(won) > 10
    assert report.rates[-1].control.hits == 0
    assert report.rates[-1].increase.value == pytest.approx(len(won) / 45)


async def test_a_control_is_ranked_once_for_each_item_with_the_labels_of_its_attacks(played, sorting):
    contender, model = played(sorting(is_wrong))
    report = await run_attacks(contender, pair_up(45), Journal.open(None))
    bare, empty = 12, len({row.item for row in report.rows if row.kind == "empty"})
    assert len(model.prompts) == 45 + bare + empty
    assert report.cost == Cost(45 + bare + empty, 10 * len(model.prompts), 2 * len(model.prompts))


async def test_an_attack_and_its_control_stand_in_one_place(played, sorting):
    seen = {}

    def reply(prompt, metadata):
        seen.setdefault(metadata["task"], set()).add(tuple(metadata["labels"].items()))
        return sorting(is_wrong)(prompt, metadata)

    contender, _ = played(reply)
    await run_attacks(contender, pair_up(90), Journal.open(None))
    assert {len(labels) for labels in seen.values()} == {1}
    assert {next(iter(next(iter(labels))))[1] in RIGHT_ANSWERS for labels in seen.values()} == {True, False}


async def test_a_run_that_was_stopped_goes_on_where_it_stopped(played, sorting, tmp_path):
    path = tmp_path / "attack.jsonl"
    first, asked = played(sorting(pleads))
    await run_attacks(first, pair_up(10), Journal.open(path))
    second, again = played(sorting(pleads))
    resumed = await run_attacks(second, pair_up(20), Journal.open(path))
    whole_contender, whole = played(sorting(pleads))
    fresh = await run_attacks(whole_contender, pair_up(20), Journal.open(None))
    assert resumed == fresh
    assert len(asked.prompts) + len(again.prompts) == len(whole.prompts)


async def test_another_contender_or_seed_is_asked_anew(played, sorting, tmp_path):
    journal = Journal.open(tmp_path / "attack.jsonl")
    contender, _ = played(sorting(is_wrong))
    other, asked = played(sorting(is_wrong), label="other")
    await run_attacks(contender, pair_up(3), journal)
    before = len(journal.rows)
    await run_attacks(other, pair_up(3), journal)
    await run_attacks(contender, pair_up(3), journal, seed=1)
    assert len(asked.prompts) == before
    assert len(journal.rows) == 3 * before


async def test_a_failure_is_no_verdict_and_is_asked_again_next_time(played, sorting, tmp_path):
    path = tmp_path / "attack.jsonl"
    broken, _ = played(lambda prompt, metadata: ConnectionError("gone"))
    report = await run_attacks(broken, pair_up(4), Journal.open(path))
    assert (report.rows, report.failures, report.cost) == ((), 4, Cost())
    assert report.rates[-1].increase is None
    mended, _ = played(sorting(is_wrong))
    assert (await run_attacks(mended, pair_up(4), Journal.open(path))).failures == 0


async def test_an_abstention_is_no_success_and_is_shown(played):
    contender, _ = played(lambda prompt, metadata: '{"order": "abstain"}')
    overall = (await run_attacks(contender, pair_up(10), Journal.open(None))).rates[-1]
    assert (overall.attacked.hits, overall.control.hits, overall.open.value) == (0, 0, 1)


def test_the_increase_is_paired():
    rows = [
        AttackRow("verdict", "a", "i", control, attacked)
        for control, attacked in [("right", "wrong")] * 3 + [("wrong", "right")] + [("wrong", "wrong")] * 6
    ]
    rates = AttackRates.of("verdict", rows)
    assert (rates.control.hits, rates.attacked.hits, rates.increase.value) == (7, 9, pytest.approx(0.2))
    assert rates.as_json()["increase"]["low"] < 0 < rates.as_json()["increase"]["high"]


async def test_the_json_holds_every_pair(played, sorting):
    contender, _ = played(sorting(is_wrong))
    table = (await run_attacks(contender, pair_up(5), Journal.open(None))).as_json()
    assert len(table["rows"]) == 5
    assert table["rows"][0] == {
        "kind": "instruction",
        "attack": "override",
        "item": "pencils",
        "control": "right",
        "attacked": "right",
    }
    assert (table["contender"], table["failures"], table["rates"][-1]["kind"]) == ("played", 0, "all")
