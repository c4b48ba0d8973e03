"""A judge whose replies a test decides, as a contender."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from aligngraph.ranking import Judge, ListwiseRanker
from aligngraph.trials.contender import Contender

SOLUTION = re.compile(r"Solution (\w+)\n--- (\w+) ---\n(.*?)\n--- \2 ---", re.DOTALL)


class PlayedModel(BaseChatModel):
    """Replies what `reply` returns for the last message, and the metadata of the call."""

    reply: Callable[[str, dict[str, Any]], str | Exception]
    prompts: list[str] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self):
        return "played"

    def _generate(self, messages, stop=None, run_manager=None, **settings):
        raise NotImplementedError("rankers are asynchronous")

    async def _agenerate(self, messages, stop=None, run_manager=None, **settings):
        self.prompts.append(messages[-1].text)
        given = self.reply(messages[-1].text, dict(run_manager.metadata or {}))
        if isinstance(given, Exception):
            raise given
        usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(given, usage_metadata=usage))])


@pytest.fixture
def sorting():
    """Return a maker of replies that put solutions in the order of `key(solution, answer)`, as shown where equal."""

    def make(key):
        def reply(prompt, metadata):
            texts = {label: text for label, _, text in SOLUTION.findall(prompt)}
            ranked = sorted(texts, key=lambda label: key(texts[label], metadata["labels"][label]))
            return json.dumps({"order": ">".join(ranked)})

        return reply

    return make


@pytest.fixture
def played():
    """Return a listwise contender that replies as the given function says; its prompts are in `model.prompts`."""

    def make(reply, label="played"):
        model = PlayedModel(reply=reply)
        contender = Contender(label, ListwiseRanker(Judge(model, 5.0)))
        return contender, model

    return make
