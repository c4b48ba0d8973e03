"""What every opened model does, whatever it was opened from."""

import asyncio
import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from aligngraph.models import ask_json, input_limit, model_label, open_model, parse_spec, usage_of

CALL = {"metadata": {"agent": "a", "task": "t", "sample": 0, "labels": {"A": "4", "B": "5"}}}
SCHEMA = {
    "title": "choice",
    "type": "object",
    "properties": {"best": {"enum": ["A", "B"]}},
    "required": ["best"],
    "additionalProperties": False,
}


class OpenedModelContract:
    @pytest.fixture
    def spec(self, tmp_path):
        raise NotImplementedError

    async def test_it_answers_with_its_usage(self, spec):
        model = await open_model(spec, temperature=0.0, timeout_s=60)
        message = await model.ainvoke([HumanMessage("What is 2+2?")], CALL)
        assert isinstance(message, AIMessage)
        assert message.text
        counted = usage_of(message)
        assert counted.prompt > 0
        assert counted.completion > 0

    async def test_it_answers_in_json(self, spec):
        model = await open_model(spec, temperature=0.0)
        reply = await ask_json(model, [HumanMessage("Is 2+2 A: 4 or B: 5? Reply in JSON.")], SCHEMA, config=CALL)
        assert reply.problem is None
        assert reply.value["best"] in {"A", "B"}
        assert usage_of(reply.message).completion > 0

    async def test_it_streams_what_it_says(self, spec):
        model = await open_model(spec, temperature=0.0)
        parts = [part async for part in model.astream("Say hello.", CALL)]
        whole = sum(parts[1:], parts[0])
        assert whole.text
        assert usage_of(whole).completion > 0

    async def test_it_answers_many_at_once(self, spec):
        model = await open_model(spec, temperature=0.0)
        replies = await asyncio.gather(*(model.ainvoke("Say hello.", CALL) for _ in range(6)))
        assert len(replies) == 6
        assert all(reply.text for reply in replies)

    def test_it_serves_one_event_loop_after_the_other(self, spec):
        model = asyncio.run(open_model(spec, temperature=0.0))
        assert all(asyncio.run(model.ainvoke("Say hello.", CALL)).text for _ in range(2))

    async def test_open_or_not_it_reads_as_much(self, spec):
        assert input_limit(await open_model(spec)) == input_limit(spec)

    async def test_it_has_a_label(self, spec):
        assert spec.label == f"{spec.provider}:{spec.name}"
        assert model_label(await open_model(spec))


class TestScripted(OpenedModelContract):
    @pytest.fixture
    def spec(self, tmp_path):
        (tmp_path / "s.jsonl").write_text(json.dumps({"agent": "a", "text": '{"best": "{label:4}"}'}))
        return parse_spec(f"scripted:{tmp_path}/s.jsonl")


@pytest.mark.embedded
class TestEmbedded(OpenedModelContract):
    @pytest.fixture
    def spec(self):
        return parse_spec({"provider": "embedded", "name": "smollm2-135m", "max_tokens": 48})
