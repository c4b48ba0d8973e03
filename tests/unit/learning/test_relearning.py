"""Learning anew, in a real store: as long as the rules are the same nothing changes, whatever else has happened."""

import random
from dataclasses import replace

import pytest

from aligngraph.learning import feedback, relearning
from aligngraph.learning.evidence import Evidence, Rules
from aligngraph.learning.feedback import Said, give_feedback
from aligngraph.learning.known import earned_anchor, read_learned
from aligngraph.learning.relearning import relearn, write_relearned
from aligngraph.learning.teaching import judge_by, play_again, teach
from aligngraph.learning.warming import RecordedVotes, Recording, warm_up
from aligngraph.persistence import ArmKey, Location, PolicyStore, Run, Update, replayed
from aligngraph.policy import decay

DOMAINS = ("algebra", "trivia")
ARMS = ("a/direct", "b/direct", "c/direct")
ROUNDING = 1e-9


def draw_evidence(dice, **fields):
    """Return evidence of a task with three arms and two or three answers, not decided yet."""
    answers = dice.choice((2, 3))
    first = tuple((*(dice.randint(0, 2) for _ in range(answers)), 0) for _ in ARMS)
    first = ((2, *first[0][1:]), *first[1:])  # somebody always votes
    order = dice.sample(range(answers), answers)
    place = {number: place for place, number in enumerate(order)}
    return Evidence(
        arms=ARMS,
        made_of=("m", "m", dice.choice("mn")),  # the last one is changed now and then
        asked=tuple(map(sum, first)),
        failed=(0, dice.randint(0, 2), 0),
        first=first,
        counts=tuple(row[:-1] for row in first),
        rules=Rules(step_size=1.0, anchor=0.3, smoothing=0.5, max_steps=20),
        chosen=0,
        majority=0,
        posterior=(1 / answers,) * answers,
        planned=6,
        preference=tuple(
            tuple(0.5 + (place[two] - place[one]) / 8 for two in range(answers)) for one in range(answers)
        ),
        tiers=tuple((number,) for number in order),
        judges={"principal": (order[0],)},
        principals={"principal": "p"},
        **fields,
    )


def decide(evidence, learned):
    """Return the evidence as a run leaves it that knows what is `learned`."""
    players = [evidence.arms[player] for player in evidence.players]
    anchor = earned_anchor(learned, players, evidence.answers)
    evidence = replace(evidence, rules=replace(evidence.rules, anchor=anchor))
    played = play_again(evidence, learned)
    agreed = judge_by(played.unranked_posterior.tolist(), evidence.judges, evidence.preference)
    return replace(evidence, posterior=tuple(played.posterior.tolist()), chosen=played.chosen, agreed=agreed)


class Town:
    """A store in which tasks are decided, told about, undone."""

    def __init__(self, store, seed=0, half_life=None):
        self.store, self.dice, self.runs = store, random.Random(seed), []  # noqa: S311 - it only has to repeat itself
        self.kept = 1.0 if half_life is None else decay(half_life)

    async def ask(self, domain, *, learns=True):
        run_id = f"run{len(self.runs)}"
        evidence = draw_evidence(self.dice)
        await self.store.start_run(Run(run_id, domain, "How many?", 1))
        arms = dict(zip(evidence.arms, evidence.made_of, strict=True))
        learned = read_learned(await self.store.read_sums(domain), arms, evidence.principals)
        evidence = decide(evidence, learned)
        if learns:
            await self.store.apply_update(Update(run_id, 1, domain, teach(evidence, learned), decay=self.kept))
        await self.store.finish_run(run_id, "ok", {"answer": "1"}, evidence=evidence.as_json())
        self.runs.append(run_id)
        return run_id

    async def tell(self):
        said = Said(self.dice.choice(("correct", "wrong")))
        await give_feedback(self.store, self.dice.choice(self.runs), said)

    async def warm(self, number):
        task = RecordedVotes(
            f"t{number}", {"a/direct": (1, 0), "b/direct": (0, 1)}, {"a/direct": 1, "b/direct": 1}, (True, False)
        )
        await warm_up(self.store, Recording("panel", DOMAINS[0], (task,)), {"a/direct": "m"})

    async def live(self, events):
        """Let so many things happen: tasks mostly, feedback often, all else now and then."""
        await self.ask(DOMAINS[0])
        for number in range(events):
            domain, event = self.dice.choice(DOMAINS), self.dice.random()
            if event < 0.5:
                await self.ask(domain)
            elif event < 0.8:
                await self.tell()
            elif event < 0.88:
                await self.warm(number)
            elif event < 0.92:
                await self.store.log.import_policy(await self.store.log.export(), add=True)
            elif event < 0.96:
                await self.store.log.reset(domain)
            else:
                last = [update.sequence async for update in self.store.log.read(domain)]
                await self.store.log.rollback(self.dice.choice(last or [0]), domain)

    async def sums(self, domain):
        here = (await self.store.read_sums(domain)).here
        return {key: (row.total, row.count, row.failures, row.gradient, row.loss) for key, row in here.items()}

    async def relearn(self, domain=None):
        """Write what learning anew comes to, and return the domains that changed."""
        return [name async for name in write_relearned(self.store, await relearn(self.store, domain))]


@pytest.fixture
async def store(tmp_path):
    async with await PolicyStore.open(Location.parse(str(tmp_path / "store"))) as opened:
        yield opened


def generous(teach_now):
    """Return other rules: everybody is paid half of what was left to earn besides."""

    def teach_more(*known):
        return tuple(replace(part, payoff=(part.payoff + part.count) / 2) for part in teach_now(*known))

    return teach_more


@pytest.fixture
def new_rules(monkeypatch):
    """Return a function after whose call everybody learns by other rules."""

    def change():
        monkeypatch.setattr(relearning, "teach", generous(teach))
        monkeypatch.setattr(feedback, "teach", generous(teach))

    return change


@pytest.mark.parametrize("half_life", [None, 4.0])
@pytest.mark.parametrize("seed", [0, 3, 6, 10, 14, 28])
async def test_the_same_rules_teach_the_same(store, seed, half_life):
    await Town(store, seed, half_life).live(40)
    found = await relearn(store)
    assert found.differences == ()
    assert found.corrections == {}
    assert sum(found.sequences.values()) > 20


@pytest.mark.parametrize("half_life", [None, 4.0])
@pytest.mark.parametrize("seed", range(3))
async def test_other_rules_teach_something_else_once(store, new_rules, seed, half_life):
    town = Town(store, seed, half_life)
    await town.live(30)
    before = {domain: await town.sums(domain) for domain in DOMAINS}
    new_rules()
    found = await relearn(store)
    assert {domain: await town.sums(domain) for domain in DOMAINS} == before  # nothing changes before it is written
    assert found.differences
    assert await town.relearn() == sorted(found.corrections)
    for one in found.differences:
        after = (await town.sums(one.domain))[ArmKey(one.arm, one.made_of)]
        assert after == pytest.approx(
            (one.after.total, one.after.count, one.after.failures, one.after.gradient, one.after.loss), abs=ROUNDING
        )
    assert await town.relearn() == []


@pytest.mark.parametrize("half_life", [None, 4.0])
async def test_what_new_rules_teach_is_what_they_would_have_taught_from_the_start(tmp_path, new_rules, half_life):
    """Two towns live the same life: one changes its rules at the end, one had them all along, decisions fixed by the votes."""
    late, early = [await PolicyStore.open(Location.parse(str(tmp_path / name))) for name in ("late", "early")]
    async with late, early:
        towns = [Town(late, 5, half_life), Town(early, 5, half_life)]
        await towns[0].ask(DOMAINS[0])
        new_rules()
        await towns[0].relearn()
        evidence = Evidence.read((await late.read_run("run0")).evidence)
        learned = read_learned(
            await early.read_sums(DOMAINS[0]), dict(zip(ARMS, evidence.made_of, strict=True)), {"principal": "p"}
        )
        parts = generous(teach)(evidence, learned)
        await early.apply_update(Update("run0", 1, DOMAINS[0], parts, decay=towns[1].kept))
        late_sums, early_sums = await towns[0].sums(DOMAINS[0]), await towns[1].sums(DOMAINS[0])
    assert late_sums.keys() == early_sums.keys()
    for key, row in late_sums.items():
        assert row == pytest.approx(early_sums[key], abs=ROUNDING)


async def test_failures_are_not_counted_twice(store, new_rules):
    town = Town(store, 2)
    for _ in range(4):
        await town.ask(DOMAINS[0])
    failures = {key: row[2] for key, row in (await town.sums(DOMAINS[0])).items()}
    new_rules()
    assert await town.relearn() == [DOMAINS[0]]
    assert {key: row[2] for key, row in (await town.sums(DOMAINS[0])).items()} == failures
    assert max(failures.values()) > 0


async def test_feedback_takes_back_what_was_learned_anew(store, new_rules):
    town = Town(store, 3)
    for _ in range(5):
        await town.ask(DOMAINS[0])
    new_rules()
    await town.relearn()
    for run_id in town.runs:
        await give_feedback(store, run_id, Said("correct"))
    assert (await relearn(store)).differences == ()
    log = [update async for update in store.log.read(DOMAINS[0])]
    assert [update.kind for update in log] == ["task"] * 5 + ["learn"] * 5 + ["feedback"] * 5
    here = (await store.read_sums(DOMAINS[0])).here
    for key, sums in replayed(log).items():
        assert sums.total == pytest.approx(here[key].total, abs=ROUNDING)
        assert -ROUNDING <= sums.total <= sums.count + ROUNDING


async def test_one_domain_alone(store, new_rules):
    town = Town(store, 4)
    for domain in DOMAINS * 2:
        await town.ask(domain)
    kept = await town.sums(DOMAINS[1])
    new_rules()
    found = await relearn(store, DOMAINS[0])
    assert {one.domain for one in found.differences} == set(found.corrections) == {DOMAINS[0]}
    assert await town.relearn(DOMAINS[0]) == [DOMAINS[0]]
    assert await town.sums(DOMAINS[1]) == kept


async def test_a_domain_that_learned_in_the_meantime_is_left_as_it_is(store, new_rules):
    town = Town(store, 4)
    for domain in DOMAINS * 2:
        await town.ask(domain)
    new_rules()
    found = await relearn(store)
    await town.ask(DOMAINS[0])
    assert [name async for name in write_relearned(store, found)] == [DOMAINS[1]]
    assert "learn" not in {update.kind async for update in store.log.read(DOMAINS[0])}


async def test_what_was_undone_or_asked_frozen_stays_out(store, new_rules):
    town = Town(store, 6)
    gone, frozen = await town.ask(DOMAINS[0]), await town.ask(DOMAINS[0], learns=False)
    await give_feedback(store, frozen, Said("correct"))
    await store.log.reset(DOMAINS[0])
    left = await town.ask(DOMAINS[0])
    new_rules()
    corrections = (await relearn(store)).corrections
    assert gone not in {update.run_id for update in corrections[DOMAINS[0]]}
    assert [update.run_id for update in corrections[DOMAINS[0]]] == [left]


async def test_feedback_on_a_run_that_was_rolled_back_teaches_and_is_learned_anew(store, new_rules):
    town = Town(store, 7)
    first, second = await town.ask(DOMAINS[0]), await town.ask(DOMAINS[0])
    await store.log.rollback(first, DOMAINS[0])
    tasks = (await town.sums(DOMAINS[0]))[ArmKey("delegation")][1]
    assert (await give_feedback(store, second, Said("correct"))).changed
    assert (await town.sums(DOMAINS[0]))[ArmKey("delegation")][1] == tasks + 1
    assert (await relearn(store)).differences == ()
    new_rules()
    assert {update.run_id for update in (await relearn(store)).corrections[DOMAINS[0]]} == {first, second}


async def test_a_store_without_anything_has_nothing_to_learn_anew(store):
    found = await relearn(store)
    assert (found.differences, found.corrections, found.sequences) == ((), {}, {})
