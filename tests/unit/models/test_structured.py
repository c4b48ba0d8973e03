import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_openai import ChatOpenAI

from aligngraph.models import TokenCounts, ask_json, open_model, parse_spec, usage_of

ASKED = [HumanMessage("rank them")]
SCHEMA = {
    "title": "ranking",
    "type": "object",
    "properties": {"order": {"type": "string"}},
    "required": ["order"],
    "additionalProperties": False,
}


class ToolUser(GenericFakeChatModel):
    """Stands for a provider that is asked for JSON by a tool call."""

    bound: list

    def bind_tools(self, tools, **settings):
        self.bound.append((tools, settings))
        return self


def calling(arguments):
    call = {"name": "ranking", "args": arguments, "id": "1"}
    return ToolUser(messages=iter([AIMessage("", tool_calls=[call])]), bound=[])


@pytest.fixture
async def model(openai_server):
    return await open_model(
        parse_spec({"provider": "openai", "name": "m", "base_url": openai_server.base_url, "max_tokens": 64})
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"order": "A>B"}',
        ' \n{"order":\n"A>B"}\n ',
        '```json\n{"order": "A>B"}\n```',
        '```\n{"order": "A>B"}```',
        '<think>B? No: {"order": "B>A"} is wrong.</think>\n{"order": "A>B"}',
        '\n<think></think>```json\n{"order": "A>B"}\n```\n',
    ],
)
async def test_a_reply_that_is_json_from_end_to_end_has_a_value(text):
    reply = await ask_json(FakeListChatModel(responses=[text]), ASKED, SCHEMA, config={})
    assert (reply.value, reply.problem, reply.text) == ({"order": "A>B"}, None, text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the reply is empty"),
        (" \n", "the reply is empty"),
        ("<think>hm</think>", "the reply is empty"),
        ('I prefer {"order": "A>B"}', "not a JSON object and nothing else"),
        ('{"order": "A>B"} because A is right', "not a JSON object and nothing else"),
        ('{"order": "A>B"}{"order": "B>A"}', "not a JSON object and nothing else"),
        ('<think>endless {"order": "A>B"}', "not a JSON object and nothing else"),
        ("[" * 100_000, "not a JSON object and nothing else"),
        ('"A>B"', "the reply is a JSON str, not an object"),
        ("null", "the reply is a JSON NoneType, not an object"),
        ('["A", "B"]', "the reply is a JSON list, not an object"),
        ('{"ranking": "A>B"}', "the object lacks 'order'"),
        ('{"type": "object", "properties": {"order": {"type": "string"}}}', "repeats the schema"),
    ],
)
async def test_any_other_reply_has_a_problem_and_no_value(text, problem):
    reply = await ask_json(FakeListChatModel(responses=[text]), ASKED, SCHEMA, config={})
    assert reply.value is None
    assert problem in reply.problem
    assert reply.text == text


async def test_half_a_character_can_be_shown_to_the_model_again():
    reply = await ask_json(FakeListChatModel(responses=["best: \ud83d"]), ASKED, SCHEMA, config={})
    assert reply.text == "best: \ufffd"
    assert reply.text.encode()


async def test_openai_is_asked_for_the_schema(openai_server, model):
    openai_server.text = '{"order": "A>B"}'
    reply = await ask_json(model, ASKED, SCHEMA, config={}, seed=7)
    (body,) = openai_server.bodies
    wanted = {"name": "ranking", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": wanted}
    assert (body["seed"], body["max_tokens"], body["max_completion_tokens"]) == (7, 64, 64)
    assert (reply.value, usage_of(reply.message)) == ({"order": "A>B"}, TokenCounts(7, 3))


async def test_a_schema_without_a_title_has_a_name_for_the_provider(openai_server, model):
    await ask_json(model, ASKED, {key: SCHEMA[key] for key in SCHEMA if key != "title"}, config={})
    assert openai_server.bodies[0]["response_format"]["json_schema"]["name"] == "reply"


async def test_a_reply_that_was_cut_off_keeps_its_text(openai_server, model):
    openai_server.text, openai_server.finish_reason = '{"order": "A>', "length"
    reply = await ask_json(model, ASKED, SCHEMA, config={})
    assert (reply.value, reply.text) == (None, '{"order": "A>')
    assert "cut off" in reply.problem


async def test_a_refusal_is_a_problem_in_the_models_words(openai_server, model):
    openai_server.text, openai_server.refusal = "", "I cannot judge people"
    reply = await ask_json(model, ASKED, SCHEMA, config={})
    assert (reply.value, reply.problem) == (None, "the reply is a refusal: I cannot judge people")


async def test_the_responses_interface_gets_its_own_format(monkeypatch):
    bound = []
    model = ChatOpenAI(model="gpt-5-pro", api_key="k")
    plain = FakeListChatModel(responses=['{"order": "A>B"}'])
    monkeypatch.setattr(ChatOpenAI, "bind", lambda _, **settings: bound.append(settings) or plain)
    assert (await ask_json(model, ASKED, SCHEMA, config={})).value == {"order": "A>B"}
    assert bound[0]["response_format"]["json_schema"]["name"] == "ranking"
    assert "extra_body" not in bound[0]


async def test_a_tool_call_is_a_value():
    model = calling({"order": "A>B"})
    reply = await ask_json(model, ASKED, SCHEMA, config={})
    assert (reply.value, reply.text, reply.problem) == ({"order": "A>B"}, '{"order": "A>B"}', None)
    assert model.bound[0][0] == [{**SCHEMA}]


async def test_a_tool_call_without_a_required_key_is_a_problem():
    reply = await ask_json(calling({"rank": "A>B"}), ASKED, SCHEMA, config={})
    assert (reply.value, reply.problem) == (None, "the object lacks 'order'")


async def test_prose_instead_of_a_tool_call_is_read_like_any_reply():
    reply = await ask_json(ToolUser(messages=iter([AIMessage("A is better")]), bound=[]), ASKED, SCHEMA, config={})
    assert (reply.value, reply.text) == (None, "A is better")
    assert "not a JSON object" in reply.problem


async def test_what_the_provider_raises_goes_through():
    class Failing(FakeListChatModel):
        def _call(self, *_, **__):
            raise ConnectionError("status 503")

    with pytest.raises(ConnectionError, match="503"):
        await ask_json(Failing(responses=[]), ASKED, SCHEMA, config={})


async def test_the_configuration_reaches_the_call(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"agent": "principal", "text": "{\\"order\\": \\"{label:42}\\"}"}')
    scripted = await open_model(parse_spec(f"scripted:{path}"))
    reply = await ask_json(scripted, ASKED, SCHEMA, config={"metadata": {"agent": "principal", "labels": {"C": "42"}}})
    assert reply.value == {"order": "C"}


def test_usage_is_what_the_provider_counted():
    counted = AIMessage("x", usage_metadata=UsageMetadata(input_tokens=4, output_tokens=2, total_tokens=6))
    assert usage_of(counted) == TokenCounts(prompt=4, completion=2)
    assert usage_of(AIMessage("x")) == TokenCounts(prompt=0, completion=0)
