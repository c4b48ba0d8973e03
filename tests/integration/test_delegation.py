"""The whole graph with scripted models on a real SQLite file."""

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest

from aligngraph import DelegationContext, DelegationFailedError, Team, aask, build_delegation, open_session
from aligngraph.errors import ModelError, StoreError, TaskError, UsageError
from aligngraph.persistence import Location, PolicyStore

TASK = "What is 6 * 7?"
SEVEN = {"seed": 7}


def comparable(decision):
    return decision.model_dump_json(exclude={"run_id", "seconds"})


async def test_agents_propose_the_principal_ranks_one_answer_comes_back(scripted_team, db):
    team = scripted_team({"careful": ["42", "42.0"], "quick": ["41", "42"]}, order=["42", "41"])
    decision = await aask(TASK, team=team, db=db, options=SEVEN)
    assert (decision.status, decision.problems, decision.answer) == ("ok", [], "42")
    assert decision.text == "careful thinks.\nAnswer: 42"
    assert [(answer.answer, answer.votes) for answer in decision.answers] == [("42", 3), ("41", 1)]
    assert sum(answer.posterior for answer in decision.answers) == pytest.approx(1)
    assert decision.ranking.order == ["42", "41"]
    assert decision.ranking.preference == [[0.5, 1.0], [0.0, 0.5]]
    assert decision.game.anchor == 5.0, "nothing is known of the principal yet"
    assert set(decision.game.regret) == {"careful/step_by_step", "quick/step_by_step"}
    assert decision.alternatives.majority == decision.alternatives.best_of_n == "42"
    assert decision.alternatives.single == {"careful": "42", "quick": "42"}, "a tie goes to the answer seen first"


async def test_the_principal_can_outweigh_a_majority_and_both_are_shown(scripted_team, db):
    team = scripted_team({"a": ["1", "1"], "b": ["2", "1"], "c": ["2"]}, order=["2", "1"])
    decision = await aask(TASK, team=team, db=db, context=DelegationContext(anchor=0.05))
    assert (decision.answer, decision.alternatives.majority, decision.alternatives.best_of_n) == ("2", "1", "2")


async def test_weights_move_and_stay(scripted_team, db):
    team = scripted_team({"good": ["42"], "also_good": ["42"], "bad": ["41"]}, order=["42", "41"])
    first = await aask(TASK, team=team, db=db)
    assert first.weights.after["good/step_by_step"] > first.weights.before["good/step_by_step"]
    assert first.weights.after["bad/step_by_step"] < first.weights.before["bad/step_by_step"]
    second = await aask("What is 7 * 6?", team=team, db=db)
    assert second.weights.before == first.weights.after


async def test_what_one_domain_taught_is_lent_to_another(scripted_team, db):
    team = scripted_team({"good": ["42"], "also_good": ["42"], "bad": ["41"]}, order=["42", "41"])
    taught = await aask(TASK, team=team, db=db, domain="arithmetic")
    elsewhere = await aask(TASK, team=team, db=db, domain="trivia")
    start, lent = taught.weights.before["bad/step_by_step"], elsewhere.weights.before["bad/step_by_step"]
    assert taught.weights.after["bad/step_by_step"] < lent < start


async def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_arrival(scripted_team, tmp_path):
    answers = {"a": ["1", "2"], "b": ["2", "3"], "c": ["1"]}
    decisions, arrivals = set(), []
    for order in ("abc", "cba", "bca"):
        latency_s = {agent: 0.2 * place for place, agent in enumerate(order)}
        team, events = scripted_team(answers, order=["2", "1", "3"], latency_s=latency_s), []
        db = str(tmp_path / order)
        decisions.add(comparable(await aask(TASK, team=team, db=db, options=SEVEN, on_event=events.append)))
        arrived = [event["agent"] for event in events if event["event"] == "candidate"]
        arrivals.append("".join(dict.fromkeys(arrived)))
    assert arrivals == ["abc", "cba", "bca"]
    assert len(decisions) == 1


async def test_tasks_side_by_side_decide_as_tasks_one_after_the_other(scripted_team, tmp_path):
    team = scripted_team({"a": ["1", "2"], "b": ["2"]}, order=["2", "1"], sections='[learning]\nmode = "frozen"\n')
    tasks = [f"task {number}" for number in range(6)]
    async with open_session(team, db=str(tmp_path / "serial")) as session:
        serial = [await session.ask(task, options=SEVEN) for task in tasks]
    async with open_session(team, db=str(tmp_path / "parallel")) as session:
        parallel = await asyncio.gather(*(session.ask(task, options=SEVEN) for task in tasks))
    assert list(map(comparable, serial)) == list(map(comparable, parallel))


async def test_tasks_side_by_side_lose_no_update(scripted_team, db):
    team = scripted_team({"a": ["1"], "b": ["2"]}, order=["1", "2"])
    async with open_session(team, db=db) as session:
        await asyncio.gather(*(session.ask(f"task {number}") for number in range(20)))
        (summary,) = await session.store.summary()
    assert summary.tasks == 20
    counts = {key.arm: sums.count for key, sums in summary.arms.items() if sums.count}
    assert counts == dict.fromkeys(("a/step_by_step", "b/step_by_step", "principal", "delegation"), 20)


async def test_with_one_answer_there_is_nothing_to_rank(scripted_team, db):
    decision = await aask(TASK, team=scripted_team({"a": ["42"], "b": ["42.00"]}), db=db)
    assert (decision.status, decision.answer, decision.ranking) == ("ok", "42", None)
    assert decision.usage.principal.calls == 0


async def test_f1_f2_one_agent_fails_the_rest_decide(scripted_team, db):
    rows = [{"agent": "broken", "error": "HTTP 400: no such deployment"}, {"agent": "slow", "error": "timeout"}]
    team = scripted_team({"a": ["42"], "b": ["41"], "broken": [], "slow": []}, order=["42", "41"], rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    decision = await aask(TASK, team=team, db=db)
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert any(
        problem.startswith("broken.0: ") and "HTTP 400: no such deployment" in problem for problem in decision.problems
    )
    assert any(problem.startswith("slow.0: ") for problem in decision.problems)
    shown = {answer for call in decision.ranking.calls for answer in call["labels"].values()}
    assert shown == {"42", "41"}


async def test_f31_a_failure_is_no_wrong_answer(scripted_team, db):
    team = scripted_team({"a": ["42"], "broken": []}, rows=[{"agent": "broken", "error": "HTTP 500"}])
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    decision = await aask(TASK, team=team, db=db)
    assert decision.weights.after["broken/step_by_step"] == decision.weights.before["broken/step_by_step"]
    async with await PolicyStore.open(Location.parse(db)) as store:
        (summary,) = await store.summary()
    (sums,) = [sums for key, sums in summary.arms.items() if key.arm == "broken/step_by_step"]
    assert (sums.count, sums.failures) == (0, 1)


async def test_f3_f41_no_agent_answers_is_a_typed_error_with_every_cause(scripted_team, db):
    rows = [{"agent": "a", "error": "HTTP 402: pay first"}, {"agent": "b", "text": "I do not know."}]
    team = scripted_team({"a": [], "b": []}, rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    with pytest.raises(DelegationFailedError) as caught:
        await aask(TASK, team=team, db=db, run_id="r1")
    assert any("HTTP 402: pay first" in cause for cause in caught.value.causes)
    assert any("no final answer in the text" in cause for cause in caught.value.causes)
    assert (caught.value.decision["status"], caught.value.decision["answer"]) == ("failed", None)
    with pytest.raises(DelegationFailedError):
        await aask(TASK, team=team, db=db, run_id="r1")


async def test_f32_without_a_principal_the_votes_decide_and_the_real_cause_is_told(scripted_team, db):
    rows = [{"agent": "principal", "error": "insufficient_quota: add a card"}]
    decision = await aask(TASK, team=scripted_team({"a": ["1", "1"], "b": ["2"]}, rows=rows), db=db)
    assert (decision.status, decision.answer) == ("degraded", "1")
    assert (decision.usage.principal.calls, decision.usage.principal.cost) == (1, None)
    assert any("insufficient_quota: add a card" in problem for problem in decision.problems)
    assert (decision.ranking.order, decision.ranking.abstained) == ([], ["1", "2"])


async def test_a_stand_in_ranks_when_the_principal_fails(scripted_team, db, tmp_path):
    rows = [{"agent": "principal", "error": "HTTP 503"}]
    team = scripted_team({"a": ["1", "1"], "b": ["2"]}, rows=rows)
    (tmp_path / "second.jsonl").write_text(
        json.dumps({"agent": "principal", "text": '{"order": "{label:2}>{label:1}"}'})
    )
    text = team.read_text().replace(
        '[principal]\nmodel = "scripted:script.jsonl"',
        '[principal]\nmodel = "scripted:script.jsonl"\nfallback = ["scripted:second.jsonl"]\n'
        "price = { prompt = 1.0, completion = 2.0 }",
    )
    team.write_text(text)
    decision = await aask(TASK, team=team, db=db)
    assert decision.status == "degraded"
    assert (decision.usage.principal.calls, decision.usage.principal.cost) == (2, None)
    async with await PolicyStore.open(Location.parse(db)) as store:
        (summary,) = await store.summary()
    assert "principal" not in {key.arm for key in summary.arms}, "a stand-in's ranking says nothing about the principal"
    assert (decision.ranking.order, decision.ranking.model.endswith("second.jsonl")) == (["2", "1"], True)


async def test_agents_whose_answer_lost_may_answer_again_told_only_the_ranking(scripted_team, db, tmp_path):
    rows = [{"agent": "b", "sample": 1, "text": "On reflection.\nAnswer: 1"}]
    team = scripted_team({"a": ["1"], "b": ["2"]}, order=["1", "2"], rows=rows, sections="[game]\nmax_rounds = 3\n")
    decision = await aask(TASK, team=team, db=db)
    assert [(candidate.id, candidate.round, candidate.answer) for candidate in decision.candidates] == [
        ("a.0", 1, "1"), ("b.0", 1, "2"), ("b.1", 2, "1"),
    ]  # fmt: skip
    assert (decision.answer, [answer.votes for answer in decision.answers]) == ("1", [2])
    async with await PolicyStore.open(Location.parse(db)) as store:
        (summary,) = await store.summary()
    agents = {key.arm: sums for key, sums in summary.arms.items() if sums.kind == "agent"}
    assert {arm: sums.count for arm, sums in agents.items()} == {"a/step_by_step": 1, "b/step_by_step": 1}
    assert agents["b/step_by_step"].total < 0.5, "its first vote is what it is paid for"


async def test_rounds_end_when_the_losers_stay_with_their_answer(scripted_team, db):
    rows = [{"agent": "b", "sample": sample, "text": "Answer: 2"} for sample in (1, 2)]
    team = scripted_team({"a": ["1"], "b": ["2"]}, order=["1", "2"], rows=rows, sections="[game]\nmax_rounds = 3\n")
    decision = await aask(TASK, team=team, db=db)
    assert [candidate.id for candidate in decision.candidates] == ["a.0", "b.0", "b.1", "b.2"]


async def test_a_frozen_run_learns_nothing(scripted_team, db):
    team = scripted_team({"a": ["1"], "b": ["2"]}, order=["1", "2"])
    decision = await aask(TASK, team=team, db=db, context=DelegationContext(learning="frozen"))
    assert decision.weights.before == decision.weights.after
    async with await PolicyStore.open(Location.parse(db)) as store:
        assert await store.summary() == []


async def test_in_shadow_the_plain_vote_decides_and_the_rest_is_learned(scripted_team, db):
    team = scripted_team({"a": ["1", "1"], "b": ["2", "1"], "c": ["2"]}, order=["2", "1"])
    decision = await aask(TASK, team=team, db=db, context=DelegationContext(anchor=0.05, learning="shadow"))
    assert (decision.answer, decision.alternatives.delegation) == ("1", "2")
    assert decision.weights.before != decision.weights.after


async def test_a_finished_run_is_told_again_without_any_call(scripted_team, db):
    team = scripted_team({"a": ["1"], "b": ["2"]}, order=["1", "2"])
    async with open_session(team, db=db) as session:
        first = await session.ask(TASK, run_id="r1")
        events = []
        assert await session.ask(TASK, run_id="r1", on_event=events.append) == first
    assert events == []


async def test_a_run_id_belongs_to_one_task(scripted_team, db):
    async with open_session(scripted_team({"a": ["1"]}), db=db) as session:
        await session.ask(TASK, run_id="r1")
        with pytest.raises(UsageError, match="'r1' belongs to another task"):
            await session.ask("something else", run_id="r1")


@pytest.mark.parametrize("task", ["", "  \n\t "])
async def test_an_empty_task_is_refused(scripted_team, db, task):
    with pytest.raises(TaskError, match="the task is empty"):
        await aask(task, team=scripted_team({"a": ["1"]}), db=db)


async def test_a_task_that_is_not_text_is_refused(scripted_team, db):
    with pytest.raises(TaskError, match="the task is not text"):
        await aask("What is \udcff?", team=scripted_team({"a": ["1"]}), db=db)


async def test_a_task_too_long_for_a_model_is_refused_before_any_call(scripted_team, db):
    events = []
    with pytest.raises(TaskError, match=r"task of 200,000 characters .* reads at most [\d,]+ tokens"):
        await aask("x" * 200_000, team=scripted_team({"a": ["1"]}), db=db, on_event=events.append)
    assert events == []


async def test_a_key_that_is_not_set_is_told_before_any_call(scripted_team, db):
    team = scripted_team({"a": ["1"], "b": ["2"]})
    team.write_text(
        team.read_text().replace(
            'name = "b"\nmodel = "scripted:script.jsonl"', 'name = "b"\nmodel = "openai:gpt-4.1-mini"'
        )
    )
    events = []
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        await aask(TASK, team=team, db=db, on_event=events.append)
    assert events == []


async def test_system_and_history_reach_every_agent(scripted_team, db):
    from langchain_core.callbacks import AsyncCallbackHandler
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    class Recorder(AsyncCallbackHandler):
        def __init__(self):
            self.prompts = []

        async def on_chat_model_start(self, serialized, messages, **kwargs):
            self.prompts.append((kwargs["metadata"]["agent"], [message.text for message in messages[0]]))

    recorder = Recorder()
    chat = [SystemMessage("Use metric units."), HumanMessage("Hi"), AIMessage("Hello"), HumanMessage(TASK)]
    team = scripted_team({"a": ["1"], "b": ["2"]}, order=["1", "2"])
    await aask(chat, team=team, db=db, config={"callbacks": [recorder]})
    by_agent = dict(recorder.prompts)
    for agent in ("a", "b"):
        system, *chat_shown = by_agent[agent]
        assert "Use metric units." in system
        assert chat_shown == ["Hi", "Hello", TASK]
    assert "a thinks." in by_agent["principal"][1]
    assert '"a"' not in by_agent["principal"][1]


async def test_f15_usage_is_counted_per_call(scripted_team, db):
    team = scripted_team({"a": ["1", "1"], "b": ["2"]}, order=["1", "2"])
    usage = (await aask(TASK, team=team, db=db)).usage
    assert (usage.agents["a"].calls, usage.agents["a"].prompt_tokens, usage.agents["a"].completion_tokens) == (
        2,
        20,
        10,
    )
    assert usage.principal.calls == 1
    assert (usage.total.calls, usage.total.prompt_tokens, usage.total.cost) == (4, 40, None)


async def test_a_cost_is_known_when_every_price_is(scripted_team, db):
    price = "price = { prompt = 1.0, completion = 2.0 }"
    decision = await aask(TASK, team=scripted_team({"a": ["1"]}, agent_keys={"a": price}), db=db)
    assert decision.usage.total.cost == pytest.approx((10 * 1.0 + 5 * 2.0) / 1e6)


async def test_the_bare_graph_runs_without_session_or_checkpointer(scripted_team, db):
    team = Team.load(scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"]))
    graph = build_delegation(team, db=db)
    state = await graph.ainvoke({"messages": [("user", TASK)]})
    assert state["decision"]["answer"] == "42"
    assert state["messages"][-1].text == "a thinks.\nAnswer: 42"
    json.dumps(state["decision"])


async def test_a_second_task_on_the_same_thread_starts_afresh(scripted_team, db):
    from langgraph.checkpoint.memory import InMemorySaver

    team = Team.load(scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"]))
    graph = build_delegation(team, db=db, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "chat"}}
    await graph.ainvoke({"messages": [("user", TASK)]}, thread)
    state = await graph.ainvoke({"messages": [("user", "And 7 * 7?")]}, thread)
    assert state["decision"]["run_id"] == "chat.2"
    assert len(state["candidates"]) == 2
    assert [message.type for message in state["messages"]] == ["human", "ai", "human", "ai"]


async def test_f6_a_replayed_update_learns_nothing_twice(scripted_team, db):
    from langgraph.checkpoint.memory import InMemorySaver

    team = Team.load(scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"]))
    graph = build_delegation(team, db=db, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    first = await graph.ainvoke({"messages": [("user", TASK)]}, thread)
    (before_update,) = [part async for part in graph.aget_state_history(thread) if part.next == ("policy_update",)]
    again = await graph.ainvoke(None, before_update.config)
    assert again["weights"] == first["weights"]
    async with await PolicyStore.open(Location.parse(db)) as store:
        (summary,) = await store.summary()
    assert (summary.tasks, {sums.count for key, sums in summary.arms.items() if key.arm == "a/step_by_step"}) == (
        1,
        {1},
    )


async def test_weights_and_small_candidates_are_in_every_checkpoint(scripted_team, db):
    long = {"agent": "a", "sample": 0, "text": "word " * 5000 + "\nAnswer: 42"}
    team = scripted_team({"a": [], "b": ["41"]}, order=["42", "41"], rows=[long])
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    async with open_session(team, db=db) as session:
        async for state in session.graph.astream(
            {"messages": [("user", TASK)]}, {"configurable": {"thread_id": "t"}}, stream_mode="values"
        ):
            if "weights" in state and not state["decision"]:
                assert set(state["weights"]["before"]) == {"a/step_by_step", "b/step_by_step"}
                assert len(json.dumps(state["candidates"])) < 2000
        history = [part async for part in session.graph.aget_state_history({"configurable": {"thread_id": "t"}})]
    assert all("weights" in part.values for part in history if "run" in part.values)


async def test_checkpoints_of_a_finished_run_are_pruned_to_the_last(scripted_team, db):
    async with open_session(scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"]), db=db) as session:
        decision = await session.ask(TASK)
        thread = {"configurable": {"thread_id": decision.run_id}}
        (last,) = [part async for part in session.graph.aget_state_history(thread)]
    assert last.values["decision"]["answer"] == "42"


def half_slow(scripted_team):
    rows = [{"agent": "slow", "text": "Answer: 41", "latency_s": 60}]
    team = scripted_team({"quick": ["42"], "slow": []}, rows=rows)
    team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
    return team


async def ask_until_a_candidate(session):
    arrived = asyncio.Event()
    asked = asyncio.create_task(
        session.ask(TASK, run_id="r1", on_event=lambda event: event["event"] == "candidate" and arrived.set())
    )
    await arrived.wait()
    return asked


async def test_a_cancelled_run_is_marked_and_keeps_what_was_finished(scripted_team, db):
    async with open_session(half_slow(scripted_team), db=db) as session:
        run = await ask_until_a_candidate(session)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert (await session.store.read_run("r1")).status == "interrupted"
        assert [candidate.candidate_id for candidate in await session.store.read_candidates("r1")] == ["quick.0"]


@pytest.mark.parametrize("domain", ["x" * 129, "arith\nmetic", "\x1b[31mred"])
async def test_a_domain_is_a_short_printable_name(scripted_team, db, domain):
    with pytest.raises(TaskError, match="printable"):
        await aask(TASK, team=scripted_team({"a": ["1"]}), domain=domain, db=db)


async def test_a_corrupt_database_is_named_and_left_alone(scripted_team, tmp_path):
    folder = tmp_path / "db"
    folder.mkdir()
    (folder / "policy.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match=r"policy\.sqlite"):
        await aask(TASK, team=scripted_team({"a": ["1"]}), db=str(folder))
    assert (folder / "policy.sqlite").read_bytes() == b"this is no database" * 100


async def test_f18_a_broken_row_is_left_out_with_a_word_and_the_run_goes_on_from_the_prior(scripted_team, db):
    team = scripted_team({"a": ["42"], "b": ["41"]}, order=["42", "41"])
    await aask(TASK, team=team, db=db)
    with closing(sqlite3.connect(f"{db}/policy.sqlite")) as connection, connection:
        connection.execute("UPDATE arms SET total = -7 WHERE arm = 'a/step_by_step'")
    decision = await aask("What is 7 * 6?", team=team, db=db)
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert any("a/step_by_step" in problem for problem in decision.problems)
    assert decision.weights.before["a/step_by_step"] > decision.weights.before["b/step_by_step"], "b has lost once"


async def test_leaving_a_session_ends_the_tasks_that_are_still_asked(scripted_team, db):
    async with open_session(half_slow(scripted_team), db=db) as session:
        asked = await ask_until_a_candidate(session)
    assert asked.cancelled()
    async with await PolicyStore.open(Location.parse(db)) as store:
        assert (await store.read_run("r1")).status == "interrupted"
