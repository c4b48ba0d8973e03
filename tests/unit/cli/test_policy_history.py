"""`aligngraph policy history`."""

import json

import pytest

from aligngraph.errors import UsageError
from aligngraph.persistence import ArmKey, Increment, Update
from aligngraph.policy import competence, weight


@pytest.fixture
def changes(policy):
    """Return a function that returns the changes of an arm in maths."""

    def read(arm="a/direct", *more):
        return json.loads(policy("history", "--arm", arm, "--domain", "maths", "--json", *more))["maths"]

    return read


def test_every_change_is_told_with_what_it_came_to(changes, learned):
    rows = changes()
    assert [(row["number"], row["run_id"], row["kind"], row["payoff"]) for row in rows] == [
        (1, "r1", "task", 0.75),
        (2, "r2", "task", 1.0),
        (3, "r3", "task", 0.5),
    ]
    for row, total in zip(rows, (0.75, 1.75, 2.25), strict=True):
        mean = competence(total, row["number"])
        assert row["competence"] == pytest.approx(float(mean))
        assert row["weight"] == pytest.approx(float(weight(mean, 2)))
        assert row["tasks"] == row["number"]


def test_what_only_failed_has_changes_without_a_payoff(changes, learned):
    assert [(row["payoff"], row["tasks"]) for row in changes("b/direct")] == [(None, 0)] * 3


def test_feedback_follows_the_task_that_it_corrects(changes, in_store, learned):
    part = Increment("a/direct", "agent", -0.75, 0.0, made_of="m")
    in_store(
        lambda store: store.log.change_domain("maths", lambda _: [Update("r1", 2, "maths", (part,), kind="feedback")])
    )
    last = changes()[-1]
    assert (last["kind"], last["run_id"], last["payoff"], last["tasks"]) == ("feedback", "r1", -0.75, 3)
    assert last["competence"] == pytest.approx(float(competence(1.5, 3)))


def test_a_reset_and_a_rollback_are_changes_that_pay_nothing(changes, policy, learned):
    policy("reset", "--domain", "maths", "--yes")
    policy("rollback", "--to", "r2", "--domain", "maths", "--yes")
    reset, rollback = changes()[-2:]
    assert (reset["kind"], reset["tasks"], reset["competence"], reset["weight"]) == ("reset", None, None, None)
    assert (rollback["kind"], rollback["tasks"], rollback["payoff"]) == ("rollback", 2, None)


def test_only_the_latest_are_told_and_sums_are_of_all(changes, learned):
    (row,) = changes("a/direct", "--limit", 1)
    assert (row["number"], row["tasks"]) == (3, 3)


def test_all_domains_are_told_unless_one_is_named(policy, learned):
    found = json.loads(policy("history", "--arm", "a/direct", "--json"))
    assert {name: len(rows) for name, rows in found.items()} == {"law": 1, "maths": 3}


def test_the_table_says_when_and_by_which_run(policy, learned):
    table = policy("history", "--arm", "a/direct", "--domain", "maths")
    assert table.splitlines()[0].strip() == "a/direct in domain maths, made of m"
    row = next(line.split() for line in table.splitlines() if "r2" in line)
    assert row == ["2", "01-02", "12:00", "task", "1.000", "2", "0.625", "1.204", "r2"]


def test_an_arm_whose_making_is_unknown_has_none_in_the_title(policy, in_store):
    in_store(lambda store: store.apply_update(Update("r", 1, "maths", (Increment("a/x", "agent", 1.0),))))
    assert policy("history", "--arm", "a/x").splitlines()[0].strip() == "a/x in domain maths"


def test_what_each_change_was_made_of_is_told_where_there_are_several(policy, changes, in_store, learned):
    other = Increment("a/direct", "agent", 0.0, made_of="new")
    in_store(lambda store: store.apply_update(Update("r9", 1, "maths", (other,))))
    assert [row["made_of"] for row in changes()] == ["m", "m", "m", "new"]
    assert changes()[-1]["tasks"] == 1
    table = policy("history", "--arm", "a/direct", "--domain", "maths")
    assert "r9 (new)" in table
    assert "r1 (m)" in table


def test_an_arm_that_nobody_knows_is_an_error(policy, learned):
    with pytest.raises(
        UsageError, match="no arm 'x/y' has learned anything there: `policy show` lists those that have"
    ):
        policy("history", "--arm", "x/y")
    with pytest.raises(UsageError, match="no arm 'a/direct'"):
        policy("history", "--arm", "a/direct", "--domain", "nowhere")


def test_a_place_without_a_store_is_an_error_and_stays_without(policy, tmp_path):
    with pytest.raises(UsageError, match=r"nothing was learned at .*: --db names another place"):
        policy("history", "--arm", "a/direct", place=str(tmp_path / "mistyped"))
    assert not (tmp_path / "mistyped").exists()


def test_what_is_shown_is_what_the_store_has(changes, in_store, learned):
    sums = in_store(lambda store: store.read_sums("maths")).here[ArmKey("a/direct", "m")]
    assert changes()[-1]["tasks"] == sums.count


def test_runs_cannot_steer_the_terminal(policy, in_store):
    in_store(lambda store: store.apply_update(Update("[b]r\x1b[2J", 1, "maths", (Increment("a/x", "agent", 1.0),))))
    table = policy("history", "--arm", "a/x")
    assert "\x1b" not in table
    assert "[b]r\\x1b[2J" in table
