"""Early stop in the graph: waves, what is left out, and what it teaches."""

import json
import subprocess
import sys

import pytest

from aligngraph import DelegationContext, Team, build_delegation, open_session

SETTLED = '[budget]\nstop = "settled"\n'
AGREED = {"a": ["42", "42", "42", "42"], "b": ["42", "42", "42", "42"], "c": ["42", "42", "42", "42"]}
TASK = "How many?"


async def decide(team, db, **arguments):
    async with open_session(Team.load(team), db=db) as session:
        return await session.ask(TASK, **{"options": {"seed": 7}, **arguments})


async def test_samples_that_could_change_nothing_are_not_asked_for_and_that_is_no_failure(scripted_team, db):
    decision = await decide(scripted_team(AGREED, sections=SETTLED), db)
    assert (decision.status, decision.answer, decision.problems) == ("ok", "42", [])
    assert decision.stopped is not None
    assert len(decision.candidates) + decision.stopped.skipped_samples == 12
    assert decision.usage.total.calls == len(decision.candidates) < 12
    assert decision.ranking is None  # one answer: nothing to rank


async def test_every_arm_is_asked_once_before_any_is_asked_twice(scripted_team, db):
    decision = await decide(scripted_team(AGREED, sections=SETTLED), db)
    asked = {agent: sum(candidate.agent == agent for candidate in decision.candidates) for agent in AGREED}
    assert max(asked.values()) - min(asked.values()) <= 1


async def test_without_agreement_everything_is_asked_as_it_would_be_in_full(scripted_team, tmp_path):
    split = {"a": ["1", "2", "3", "4"], "b": ["5", "6", "7", "8"]}
    order = [answer for answers in split.values() for answer in answers]
    waves = await decide(scripted_team(split, order=order, sections=SETTLED), str(tmp_path / "waves"))
    full = await decide(scripted_team(split, order=order), str(tmp_path / "full"))
    assert waves.stopped is None
    assert [candidate.id for candidate in waves.candidates] == [candidate.id for candidate in full.candidates]
    assert (waves.answer, waves.answers, waves.weights) == (full.answer, full.answers, full.weights)


async def test_a_threshold_of_one_stops_only_at_what_cannot_change(scripted_team, db):
    decision = await decide(scripted_team(AGREED, sections=SETTLED + "threshold = 1.0\n"), db)
    assert decision.stopped is not None
    assert decision.stopped.reason == "unchangeable"
    assert len(decision.candidates) > 6  # of twelve: six alike could still be tied


async def test_arms_that_were_left_out_are_paid_an_estimate_since_easy_tasks_are_stopped(scripted_team, db):
    agents = {name: ["42"] for name in "abcdefgh"}
    async with open_session(Team.load(scripted_team(agents, sections=SETTLED + "threshold = 0.5\n")), db=db) as session:
        decision = await session.ask(TASK, options={"seed": 7})
        (summary,) = await session.store.summary()
    asked = {candidate.agent for candidate in decision.candidates}
    assert asked < set(agents)
    sums = {key.arm.partition("/")[0]: sums for key, sums in summary.arms.items() if sums.kind == "agent"}
    assert set(sums) == set(agents)
    assert {sums[agent].count for agent in agents} == {1.0}
    (earned,) = {round(sums[agent].total, 9) for agent in asked}  # they agree, and nobody is known better than another
    assert all(sums[agent].total == pytest.approx(earned) for agent in set(agents) - asked)


async def test_waves_are_for_the_first_round_the_next_ones_ask_the_losers_for_all(scripted_team, db):
    answers = {"a": ["42"] * 4, "b": ["42"] * 4, "c": ["7"] * 4}
    convinced = {"agent": "c", "text": "I was wrong.\nAnswer: 42"}
    team = scripted_team(answers, order=["42", "7"], sections=SETTLED, rows=[convinced])
    decision = await decide(team, db, context=DelegationContext(max_rounds=2))
    again = [candidate for candidate in decision.candidates if candidate.round == 2]
    assert [candidate.agent for candidate in again] == ["c"] * 4
    assert (decision.status, decision.problems) == ("ok", [])


def test_the_graph_of_a_team_that_asks_all_at_once_has_no_such_node(scripted_team, db):
    assert "settle" not in build_delegation(Team.load(scripted_team(AGREED)), db=db).nodes
    graph = build_delegation(Team.load(scripted_team(AGREED, sections=SETTLED)), db=db).get_graph()
    ways = {(edge.source, edge.target) for edge in graph.edges}
    assert {("a", "settle"), ("settle", "a"), ("settle", "principal")} <= ways
    assert ("a", "principal") not in ways


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command_says_what_was_left_out(scripted_team, db, as_json):
    team = scripted_team(AGREED, sections=SETTLED)
    command = [sys.executable, "-m", "aligngraph.cli.app", "ask", TASK, "--team", str(team), "--db", db, "--seed", "7"]
    command[1:3] = ["-c", "from aligngraph.cli.app import main; main()"]
    ran = subprocess.run([*command, *(["--json"] if as_json else [])], capture_output=True, text=True, check=True)
    if as_json:
        assert json.loads(ran.stdout)["stopped"]["skipped_samples"] > 0
    else:
        assert "samples were not asked for" in ran.stdout
