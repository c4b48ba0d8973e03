import asyncio

import pytest
from langchain_core.messages import HumanMessage

from aligngraph.ranking.judge import Question, UnusableReplyError, Verdict, solution_room
from aligngraph.ranking.sheet import Sheet

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}


def read(value):
    if value["score"] == "?":
        return Verdict()
    if not isinstance(value["score"], int | float):
        raise UnusableReplyError(f"'score' is {value['score']!r}, not a number")
    return Verdict(score=value["score"])


@pytest.fixture
def question(work):
    return Question(Sheet.draw(work("1", "2"), "test"), [HumanMessage("How sure?")], SCHEMA, read, "Say a number.", 3)


async def test_a_reply_is_read(judge, question):
    (call,) = await judge(lambda _: '{"score": 0.5}').ask(question)
    assert (call.outcome, call.score, call.verdict, call.usage.prompt) == ("ranked", 0.5, '{"score": 0.5}', 10)
    assert call.labels == question.sheet.labels


async def test_nothing_said_is_an_abstention(judge, question):
    (call,) = await judge(lambda _: '{"score": "?"}').ask(question)
    assert (call.outcome, call.score, call.problem) == ("abstained", None, None)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ('{"score": "high"}', "'score' is 'high', not a number"),
        ('{"sure": 1}', "the object lacks 'score'"),
        ("I would say 0.5", "the reply is not a JSON object and nothing else"),
    ],
)
async def test_f23_the_second_ask_shows_the_error_and_the_form_and_there_is_no_third(judge, question, reply, problem):
    asked = judge(lambda _: reply)
    calls = await asked.ask(question)
    assert [call.outcome for call in calls] == ["unusable", "unusable"]
    again = asked.model.calls[1].texts
    assert again[:2] == ["How sure?", reply]
    assert problem in again[2]
    assert "Say a number." in again[2]


async def test_calls_are_numbered_through_the_questions(judge, question):
    asked = judge(lambda _: "nothing")
    await asked.ask(question)
    assert [call.metadata["sample"] for call in asked.model.calls] == [6, 7]


async def test_f32_a_provider_s_error_is_a_failed_call_in_its_own_words(judge, question):
    (call,) = await judge(lambda _: ConnectionError("billing: quota exceeded")).ask(question)
    assert (call.outcome, call.problem) == ("failed", "ConnectionError: billing: quota exceeded")


async def test_a_call_that_takes_too_long_is_a_failed_call(judge, question):
    slow = judge(lambda _: "", timeout_s=0.01)
    object.__setattr__(slow.model, "_agenerate", lambda *_, **__: asyncio.sleep(60))
    (call,) = await slow.ask(question)
    assert (call.outcome, call.problem) == ("failed", "no reply within 0.01 s")


def test_labels_and_marks_are_fresh_for_every_call_and_repeat_with_the_seed(work):
    task = work(*map(str, range(6)))
    sheets = [Sheet.draw(task, "call", number) for number in range(8)]
    assert len({sheet.mark for sheet in sheets}) == 8
    assert len({tuple(sheet.labels.values()) for sheet in sheets}) > 4
    assert sheets[3] == Sheet.draw(task, "call", 3)
    assert Sheet.draw(work("1", "2", seed=1), "call").mark != Sheet.draw(work("1", "2"), "call").mark


def test_a_sheet_can_show_some_options_in_a_given_order(work):
    sheet = Sheet.of(work("1", "2", "3"), [2, 0], "pair")
    assert sheet.labels == {"A": 2, "B": 0}
    assert sheet.quoted.index("Answer: 3") < sheet.quoted.index("Answer: 1")
    assert "Answer: 2" not in sheet.quoted


def test_more_options_than_letters_are_numbered(work):
    assert list(Sheet.draw(work(*map(str, range(30))), "x").labels)[-1] == "S30"


@pytest.mark.parametrize(
    ("input_tokens", "options", "room"), [(2000, 2, 2100), (2000, 4, 1050), (100, 2, 200), (10**6, 8, 4000)]
)
def test_solutions_get_what_the_model_reads_within_bounds(judge, input_tokens, options, room):
    model = judge(lambda _: "").model.model_copy(update={"profile": {"max_input_tokens": input_tokens}})
    assert solution_room(model, "", options) == room


async def test_at_most_eight_calls_are_under_way_at_once(judge, question):
    waiting, most = 0, 0

    async def slow():
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0)
        waiting -= 1

    asked = judge(lambda _: "")
    await asyncio.gather(*(asked.call(slow) for _ in range(30)))
    assert most == 8
