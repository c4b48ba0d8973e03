"""A judge whose replies a test decides, as a contender."""

import json
import re

import pytest

from aligngraph.ranking import ListwiseRanker
from aligngraph.trials.contender import Contender

SOLUTION = re.compile(r"Solution (\w+)\n--- (\w+) ---\n(.*?)\n--- \2 ---", re.DOTALL)


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
def played(judge):
    """Return a listwise contender that replies as the given function says; its prompts are in `model.prompts`."""

    def make(reply, label="played"):
        own = judge(lambda call: reply(call.texts[-1], call.metadata))
        return Contender(label, ListwiseRanker(own)), own.model

    return make
