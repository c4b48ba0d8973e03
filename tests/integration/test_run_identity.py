"""A run belongs to what its models see; it learns once; and however it ends, that is known and nothing is left over."""

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from aligngraph import DelegationContext, DelegationFailedError, Team, aask, build_delegation, open_session
from aligngraph.errors import TaskError, UsageError
from aligngraph.persistence import Location, PolicyStore

TASK = "What is 6 * 7?"
THREAD = {"configurable": {"thread_id": "t"}}


async def summarise(db):
    async with await PolicyStore.open(Location.parse(db)) as store:
        (summary,) = await store.summary()
    return summary


async def checkpoints(session, run_id):
    return [part async for part in session.graph.aget_state_history({"configurable": {"thread_id": run_id}})]


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"task": "something else"}, "task"),
        ({"task": [HumanMessage("Be brief."), AIMessage("Yes."), HumanMessage(TASK)]}, "task"),
        ({"domain": "law"}, "domain"),
        ({"options": {"seed": 8}}, "seed"),
        ({"domain": "law", "options": {"seed": 8}}, "domain and seed"),
    ],
)
async def test_a_finished_run_is_recalled_only_for_what_it_was_asked(scripted_team, db, changes, differs):
    first = {"task": TASK, "run_id": "r1", "options": {"seed": 7}}
    async with open_session(scripted_team({"a": ["1"]}), db=db) as session:
        decision = await session.ask(**first)
        assert await session.ask(TASK, run_id="r1") == decision, "a seed not given fits any"
        with pytest.raises(UsageError, match=f"'r1' belongs to another {differs}: "):
            await session.ask(**{**first, **changes})


async def test_a_run_of_another_team_is_not_recalled(scripted_team, db):
    await aask(TASK, team=scripted_team({"a": ["1"]}), db=db, run_id="r1")
    with pytest.raises(UsageError, match="'r1' belongs to another team: "):
        await aask(TASK, team=scripted_team({"a": ["1"], "b": ["1"]}), db=db, run_id="r1")


async def test_who_goes_back_and_edits_an_earlier_message_gets_a_run_of_its_own(scripted_team, db):
    team = Team.load(scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"]))
    graph = build_delegation(team, db=db, checkpointer=InMemorySaver())
    await graph.ainvoke({"messages": [HumanMessage("Count in tens.", id="m1")]}, THREAD)
    second = await graph.ainvoke({"messages": [HumanMessage(TASK, id="m2")]}, THREAD)
    (fork,) = [
        part
        async for part in graph.aget_state_history(THREAD)
        if part.next == ("intake",) and part.values["messages"][-1].id == "m2"
    ]
    edited = await graph.aupdate_state(
        fork.config, {"messages": [HumanMessage("Count in dozens.", id="m1")]}, as_node="__start__"
    )
    third = await graph.ainvoke(None, edited)
    assert second["run"]["run_id"] == "t.2"
    assert third["run"]["run_id"].startswith("t.2-")


async def test_a_refused_task_is_not_taken_up_by_the_next_of_its_run_id(scripted_team, db):
    async with open_session(scripted_team({"a": ["42"]}), db=db) as session:
        with pytest.raises(TaskError):
            await session.ask("x" * 200_000, run_id="r1")
        decision = await session.ask(TASK, run_id="r1")
        (last,) = await checkpoints(session, "r1")
    assert (decision.run_id, decision.answer) == ("r1", "42")
    assert [message.text for message in last.values["messages"]] == [TASK, "a thinks.\nAnswer: 42"]


async def test_a_replay_with_another_anchor_shows_the_weights_that_were_stored(scripted_team, db):
    team = Team.load(scripted_team({"a": ["42"], "b": ["41"], "c": ["41"]}, order=["42", "41"]))
    graph = build_delegation(team, db=db, checkpointer=InMemorySaver())
    first = await graph.ainvoke({"messages": [("user", TASK)]}, THREAD, context=DelegationContext(anchor=0.1))
    (before_update,) = [part async for part in graph.aget_state_history(THREAD) if part.next == ("policy_update",)]
    again = await graph.ainvoke(None, before_update.config, context=DelegationContext(anchor=5.0))
    assert again["outcome"]["posterior"] != first["outcome"]["posterior"]
    assert again["weights"] == again["decision"]["weights"] == first["weights"]


async def test_a_replay_with_more_rounds_learns_nothing_twice(scripted_team, db):
    rows = [{"agent": "b", "sample": 1, "text": "On reflection.\nAnswer: 1"}]
    team = Team.load(scripted_team({"a": ["1"], "b": ["2"]}, order=["1", "2"], rows=rows))
    graph = build_delegation(team, db=db, checkpointer=InMemorySaver())
    first = await graph.ainvoke({"messages": [("user", TASK)]}, THREAD)
    (before_update,) = [part async for part in graph.aget_state_history(THREAD) if part.next == ("policy_update",)]
    again = await graph.ainvoke(None, before_update.config, context=DelegationContext(max_rounds=3))
    assert (again["round"], again["weights"]) == (2, first["weights"])
    summary = await summarise(db)
    counts = {key.arm: sums.count for key, sums in summary.arms.items()}
    assert (counts["a/step_by_step"], counts["principal"]) == (1, 1)


async def test_the_principal_is_judged_by_votes_cast_before_anybody_knew_its_ranking(scripted_team, tmp_path):
    rows = [{"agent": agent, "sample": 1, "text": "On reflection.\nAnswer: 2"} for agent in "ab"]
    earned = []
    for rounds in (1, 2):
        db = str(tmp_path / str(rounds))
        sections = f"[game]\nanchor = 0.05\nmax_rounds = {rounds}\n"
        team = scripted_team({"a": ["1"], "b": ["1"], "c": ["2"]}, order=["2", "1"], rows=rows, sections=sections)
        decision = await aask(TASK, team=team, db=db)
        assert len(decision.candidates) == (3 if rounds == 1 else 5)
        arms = (await summarise(db)).arms
        earned += [sums.total for key, sums in arms.items() if key.arm == "principal"]
    assert earned[0] == earned[1] < 0.5


async def test_failures_are_counted_and_checkpoints_pruned_when_no_agent_answers(scripted_team, db):
    rows = [{"agent": "a", "error": "HTTP 500"}, {"agent": "b", "text": "I do not know."}]
    team = scripted_team({"a": [], "b": []}, rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    async with open_session(team, db=db) as session:
        with pytest.raises(DelegationFailedError) as first:
            await session.ask(TASK, run_id="r1")
        assert len(await checkpoints(session, "r1")) == 1
        with pytest.raises(DelegationFailedError) as again:
            await session.ask(TASK, run_id="r1")
    assert (str(again.value), again.value.decision) == (str(first.value), first.value.decision)
    arms = (await summarise(db)).arms
    assert {key.arm: (sums.count, sums.failures) for key, sums in arms.items()} == {"a/step_by_step": (0, 1)}
    json.dumps(again.value.decision)


async def test_a_run_ended_by_an_error_does_not_stay_running(scripted_team, db):
    def fail(_):
        raise BrokenPipeError

    async with open_session(scripted_team({"a": ["42"]}), db=db) as session:
        with pytest.raises(BrokenPipeError):
            await session.ask(TASK, run_id="r1", on_event=fail)
        assert (await session.store.read_run("r1")).status == "interrupted"
        assert (await session.ask(TASK, run_id="r1")).answer == "42"
