"""Weights warmed from recorded tasks: once each, in order, as feedback on a run would have taught."""

import pytest

from aligngraph.learning.known import read_learned
from aligngraph.learning.teaching import Verdict, after, play_again, teach
from aligngraph.learning.warming import RecordedVotes, Recording, evidence_of, warm_up
from aligngraph.persistence import ArmKey, Location, PolicyStore, Sums, replayed
from aligngraph.policy import DEFAULT_SMOOTHING

GOOD, BAD = "good/direct", "bad/direct"
MADE_OF = {GOOD: "g"}


def recorded(name, good=(2, 0), bad=(0, 1), right=(True, False)):
    return RecordedVotes(name, {GOOD: good, BAD: bad}, {GOOD: sum(good), BAD: sum(bad)}, right)


def recording(*tasks, source="panel", domain="maths"):
    return Recording(source, domain, tasks)


THREE = recording(*(recorded(f"t{number}") for number in range(3)))


@pytest.fixture
async def store(tmp_path):
    async with await PolicyStore.open(Location.parse(str(tmp_path / "store"))) as opened:
        yield opened


async def sums(store, domain="maths"):
    return (await store.read_sums(domain)).here


async def log(store, domain="maths"):
    return [update async for update in store.log.read(domain)]


async def test_an_arm_is_paid_the_share_of_its_votes_that_were_right(store):
    warmed = await warm_up(store, recording(recorded("t", good=(3, 1), bad=(0, 2))), MADE_OF)
    here = await sums(store)
    assert (here[ArmKey(GOOD, "g")].total, here[ArmKey(GOOD, "g")].count) == (0.75, 1)
    assert (here[ArmKey(BAD)].total, here[ArmKey(BAD)].count) == (0, 1)
    assert (warmed.taught, warmed.known) == (1, 0)


async def test_both_learners_learn_from_it(store):
    await warm_up(store, THREE, MADE_OF)
    here = await sums(store)
    assert here[ArmKey(GOOD, "g")].gradient > 0 > here[ArmKey(BAD)].gradient
    losses = [here[ArmKey(name)] for name in ("competence", "gradient")]
    assert [row.count for row in losses] == [3, 3]
    assert all(row.loss > 0 for row in losses)


async def test_it_is_what_feedback_on_each_task_teaches_in_their_order(store):
    learned = read_learned(Sums({}, {}), {GOOD: "g", BAD: ""}, {})
    expected = []
    for task in THREE.tasks:
        played = play_again(evidence_of(task, MADE_OF), learned)
        evidence = evidence_of(task, MADE_OF, tuple(played.posterior.tolist()), played.chosen)
        expected.append(teach(evidence, learned, Verdict(task.right)))
        learned = after(learned, expected[-1])
    await warm_up(store, THREE, MADE_OF)
    assert [update.increments for update in await log(store)] == expected


async def test_the_log_names_where_each_lesson_came_from(store):
    await warm_up(store, THREE, MADE_OF)
    rows = await log(store)
    assert [(row.kind, row.run_id, row.round) for row in rows] == [
        ("learn", THREE.name_of(task), 1) for task in THREE.tasks
    ]
    assert rows[0].run_id.startswith("panel:panel:maths:t0:")
    here = await sums(store)
    assert {key: row.total for key, row in replayed(rows).items()} == {key: row.total for key, row in here.items()}


async def test_the_same_again_changes_nothing(store):
    await warm_up(store, THREE, MADE_OF)
    before = await sums(store)
    again = await warm_up(store, THREE, MADE_OF)
    assert (again.taught, again.known, again.differences) == (0, 3, ())
    assert await sums(store) == before
    assert len(await log(store)) == 3


async def test_only_what_is_new_of_a_longer_record_is_learned(store):
    await warm_up(store, recording(*THREE.tasks[:2]), MADE_OF)
    warmed = await warm_up(store, THREE, MADE_OF)
    assert (warmed.taught, warmed.known) == (1, 2)
    assert (await sums(store))[ArmKey(GOOD, "g")].count == 3


async def test_tasks_of_the_same_name_in_another_record_or_domain_are_others(store):
    await warm_up(store, THREE, MADE_OF)
    assert (await warm_up(store, recording(*THREE.tasks, source="other"), MADE_OF)).taught == 3
    assert (await warm_up(store, recording(*THREE.tasks, source="third", domain="law"), MADE_OF)).taught == 3


@pytest.mark.parametrize("changed", [{"good": (0, 2)}, {"bad": (1, 0)}, {"right": (False, True)}])
async def test_so_is_a_task_whose_votes_or_right_answer_were_mended(store, changed):
    await warm_up(store, recording(recorded("t")), MADE_OF)
    assert (await warm_up(store, recording(recorded("t", **changed)), MADE_OF)).taught == 1
    assert (await warm_up(store, recording(recorded("t")), MADE_OF)).taught == 0


async def test_what_was_reset_can_be_learned_again(store):
    await warm_up(store, THREE, MADE_OF)
    before = await sums(store)
    await store.log.reset("maths")
    assert (await warm_up(store, THREE, MADE_OF)).taught == 3
    assert await sums(store) == before
    assert [row.round for row in await log(store) if row.kind == "learn"] == [1, 1, 1, 2, 2, 2]
    assert (await warm_up(store, THREE, MADE_OF)).taught == 0


async def test_what_was_rolled_back_can_be_learned_again_and_the_rest_is_known(store):
    await warm_up(store, THREE, MADE_OF)
    before = await sums(store)
    await store.log.rollback(THREE.name_of(THREE.tasks[0]), "maths")
    warmed = await warm_up(store, THREE, MADE_OF)
    assert (warmed.taught, warmed.known) == (2, 1)
    for key, row in (await sums(store)).items():
        assert row.total == pytest.approx(before[key].total, abs=1e-9)


async def test_a_dry_run_tells_the_difference_and_changes_nothing(store):
    told = await warm_up(store, THREE, MADE_OF, dry_run=True)
    assert await log(store) == []
    done = await warm_up(store, THREE, MADE_OF)
    assert (told.taught, told.differences) == (done.taught, done.differences)
    rows = {ArmKey(one.arm, one.made_of): one.after for one in told.differences}
    assert rows == await sums(store)
    assert {one.before for one in told.differences} == {None}


async def test_a_task_without_a_vote_teaches_nothing(store):
    warmed = await warm_up(store, recording(RecordedVotes("t", {GOOD: ()}, {GOOD: 2}, ())), MADE_OF)
    assert (warmed.taught, warmed.known, await log(store)) == (0, 0, [])


async def test_where_all_were_wrong_nobody_is_paid_and_no_gradient_follows(store):
    await warm_up(store, recording(recorded("t", right=(False, False))), MADE_OF)
    here = await sums(store)
    assert {(row.total, row.count, row.gradient) for key, row in here.items() if row.kind == "agent"} == {(0, 1, 0)}
    assert ArmKey("gradient") not in here


async def test_an_arm_without_an_answer_is_not_paid(store):
    await warm_up(store, recording(RecordedVotes("t", {GOOD: (1,), BAD: (0,)}, {GOOD: 1, BAD: 3}, (True,))), MADE_OF)
    here = await sums(store)
    assert here[ArmKey(GOOD, "g")].count == 1
    assert ArmKey(BAD) not in here or here[ArmKey(BAD)].count == 0


def test_the_evidence_of_a_record_is_even_until_it_is_decided():
    evidence = evidence_of(recorded("t"), MADE_OF)
    assert evidence.posterior == (0.5, 0.5)
    assert evidence.made_of == ("g", "")
    assert evidence.rules.smoothing == DEFAULT_SMOOTHING
    assert evidence.preference is None
    assert not evidence.judges
