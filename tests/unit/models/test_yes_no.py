import json
import math

import httpx
import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from openai import BadRequestError

from aligngraph.models import TokenCounts, ask_yes_no, limit_reply, open_model, parse_spec, usage_of

ASKED = [HumanMessage("Is it right? Reply with one word: yes or no.")]


class ToolUser(GenericFakeChatModel):
    """Stands for a provider that is asked for JSON by a tool call."""

    bound: list

    def bind_tools(self, tools, **settings):
        self.bound.append(tools)
        return self


def likely(**chances):
    return [{"token": token, "logprob": math.log(chance)} for token, chance in chances.items()]


def first_token(said, alternatives):
    return [{"token": said, "logprob": -0.1, "top_logprobs": alternatives}]


def saying(text, logprobs):
    return FakeListModel(message=AIMessage(text, response_metadata={"logprobs": logprobs}))


class FakeListModel(FakeListChatModel):
    """Replies with one message, metadata and all."""

    message: AIMessage
    responses: list[str] = []  # noqa: RUF012 - pydantic copies it

    def _generate(self, *_, **__):
        from langchain_core.outputs import ChatGeneration, ChatResult

        return ChatResult(generations=[ChatGeneration(message=self.message)])


class Refuser:
    """A provider that answers 400 to whatever has one of the keys, and `text` to the rest."""

    def __init__(self, *keys, text='{"verdict": "yes"}'):
        self.keys, self.text, self.bodies = keys, text, []

    def __call__(self, request):
        body = json.loads(request.content)
        self.bodies.append(body)
        if body.keys() & set(self.keys):
            return httpx.Response(400, json={"error": {"message": "Unsupported parameter"}})
        choice = {"index": 0, "message": {"role": "assistant", "content": self.text}, "finish_reason": "stop"}
        return httpx.Response(200, json={"id": "1", "object": "chat.completion", "created": 1, "choices": [choice]})

    def model(self):
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        return ChatOpenAI(model="o3", api_key="k", http_async_client=client, http_socket_options=(), max_retries=0)


@pytest.fixture
def server(openai_server, monkeypatch):
    """Return the server; it says `server.text`, with the log-probabilities `server.logprobs`."""
    plain = openai_server.reply
    openai_server.logprobs = None

    def reply():
        body = plain()
        body["choices"][0]["logprobs"] = openai_server.logprobs
        return body

    monkeypatch.setattr(openai_server, "reply", reply)
    return openai_server


async def opened(server, **settings):
    return await open_model(
        parse_spec({"provider": "openai", "name": "m", "base_url": server.base_url, "max_tokens": 64, **settings})
    )


async def test_one_token_and_its_alternatives_are_asked_for(server):
    server.text = "yes"
    await ask_yes_no(await opened(server), ASKED)
    (body,) = server.bodies
    assert (body["logprobs"], body["top_logprobs"]) == (True, 10)
    assert (body["max_tokens"], body["max_completion_tokens"]) == (1, 1)
    assert "response_format" not in body


async def test_the_probability_is_the_share_of_yes_in_all_spellings_of_yes_and_no(server):
    server.text = "Yes"
    alternatives = likely(**{"Yes": 0.3, " yes": 0.1, "yes.": 0.1, "YES": 0.1, "No": 0.1, "▁no": 0.1, "Maybe": 0.2})
    server.logprobs = {"content": first_token("Yes", alternatives)}
    reply = await ask_yes_no(await opened(server), ASKED)
    assert reply.probability == pytest.approx(0.6 / 0.8)
    assert (reply.text, reply.problem, usage_of(reply.message)) == ("Yes", None, TokenCounts(7, 3))


async def test_words_that_only_begin_like_yes_or_no_do_not_count(server):
    server.text = "No"
    server.logprobs = {"content": first_token("No", likely(No=0.2, None_=0.3, Nothing=0.2, Yesterday=0.1, Yes=0.1))}
    assert (await ask_yes_no(await opened(server), ASKED)).probability == pytest.approx(1 / 3)


async def test_a_token_said_that_is_not_among_the_likeliest_counts_too(server):
    server.text = "no"
    said = {"token": "no", "logprob": math.log(0.1), "top_logprobs": likely(yes=0.3)}
    server.logprobs = {"content": [said]}
    assert (await ask_yes_no(await opened(server), ASKED)).probability == pytest.approx(0.75)


@pytest.mark.parametrize(("yes", "no", "usable"), [(0.03, 0.03, True), (0.02, 0.02, False)])
async def test_too_little_mass_on_yes_and_no_is_a_problem_that_says_what_was_said(server, yes, no, usable):
    server.text = "The"
    said = {"token": "The", "logprob": math.log(0.9), "top_logprobs": likely(The=0.9, yes=yes, no=no)}
    server.logprobs = {"content": [said]}
    reply = await ask_yes_no(await opened(server), ASKED)
    assert (reply.probability is not None) == usable
    assert (reply.problem == "the reply is 'The', which is neither yes nor no") != usable


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}])
@pytest.mark.parametrize(("text", "probability"), [("Yes", 1.0), (" no.\n", 0.0), ("**Yes**", 1.0), ("NO!", 0.0)])
async def test_without_log_probabilities_the_word_decides(server, logprobs, text, probability):
    server.text, server.logprobs = text, logprobs
    reply = await ask_yes_no(await opened(server), ASKED)
    assert (reply.probability, reply.problem) == (probability, None)


@pytest.mark.parametrize("text", ["Yes and no", "I say yes", "yes yes", "noyes", "maybe", "true"])
async def test_more_than_the_one_word_is_not_searched_for_it(server, text):
    server.text = text
    reply = await ask_yes_no(await opened(server), ASKED)
    assert (reply.probability, reply.text) == (None, text)
    assert reply.problem == f"the reply is {text!r}, which is neither yes nor no"


@pytest.mark.parametrize(
    ("logprob", "probability"), [(math.log(0.8), 0.8), (0.0, 1.0), (1e-6, 1.0), (-1e9, 0.0), (-math.inf, 0.0)]
)
async def test_a_word_without_alternatives_is_as_likely_as_its_token(logprob, probability):
    content = [{"token": "Yes", "logprob": logprob}]
    reply = await ask_yes_no(saying("Yes", {"content": content}), ASKED)
    assert (reply.probability, reply.problem) == (pytest.approx(probability), None)


async def test_no_is_as_unlikely_to_mean_yes_as_it_is_likely():
    content = [{"token": "n", "logprob": math.log(0.5)}, {"token": "o", "logprob": math.log(0.5), "top_logprobs": []}]
    assert (await ask_yes_no(saying("no", {"content": content}), ASKED)).probability == pytest.approx(0.75)


@pytest.mark.parametrize(
    "logprobs",
    [
        "high",
        7,
        {"content": "high"},
        {"content": {"token": "yes"}},
        {"content": [None]},
        {"content": [{"token": "yes"}]},
        {"content": [{"token": None, "logprob": -1}]},
        {"content": [{"token": "yes", "logprob": None}]},
        {"content": [{"token": "yes", "logprob": math.nan}]},
        {"content": [{"token": "yes", "logprob": math.inf}]},
        {"content": [{"token": "yes", "logprob": 2.0}]},
        {"content": [{"token": "yes", "logprob": -1, "top_logprobs": [{"token": "yes", "logprob": math.nan}]}]},
        {"content": [{"token": "yes", "logprob": -1, "top_logprobs": [["yes", -1]]}]},
    ],
)
async def test_odd_log_probabilities_leave_the_word(logprobs):
    reply = await ask_yes_no(saying("yes", logprobs), ASKED)
    assert (reply.probability, reply.text, reply.problem) == (1.0, "yes", None)


async def test_no_log_probability_survives_that_a_server_sends_as_not_a_number(server):
    server.text = "yes"
    server.logprobs = {"content": [{"token": "yes", "logprob": math.nan, "top_logprobs": []}]}
    assert (await ask_yes_no(await opened(server), ASKED)).probability == 1.0


async def test_a_provider_that_refuses_the_parameters_is_asked_for_json():
    provider = Refuser("logprobs")
    reply = await ask_yes_no(provider.model(), ASKED)
    assert (reply.probability, reply.text, reply.problem) == (1.0, '{"verdict": "yes"}', None)
    refused, asked = provider.bodies
    assert refused["logprobs"]
    assert not asked.keys() & {"logprobs", "top_logprobs", "max_completion_tokens"}
    assert asked["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"] == ["yes", "no"]


async def test_what_is_refused_in_any_form_goes_through():
    with pytest.raises(BadRequestError, match="Unsupported"):
        await ask_yes_no(Refuser("messages").model(), ASKED)


async def test_the_responses_interface_is_asked_for_json():
    sent = []

    def answer(request):
        sent.append(json.loads(request.content))
        content = [{"type": "output_text", "text": '{"verdict": "no"}', "annotations": []}]
        output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}]
        body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": output}
        return httpx.Response(200, json={**body, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    model = ChatOpenAI(model="m", api_key="k", http_async_client=client, http_socket_options=(), use_responses_api=True)
    assert (await ask_yes_no(model, ASKED)).probability == 0.0
    assert [body["text"]["format"]["type"] for body in sent] == ["json_schema"]


@pytest.mark.parametrize("begun", ["<think>", "\n<think>", "", " "])
async def test_a_model_that_thinks_first_is_asked_for_json_and_both_calls_are_counted(server, monkeypatch, begun):
    texts = iter([begun, "<think>2 + 2 is 4</think>\n" + '{"verdict": "no"}'])
    plain = server.reply

    def reply():
        server.text = next(texts)
        return plain()

    monkeypatch.setattr(server, "reply", reply)
    reply = await ask_yes_no(await opened(server), ASKED)
    assert (reply.probability, usage_of(reply.message)) == (0.0, TokenCounts(14, 6))
    assert [body["max_tokens"] for body in server.bodies] == [1, 64]


async def test_a_refusal_is_a_problem_in_the_models_words(server):
    server.text, server.refusal = "", "I cannot judge people"
    reply = await ask_yes_no(await opened(server), ASKED)
    assert (reply.probability, reply.problem) == (None, "the reply is a refusal: I cannot judge people")


async def test_a_model_with_tools_answers_by_one():
    call = {"name": "verdict", "args": {"verdict": "no"}, "id": "1"}
    model = ToolUser(messages=iter([AIMessage("", tool_calls=[call])]), bound=[])
    reply = await ask_yes_no(model, ASKED)
    assert (reply.probability, reply.problem) == (0.0, None)
    assert model.bound[0][0]["properties"]["verdict"]["enum"] == ["yes", "no"]


@pytest.mark.parametrize(
    ("text", "probability"),
    [('{"verdict": "yes"}', 1.0), ('{"verdict": "No"}', 0.0), ("Yes.", 1.0), ("<think>no?</think> yes", 1.0)],
)
async def test_any_other_model_may_reply_in_json_or_in_the_one_word(text, probability):
    reply = await ask_yes_no(FakeListChatModel(responses=[text]), ASKED)
    assert (reply.probability, reply.text, reply.problem) == (probability, text, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"verdict": "maybe"}', "'verdict' is 'maybe', neither yes nor no"),
        ('{"verdict": true}', "'verdict' is True, neither yes nor no"),
        ('{"answer": "yes"}', "neither yes nor no"),
        ("It is right: yes", "the reply is 'It is right: yes', which is neither yes nor no"),
        ("", "the reply is empty"),
    ],
)
async def test_a_reply_of_any_other_model_that_is_neither_is_a_problem(text, problem):
    reply = await ask_yes_no(FakeListChatModel(responses=[text]), ASKED)
    assert (reply.probability, reply.text) == (None, text)
    assert problem in reply.problem


async def test_a_long_reply_is_shown_in_part():
    reply = await ask_yes_no(FakeListChatModel(responses=["well " * 1000]), ASKED)
    assert len(reply.problem) < 150


async def test_half_a_character_can_be_shown_to_the_model_again():
    reply = await ask_yes_no(FakeListChatModel(responses=["yes \ud83d"]), ASKED)
    assert reply.text.encode()


async def test_a_scripted_model_says_how_sure_it_is(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"agent": "principal", "text": "yes", "logprob_mean": -0.5}')
    scripted = await open_model(parse_spec(f"scripted:{path}"))
    reply = await ask_yes_no(scripted, ASKED, config={"metadata": {"agent": "principal"}})
    assert reply.probability == pytest.approx(math.exp(-0.5))


async def test_what_the_provider_raises_goes_through():
    class Failing(FakeListChatModel):
        def _call(self, *_, **__):
            raise ConnectionError("status 503")

    with pytest.raises(ConnectionError, match="503"):
        await ask_yes_no(Failing(responses=[]), ASKED)


async def test_a_limit_replaces_the_one_that_older_servers_read(server):
    model = await opened(server)
    await model.bind(**limit_reply(model, 5)).ainvoke(ASKED)
    assert (server.bodies[0]["max_tokens"], server.bodies[0]["max_completion_tokens"]) == (5, 5)


async def test_the_older_name_of_a_limit_is_not_sent_where_it_was_not_before():
    provider = Refuser("max_tokens", text="ready")
    model = provider.model()
    await model.bind(**limit_reply(model, 5)).ainvoke(ASKED)
    assert provider.bodies[0]["max_completion_tokens"] == 5


def test_a_model_without_a_limit_is_given_none():
    assert limit_reply(FakeListChatModel(responses=[]), 5) == {}
