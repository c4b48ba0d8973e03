"""A principal of flesh and blood: a run pauses, in whatever process, and goes on in another with a person's ranking."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from aligngraph import AlignChatModel, DelegationContext, aask, ask, open_session
from aligngraph.errors import ReviewPendingError, UsageError

COMMAND = Path(sys.executable).with_name("aligngraph")
TASK = "What is 6 * 7?"
HUMAN = '[principal]\nranker = "human"\n'
ASKED = {"says-42": 2, "says-41": 2}


@pytest.fixture
def team(openai_server, tmp_path):
    return human_team(openai_server.team(tmp_path / "people.toml", ["says-42", "says-41"], "judge-42"))


@pytest.fixture
def run(tmp_path, db):
    """Return a function that runs the command and gives back the finished process."""

    def call(*arguments, **more):
        return subprocess.run(command(*arguments), **options(db), text=True, check=False, timeout=60, **more)

    return call


def human_team(path, sections=""):
    path.write_text(path.read_text().split("[principal]")[0] + HUMAN + sections)
    return path


def command(*arguments):
    return [COMMAND, *map(str, arguments)]


def options(db, **more):
    environment = {**os.environ, "ALIGNGRAPH_DB": db, "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}
    return {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": environment,
    } | more


def order_of(review, *answers):
    """Return the order that puts these answers first, as a person would spell it."""
    labels = {solution.rpartition("Answer: ")[2]: label for label, solution in review["solutions"].items()}
    return ">".join(labels[answer] for answer in answers)


def tasks_learned(db):
    shown = subprocess.run(command("policy", "show", "--json", "--db", db), check=True, capture_output=True, text=True)
    return {arm: row["tasks"] for domain in json.loads(shown.stdout)["domains"] for arm, row in domain["arms"].items()}


def asked(server):
    return {model: server.calls(model) for model in ASKED}


def pause_at_once(team, db):
    with pytest.raises(ReviewPendingError):
        ask(TASK, team=team, db=db, run_id="r1")


async def pause(session, **arguments):
    with pytest.raises(ReviewPendingError) as paused:
        await session.ask(TASK, run_id="r1", **arguments)
    assert paused.value.run_id == "r1"
    return paused.value.review


def in_outer_graph(node):
    class State(TypedDict):
        text: str

    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile()


def test_a_run_pauses_in_one_process_and_is_decided_in_another_without_asking_any_agent_twice(
    openai_server, team, db, run
):
    paused = run("ask", TASK, "--team", team, "--run", "r1", "--seed", 7)
    assert (paused.returncode, paused.stdout) == (1, "")
    said = f"aligngraph: run r1 waits for a person's ranking: aligngraph review r1 --team {team}"
    assert paused.stderr.splitlines()[-1] == said
    assert tasks_learned(db) == {}

    again = run("ask", TASK, "--team", team, "--run", "r1", "--seed", 7, "--json")
    assert (again.returncode, again.stdout, again.stderr) == (1, "", said + "\n")

    review = json.loads(run("review", "r1", "--team", team, "--json").stdout)
    order = order_of(review, "41", "42")
    decided = run("review", "r1", "--team", team, "--order", order, "--json")
    assert decided.returncode == 0, decided.stderr
    decision = json.loads(decided.stdout)
    assert (decision["run_id"], decision["status"], decision["problems"]) == ("r1", "ok", [])
    assert (decision["ranking"]["ranker"], decision["ranking"]["order"]) == ("human", ["41", "42"])
    assert [call["verdict"] for call in decision["ranking"]["calls"]] == [order]
    assert decision["usage"]["principal"]["calls"] == 0
    assert asked(openai_server) == ASKED
    assert tasks_learned(db) == {"agent0/step_by_step": 1, "agent1/step_by_step": 1}

    for later in (
        run("ask", TASK, "--team", team, "--run", "r1", "--json"),
        run("review", "r1", "--team", team, "--order", order_of(review, "42", "41"), "--json"),
    ):
        assert json.loads(later.stdout) == decision, "a run that has ended keeps its decision"
    assert asked(openai_server) == ASKED
    assert tasks_learned(db) == {"agent0/step_by_step": 1, "agent1/step_by_step": 1}


def test_review_prints_the_decision_as_ask_does(team, db, run):
    pause_at_once(team, db)
    decided = run("review", "r1", "--team", team, "--order", "A>B")
    assert decided.returncode == 0
    assert "(ok, run r1)" in decided.stdout
    assert "principal's rank" in decided.stdout
    assert "principal -> " in decided.stderr


def answer_on_terminal(db, typed, *arguments):
    """Run `review` on a terminal of its own; return its exit status, its standard output and what the terminal showed."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        command("review", *arguments), **options(db, stdin=terminal, stderr=terminal), start_new_session=True
    ) as process:
        os.close(terminal)
        os.write(controller, typed.encode())
        screen = []
        try:
            while part := os.read(controller, 4096):
                screen.append(part)
        except OSError:  # how Linux says that the other end is closed
            pass
        printed = process.stdout.read().decode()
    os.close(controller)
    return process.returncode, printed, b"".join(screen).decode()


def test_on_a_terminal_the_person_is_asked_until_the_ranking_can_be_used(openai_server, team, db, run):
    pause_at_once(team, db)
    status, printed, screen = answer_on_terminal(db, "the first\nB>A\n", "r1", "--team", team, "--json")
    assert status == 0, screen
    decision = json.loads(printed)
    assert [call["verdict"] for call in decision["ranking"]["calls"]] == ["the first", "B>A"]
    for shown in (TASK, "solution A", "solution B", "Answer: 42", "Answer: 41", "best first, as in"):
        assert screen.count(shown) == 2
    assert "! 'the first' is not one of the labels A, B" in screen
    assert "agent0" not in screen.partition("principal -> ")[0]
    assert asked(openai_server) == ASKED


def test_who_leaves_the_terminal_leaves_the_run_waiting(team, db, run):
    pause_at_once(team, db)
    status, printed, _ = answer_on_terminal(db, "\x04", "r1", "--team", team)
    assert (status, printed) == (1, "")
    assert run("review", "r1", "--team", team, "--order", "B>A").returncode == 0


def test_a_solution_cannot_steer_the_terminal(scripted_team, db, run):
    hostile = "\x1b[2J\x9b31m\u202e[bold]rank me first[/] :smile:\nAnswer: 41"
    rows = [{"agent": "b", "text": hostile}]
    team = scripted_team({"a": ["42"], "b": []}, rows=rows)
    human_team(team).write_text(team.read_text().replace("samples = 0", "samples = 1"))
    pause_at_once(team, db)
    shown = run("review", "r1", "--team", team)
    assert "[2J31m[bold]rank me first[/] :smile:" in shown.stdout
    as_json = run("review", "r1", "--team", team, "--json")
    for text in (shown.stdout, as_json.stdout):
        assert not {"\x1b", "\x9b", "\u202e"} & set(text)
    assert "[2J31m[bold]rank me first[/] :smile:\nAnswer: 41" in json.loads(as_json.stdout)["solutions"].values()


@pytest.mark.parametrize("shell", ['"$@" </dev/null', '"$@" <&-'])
def test_without_a_terminal_it_shows_what_waits_and_says_how_to_rank(team, db, run, shell):
    pause_at_once(team, db)
    line = ["sh", "-c", shell, "sh", *command("review", "r1", "--team", team)]
    done = subprocess.run(line, **options(db), text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "aligngraph: there is no terminal to ask on: give the ranking with --order\n"
    for shown in (TASK, "solution A", "solution B", "Answer: 42", "Answer: 41", "best first, as in"):
        assert shown in done.stdout
    assert "agent0" not in done.stdout


def test_an_order_that_cannot_be_used_is_one_line_and_the_run_waits_on(team, db, run):
    pause_at_once(team, db)
    for order in ("Z>A", "", "B>A>B", os.fsdecode(b"\xff>A")):
        refused = run("review", "r1", "--team", team, "--order", order)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith("aligngraph: --order ")
        assert "label" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    decision = json.loads(run("review", "r1", "--team", team, "--order", "B>A", "--json").stdout)
    assert len(decision["ranking"]["calls"]) == 5


def test_a_run_that_is_not_there_is_one_line(team, run):
    for order in ((), ("--order", "B>A")):
        refused = run("review", "r9", "--team", team, *order)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith("aligngraph: no run 'r9' in this database: ")
        assert len(refused.stderr.splitlines()) == 1


async def test_only_a_run_that_waits_can_be_reviewed_and_only_with_its_team(openai_server, team, scripted_team, db):
    finished, other = (
        scripted_team({"a": ["1"]}),
        human_team(openai_server.team(team.parent / "o.toml", ["says-1"], "")),
    )
    await aask(TASK, team=finished, db=db, run_id="r2")
    async with open_session(team, db=db) as session:
        await pause(session)
    for used, run_id, problem in (
        (other, "r1", "'r1' belongs to another team: "),
        (finished, "r2", "'r2' waits for no ranking: "),
        (team, "../r1", r"'\.\./r1': use up to 128"),
    ):
        async with open_session(used, db=db) as session:
            with pytest.raises(UsageError, match=problem):
                await session.pending_review(run_id)
    async with open_session(other, db=db) as session:
        with pytest.raises(UsageError, match="'r1' belongs to another team: "):
            await session.answer_review("r1", "B>A")


async def test_a_run_that_was_interrupted_before_its_ranking_waits_for_none(team, db):
    def stop(event):
        raise KeyError(event["event"])

    async with open_session(team, db=db) as session:
        with pytest.raises(KeyError):
            await session.ask(TASK, run_id="r1", on_event=stop)
        with pytest.raises(UsageError, match="'r1' waits for no ranking: "):
            await session.answer_review("r1", "B>A")
        await pause(session)


async def test_what_a_paused_run_asks_names_no_author_and_can_be_read_again(openai_server, team, db):
    async with open_session(team, db=db) as session:
        review = await pause(session)
        assert await session.pending_review("r1") == review
        assert await pause(session) == review, "asked again it says the same"
    assert set(review) == {"id", "kind", "task", "solutions", "form", "problem"}
    assert set(review["solutions"].values()) == {"I say so.\nAnswer: 42", "I say so.\nAnswer: 41"}
    told = json.dumps(review)
    assert not [name for name in ("agent0", "agent1", "says-", "openai") if name in told]
    assert asked(openai_server) == ASKED


async def test_a_paused_run_is_neither_interrupted_nor_pruned_away(team, db):
    async with open_session(team, db=db) as session:
        review = await pause(session)
        assert (await session.store.read_run("r1")).status == "running"
        with pytest.raises(ReviewPendingError):
            await session.answer_review("r1", "nonsense")
        assert (await session.store.read_run("r1")).status == "running"
        await session.answer_review("r1", order_of(review, "42", "41"))
        assert (await session.store.read_run("r1")).status == "ok"
        thread = {"configurable": {"thread_id": "r1"}}
        assert len([part async for part in session.graph.aget_state_history(thread)]) == 1


async def test_an_unusable_order_raises_again_with_the_problem(team, db):
    async with open_session(team, db=db) as session:
        first = await pause(session)
        with pytest.raises(ReviewPendingError, match=r"^'Z' is not one of the labels A, B; run r1 waits") as refused:
            await session.answer_review("r1", "Z>A")
        again = refused.value.review
        assert again["problem"] == "'Z' is not one of the labels A, B"
        assert {**again, "id": None, "problem": None} == {**first, "id": None}
        decision = await session.answer_review("r1", order_of(again, "41", "42"))
    assert [call["outcome"] for call in decision.ranking.calls] == ["unusable", "ranked"]
    assert (decision.status, decision.problems, decision.ranking.order) == ("ok", [], ["41", "42"])


async def test_a_person_who_abstains_leaves_it_to_the_votes(team, db):
    async with open_session(team, db=db) as session:
        await pause(session)
        decision = await session.answer_review("r1", "abstain")
    assert (decision.ranking.order, sorted(decision.ranking.abstained)) == ([], ["41", "42"])
    assert {answer.posterior for answer in decision.answers} == {0.5}


async def test_events_go_on_where_the_run_does(team, db):
    events = []
    async with open_session(team, db=db) as session:
        review = await pause(session, on_event=lambda event: events.append(event["event"]))
        assert events == ["run", *["candidate"] * 4]
        order = order_of(review, "42", "41")
        await session.answer_review("r1", order, on_event=lambda event: events.append(event["event"]))
    assert events[5:] == ["ranking", "round"]


async def test_each_round_is_ranked_anew_and_an_order_counts_for_the_review_it_was_made_for(openai_server, team, db):
    context = DelegationContext(max_rounds=2)
    async with open_session(team, db=db) as session:
        first = await pause(session, context=context)
        order = order_of(first, "42", "41")
        with pytest.raises(ReviewPendingError, match=r"^the ranking was taken") as second_round:
            await session.answer_review("r1", order, review_id=first["id"], context=context)
        second = second_round.value.review
        with pytest.raises(ReviewPendingError, match=r"^somebody else has replied") as late:
            await session.answer_review("r1", order, review_id=first["id"], context=context)
        assert late.value.review == {**second, "problem": late.value.review["problem"]}
        decision = await session.answer_review(
            "r1", order_of(second, "42", "41"), review_id=second["id"], context=context
        )
    assert (decision.answer, len(decision.candidates)) == ("42", 6)
    assert sum(asked(openai_server).values()) == 6
    assert set(tasks_learned(db).values()) == {1}


def test_a_ranking_that_was_taken_says_so_and_an_id_keeps_it_from_the_next_round(openai_server, tmp_path, db, run):
    path = openai_server.team(tmp_path / "rounds.toml", ["says-42", "says-41"], "judge-42")
    team = human_team(path, "[game]\nmax_rounds = 2\n")
    run("ask", TASK, "--team", team, "--run", "r1")
    first = json.loads(run("review", "r1", "--team", team, "--json").stdout)
    given = ("review", "r1", "--team", team, "--order", order_of(first, "42", "41"), "--id", first["id"])
    taken = run(*given)
    assert (taken.returncode, taken.stdout) == (1, "")
    assert "the ranking was taken, and the answers of the next round are to be ranked" in taken.stderr
    repeated = run(*given)
    assert (repeated.returncode, repeated.stdout) == (1, "")
    assert "somebody else has replied in the meantime" in repeated.stderr
    second = json.loads(run("review", "r1", "--team", team, "--json").stdout)
    assert run("review", "r1", "--team", team, "--order", order_of(second, "42", "41")).returncode == 0


def test_who_comes_second_is_told_whose_ranking_it_was(team, db, run):
    pause_at_once(team, db)
    review = json.loads(run("review", "r1", "--team", team, "--json").stdout)
    first = run("review", "r1", "--team", team, "--order", order_of(review, "42", "41"))
    late = run("review", "r1", "--team", team, "--order", order_of(review, "41", "42"))
    assert (first.returncode, late.returncode) == (0, 0)
    assert "somebody else has ranked first" not in first.stderr
    assert "somebody else has ranked first: this decision follows from that ranking" in late.stderr


async def test_of_two_who_answer_at_once_in_one_session_both_get_the_one_decision(openai_server, team, db):
    async with open_session(team, db=db) as session:
        review = await pause(session)
        orders = [order_of(review, "42", "41"), order_of(review, "41", "42")]
        ended = await asyncio.gather(*(session.answer_review("r1", order) for order in orders), return_exceptions=True)
        kept = await session.ask(TASK, run_id="r1")
    check_one_decision(ended, kept)
    assert asked(openai_server) == ASKED
    assert set(tasks_learned(db).values()) == {1}


async def test_of_two_who_answer_at_once_in_two_processes_both_get_the_one_decision(openai_server, team, db):
    async with open_session(team, db=db) as session:
        review = await pause(session)
    orders = [order_of(review, "42", "41"), order_of(review, "41", "42")]
    both = [
        await asyncio.create_subprocess_exec(
            *command("review", "r1", "--team", team, "--order", order, "--json"), **options(db)
        )
        for order in orders
    ]
    printed = [await process.communicate() for process in both]
    ended = [
        UsageError(problem) if process.returncode == 2 else json.loads(decision)
        for process, (decision, problem) in zip(both, printed, strict=True)
    ]
    check_one_decision(ended, await aask(TASK, team=team, db=db, run_id="r1"))
    assert asked(openai_server) == ASKED
    assert set(tasks_learned(db).values()) == {1}


def check_one_decision(ended, kept):
    """Check that who got a decision got the one that is kept, and that at most one was told that nothing waits any more."""
    refused = [error for error in ended if isinstance(error, UsageError)]
    got = [
        decision if isinstance(decision, dict) else decision.model_dump(mode="json")
        for decision in ended
        if decision not in refused
    ]
    assert len(refused) <= 1
    for decision in got:
        assert {**decision, "seconds": 0} == {**kept.model_dump(mode="json"), "seconds": 0}


async def test_the_facades_let_the_error_through_with_its_run(team, db):
    chat_model = AlignChatModel(team=team, db=db)

    async def call_in_node(state):
        return {"text": (await chat_model.ainvoke(TASK)).text}

    for call in (
        lambda: aask(TASK, team=team, db=db),
        lambda: asyncio.to_thread(ask, TASK, team=team, db=db),
        lambda: chat_model.ainvoke(TASK),
        lambda: asyncio.to_thread(chat_model.invoke, TASK),
        lambda: in_outer_graph(call_in_node).ainvoke({"text": ""}),
    ):
        with pytest.raises(ReviewPendingError) as paused:
            await call()
        async with open_session(team, db=db) as session:
            assert await session.pending_review(paused.value.run_id) == paused.value.review
            order = order_of(paused.value.review, "42", "41")
            assert (await session.answer_review(paused.value.run_id, order)).answer == "42"
