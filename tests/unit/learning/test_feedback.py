"""Feedback replaces what a run taught: whatever was said of it before, in a real store."""

import asyncio
import secrets
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aligngraph.errors import StoreError, UsageError
from aligngraph.learning.feedback import Said, give_feedback, read_said, verdict_of
from aligngraph.learning.known import read_learned
from aligngraph.learning.teaching import Verdict, teach
from aligngraph.persistence import ArmKey, Increment, Location, PolicyStore, Run, Sums, Update, replayed
from aligngraph.policy import LEARNERS

EXAMPLES = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
DOMAIN, ROUNDING = "sums", 1e-9
LATER = (
    Increment("a/direct", "agent", payoff=0.25, made_of="m", gradient=0.5),
    Increment("gradient", "learner", 0.0, loss=1),
)


def audit(answers):
    return {"kind": "number", "answers": [{"answer": str(number + 1)} for number in range(answers)]}


def row(sums):
    return (sums.total, sums.count, float(sums.failures), sums.gradient, sums.loss)


class Town:
    """A store, and runs that ended in it with evidence."""

    def __init__(self, store):
        self.store = store

    async def end(self, run_id, evidence, *, decay=1.0, learns=True, decision=True):
        await self.store.start_run(Run(run_id, DOMAIN, "How many?", 1))
        if learns:
            arms = dict(zip(evidence.arms, evidence.made_of, strict=True))
            known = read_learned(await self.store.read_sums(DOMAIN), arms, evidence.principals)
            await self.store.apply_update(Update(run_id, 1, DOMAIN, teach(evidence, known), decay=decay))
        told = audit(evidence.answers) if decision else None
        await self.store.finish_run(run_id, "ok", told, evidence=evidence.as_json())

    async def sums(self):
        here = (await self.store.read_sums(DOMAIN)).here
        return {key: row(sums) for key, sums in here.items()}

    async def kinds(self, run_id):
        return [update.kind async for update in self.store.log.read(DOMAIN) if update.run_id == run_id]


@pytest.fixture(scope="session")
def in_town(tmp_path_factory):
    """Return a function that runs a coroutine function in a new store and returns its result."""

    def run(story):
        async def tell():
            folder = tmp_path_factory.mktemp("town") / secrets.token_hex(4)
            async with await PolicyStore.open(Location.parse(str(folder))) as store:
                return await story(Town(store))

        return asyncio.run(tell())

    return run


@pytest.fixture
async def town(db):
    async with await PolicyStore.open(Location.parse(db)) as store:
        yield Town(store)


def sayings(evidence):
    named = st.integers(1, evidence.answers + 1).map(lambda number: Said("answer", f"{number}.0"))
    return st.one_of(named, st.sampled_from([Said("correct"), Said("wrong")]))


def alike(one, other):
    nothing = (0.0,) * 5
    return all(one.get(key, nothing) == pytest.approx(other.get(key, nothing), abs=ROUNDING) for key in {*one, *other})


@EXAMPLES
@given(st.data())
def test_only_what_was_said_last_counts_whatever_was_said_before(in_town, evidences, data):
    before, evidence = data.draw(evidences), data.draw(evidences)
    said = data.draw(st.lists(sayings(evidence), min_size=2, max_size=4).filter(lambda all_: all_[-1] != all_[-2]))
    decay = data.draw(st.sampled_from([1.0, 0.5]))

    async def tell(town, words):
        await town.end("before", before, decay=decay)
        await town.end("run", evidence, decay=decay)
        for one in words[:-1]:
            await give_feedback(town.store, "run", one)
        await town.store.apply_update(Update("later", 1, DOMAIN, LATER, decay=decay))
        await give_feedback(town.store, "run", words[-1])
        return await town.sums(), await town.kinds("run")

    (corrected, kinds), (at_once, _) = (
        in_town(lambda town: tell(town, said)),
        in_town(lambda town: tell(town, said[-1:])),
    )
    assert alike(corrected, at_once)
    changes = 1 + sum(one != other for one, other in pairwise(said))
    assert kinds == ["task", *["feedback"] * changes], "the history keeps them all"


@EXAMPLES
@given(st.data())
def test_feedback_leaves_what_it_would_have_taught_at_once(in_town, evidences, data):
    """What the run thought of itself is gone without a trace but the calls that failed."""
    evidence = data.draw(evidences)
    said = data.draw(sayings(evidence))

    async def tell(town):
        await town.end("run", evidence)
        given = await give_feedback(town.store, "run", said)
        return await town.sums(), given

    sums, given = in_town(tell)
    arms = dict(zip(evidence.arms, evidence.made_of, strict=True))
    unknown = read_learned(Sums({}, {}), arms, evidence.principals)
    update = Update("run", 1, DOMAIN, teach(evidence, unknown, Verdict(given.right)))
    taught = {key: row(sums) for key, sums in replayed([update]).items()}
    assert alike(sums, taught)


@EXAMPLES
@given(st.data())
def test_the_same_said_twice_changes_nothing(in_town, evidences, data):
    evidence = data.draw(evidences)
    said = data.draw(sayings(evidence))

    async def tell(town):
        await town.end("run", evidence)
        first, sums = await give_feedback(town.store, "run", said), await town.sums()
        again = await give_feedback(town.store, "run", said)
        return first, again, sums == await town.sums(), await town.kinds("run")

    first, again, same, kinds = in_town(tell)
    assert (again.changed, same, kinds) == (False, True, ["task", "feedback"])
    assert again.before == again.after == first.after


async def test_late_feedback_counts_as_little_as_its_task_does_by_then(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]]))
    for later in ("one", "two"):
        await town.store.apply_update(Update(later, 1, DOMAIN, (), decay=0.5))
    await give_feedback(town.store, "run", Said("correct"))
    sums = await town.sums()
    assert sums[ArmKey("a/direct", "m")][:2] == pytest.approx((0.25, 0.25))
    assert sums[ArmKey("b/direct", "m")][:2] == pytest.approx((0, 0.25))
    assert {sums[ArmKey(name)][1] for name in LEARNERS} == {0.25}


async def test_feedback_to_and_fro_ends_where_it_was(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [1, 1, 0], [0, 0, 0]], failed=(0, 0, 3), asked=(2, 2, 3)))
    await give_feedback(town.store, "run", Said("correct"))
    after_correct = await town.sums()
    await give_feedback(town.store, "run", Said("wrong"))
    assert not alike(await town.sums(), after_correct)
    await give_feedback(town.store, "run", Said("correct"))
    assert alike(await town.sums(), after_correct)
    assert after_correct[ArmKey("c/direct", "m")][2] == 3, "failed calls are counted once"


async def test_what_is_said_equally_in_other_words_is_kept_too(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [1, 1, 0]]))
    first = await give_feedback(town.store, "run", Said("correct"))
    second = await give_feedback(town.store, "run", Said("answer", "1.00"))
    assert (first.right, second.right, second.changed) == ((True, False), (True, False), False)
    assert await town.kinds("run") == ["task", "feedback", "feedback"]


async def test_wrong_pays_as_if_the_others_might_be_right(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]]))
    given = await give_feedback(town.store, "run", Said("wrong"))
    assert given.right is None
    assert given.after["a/direct"] < given.before["a/direct"]
    assert given.after["b/direct"] > given.before["b/direct"]


async def test_an_answer_that_nobody_gave_makes_all_of_them_wrong(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]], posterior=(0.8, 0.2)))
    given = await give_feedback(town.store, "run", Said("answer", "7"))
    assert given.right == (False, False)
    assert all(given.after[arm] < given.before[arm] for arm in given.before)
    learners = {key.arm for key, sums in (await town.sums()).items() if sums[1]}.intersection(LEARNERS)
    assert learners == set(), "no posterior could have foretold it"


async def test_a_run_that_learned_nothing_is_not_learned_from_by_any_feedback(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]]), learns=False)
    for said in (Said("correct"), Said("wrong"), Said("answer", "2")):
        given = await give_feedback(town.store, "run", said)
        assert (given.changed, await town.sums(), await town.kinds("run")) == (False, {}, [])


async def test_a_run_without_an_answer_may_be_told_the_right_one_but_not_that_it_was_wrong(town, evidence_of):
    await town.end("run", evidence_of([[0], [0]], chosen=None, majority=None, failed=(1, 2)))
    sums = await town.sums()
    for verdict in ("correct", "wrong"):
        with pytest.raises(UsageError, match="the run gave no answer"):
            await give_feedback(town.store, "run", Said(verdict))
    given = await give_feedback(town.store, "run", Said("answer", "7"))
    assert (given.right, given.before, await town.sums()) == ((), given.after, sums)


async def test_without_texts_correct_and_wrong_can_be_said_but_no_answer_named(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]]), decision=False)
    with pytest.raises(UsageError, match="texts of this run were not kept"):
        await give_feedback(town.store, "run", Said("answer", "1"))
    assert (await give_feedback(town.store, "run", Said("wrong"))).changed


@pytest.mark.parametrize("answer", ["", " \n"])
async def test_an_empty_answer_is_refused(town, evidence_of, answer):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]]))
    with pytest.raises(UsageError, match="the right answer is empty"):
        await give_feedback(town.store, "run", Said("answer", answer))


async def test_evidence_that_is_broken_is_an_error_and_nothing_is_learned(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]]))
    sums = await town.sums()
    await town.store.finish_run("run", "ok", audit(2), evidence={"first": "none"})
    with pytest.raises(StoreError, match="cannot be read"):
        await give_feedback(town.store, "run", Said("correct"))
    assert await town.sums() == sums


async def test_runs_that_are_not_there_or_have_not_ended_are_named(town):
    with pytest.raises(UsageError, match="no run 'r9'"):
        await give_feedback(town.store, "r9", Said("correct"))
    await town.store.start_run(Run("r1", DOMAIN, "How many?", 1))
    with pytest.raises(UsageError, match="'r1' cannot be given feedback: it has not ended"):
        await give_feedback(town.store, "r1", Said("correct"))
    await town.store.finish_run("r1", "ok", audit(1))
    with pytest.raises(UsageError, match="it is of an earlier version"):
        await give_feedback(town.store, "r1", Said("correct"))


async def test_the_verdict_of_feedback_can_be_read_from_the_log(town, evidence_of):
    await town.end("run", evidence_of([[2, 0, 0], [0, 1, 0]]))
    await give_feedback(town.store, "run", Said("answer", "2"))
    await give_feedback(town.store, "run", Said("wrong"))
    _, named, unknown = [update async for update in town.store.log.read(DOMAIN)]
    assert (verdict_of(named), verdict_of(unknown)) == (Verdict((False, True)), Verdict(None))
    assert named.result["feedback"]["answer"] != "2", "an answer is a text, which the log need not keep"


async def test_feedback_after_a_reset_teaches_anew_and_takes_nothing_back(town, evidence_of):
    evidence = evidence_of([[2, 0, 0], [0, 1, 0]])
    await town.end("run", evidence)
    await town.store.log.reset(DOMAIN)
    await give_feedback(town.store, "run", Said("correct"))
    sums = await town.sums()
    assert (sums[ArmKey("a/direct", "m")][:2], sums[ArmKey("b/direct", "m")][:2]) == ((1.0, 1.0), (0.0, 1.0))


@pytest.mark.parametrize(("correct", "answer"), [(None, None), (True, "1"), (False, "1")])
def test_exactly_one_thing_is_said(correct, answer):
    with pytest.raises(UsageError, match="feedback is one of"):
        read_said(correct=correct, answer=answer)


def test_what_is_said_is_read():
    assert read_said(correct=True, answer=None) == Said("correct")
    assert read_said(correct=False, answer=None) == Said("wrong")
    assert read_said(correct=None, answer="") == Said("answer", "")
