import asyncio
import json
import os
import time

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache

from aligngraph.errors import ModelError, ScriptError
from aligngraph.models import ScriptedChatModel, ScriptedFailure, usage_of


@pytest.fixture
def script(tmp_path):
    """Return a function that writes rows and opens the model that replays them."""

    def write(*rows):
        path = tmp_path / "script.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return ScriptedChatModel.from_file(path)

    return write


def call(agent="a", **more):
    return {"metadata": {"agent": agent, **more}}


async def test_rows_answer_by_agent_task_and_sample(script):
    model = script(
        {"agent": "a", "text": "any"},
        {"agent": "a", "sample": 1, "text": "sample 1"},
        {"agent": "a", "task": "t", "text": "task t"},
        {"agent": "a", "task": "t", "sample": 1, "text": "task t, sample 1"},
        {"agent": "b", "task": "*", "text": "b"},
    )
    asked = [
        call(task="t", sample=1),
        call(task="t", sample=0),
        call(task="u", sample=1),
        call(task="u", sample=0),
        call("b", task="u"),
    ]
    replies = [(await model.ainvoke("hi", config)).text for config in asked]
    assert replies == ["task t, sample 1", "task t", "sample 1", "any", "b"]


async def test_a_call_without_a_row_says_what_was_asked_of_which_file(script, tmp_path):
    model = script({"agent": "a", "task": "t", "text": "x"})
    with pytest.raises(ScriptError) as caught:
        await model.ainvoke("hi", call("b", task="u", sample=3))
    expected = f"script '{tmp_path}/script.jsonl' holds no row for agent 'b', task 'u', sample 3"
    assert str(caught.value) == expected


async def test_a_call_that_names_no_agent_finds_no_row(script):
    with pytest.raises(ScriptError, match="agent None"):
        await script({"agent": "None", "task": "t", "text": "x"}).ainvoke("hi")


async def test_rows_without_task_or_sample_answer_calls_without(script):
    assert (await script({"agent": "a", "text": "x"}).ainvoke("hi", call())).text == "x"


async def test_a_label_stands_for_the_answer_it_shows(script):
    model = script({"agent": "p", "text": '{"order": "{label:42}>{label:\\\\frac{1}{2}}>{label:42}"}'})
    labels = {"B": "42", "A": "\\\\frac{1}{2}"}
    assert (await model.ainvoke("hi", call("p", labels=labels))).text == '{"order": "B>A>B"}'


@pytest.mark.parametrize("labels", [{"A": "41"}, {}])
async def test_a_label_that_is_not_shown_is_an_error(script, labels):
    model = script({"agent": "p", "text": "{label:42}"})
    with pytest.raises(ScriptError, match=r"no label in .* for an answer in '{label:42}'"):
        await model.ainvoke("hi", call("p", labels=labels))


async def test_failures_are_played(script):
    model = script({"agent": "a", "error": "status 400"}, {"agent": "b", "error": "timeout"})
    with pytest.raises(ScriptedFailure, match="status 400"):
        await model.ainvoke("hi", call())
    with pytest.raises(TimeoutError):
        await model.ainvoke("hi", call("b"))


async def test_words_are_counted_where_the_script_has_no_usage(script):
    model = script(
        {"agent": "a", "text": "one two three"}, {"agent": "b", "text": "x", "usage": {"prompt": 9, "completion": 8}}
    )
    counted = usage_of(await model.ainvoke([("system", "be brief"), ("human", "what is it?")], call()))
    stated = usage_of(await model.ainvoke("hi", call("b")))
    assert (counted.prompt, counted.completion) == (5, 3)
    assert (stated.prompt, stated.completion) == (9, 8)


async def test_log_probabilities_come_as_a_provider_gives_them(script):
    model = script({"agent": "a", "text": "one two", "logprob_mean": -0.5}, {"agent": "b", "text": "one"})
    tokens = (await model.ainvoke("hi", call())).response_metadata["logprobs"]["content"]
    assert [(token["token"], token["logprob"]) for token in tokens] == [("one", -0.5), ("two", -0.5)]
    assert "logprobs" not in (await model.ainvoke("hi", call("b"))).response_metadata


async def test_latency_passes_in_parallel(script):
    model = script({"agent": "a", "text": "x", "latency_s": 0.2})
    started = time.perf_counter()
    await asyncio.gather(*(model.ainvoke("hi", call(sample=sample)) for sample in range(10)))
    assert 0.19 < time.perf_counter() - started < 1


def test_it_answers_without_a_loop_too(script):
    model = script({"agent": "a", "text": "x", "latency_s": 0.01})
    started = time.perf_counter()
    assert model.invoke("hi", call()).text == "x"
    assert time.perf_counter() - started > 0.009


async def test_it_streams(script):
    chunks = [chunk async for chunk in script({"agent": "a", "text": "x y"}).astream("hi", call())]
    assert "".join(chunk.text for chunk in chunks) == "x y"


async def test_settings_of_a_call_change_nothing(script):
    model = script({"agent": "a", "text": "x"}).bind(response_format={"type": "json_object"}, seed=3, stop=["x"])
    assert (await model.ainvoke("hi", call())).text == "x"


async def test_langchains_cache_does_not_mix_agents(script):
    model = script({"agent": "a", "text": "from a"}, {"agent": "b", "text": "from b"})
    set_llm_cache(InMemoryCache())
    try:
        replies = [(await model.ainvoke("hi", call(agent))).text for agent in "ab"]
    finally:
        set_llm_cache(None)
    assert replies == ["from a", "from b"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("not json", "Invalid JSON"),
        ('{"text": "x"}', "key 'agent': Field required"),
        ('{"agent": "a"}', 'needs either "text" or "error"'),
        ('{"agent": "a", "text": "x", "error": "y"}', 'needs either "text" or "error"'),
        ('{"agent": "a", "text": "x", "smaple": 1}', "key 'smaple': Extra inputs"),
        ('{"agent": "a", "text": "x", "sample": -1}', "key 'sample'"),
        ('{"agent": "a", "text": "x", "usage": {"prompt": 1}}', "key 'usage.completion': Field required"),
        ('{"agent": "ok", "text": "again"}', "repeats an earlier row"),
        ('{"agent": "ok", "task": "*", "text": "again"}', "repeats an earlier row"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, problem):
    path = tmp_path / "s.jsonl"
    path.write_text(f'{{"agent": "ok", "text": "fine"}}\n\n{line}\n')
    with pytest.raises(ModelError) as caught:
        ScriptedChatModel.from_file(path)
    assert str(caught.value).startswith(f"script '{path}', line 3: ")
    assert problem in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"none.jsonl' cannot be read: No such file"):
        ScriptedChatModel.from_file(tmp_path / "none.jsonl")
    with pytest.raises(ModelError, match=r"cannot be read: .*directory"):
        ScriptedChatModel.from_file(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(b'{"agent": "\xe9"}')
    with pytest.raises(ModelError, match=r"cannot be read: .*utf-8"):
        ScriptedChatModel.from_file(tmp_path / "latin.jsonl")


def test_a_file_is_read_once_and_again_after_a_change(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"agent": "a", "text": "old"}')
    first, second = (ScriptedChatModel.from_file(path).script for _ in range(2))
    path.write_text('{"agent": "a", "text": "new"}')
    os.utime(path, ns=(1, 1))
    assert first is second
    assert ScriptedChatModel.from_file(path).invoke("hi", call()).text == "new"
