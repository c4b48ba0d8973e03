"""`aligngraph policy show`."""

import json
from pathlib import Path

import pytest

from aligngraph.learning.drifting import RECENT_UPDATES
from aligngraph.persistence import Increment, Update
from aligngraph.policy import LEARNER_PRIOR, LEARNERS, competence, competence_interval, mixture_shares, weight


def agent(arm, payoff, **fields):
    return Increment(arm, "agent", payoff, made_of=fields.pop("made_of", "m"), **fields)


def keep(*parts, run_id="r", domain="maths", kind="task"):
    return lambda store: store.apply_update(Update(run_id, 1, domain, parts, kind=kind))


def test_a_place_without_a_store_has_learned_nothing_and_stays_without(policy, tmp_path):
    nowhere = str(tmp_path / "mistyped")
    assert policy("show", place=nowhere) == "nothing learned yet\n"
    assert json.loads(policy("show", "--json", place=nowhere)) == {"domains": [], "models": []}
    assert not Path(nowhere).exists()


def test_a_domain_that_nobody_asked_about(policy, learned):
    assert "nothing learned yet in domain 'x'" in policy("show", "--domain", "x")


def test_every_figure_of_an_arm(shown, learned):
    arm = shown()["arms"]["a/direct"]
    sums = (2.25, 3, 0.25, 1)
    interval = competence_interval(*sums)
    assert arm["tasks"] == 3
    assert arm["competence"] == pytest.approx(float(competence(*sums)))
    assert arm["interval"] == [pytest.approx(float(interval.low)), pytest.approx(float(interval.high))]
    assert arm["weight"] == pytest.approx(float(weight(competence(*sums), 2)))
    assert arm["changed_at"] == "2026-01-03T12:00:00.000+00:00"
    assert arm["made_of"] == "m"


def test_failures_are_counted_apart(shown, learned):
    failing = shown()["arms"]["b/direct"]
    assert (failing["tasks"], failing["failures"]) == (0, 3)
    assert failing["competence"] == 0.5


def test_the_arms_share_the_samples(shown, learned):
    shares = [arm["share"] for arm in shown()["arms"].values()]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0


def test_a_domain_has_its_own_sums(shown, learned):
    assert (shown("maths")["tasks"], shown("law")["tasks"]) == (3, 1)
    assert shown("maths")["arms"]["a/direct"]["competence"] > 0.5 > shown("law")["arms"]["a/direct"]["competence"] - 0.1


def test_the_principal_has_its_record(shown, learned):
    principal = shown()["principal"]
    assert (principal["tasks"], principal["agreement"], principal["clarity"]) == (3, 0.75, 0.5)
    assert principal["trust"] >= 0
    assert shown()["judges"] == {}


def test_judges_of_a_panel_stand_beside_the_principal(shown, in_store):
    in_store(keep(Increment("principal/listwise@m", "principal", 0.5, made_of="p")))
    entry = shown()
    assert entry["principal"] is None
    assert entry["judges"] == {"principal/listwise@m": {"tasks": 1, "agreement": 0.5}}


def test_learners_are_told_once_there_was_feedback(shown, in_store, learned, policy):
    assert shown()["learners"] == {}
    losses = [float(number) for number in range(1, len(LEARNERS) + 1)]
    rows = zip(LEARNERS, losses, strict=True)
    in_store(keep(*(Increment(name, "learner", 0.0, loss=loss) for name, loss in rows), run_id="f"))
    learners = shown()["learners"]
    assert learners["tasks"] == 1
    assert [learners[name]["log_loss"] for name in LEARNERS] == losses
    shares = mixture_shares(losses, LEARNER_PRIOR).tolist()
    assert [learners[name]["share"] for name in LEARNERS] == pytest.approx(shares)
    assert f"the decisions are {LEARNERS[0]} {shares[0]:.2f} (log loss 1.0 nats), " in policy("show")


def test_one_name_that_stands_for_several_arms_is_told_apart(shown, in_store):
    in_store(keep(agent("a/direct", 1.0, made_of="old"), agent("a/direct", 0.0, made_of="new"), agent("b/x", 0.5)))
    arms = shown()["arms"]
    assert set(arms) == {"a/direct (old)", "a/direct (new)", "b/x"}
    assert arms["a/direct (old)"]["competence"] > 0.5 > arms["a/direct (new)"]["competence"]


def test_an_arm_that_has_changed_is_noted(policy, shown, in_store):
    async def learn(store):
        for number in range(60 + RECENT_UPDATES):
            await keep(agent("a/direct", 0.9 if number < 60 else 0.2), run_id=f"r{number}")(store)

    in_store(learn)
    note = "a/direct was paid 0.20 a task of late, 0.90 before: it may have changed"
    assert shown()["drift"] == [note]
    assert f"note {note}" in policy("show")


def test_rows_that_make_no_sense_are_told_and_the_others_shown(policy, shown, in_store, learned):
    in_store(keep(Increment("bad/row", "agent", 9.0, made_of="m"), run_id="x", domain="law"))
    shown("law")  # sets it aside
    entry = shown("law")
    assert "bad/row" not in entry["arms"]
    assert len(entry["quarantined"]) == 1
    assert "! set aside: " in policy("show")
    assert "bad/row" in policy("show")


def test_the_table_has_a_row_for_each_arm_and_a_line_for_the_principal(policy, learned):
    table = policy("show", "--domain", "maths")
    assert "domain maths: 3 tasks" in table
    assert "domain law" not in table
    for heading in ("arm", "tasks", "competence, 90 %", "weight", "share", "failed", "changed"):
        assert heading in table
    (row,) = [line for line in table.splitlines() if line.strip().startswith("a/direct")]
    assert "01-03 12:00" in row
    assert "principal: ranked 3 tasks" in table


def test_it_fits_a_narrow_screen(policy, learned, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    rows = [line for line in policy("show", "--domain", "maths").splitlines() if "/direct" in line]
    assert len(rows) == 2
    assert all(len(row) <= 80 for row in rows)


def test_a_domain_that_was_reset_is_still_told_of(policy, learned):
    policy("reset", "--domain", "maths", "--yes")
    assert "domain maths: nothing is known of any arm any more" in policy("show")


def test_names_cannot_steer_the_terminal(policy, in_store):
    in_store(keep(agent("[red]a\x1b[2J/x", 1.0), domain="[bold]\x9bd\u202e"))
    table = policy("show")
    assert not {"\x1b", "\x9b", "\u202e"} & set(table)
    assert "[red]a\\x1b[2J/x" in table
    assert "domain [bold]\\x9bd\\x202e: 1 task" in table
