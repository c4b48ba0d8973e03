"""`aligngraph policy learn --runs` once the rules have changed: real runs teach what they would have from the start."""

import asyncio
import importlib

import pytest
from typer.testing import CliRunner

from aligngraph import open_session
from aligngraph.cli.policy_commands import policy_app
from aligngraph.learning import teaching
from aligngraph.persistence import Location, PolicyStore
from aligngraph.policy import fed_back_payoffs, self_assessed_payoff
from aligngraph.team import Team

DOMAINS = ("algebra", "trivia")
RIGHT = "42"
TASKS = 8
ROUNDING = 1e-9


def stronger_prior(monkeypatch):
    module = importlib.import_module("aligngraph.policy.competence")  # the package has a function of this name
    monkeypatch.setattr(module, "PRIOR_SUCCESSES", 3.0)
    monkeypatch.setattr(module, "PRIOR_TASKS", 6.0)


def harsher_pay(monkeypatch):
    monkeypatch.setattr(teaching, "self_assessed_payoff", lambda *known: self_assessed_payoff(*known) ** 2)
    monkeypatch.setattr(teaching, "fed_back_payoffs", lambda *known: fed_back_payoffs(*known) / 2)


def other_learners(monkeypatch):
    monkeypatch.setattr("aligngraph.policy.belief.LEARNER_PRIOR", (0.3, 0.5, 0.2))


CHANGES = [stronger_prior, harsher_pay, other_learners]


class Place:
    """A store in which a team lives a life that is the same in every place."""

    def __init__(self, team, db):
        self.team, self.db, self.runs, self.chosen = team, db, [], []

    def policy(self, *arguments):
        done = CliRunner().invoke(policy_app, [*arguments, "--db", self.db])
        assert done.exit_code == 0, done.output
        return done.output

    async def _tell_of(self, session, number):
        """Give all kinds of feedback, on some runs twice."""
        if number % 3 == 1:
            await session.feedback(self.runs[number // 2], answer=RIGHT)
        if number % 4 == 2:
            await session.feedback(self.runs[number - 1], correct=False)
        if number % 4 == 3:
            await session.feedback(self.runs[number - 3], correct=True)

    def live(self):
        async def ask():
            async with open_session(team=self.team, db=self.db) as session:
                for number in range(TASKS):
                    decision = await session.ask(f"What is {number} + 1?", domain=DOMAINS[number % 3 == 0])
                    self.runs.append(decision.run_id)
                    self.chosen.append(decision.answer)
                    await self._tell_of(session, number)

        asyncio.run(ask())
        return self

    def tell(self, **said):
        """Give the same feedback on every run."""

        async def feed_back():
            async with open_session(team=self.team, db=self.db) as session:
                for run_id in self.runs:
                    await session.feedback(run_id, **said)

        asyncio.run(feed_back())

    def sums(self):
        """Return all sums by domain and arm."""

        async def read():
            async with await PolicyStore.open(Location.parse(self.db)) as store:
                return {name: (await store.read_sums(name)).here for name in DOMAINS}

        return {
            (name, key): (row.total, row.count, row.failures, row.gradient, row.loss)
            for name, arms in asyncio.run(read()).items()
            for key, row in arms.items()
        }


def alike(one, other):
    keys = {*one, *other}
    zeros = (0,) * 5
    return all(one.get(key, zeros) == pytest.approx(other.get(key, zeros), abs=ROUNDING) for key in keys)


@pytest.fixture(params=["", "[learning]\nhalf_life = 4\n"], ids=["all_counts", "half_life"])
def place(request, scripted_team, tmp_path):
    """Return a function that returns a place by its name."""
    answers = {"careful": ["42", "42", "42"], "quick": ["41", "42"], "slow": ["42", "43"]}

    def settle(name, anchor='"trust"'):
        sections = f"\n[game]\nanchor = {anchor}\n{request.param}"
        team = scripted_team(answers, order=["42", "43", "41"], sections=sections)
        return Place(Team.load(str(team)), str(tmp_path / name))

    return settle


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_of_the_rules_all_is_as_if_they_had_never_been_others(place, monkeypatch, change):
    late = place("late").live()
    before = late.sums()
    change(monkeypatch)
    early = place("early").live()
    assert early.chosen == late.chosen, "another answer would make feedback of correct say something else"
    assert not alike(before, early.sums()), "the change must matter"
    assert "before -> after" in late.policy("learn", "--runs", "--dry-run")
    assert late.sums() == before
    assert "learned anew: algebra, trivia" in late.policy("learn", "--runs", "--yes")
    assert alike(late.sums(), early.sums())
    assert late.policy("learn", "--runs") == "no difference\n"


@pytest.mark.parametrize("said", [{"answer": RIGHT}, {"correct": False}], ids=["answer", "wrong"])
def test_feedback_after_it_takes_back_what_was_learned_anew(place, monkeypatch, said):
    """The anchor is fixed: feedback is learned from with the one that the run was decided with, whatever was earned since."""
    late = place("late", anchor=0.7).live()
    harsher_pay(monkeypatch)
    early = place("early", anchor=0.7).live()
    late.policy("learn", "--runs", "--yes")
    for somewhere in (late, early):
        somewhere.tell(**said)
    assert alike(late.sums(), early.sums())
    assert late.policy("learn", "--runs") == "no difference\n"


def test_it_can_be_undone_as_any_other_change(place, monkeypatch):
    late = place("late").live()
    before = late.sums()
    harsher_pay(monkeypatch)
    late.policy("learn", "--runs", "--yes", "--domain", DOMAINS[0])
    assert not alike(late.sums(), before)
    late.policy("rollback", "--to", _last_lesson(late), "--domain", DOMAINS[0], "--yes")
    assert alike(late.sums(), before)


def _last_lesson(place):
    """Return the number of the last change of the domain that was not learned anew."""

    async def read():
        async with await PolicyStore.open(Location.parse(place.db)) as store:
            log = [update async for update in store.log.read(DOMAINS[0])]
        return max(update.sequence for update in log if update.kind != "learn")

    return str(asyncio.run(read()))
