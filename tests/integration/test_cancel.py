"""A run that is stopped, by whom and however: its calls end within a second, none follows, and nothing paid is lost."""

import asyncio
import signal
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from aligngraph import RunCancelledError, Session, Team, ask, build_delegation, open_session
from aligngraph.cancellation import LOOK_EVERY_S, RunWatch, stop_run
from aligngraph.errors import ReviewPendingError, StoreError, UsageError
from aligngraph.persistence import Location, PolicyStore, Run

COMMAND = Path(sys.executable).with_name("aligngraph")
TASK = "What is 6 * 7?"
SOON_S = 1.0  # in which outstanding calls have to end
HELD = 2  # samples of the one agent that waits


@pytest.fixture
def team(openai_server, tmp_path):
    return openai_server.team(tmp_path / "team.toml", ["waits-41", "says-42"], "judge-42")


def command(db, *arguments):
    return [COMMAND, *map(str, arguments), "--db", db]


def run(db, *arguments):
    return subprocess.run(command(db, *arguments), capture_output=True, check=False, text=True, timeout=60)


def ask_in_a_process(db, team):
    return subprocess.Popen(
        command(db, "ask", TASK, "--team", team, "--run", "r1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_the_calls(server):
    """Return once the calls that are held are outstanding and the others are answered."""
    for _ in range(HELD):
        server.waiting.get(timeout=30)


def wait_until_the_rest_is_told(process, server):
    """Do so for a process that asks, and read from its standard error what it tells of the other agent."""
    told = set()
    while told != {"agent1.0", "agent1.1"}:
        told |= {"agent1.0", "agent1.1"} & set(process.stderr.readline().split())
    wait_for_the_calls(server)


def seconds_until_all_hung_up(server, since):
    return max(server.hung_up.get(timeout=10) for _ in range(HELD)) - since


def assert_that_it_goes_on(server, team, db):
    """Ask again, with a server that answers: only what was outstanding is asked for once more."""
    assert server.calls("waits-41") == HELD
    server.holds = False
    decision = ask(TASK, team=team, db=db, run_id="r1")
    assert (decision.status, decision.answer) == ("ok", "42")
    assert [server.calls(model) for model in ("waits-41", "says-42", "judge-42")] == [2 * HELD, 2, 1]


def status_of(db):
    async def read():
        async with await PolicyStore.open(Location.parse(db)) as store:
            return (await store.read_run("r1")).status

    return asyncio.run(read())


def test_ctrl_c_ends_the_calls_within_a_second(openai_server, team, db):
    with ask_in_a_process(db, team) as process:
        wait_until_the_rest_is_told(process, openai_server)
        process.send_signal(signal.SIGINT)
        took_s = seconds_until_all_hung_up(openai_server, time.monotonic())
        _, told = process.communicate(timeout=20)
    assert took_s < SOON_S
    assert process.returncode == 130
    assert told == "aligngraph: interrupted; to go on where it stopped, repeat the command with --run r1\n"
    assert status_of(db) == "interrupted"
    assert_that_it_goes_on(openai_server, team, db)


def test_another_process_cancels_a_run(openai_server, team, db):
    with ask_in_a_process(db, team) as process:
        wait_until_the_rest_is_told(process, openai_server)
        cancelled = run(db, "cancel", "r1")
        assert openai_server.hung_up.qsize() == HELD, "it says so when it is so"
        _, told = process.communicate(timeout=20)
    assert (cancelled.returncode, cancelled.stdout, cancelled.stderr) == (
        0,
        "run r1 was stopped; to go on ask with --run r1\n",
        "",
    )
    assert process.returncode == 130
    assert told == "aligngraph: cancelled; to go on where it stopped, repeat the command with --run r1\n"
    assert run(db, "cancel", "r1").stdout == "run r1 had been stopped before; to go on ask with --run r1\n"
    assert_that_it_goes_on(openai_server, team, db)
    assert run(db, "cancel", "r1").stdout.startswith("run r1 had ended already; ")


def test_a_run_whose_process_is_dead_is_marked(openai_server, team, db):
    with ask_in_a_process(db, team) as process:
        wait_for_the_calls(openai_server)
        process.kill()
    assert status_of(db) == "running"
    cancelled = run(db, "cancel", "r1")
    assert (cancelled.returncode, cancelled.stderr) == (0, "")
    assert cancelled.stdout.startswith("run r1 is marked as interrupted: no session of aligngraph works on it; ")
    assert status_of(db) == "interrupted"


async def test_a_run_outside_of_any_session_is_not_said_to_have_ended(openai_server, team, db):
    """What a LangGraph server does, or a program with a graph of its own: nobody there looks for requests."""
    graph = build_delegation(Team.load(team), db=db, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "r1"}}
    running = asyncio.create_task(graph.ainvoke({"messages": [("user", TASK)]}, thread))
    await asyncio.to_thread(wait_for_the_calls, openai_server)
    cancelled = await asyncio.to_thread(run, db, "cancel", "r1")
    assert not running.done()
    assert openai_server.hung_up.empty(), "the calls go on, and are paid for"
    assert "a LangGraph server, or a program that runs the graph itself, may still go on with it" in cancelled.stdout
    assert "any more" not in cancelled.stdout
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("name", ["r9", "\x1b[2J"])
def test_an_unknown_run_is_one_line_and_status_two(db, name):
    done = run(db, "cancel", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "in this database: name another one, or where it is with --db" in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


async def ask_and_wait_for_the_calls(session: Session, server):
    asked = asyncio.create_task(session.ask(TASK, run_id="r1"))
    await asyncio.to_thread(wait_for_the_calls, server)
    return asked


async def test_a_request_in_the_database_ends_the_calls_within_a_second(openai_server, team, db):
    async with open_session(team, db=db) as session, await PolicyStore.open(Location.parse(db)) as other:
        asked = await ask_and_wait_for_the_calls(session, openai_server)
        assert (await other.request_cancel("r1")).status == "cancelling"
        since = time.monotonic()
        with pytest.raises(RunCancelledError, match="run r1 was cancelled") as cancelled:
            await asked
        assert seconds_until_all_hung_up(openai_server, since) < SOON_S
        assert cancelled.value.run_id == "r1"
        assert (await other.read_run("r1")).status == "interrupted"
    await asyncio.to_thread(assert_that_it_goes_on, openai_server, team, db)


async def test_a_session_cancels_its_own_run_at_once(openai_server, team, db):
    async with open_session(team, db=db) as session:
        asked = await ask_and_wait_for_the_calls(session, openai_server)
        since = time.monotonic()
        assert await session.cancel("r1") == "stopped"
        assert seconds_until_all_hung_up(openai_server, since) < LOOK_EVERY_S
        with pytest.raises(RunCancelledError):
            await asked
        assert await session.cancel("r1") == "interrupted"
        openai_server.holds = False
        await session.ask(TASK, run_id="r1")
        assert await session.cancel("r1") == "ended"
        with pytest.raises(UsageError, match="no run 'r2' in this database"):
            await session.cancel("r2")


async def test_a_session_cancels_a_run_of_another_session(openai_server, team, db):
    async with open_session(team, db=db) as session, open_session(team, db=db) as other:
        asked = await ask_and_wait_for_the_calls(session, openai_server)
        assert await other.cancel("r1") == "stopped"
        assert asked.done()
        with pytest.raises(RunCancelledError):
            await asked


async def test_a_task_that_its_own_caller_cancels_ends_as_any_other(openai_server, team, db):
    async with open_session(team, db=db) as session:
        asked = await ask_and_wait_for_the_calls(session, openai_server)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        openai_server.holds = True
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.ask(TASK, run_id="r1"), 0.3)
        assert (await session.store.read_run("r1")).status == "interrupted"


async def test_a_run_taken_up_again_is_under_way_and_can_be_cancelled_again(openai_server, team, db):
    async with open_session(team, db=db) as session, await PolicyStore.open(Location.parse(db)) as other:
        for _ in range(2):
            asked = await ask_and_wait_for_the_calls(session, openai_server)
            assert (await other.read_run("r1")).status == "running"
            assert await stop_run(other, "r1") == "stopped"
            with pytest.raises(RunCancelledError):
                await asked
    assert openai_server.calls("says-42") == 2


async def test_two_that_work_on_one_run_both_stop(openai_server, team, db):
    """The second one finds the run marked by the first: money is not to be spent on what was cancelled."""
    async with open_session(team, db=db) as session, open_session(team, db=db) as other:
        asked = [await ask_and_wait_for_the_calls(each, openai_server) for each in (session, other)]
        async with await PolicyStore.open(Location.parse(db)) as store:
            await store.request_cancel("r1")
        ended = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 2 * LOOK_EVERY_S + SOON_S)
        assert [type(error) for error in ended] == [RunCancelledError] * 2


async def test_a_run_that_waits_for_a_person_can_still_be_ranked_after_it_was_cancelled(openai_server, tmp_path, db):
    team = openai_server.team(tmp_path / "human.toml", ["says-41", "says-42"], "")
    judge = team.read_text().index("[principal]")
    team.write_text(team.read_text()[:judge] + '[principal]\nranker = "human"\n')
    async with open_session(team, db=db) as session:
        with pytest.raises(ReviewPendingError):
            await session.ask(TASK, run_id="r1")
        assert await stop_run(session.store, "r1", patience_s=0) == "unattended"
        assert (await session.store.read_run("r1")).status == "interrupted"
        review = await session.pending_review("r1")
        order = ">".join(sorted(review["solutions"], key=lambda label: "42" not in review["solutions"][label]))
        assert (await session.answer_review("r1", order)).answer == "42"
        assert (await session.store.read_run("r1")).status == "ok"


class LoggedStore:
    """A policy store that counts its reads and fails as often as it is told."""

    def __init__(self, failures=0):
        self.reads, self.failures = [], failures

    async def read_stopped(self, run_ids):
        self.reads.append(set(run_ids))
        if len(self.reads) <= self.failures:
            raise StoreError("locked")
        return {"r1"} & set(run_ids)


async def work(watch, run_id, *, watched=True):
    with watch.under_way(run_id) as at_work:
        at_work.watched = watched
        await asyncio.Event().wait()


async def test_one_read_serves_all_runs_and_none_is_made_without_any(monkeypatch):
    monkeypatch.setattr("aligngraph.cancellation.LOOK_EVERY_S", 0.01)
    store = LoggedStore()
    watch = RunWatch(store)
    tasks = [asyncio.create_task(work(watch, run_id)) for run_id in ("r1", "r2", "r1")]
    ended = await asyncio.gather(tasks[0], tasks[2], return_exceptions=True)
    assert [type(error) for error in ended] == [RunCancelledError] * 2
    assert store.reads[0] == {"r1", "r2"}
    assert watch._looking is not None
    await watch.end()
    assert tasks[1].cancelled()
    assert watch._looking is None
    assert len(asyncio.all_tasks()) == 1, "nobody looks any more"


async def test_a_store_that_fails_once_is_looked_at_again(monkeypatch):
    monkeypatch.setattr("aligngraph.cancellation.LOOK_EVERY_S", 0.01)
    store = LoggedStore(failures=2)
    with pytest.raises(RunCancelledError):
        await work(RunWatch(store), "r1")
    assert len(store.reads) == 3


async def test_a_run_that_is_being_taken_up_is_not_stopped_for_what_it_was(monkeypatch):
    monkeypatch.setattr("aligngraph.cancellation.LOOK_EVERY_S", 0.01)
    store = LoggedStore()
    watch = RunWatch(store)
    tasks = [asyncio.create_task(work(watch, "r1", watched=False)), asyncio.create_task(work(watch, "r2"))]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(tasks[0]), 0.1)
    assert {frozenset(read) for read in store.reads} == {frozenset({"r2"})}
    await watch.end()


async def test_who_is_cancelled_by_both_ends_as_its_caller_wants():
    watch = RunWatch(LoggedStore())
    task = asyncio.create_task(work(watch, "r1"))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(watch.cancel("r1"))
    await asyncio.sleep(0)
    task.cancel()
    assert await stopping
    assert task.cancelled()


async def test_a_cancellation_is_taken_back_where_the_run_ends_in_another_error():
    watch = RunWatch(LoggedStore())

    async def fail():
        with pytest.raises(KeyError):
            await end_otherwise()
        return asyncio.current_task().cancelling()

    async def end_otherwise():
        with watch.under_way("r1"):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise KeyError("x") from None

    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    await watch.cancel("r1")
    assert await task == 0


async def test_nothing_is_asked_of_a_run_that_is_not_there(db):
    async with await PolicyStore.open(Location.parse(db)) as store:
        assert await stop_run(store, "r1") is None
        await store.start_run(Run(run_id="r1", domain="d", task="t", seed=1))
        assert await stop_run(store, "r1", patience_s=0) == "unattended"
        assert await stop_run(store, "r1") == "interrupted"


@pytest.mark.server
async def test_f57_a_client_that_disconnects_ends_the_calls_within_a_second(openai_server, team, db, client, thread):
    question = {"messages": [{"role": "user", "content": TASK}]}
    settings = {"context": {"team": str(team), "db": db}, "stream_mode": "custom", "on_disconnect": "cancel"}
    async with aclosing(client.runs.stream(thread, "delegation", input=question, **settings)) as parts:
        run_id = (await anext(parts)).data["run_id"]
        await asyncio.to_thread(wait_for_the_calls, openai_server)
        since = time.monotonic()
    took_s = await asyncio.to_thread(seconds_until_all_hung_up, openai_server, since)
    assert took_s < SOON_S
    await client.runs.join(thread, run_id)
    assert (await client.runs.get(thread, run_id))["status"] in {"interrupted", "error"}
    assert openai_server.calls("waits-41") == HELD
    assert openai_server.calls("judge-42") == 0
