"""Samples dealt by what arms have earned: few to the poor, none too many in all, by chance where there are too few."""

import math
from collections import Counter
from statistics import mean

import pytest

from aligngraph import DelegationContext, open_session
from aligngraph.learning.evidence import Evidence
from aligngraph.learning.known import DELEGATION, read_learned
from aligngraph.learning.teaching import teach
from aligngraph.persistence import ArmKey, ArmSums, Increment, Sums, Update

DEALT = '[budget]\ndeal = "learned"\n'
GOOD, FAIR, POOR = "good/step_by_step", "fair/step_by_step", "poor/step_by_step"
ANSWERS = {"good": ["42"] * 4, "fair": ["42"] * 4, "poor": ["41"] * 4}
ANY_NUMBER = [{"agent": agent, "text": f"Answer: {answers[0]}"} for agent, answers in ANSWERS.items()]
FROZEN = DelegationContext(learning="frozen")


@pytest.fixture
def write(scripted_team):
    """Return a function that writes a team in which poor is always wrong; agents answer however many samples are dealt."""

    def call(sections=DEALT, **more):
        rows = [*ANY_NUMBER, *more.pop("rows", ())]
        return scripted_team(ANSWERS, order=["42", "41"], sections=sections, rows=rows, **more)

    return call


async def lose(session, arm, *, tasks):
    """Teach that the arm lost every one of so many tasks, and that nobody else did."""
    parts = (
        Increment(arm, "agent", payoff=0.0, count=tasks, made_of=session.team.arms[arm], loss=tasks),
        Increment(DELEGATION, "learner", payoff=0.0, count=tasks),
    )
    await session.store.apply_update(Update("learned", 1, "general", parts))


def drawn(decision):
    return Counter(f"{candidate.agent}/{candidate.strategy}" for candidate in decision.candidates)


async def test_at_first_all_arms_draw_alike_as_many_as_the_team_has(write, db):
    async with open_session(write(), db=db) as session:
        decision = await session.ask("task", options={"seed": 7})
    assert drawn(decision) == {GOOD: 4, FAIR: 4, POOR: 4}


async def test_after_enough_tasks_a_poor_arm_draws_the_floor_and_the_total_stays(write, db):
    async with open_session(write(), db=db) as session:
        for number in range(30):
            decision = await session.ask(f"task {number}", options={"seed": number})
            await session.feedback(decision.run_id, answer="42")
        last = [drawn(await session.ask(f"last {seed}", options={"seed": seed}, context=FROZEN)) for seed in range(10)]
    assert {counts.total() for counts in last} == {12}
    assert Counter(counts[POOR] for counts in last).most_common(1)[0][0] == 1
    assert all(counts[POOR] <= 2 and min(counts[GOOD], counts[FAIR]) >= 4 for counts in last)


async def test_of_an_agent_s_two_strategies_the_poor_one_draws_less(write, db):
    keys = {"good": 'strategies = ["step_by_step", "direct"]\n'}
    async with open_session(write(agent_keys=keys), db=db) as session:
        await lose(session, "good/direct", tasks=40)
        decision = await session.ask("task", options={"seed": 7})
    counts = drawn(decision)
    assert (counts["good/direct"], counts.total()) == (1, 12)
    own = [candidate for candidate in decision.candidates if candidate.agent == "good"]
    assert [candidate.id for candidate in own] == [f"good.{number}" for number in range(len(own))]
    assert [candidate.strategy for candidate in own][:2] == ["step_by_step", "direct"], (
        "in turn, while both have samples"
    )


async def test_the_same_seed_deals_alike_and_fixed_teams_deal_nothing(write, db):
    async with open_session(write(), db=db) as session:
        await lose(session, POOR, tasks=3)
        one, other = [await session.ask("task", options={"seed": 3}, context=FROZEN) for _ in range(2)]
    assert drawn(one) == drawn(other)
    async with open_session(write(sections=""), db=db) as session:
        assert drawn(await session.ask("task", context=FROZEN)) == {GOOD: 4, FAIR: 4, POOR: 4}


async def test_losers_answer_again_with_as_many_samples_as_they_were_dealt(write, db):
    async with open_session(write(), db=db) as session:
        await lose(session, POOR, tasks=60)
        decision = await session.ask("task", options={"seed": 7}, context=DelegationContext(max_rounds=2))
    rounds = [
        [entry.id for entry in decision.candidates if (entry.agent, entry.round) == ("poor", number)]
        for number in (1, 2)
    ]
    assert rounds == [["poor.0"], ["poor.1"]]


class TestFewerSamplesThanArms:
    SAMPLES = 2

    @pytest.fixture
    def team(self, write):
        return write(sections=f"{DEALT}samples = {self.SAMPLES}\n")

    async def test_who_is_asked_is_drawn_by_chance_and_all_come_to_it(self, team, db):
        async with open_session(team, db=db) as session:
            dealt = [
                drawn(await session.ask(f"task {seed}", options={"seed": seed}, context=FROZEN)) for seed in range(24)
            ]
        assert {counts.total() for counts in dealt} == {self.SAMPLES}
        assert all(max(counts.values()) == 1 for counts in dealt)
        assert set().union(*dealt) == {GOOD, FAIR, POOR}

    async def test_a_poor_arm_is_seldom_asked_and_who_is_not_asked_is_not_paid(self, team, db):
        async with open_session(team, db=db) as session:
            await lose(session, POOR, tasks=60)
            dealt = [drawn(await session.ask(f"task {seed}", options={"seed": seed})) for seed in range(20)]
            (summary,) = await session.store.summary()
        asked = sum(counts[POOR] for counts in dealt)
        assert asked <= 4
        counts = {key.arm: sums.count for key, sums in summary.arms.items()}
        assert counts[POOR] == 60 + asked

    async def test_on_average_an_arm_loses_what_it_would_have_if_it_were_always_asked(self, team, db):
        """Asked with chance 2/3 it loses 3/2 of 1 - payoff when it is asked, else nothing; early on, a little less."""
        tasks, missed, lost = 60, [], []
        async with open_session(team, db=db) as session:
            for seed in range(tasks):
                decision = await session.ask(f"task {seed}", options={"seed": seed}, context=FROZEN)
                evidence = Evidence.read((await session.store.read_run(decision.run_id)).evidence)
                assert evidence.chances == pytest.approx((2 / 3,) * 3)
                assert evidence.asked == tuple(drawn(decision)[arm] for arm in evidence.arms)
                poor = next((part for part in self.teach_late(evidence) if part.arm == POOR), None)
                lost.append(poor.loss if poor else 0.0)
                missed += [1 - poor.payoff] if poor else []
        true_loss, spread = mean(missed), math.sqrt(2 / 9 / tasks) * 3 / 2
        assert 0.5 < true_loss < 1
        assert len(set(map(bool, lost))) == 2, "it was asked, and it was not"
        assert mean(lost) == pytest.approx(true_loss, rel=2 * spread)

    def teach_late(self, evidence):
        """Return the increments of the task if it came after many, when losses are no longer understated."""
        arms = dict(zip(evidence.arms, evidence.made_of, strict=True))
        late = Sums({ArmKey(DELEGATION): ArmSums("learner", count=1e6)}, {})
        return teach(evidence, read_learned(late, arms, evidence.principals))


async def test_early_stop_works_on_what_was_dealt(write, db):
    async with open_session(write(sections=f'{DEALT}stop = "settled"\n'), db=db) as session:
        await lose(session, POOR, tasks=60)
        decision = await session.ask("task", options={"seed": 7})
    assert (decision.status, decision.answer) == ("ok", "42")
    assert len(decision.candidates) + decision.stopped.skipped_samples == 12
    assert drawn(decision)[POOR] <= 1


async def test_with_a_half_life_no_sum_outgrows_what_is_remembered(write, db):
    half_life = 2.0
    async with open_session(write(sections=f"[learning]\nhalf_life = {half_life}\n"), db=db) as session:
        for number in range(20):
            decision = await session.ask(f"task {number}", options={"seed": number})
            if number % 3 == 0:
                await session.feedback(decision.run_id, answer="42")
        (summary,) = await session.store.summary()
    most = 1 / (1 - 2 ** (-1 / half_life))
    for sums in summary.arms.values():
        assert 0 <= sums.total <= sums.count + 1e-9
        assert sums.count <= most
    counts = {key.arm: sums.count for key, sums in summary.arms.items()}
    assert counts[GOOD] == pytest.approx(most, rel=2e-3), "after ten half-lives it is nearly there"
