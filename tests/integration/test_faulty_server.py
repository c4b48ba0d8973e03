"""What the real client makes of every fault a server can have, and what is advised about it."""

import asyncio
import json
import urllib.error
import urllib.request
from dataclasses import dataclass

import pytest
from langchain_core.messages import HumanMessage

from aligngraph.bench.faults import FAULTS, FaultSchedule
from aligngraph.bench.faulty_server import FaultyServer
from aligngraph.calling.retrying import RetryAdvice, retry_advice, with_retries
from aligngraph.calling.settings import RetrySettings
from aligngraph.models import ask_json, open_model, parse_spec, usage_of
from aligngraph.randomness import generator

PATIENT_S = 30.0
IMPATIENT_S = 0.2
NEVER = ("hang", "stall")
LATE = "slow"


@dataclass(frozen=True)
class Raises:
    """The class of the error, a part of its message, and what is advised."""

    kind: str
    message: str
    advice: RetryAdvice


@dataclass(frozen=True)
class Says:
    """The text, and the tokens of prompt and completion as they are taken for counted."""

    text: str
    prompt: int = 3
    completion: int = 5


def passes(wait_s=None):
    return RetryAdvice(retryable=True, wait_s=wait_s, fault="model")


def lasts(fault):
    return RetryAdvice(retryable=False, fault=fault)


TEXT = "I say so.\nAnswer: 42"
REFUSALS = {
    "400": Raises("OpenAIInvalidRequestError", "400 - This request is wrong", lasts("request")),
    "401": Raises("OpenAIAuthenticationError", "401 - Incorrect API key", lasts("model")),
    "402": Raises("APIStatusError", "402 - Insufficient balance", lasts("model")),
    "403": Raises("OpenAIPermissionDeniedError", "403 - You may not", lasts("model")),
    "404": Raises("OpenAIModelNotFoundError", "404 - There is no such model", lasts("model")),
    "408": Raises("APIStatusError", "408", passes()),
    "409": Raises("ConflictError", "409", passes()),
    "413": Raises("APIStatusError", "413", lasts("request")),
    "422": Raises("UnprocessableEntityError", "422", lasts("request")),
    "429": Raises("OpenAIRateLimitError", "429 - Rate limit", passes()),
    "429-seconds": Raises("OpenAIRateLimitError", "429 - Rate limit", passes(20.0)),
    "429-milliseconds": Raises("OpenAIRateLimitError", "429 - Rate limit", passes(20.0)),
    "429-date": Raises("OpenAIRateLimitError", "429 - Rate limit", passes(20.0)),
    "429-nonsense": Raises("OpenAIRateLimitError", "429 - Rate limit", passes()),
    "429-quota": Raises("OpenAIRateLimitError", "429 - You exceeded your current quota", lasts("model")),
    "500": Raises("OpenAIAPIError", "500", passes()),
    "501": Raises("OpenAIAPIError", "501", lasts("model")),
    "502-html": Raises("OpenAIAPIError", "502", passes()),
    "503": Raises("OpenAIAPIError", "503 - The server is overloaded", passes()),
    "503-seconds": Raises("OpenAIAPIError", "503", passes(20.0)),
    "slow": Raises("OpenAITimeoutError", "timed out", passes()),
    "hang": Raises("OpenAITimeoutError", "timed out", passes()),
    "stall": Raises("OpenAITimeoutError", "timed out", passes()),
    "cut-before": Raises("OpenAIConnectionError", "Connection error", passes()),
    "cut-inside": Raises("OpenAIConnectionError", "Connection error", passes()),
}
REPLIES = {
    "drip": Says(TEXT),
    "empty-content": Says(""),
    "null-content": Says(""),
    "surrogate": Says("It is \ud83d then.\nAnswer: 42"),
    "usage-negative": Says(TEXT, 0, 0),
    "usage-absurd": Says(TEXT, 0, 0),
    "usage-absent": Says(TEXT, 0, 0),
    "ignores-n": Says(TEXT),
}
WHOLE = {
    **REFUSALS,
    **REPLIES,
    "cut-early": Raises("JSONDecodeError", "Unterminated string", passes()),
    "garbage-json": Raises("JSONDecodeError", "Unterminated string", passes()),
    "html-200": Raises("ValueError", "Unexpected response type", passes()),
    "empty-body": Raises("JSONDecodeError", "Expecting value", passes()),
    "error-200": Raises("ValueError", "Provider returned an error", passes()),
    "error-200-quota": Raises("ValueError", "You exceeded your current quota", lasts("model")),
    "no-choices": Raises("TypeError", "null value for 'choices'", passes()),
    "null-choices": Raises("TypeError", "null value for 'choices'", passes()),
    "empty-choices": Raises("IndexError", "list index out of range", lasts("unknown")),
    "strict": Says(TEXT),
}
STREAMED = {
    **REFUSALS,
    **REPLIES,
    "cut-early": Says("I say so.\nAnswer:", 0, 0),  # what a client cannot tell from a reply that ended
    "garbage-json": Raises("JSONDecodeError", "Unterminated string", passes()),
    "html-200": Raises("ValueError", "No generation chunks were returned", passes()),
    "empty-body": Raises("ValueError", "No generation chunks were returned", passes()),
    "error-200": Raises("APIError", "Provider returned an error", passes()),
    "error-200-quota": Raises("APIError", "You exceeded your current quota", lasts("model")),
    "no-choices": Says(""),
    "null-choices": Says(""),
    "empty-choices": Says(""),
    "strict": Raises("OpenAIInvalidRequestError", "Unrecognized request argument", lasts("request")),
}


@pytest.fixture(scope="module")
def server():
    with FaultyServer(slow_s=60, drip_s=0, retry_after_s=20) as server:
        yield server


@pytest.fixture
def opened():
    """Return a function that opens a model as a team does."""

    async def open_named(server, name, *, timeout_s=PATIENT_S):
        spec = parse_spec({"provider": "openai", "name": name, "base_url": server.base_url})
        return await open_model(spec, timeout_s=timeout_s)

    return open_named


async def ask_whole(model, prompt="What is it?"):
    return await model.ainvoke(prompt)


async def ask_in_stream(model, prompt="What is it?"):
    parts = [part async for part in model.astream(prompt)]
    return sum(parts[1:], parts[0])


def test_every_fault_is_tried():
    assert set(WHOLE) == set(STREAMED) == set(FAULTS)


@pytest.mark.parametrize(
    ("ask", "fault", "expected"),
    [(ask_whole, *item) for item in WHOLE.items()] + [(ask_in_stream, *item) for item in STREAMED.items()],
)
async def test_what_the_client_makes_of_a_fault(server, opened, ask, fault, expected):
    timeout_s = IMPATIENT_S if fault in {*NEVER, LATE} else PATIENT_S
    model = await opened(server, f"fault-{fault}", timeout_s=timeout_s)
    if isinstance(expected, Says):
        reply = await ask(model)
        counted = usage_of(reply)
        assert (reply.text, counted.prompt, counted.completion) == (expected.text, expected.prompt, expected.completion)
    else:
        with pytest.raises(Exception, match=expected.message) as caught:
            await ask(model)
        assert type(caught.value).__name__ == expected.kind
        advice = retry_advice(caught.value)
        assert (advice.retryable, advice.fault) == (expected.advice.retryable, expected.advice.fault)
        assert advice.wait_s == pytest.approx(expected.advice.wait_s, abs=1)


@pytest.mark.parametrize("fault", ["503", "429-milliseconds", "cut-before", "408"])
async def test_the_client_makes_no_call_again_by_itself(opened, fault):
    with FaultyServer(retry_after_s=0.001) as server:
        model = await opened(server, f"fault-{fault}")
        with pytest.raises(Exception):  # noqa: B017, PT011 - any, as above
            await model.ainvoke("once")
        assert len(server.log.calls) == 1


async def test_a_reply_that_drips_outlasts_any_timeout_of_the_client(opened):
    """Each byte is a sign of life to the client: only a limit on the whole call ends it."""
    with FaultyServer() as server:
        model = await opened(server, "fault-drip", timeout_s=1.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await model.ainvoke("slowly")
        assert await asyncio.to_thread(server.log.wait_until, lambda: server.log.disconnects == 1, 10)


async def test_nobody_listening_is_worth_another_attempt(opened):
    with FaultyServer() as server:
        pass
    model = await opened(server, "any")
    with pytest.raises(Exception, match="Connection error") as caught:
        await model.ainvoke("hello")
    assert retry_advice(caught.value) == passes()


async def test_a_key_with_a_line_break_is_not(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-1\n")
    table = {"provider": "openai", "name": "any", "base_url": server.base_url, "api_key_env": "MY_KEY"}
    model = await open_model(parse_spec(table))
    with pytest.raises(Exception, match="Connection error") as caught:
        await model.ainvoke("hello")
    assert retry_advice(caught.value) == lasts("model")


@pytest.mark.parametrize("fault", ["hang", "stall", "slow"])
async def test_a_client_that_goes_away_is_noticed(opened, fault):
    with FaultyServer(slow_s=60) as server:
        model = await opened(server, f"fault-{fault}")
        asking = asyncio.create_task(model.ainvoke("for ever"))
        assert await asyncio.to_thread(server.log.wait_until, lambda: len(server.log.calls) == 1, 10)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert await asyncio.to_thread(server.log.wait_until, lambda: server.log.disconnects == 1, 10)
    (call,) = server.log.calls
    assert (call.outcome, call.fault, call.completion_tokens) == ("disconnected", fault, 0)
    assert call.ended_s > call.started_s


async def test_the_end_of_the_server_is_not_a_client_going_away(opened):
    with FaultyServer() as server:
        model = await opened(server, "fault-hang")
        asking = asyncio.create_task(model.ainvoke("for ever"))
        assert await asyncio.to_thread(server.log.wait_until, lambda: len(server.log.calls) == 1, 10)
    with pytest.raises(Exception, match="Connection error"):
        await asking
    assert [call.outcome for call in server.log.calls] == ["stopped"]


async def test_an_ordinary_reply_counts_its_tokens_whole_and_in_a_stream(opened):
    with FaultyServer(lambda messages, sample: f"{messages[-1]['content']} again, for the {sample}th time") as server:
        model = await opened(server, "any")
        whole = await model.ainvoke([("system", "Be brief."), ("human", "Say it")])
        streamed = await ask_in_stream(model, [("system", "Be brief."), ("human", "Say it")])
        assert (whole.text, streamed.text) == (
            "Say it again, for the 0th time",
            "Say it again, for the 1th time",
        )
        assert usage_of(whole) == usage_of(streamed)
        assert (usage_of(whole).prompt, usage_of(whole).completion) == (4, 7)
        assert streamed.response_metadata["finish_reason"] == "stop"
        assert (server.log.prompt_tokens, server.log.completion_tokens) == (8, 14)
        assert [call.outcome for call in server.log.calls_of("any", "Say it")] == ["answered", "answered"]


async def test_several_choices_are_samples_of_their_own_where_the_server_knows_them(opened):
    with FaultyServer(lambda _, sample: f"sample {sample}", faults={"single": "ignores-n"}) as server:
        for name, texts in {"many": ["sample 0", "sample 1", "sample 2"], "single": ["sample 0"]}.items():
            model = await opened(server, name)
            result = await model.agenerate([[HumanMessage("go on")]], n=3)
            assert [generation.text for generation in result.generations[0]] == texts


async def test_a_strict_server_refuses_what_it_does_not_know(server, opened):
    model = await opened(server, "fault-strict")
    with pytest.raises(Exception, match="Unrecognized request argument supplied: seed") as caught:
        await model.ainvoke("hello", seed=3)
    assert retry_advice(caught.value) == lasts("request")


async def test_each_model_has_its_own_replies(opened):
    order = json.dumps({"order": "B>A"})
    with FaultyServer(replies={"judge": lambda _messages, _sample: order}) as server:
        schema = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
        reply = await ask_json(await opened(server, "judge"), [("human", "Rank them.")], schema)
        assert reply.value == {"order": "B>A"}
        assert (await (await opened(server, "other")).ainvoke("hi")).text == TEXT
        assert [len(server.log.calls_of(name)) for name in ("judge", "other", "none")] == [1, 1, 0]
        assert server.log.calls_of("judge")[0].parameters["response_format"]["type"] == "json_schema"


SCHEDULE = FaultSchedule(3, {"503": 0.2, "cut-inside": 0.1, "429-milliseconds": 0.1, "garbage-json": 0.1})
SETTINGS = RetrySettings(attempts=10, first_wait_s=0.001, longest_wait_s=0.01)


async def ask_often(opened, schedule, samples=24):
    """Return the texts of so many parallel samples, and the server that gave them."""
    with FaultyServer(lambda _, sample: f"sample {sample}", schedule=schedule, retry_after_s=0.001) as server:
        model = await opened(server, "often")
        calls = (
            with_retries(lambda: model.ainvoke("go on"), SETTINGS, generator(0, "wait", sample))
            for sample in range(samples)
        )
        replies = await asyncio.gather(*calls)
    return sorted(reply.text for reply in replies), server


async def test_with_retries_half_of_all_requests_may_fail_and_no_sample_is_lost(opened):
    texts, server = await ask_often(opened, SCHEDULE)
    assert texts == sorted(f"sample {sample}" for sample in range(24))
    assert server.log.completion_tokens == 48
    faults = [call.fault for call in server.log.calls]
    assert faults.count(None) == 24
    assert set(faults) == {None, *SCHEDULE.shares}


async def test_the_same_seed_gives_the_same_faults_in_whatever_order(opened):
    (_, one), (_, two) = await ask_often(opened, SCHEDULE), await ask_often(opened, SCHEDULE)
    assert [call.fault for call in one.log.calls] == [call.fault for call in two.log.calls]
    _, other = await ask_often(opened, FaultSchedule(4, SCHEDULE.shares))
    assert [call.fault for call in one.log.calls[:24]] != [call.fault for call in other.log.calls[:24]]


async def test_an_error_of_the_reply_is_raised_where_the_block_ends(opened):
    def broken(_messages, _sample):
        raise LookupError("the test's own mistake")

    server = FaultyServer(broken).__enter__()
    model = await opened(server, "any")
    with pytest.raises(Exception, match="Connection error"):
        await model.ainvoke("hello")
    with pytest.raises(LookupError, match="the test's own mistake"):
        server.__exit__()


def test_an_unknown_fault_is_refused_at_once():
    with pytest.raises(ValueError, match=r"there is no fault '418'; known are 400, "):
        FaultyServer(faults={"any": "418"})


def test_any_other_address_is_not_found(server):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{server.base_url}/models")  # noqa: S310 - ours
