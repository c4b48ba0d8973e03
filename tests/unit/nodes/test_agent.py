"""One agent's strange reply, or a model that can no longer be opened, is that agent's failure and ends no run."""

import json
from types import SimpleNamespace

import pytest
from langchain_core.messages import AIMessage

from aligngraph import Team, aask
from aligngraph.errors import ModelError
from aligngraph.nodes import Resources

TASK = "What is 6 * 7?"


class StrangeModel:
    """Answers with whatever it was given, which need not be a message."""

    _llm_type = "strange"
    profile = None

    def __init__(self, reply):
        self.reply = reply

    async def ainvoke(self, *_arguments, **_options):
        return self.reply


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "Answer: 42",
        AIMessage.model_construct(content=None, type="ai"),
        AIMessage.model_construct(content=[{"type": "text", "text": None}], type="ai"),
        AIMessage([{"type": "image", "url": "https://example.org/42.png"}]),
        SimpleNamespace(text=42),
    ],
    ids=["nothing", "no message", "no content", "no text in a block", "an image", "a stub"],
)
async def test_a_strange_reply_is_that_agent_s_failure(scripted_team, db, reply):
    team = Team.load(scripted_team({"a": ["42"], "odd": ["41"]}, order=["42"]))
    sound, odd = team.agents
    members = (sound, odd.model_copy(update={"model": StrangeModel(reply)}))
    decision = await aask(TASK, team=team.model_copy(update={"agents": members}), db=db)
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert any(problem.startswith("odd.0: ") for problem in decision.problems)


async def test_a_model_that_can_no_longer_be_opened_is_that_agent_s_failure(scripted_team, db, monkeypatch):
    team = Team.load(scripted_team({"a": ["42"], "gone": ["41"]}, order=["42"]))
    gone = team.agents[1].model_copy(update={"timeout_s": 59})
    opened, asked = Resources.open_model, []

    async def open_once(resources, model, *, temperature, timeout_s):
        if timeout_s == gone.timeout_s:
            asked.append(model)
            if len(asked) > 1:
                raise ModelError("the server has ended")
        return await opened(resources, model, temperature=temperature, timeout_s=timeout_s)

    monkeypatch.setattr(Resources, "open_model", open_once)
    decision = await aask(TASK, team=team.model_copy(update={"agents": (team.agents[0], gone)}), db=db)
    assert (decision.status, decision.answer) == ("degraded", "42")
    assert decision.problems == ["gone.0: ModelError: the server has ended"]


async def test_half_a_character_in_a_reply_is_replaced_before_anything_reads_it(scripted_team, db):
    team = Team.load(scripted_team({"cut": ["x"], "b": ["y"]}, order=["y"]))
    model = StrangeModel(AIMessage("cut \ud83d\nAnswer: x\ud83d"))
    agents = (team.agents[0].model_copy(update={"model": model}), team.agents[1])
    decision = await aask(TASK, team=team.model_copy(update={"agents": agents}), db=db)
    assert decision.candidates[0].text == "cut \ufffd\nAnswer: x\ufffd"
    assert "x\ufffd" in json.loads(decision.model_dump_json())["answers"][0]["answer"]
