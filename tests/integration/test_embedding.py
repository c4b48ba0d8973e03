"""aligngraph inside other programs: LangChain chains, running event loops, plain scripts, several loops."""

import asyncio
import subprocess
import sys

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

from aligngraph import AlignChatModel, Decision, Team, aask, ask

TASK = "What is 6 * 7?"


@pytest.fixture
def team(scripted_team):
    return scripted_team({"a": ["42", "42"], "b": ["41"]}, order=["42", "41"])


@pytest.fixture
def chain(team, db):
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "What is {x} * {y}?")])
    return prompt | AlignChatModel(team=team, db=db, seed=7) | StrOutputParser()


SOLUTION = "a thinks.\nAnswer: 42"


def test_a_chain_is_invoked(chain):
    assert chain.invoke({"x": 6, "y": 7}) == SOLUTION


async def test_a_chain_is_awaited(chain):
    assert await chain.ainvoke({"x": 6, "y": 7}) == SOLUTION


def test_a_chain_streams(chain):
    assert "".join(chain.stream({"x": 6, "y": 7})) == SOLUTION


async def test_a_chain_streams_asynchronously(chain):
    assert "".join([part async for part in chain.astream({"x": 6, "y": 7})]) == SOLUTION


def test_a_chain_takes_a_batch(chain):
    assert chain.batch([{"x": 6, "y": 7}] * 3) == [SOLUTION] * 3


@pytest.mark.parametrize("stream", [False, True])
def test_f14_usage_and_decision_are_in_the_metadata(team, db, stream):
    model = AlignChatModel(team=team, db=db)
    if stream:
        parts = list(model.stream(TASK))
        message = parts[0]
        for part in parts[1:]:
            message += part
    else:
        message = model.invoke(TASK)
    assert message.usage_metadata == {"input_tokens": 40, "output_tokens": 20, "total_tokens": 60}
    decision = Decision.model_validate(message.response_metadata["decision"])
    assert (decision.answer, decision.status) == ("42", "ok")


def test_f45_the_last_message_is_the_answer(team, db):
    reply = AlignChatModel(team=Team.load(team), db=db).invoke([SystemMessage("Be brief."), HumanMessage(TASK)])
    assert (reply.type, reply.text) == ("ai", SOLUTION)


def test_a_usage_callback_counts_the_whole_team_once(team, db):
    from langchain_core.callbacks import get_usage_metadata_callback

    with get_usage_metadata_callback() as counted:
        AlignChatModel(team=team, db=db).invoke(TASK)
    assert {name: usage["total_tokens"] for name, usage in counted.usage_metadata.items()} == {"aligngraph": 60}


async def test_ask_works_inside_a_running_event_loop_as_in_a_notebook(team, db):
    assert ask(TASK, team=team, db=db).answer == "42"


def test_ask_works_from_several_threads(team, db):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        decisions = list(pool.map(lambda number: ask(f"{TASK} ({number})", team=team, db=db), range(4)))
    assert [decision.answer for decision in decisions] == ["42"] * 4


def test_one_event_loop_after_the_other_with_a_real_http_client(openai_server, tmp_path, db):
    team = openai_server.team(tmp_path / "team.toml", ["says-42", "says-41"], "judge-42")
    answers = [asyncio.run(aask(f"{TASK} ({number})", team=team, db=db)).answer for number in range(3)]
    assert answers == ["42"] * 3
    assert ask(TASK, team=team, db=db).answer == "42"


def test_errors_come_through_the_sync_door(team, db):
    from aligngraph.errors import TaskError

    with pytest.raises(TaskError):
        ask("", team=team, db=db)


def test_a_script_ends_by_itself_and_says_nothing(team, db):
    code = f"from aligngraph import ask; print(ask({TASK!r}, team={str(team)!r}, db={db!r}).answer)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_real_requests_carry_strategy_seed_temperature_and_schema(openai_server, tmp_path, db):
    team = openai_server.team(tmp_path / "team.toml", ["says-42", "says-41"], "judge-42")
    decision = ask(TASK, team=team, db=db, options={"seed": 7})
    proposals = [request for request in openai_server.requests if request["model"].startswith("says")]
    assert len({request["seed"] for request in proposals}) == 4
    assert {request["temperature"] for request in proposals} == {0.7}
    assert all("step by step" in request["messages"][0]["content"] for request in proposals)
    (verdict,) = [request for request in openai_server.requests if request["model"] == "judge-42"]
    assert verdict["temperature"] == 0
    assert set(verdict["response_format"]["json_schema"]["schema"]["properties"]["order"]["enum"]) == {
        "A>B",
        "B>A",
        "abstain",
    }
    assert (decision.usage.total.prompt_tokens, decision.usage.total.calls) == (500, 5)
    f56 = "".join(message["content"] for message in verdict["messages"])
    assert not any(name in f56 for name in ("agent0", "agent1", "says-4", "judge-42", "openai"))
