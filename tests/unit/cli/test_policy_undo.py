"""`aligngraph policy reset`, `rollback` and `prune`."""

import sys

import pytest
import typer

from aligngraph.errors import StoreError, UsageError
from aligngraph.persistence import Increment, Run, Update

NOBODY = "nobody is there to be asked: nothing was changed; --yes changes it without a question"


@pytest.fixture
def asked(monkeypatch):
    """Let somebody sit at the terminal; the list holds what they were asked, and `answer` what they say."""
    questions = []

    def sit(answer):
        def confirm(question):
            questions.append(question)
            return answer

        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(typer, "confirm", confirm)
        return questions

    return sit


def test_a_reset_shows_what_goes_and_forgets_it(policy, learned, totals):
    told = policy("reset", "--domain", "maths", "--yes")
    assert "3 -> -" in told
    assert told.endswith("forgotten; `policy rollback` brings it back\n")
    assert totals() == {}
    assert totals("law")["a/direct"] == (0.25, 1)


def test_a_rollback_brings_it_back(policy, learned, totals):
    before = totals()
    policy("reset", "--domain", "maths", "--yes")
    assert "gone back" in policy("rollback", "--to", "r3", "--domain", "maths", "--yes")
    assert totals() == before


@pytest.mark.parametrize("to", ["r1", "1", "2026-01-01T13:00", "2026-01-01T14:00+01:00"])
def test_a_run_a_number_and_a_time_name_a_place(policy, learned, totals, to):
    policy("rollback", "--to", to, "--domain", "maths", "--yes")
    assert totals()["a/direct"] == (0.75, 1)
    assert totals("law")["a/direct"] == (0.25, 1)


def test_all_domains_go_back_to_a_time(policy, learned, totals):
    policy("rollback", "--to", "2026-01-02T13:00", "--yes")
    assert totals()["a/direct"] == (1.75, 2)
    assert totals("law") == {}


@pytest.mark.parametrize("command", [("reset", "--domain", "maths"), ("rollback", "--to", "r1", "--domain", "maths")])
def test_without_a_terminal_nothing_is_done(policy, learned, totals, command):
    before = totals()
    with pytest.raises(UsageError, match=NOBODY):
        policy(*command)
    assert totals() == before


def test_somebody_who_says_no_is_heard(asked, learned, totals, db, capsys):
    from aligngraph.cli.policy_undo import reset_domain

    before, questions = totals(), asked(answer=False)
    reset_domain("maths", db, yes=False)
    assert questions == ["Forget all that domain 'maths' has learned?"]
    assert "before -> after" in capsys.readouterr().out
    assert totals() == before


def test_somebody_who_says_yes_is_heard(asked, learned, totals, db):
    from aligngraph.cli.policy_undo import roll_back

    questions = asked(answer=True)
    roll_back("r1", "maths", db, yes=False)
    assert questions == ["Go back to 'r1'?"]
    assert totals()["a/direct"] == (0.75, 1)


def test_a_run_may_be_named_like_a_number(policy, learned, in_store, totals):
    """It names the run, 3, and not the number 3, which stands before it."""

    async def ask(store):
        await store.start_run(Run("3", "maths", "a text", 0))
        for run_id in ("3", "r5"):
            part = Increment("a/direct", "agent", 1.0, made_of="m")
            await store.apply_update(Update(run_id, 1, "maths", (part,)))

    in_store(ask)
    policy("rollback", "--to", "3", "--domain", "maths", "--yes")
    assert totals()["a/direct"] == (3.25, 4)


def test_where_nothing_changes_nobody_is_asked(policy, learned):
    assert policy("rollback", "--to", "r3", "--domain", "maths") == "no difference\n"


def test_a_domain_that_has_learned_nothing_cannot_be_reset(policy, learned):
    with pytest.raises(UsageError, match="domain 'x' has learned nothing: `policy show` lists those that have"):
        policy("reset", "--domain", "x", "--yes")


@pytest.mark.parametrize("to", ["yesterday", "r99", "9" * 30])
def test_a_place_that_is_none_is_an_error(policy, learned, totals, to):
    before = totals()
    with pytest.raises(StoreError, match=f"cannot go back to '{to}'"):
        policy("rollback", "--to", to, "--yes")
    assert totals() == before


def test_a_number_needs_its_domain(policy, learned):
    with pytest.raises(StoreError, match="name the domain, or a time instead of 2"):
        policy("rollback", "--to", "2", "--yes")


def test_a_number_beyond_the_log_is_the_present(policy, learned):
    assert policy("rollback", "--to", "9" * 18, "--domain", "maths") == "no difference\n"


def test_pruning_drops_texts_and_keeps_what_was_learned(policy, learned, in_store, totals):
    async def end(store):
        await store.start_run(Run("r1", "maths", "a long text", 0))
        await store.finish_run("r1", "ok", {"answer": "42"})

    in_store(end)
    before = totals()
    assert policy("prune", "--keep-days", "0", "--dry-run") == "would drop the texts of 1 run; what they taught stays\n"
    assert "would drop the texts of 0 runs" in policy("prune", "--keep-days", "1", "--dry-run")
    assert in_store(lambda store: store.read_run("r1")).task == "a long text"
    assert "dropped the texts of 0 runs" in policy("prune", "--keep-days", "1")
    assert policy("prune", "--keep-days", "0") == "dropped the texts of 1 run; what they taught stays\n"
    run = in_store(lambda store: store.read_run("r1"))
    assert (run.pruned, run.task) == (True, "")
    assert totals() == before


@pytest.mark.parametrize("days", ["-1", "nan", "inf", "1e30"])
def test_days_that_no_calendar_has_are_bad_usage(policy, learned, days):
    with pytest.raises(UsageError, match=r"--keep-days .*: 0 to 365000 is allowed"):
        policy("prune", "--keep-days", days)


@pytest.mark.parametrize(
    "command", [("reset", "--domain", "d"), ("rollback", "--to", "r1"), ("prune", "--keep-days", "1")]
)
def test_a_mistyped_place_makes_no_store(policy, tmp_path, command):
    with pytest.raises(UsageError, match="nothing was learned at"):
        policy(*command, place=str(tmp_path / "mistyped"))
    assert not (tmp_path / "mistyped").exists()
