"""What lasts of tasks: by the mode of learning, and when a team's arms change."""

import math
import sqlite3
from contextlib import closing

import pytest

from aligngraph import DelegationContext, aask, open_session
from aligngraph.persistence import Location, PolicyStore

SEVEN = {"seed": 7}
LOG_TWO = math.log(2)  # the weight among two answers of an arm of which nothing is known
LOUD, LONE = "loud/step_by_step", "lone/step_by_step"
ARMS = "SELECT * FROM arms ORDER BY domain, arm, made_of"


@pytest.fixture
def write(scripted_team):
    """Return a function that writes the team: two samples and the principal against one that is right."""

    def call(**more):
        return scripted_team({"loud": ["41", "41"], "lone": ["42"]}, order=["41", "42"], **more)

    return call


@pytest.fixture
def team(write):
    return write()


def read_rows(db, query):
    with closing(sqlite3.connect(f"{db}/policy.sqlite")) as connection:
        return connection.execute(query).fetchall()


async def teach(team, db, tasks=4):
    """Ask tasks whose right answer is 42, and say so."""
    async with open_session(team, db=db) as session:
        for number in range(tasks):
            decision = await session.ask(f"task {number}", options=SEVEN)
            await session.feedback(decision.run_id, answer="42")


async def read_arm(db, arm):
    async with await PolicyStore.open(Location.parse(db)) as store:
        sums = (await store.read_sums("general")).here
    return {key.made_of: (one.total, one.count) for key, one in sums.items() if key.arm == arm}


class TestModes:
    async def test_frozen_leaves_every_byte_and_decides_by_what_was_learned(self, team, db):
        new = await aask("task", team=team, db=db, options=SEVEN, context=DelegationContext(learning="frozen"))
        await teach(team, db)
        arms, log = read_rows(db, ARMS), read_rows(db, "SELECT * FROM updates ORDER BY domain, sequence")
        taught = await aask("task", team=team, db=db, options=SEVEN, context=DelegationContext(learning="frozen"))
        assert (new.answer, taught.answer) == ("41", "42")
        assert taught.weights.before == taught.weights.after != new.weights.before
        assert (read_rows(db, ARMS), read_rows(db, "SELECT * FROM updates ORDER BY domain, sequence")) == (arms, log)

    async def test_shadow_decides_as_a_plain_vote_and_says_what_it_would_have_said(self, team, db):
        await teach(team, db)
        before = await read_arm(db, LOUD)
        shadow = await aask("task", team=team, db=db, options=SEVEN, context=DelegationContext(learning="shadow"))
        assert (shadow.answer, shadow.alternatives.majority, shadow.alternatives.delegation) == ("41", "41", "42")
        ((_, count),) = (await read_arm(db, LOUD)).values()
        assert count == next(iter(before.values()))[1] + 1, "it learns"
        assert shadow.weights.after != shadow.weights.before

    async def test_feedback_on_a_shadow_run_is_about_the_answer_that_was_given(self, team, db):
        await teach(team, db)
        async with open_session(team, db=db) as session:
            context = DelegationContext(learning="shadow")
            run = await session.ask("task", run_id="r", options=SEVEN, context=context)
            given = await session.feedback("r", correct=True)
        assert (run.answer, given.right) == ("41", (True, False))

    async def test_a_domain_s_feedback_stays_in_it_but_for_what_is_lent(self, team, db):
        await teach(team, db)
        async with open_session(team, db=db) as session:
            other = await session.ask("task", domain="law", options=SEVEN)
        assert other.learners["competence"] == 1.0, "no feedback in this domain"
        assert other.weights.before[LONE] > other.weights.before[LOUD], "what is known elsewhere is lent"


class TestArmsThatChange:
    async def test_another_model_starts_anew_and_the_old_one_is_found_again(self, write, team, db, tmp_path):
        await teach(team, db)
        known = await self.weights(team, db)
        (tmp_path / "other.jsonl").write_text((tmp_path / "script.jsonl").read_text())
        team.write_text(team.read_text().replace('"scripted:script.jsonl"', '"scripted:other.jsonl"', 1))
        fresh = await self.weights(team, db)
        assert (fresh[LOUD], fresh[LONE]) == (pytest.approx(LOG_TWO), known[LONE])
        await teach(team, db, tasks=1)
        assert sorted(count for _, count in (await read_arm(db, LOUD)).values()) == [1, 4]
        assert (await self.weights(write(), db))[LOUD] == known[LOUD]

    async def test_so_does_a_strategy_whose_text_changes(self, write, db, tmp_path):
        team = write(agent_keys={"loud": 'strategies = ["own"]\n'})
        text = tmp_path / "strategies" / "own.md"
        text.parent.mkdir()
        weights = []
        for words in ("Guess.", "Guess twice.", "Guess."):
            text.write_text(f"{words}\nAnswer: <the final answer alone>\n")
            weights.append((await self.weights(team, db))["loud/own"])
            await teach(team, db, tasks=2)
        assert weights[0] == weights[1] == pytest.approx(LOG_TWO)
        assert weights[2] < LOG_TWO
        assert sorted(count for _, count in (await read_arm(db, "loud/own")).values()) == [2, 4]

    async def test_one_that_is_added_starts_from_the_prior_and_one_removed_keeps_its_row(self, scripted_team, team, db):
        await teach(team, db)
        rows = await read_arm(db, LOUD)
        changed = scripted_team({"lone": ["42"], "late": ["41"]}, order=["42", "41"])
        weights = await self.weights(changed, db)
        assert set(weights) == {LONE, "late/step_by_step"}
        assert weights["late/step_by_step"] == pytest.approx(LOG_TWO)
        await teach(changed, db, tasks=1)
        assert await read_arm(db, LOUD) == rows
        assert [count for _, count in (await read_arm(db, LONE)).values()] == [5], "one that stays goes on"

    async def test_a_principal_of_another_model_is_trusted_anew(self, team, db, tmp_path):
        await teach(team, db)
        (tmp_path / "other.jsonl").write_text((tmp_path / "script.jsonl").read_text())
        agents, _, _ = team.read_text().partition("[principal]")
        team.write_text(f'{agents}[principal]\nmodel = "scripted:other.jsonl"\n')
        await teach(team, db, tasks=1)
        assert sorted(count for _, count in (await read_arm(db, "principal")).values()) == [1, 4]

    async def weights(self, team, db):
        frozen = DelegationContext(learning="frozen")
        return (await aask("task", team=team, db=db, options=SEVEN, context=frozen)).weights.before
