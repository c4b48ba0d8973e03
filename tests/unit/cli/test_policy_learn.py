"""`aligngraph policy learn`."""

import json
from pathlib import Path

import pytest

from aligngraph.errors import UsageError
from aligngraph.learning.relearning import Relearned
from aligngraph.persistence import ArmKey, ArmSums, Difference, Increment, Update
from aligngraph.team import Team

ROWS = [
    {"id": n, "answers": {"careful/step_by_step": ["42"], "quick/step_by_step": ["41"]}, "gold": "42"} for n in range(3)
]


@pytest.fixture
def record(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


@pytest.fixture
def team(scripted_team):
    return scripted_team({"careful": ["42"], "quick": ["41"]}, order=["42", "41"])


def test_a_record_warms_the_weights(policy, record, totals):
    assert policy("learn", "--panel", record) == "domain general: learned from 3 of 3 tasks; 0 were known\n"
    assert totals("general")["careful/step_by_step"] == (3, 3)
    assert totals("general")["quick/step_by_step"] == (0, 3)


def test_the_same_again_changes_nothing_and_says_so(policy, record, totals):
    policy("learn", "--panel", record)
    before = totals("general")
    assert policy("learn", "--panel", record) == "domain general: learned from 0 of 3 tasks; 3 were known\n"
    assert totals("general") == before


def test_a_domain_may_be_named(policy, record, totals):
    policy("learn", "--panel", record, "--domain", "maths")
    assert totals("general") == {}
    assert totals("maths")["careful/step_by_step"] == (3, 3)


def test_a_dry_run_shows_the_difference_and_makes_no_store(policy, record, db):
    told = policy("learn", "--panel", record, "--dry-run")
    assert "- -> 3" in told
    assert "domain general: would learn from 3 of 3 tasks" in told
    assert not Path(db).exists()


def test_a_dry_run_on_a_store_tells_what_is_new(policy, record, totals):
    policy("learn", "--panel", record)
    before = totals("general")
    told = policy("learn", "--panel", record, "--dry-run")
    assert "no difference" in told
    assert "would learn from 0 of 3 tasks; 3 were known" in told
    assert totals("general") == before


def test_arms_of_a_team_are_known_by_what_they_are_made_of(policy, record, team, in_store):
    told = policy("learn", "--panel", record, "--team", team)
    assert "no arm of the team" not in told
    arms = Team.load(str(team)).arms
    here = in_store(lambda store: store.read_sums("general")).here
    assert here[ArmKey("careful/step_by_step", arms["careful/step_by_step"])].count == 3
    assert arms["careful/step_by_step"] != ""


def test_arms_that_the_team_does_not_have_are_noted(policy, record, team):
    told = policy("learn", "--panel", record, "--team", team, "--map", "quick/step_by_step=fast/direct")
    assert "note no arm of the team: fast/direct; --map gives them its names" in told


def test_tasks_without_a_vote_are_told(policy, tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps({"id": "1", "answers": {"a/x": [None]}, "gold": "1"}))
    assert "learned from 0 of 1 tasks; 0 were known, 1 have no vote" in policy("learn", "--panel", file)


@pytest.mark.parametrize(
    "arguments", [(), ("--runs", "--panel", "x"), ("--runs", "--map", "a=b/c"), ("--runs", "--team", "x")]
)
def test_what_does_not_go_together_is_bad_usage(policy, arguments):
    assert "--panel" in policy("learn", *arguments, status=2)


def test_runs_of_nowhere_are_an_error(policy, db):
    with pytest.raises(UsageError, match="nothing was learned at"):
        policy("learn", "--runs")
    assert not Path(db).exists()


def test_runs_that_teach_the_same_make_no_difference(policy, learned):
    assert policy("learn", "--runs") == "no difference\n"
    assert policy("learn", "--runs", "--dry-run") == "no difference\n"


@pytest.fixture
def found(monkeypatch):
    """Let learning anew find that maths should be paid one more."""
    part = Increment("a/direct", "agent", 0.5, 0.0, made_of="m")
    difference = Difference("maths", "a/direct", "m", ArmSums("agent", 2.25, 3), ArmSums("agent", 2.75, 3))
    asked = []

    async def relearn(store, domain=None):
        asked.append(domain)
        last = [update.sequence async for update in store.log.read("maths")][-1]
        correction = Update("r1", 2, "maths", (part,), kind="learn")
        return Relearned((difference,), {"maths": (correction,)}, {"maths": last})

    monkeypatch.setattr("aligngraph.cli.policy_learn.relearn", relearn)
    return asked


def test_what_learning_anew_changes_is_shown_and_written(policy, learned, totals, found):
    told = policy("learn", "--runs", "--domain", "maths", "--yes")
    assert "0.607 -> 0.679" in told
    assert told.endswith("learned anew: maths\n")
    assert totals()["a/direct"] == (2.75, 3)
    assert found == ["maths"]


def test_a_dry_run_or_nobody_to_ask_changes_nothing(policy, learned, totals, found):
    assert "0.607 -> 0.679" in policy("learn", "--runs", "--dry-run")
    with pytest.raises(UsageError, match="nobody is there to be asked"):
        policy("learn", "--runs")
    assert totals()["a/direct"] == (2.25, 3)


def test_a_domain_that_learned_in_the_meantime_is_told(policy, learned, totals, found, monkeypatch):
    from aligngraph.cli import policy_learn

    relearn = policy_learn.relearn

    async def stale(store, domain=None):
        relearned = await relearn(store, domain)
        return Relearned(relearned.differences, relearned.corrections, {"maths": 1})

    monkeypatch.setattr(policy_learn, "relearn", stale)
    told = policy("learn", "--runs", "--yes")
    assert "learned anew: nothing" in told
    assert "left as it is, since it learned in the meantime: maths" in told
    assert totals()["a/direct"] == (2.25, 3)
