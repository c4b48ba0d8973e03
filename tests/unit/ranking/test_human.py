"""The human ranker in a graph of two nodes: one that costs something, and the one that waits for a person."""

import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from aligngraph.ranking import Option
from aligngraph.ranking.human import HumanRanker

THREAD = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    paid: int
    runs: int


class Desk:
    """A run whose second node ranks `work` by hand; counts what was paid and keeps the preference."""

    def __init__(self, work):
        self.work = work
        self.paid = 0
        self.entered = 0
        self.preference = None
        graph = StateGraph(State)
        graph.add_node("pay", self._pay)
        graph.add_node("rank", self._rank)
        graph.add_edge(START, "pay")
        graph.add_edge("pay", "rank")
        graph.add_edge("rank", END)
        self.graph = graph.compile(checkpointer=InMemorySaver())

    async def _pay(self, state):
        self.paid += 1
        return {"paid": self.paid}

    async def _rank(self, state):
        self.entered += 1
        self.preference = await HumanRanker().rank(self.work)
        return {"runs": self.entered}

    async def send(self, given):
        """Return what is asked now, None when the run has ended."""
        await self.graph.ainvoke(given, THREAD)
        waiting = (await self.graph.aget_state(THREAD)).interrupts
        return waiting[0].value if waiting else None

    async def pause(self):
        return await self.send({"paid": 0})

    async def reply(self, value):
        return await self.send(Command(resume=value))


def order_of(desk, request, *answers):
    """Return the labels of `answers` as they are on the sheet that was shown."""
    texts = {option.answer: option.solution for option in desk.work.options}
    labels = {solution: label for label, solution in request["solutions"].items()}
    return ">".join(labels[texts[answer]] for answer in answers)


async def test_the_run_pauses_and_shows_the_task_and_anonymous_solutions_as_plain_json(work):
    desk = Desk(work("10", "5", "14"))
    request = await desk.pause()
    assert desk.preference is None
    assert set(request) == {"kind", "task", "solutions", "form", "problem"}
    assert (request["kind"], request["task"], request["problem"]) == ("ranking", "How many apples are left?", None)
    assert list(request["solutions"]) == ["A", "B", "C"]
    assert set(request["solutions"].values()) == {option.solution for option in desk.work.options}
    assert request["form"].startswith('best first, as in "C>B>A"; ')
    assert json.loads(json.dumps(request)) == request


@pytest.mark.parametrize("seed", range(4))
async def test_the_preference_follows_the_person_whatever_the_labels(work, seed):
    desk = Desk(work("10", "5", "14", seed=seed))
    request = await desk.pause()
    assert await desk.reply(order_of(desk, request, "10", "5", "14")) is None
    preference = desk.preference
    assert (preference.tiers, preference.abstained) == (((0,), (1,), (2,)), ())
    assert preference.matrix == ((0.5, 1, 1), (0, 0.5, 1), (0, 0, 0.5))
    (call,) = preference.calls
    assert (call.outcome, call.order, call.problem, call.usage) == ("ranked", (0, 1, 2), None, None)
    assert call.verdict == order_of(desk, request, "10", "5", "14")


async def test_nothing_before_the_pause_is_paid_twice(work):
    desk = Desk(work("10", "5"))
    await desk.pause()
    await desk.reply("Z")
    await desk.reply("B>A")
    assert (desk.paid, desk.entered) == (1, 3)


async def test_f26_the_same_sheet_is_drawn_when_the_node_runs_again_and_another_with_another_seed(work):
    desk = Desk(work("10", "5", "14", "7", "1"))
    first = await desk.pause()
    again = await desk.reply("nonsense")
    assert list(again["solutions"].items()) == list(first["solutions"].items())
    others = [await Desk(work("10", "5", "14", "7", "1", seed=seed)).pause() for seed in range(1, 6)]
    assert len({tuple(request["solutions"].values()) for request in [first, *others]}) > 1


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("A>B", "the label C is missing"),
        ("A>B>C>A", "a label occurs more than once"),
        ("A>B>D", "'D' is not one of the labels A, B, C"),
        ("", "the label A is missing"),
        ("the second one is best", "'the second one is best' is not one of the labels A, B, C"),
        (["A", "B", "C"], "not a string"),
        ({"ranking": "A>B>C"}, "None, not a string"),
        (7, "7, not a string"),
    ],
)
async def test_f23_an_unusable_reply_is_asked_again_with_the_reason_and_recorded(work, reply, problem):
    desk = Desk(work("10", "5", "14"))
    await desk.pause()
    assert problem in (await desk.reply(reply))["problem"]
    assert await desk.reply("A>B>C") is None
    unusable, ranked = desk.preference.calls
    assert (unusable.outcome, ranked.outcome) == ("unusable", "ranked")
    assert problem in unusable.problem
    assert unusable.verdict == (reply if isinstance(reply, str) else json.dumps(reply))
    assert unusable.labels == ranked.labels


async def test_a_person_is_asked_as_often_as_it_takes(work):
    desk = Desk(work("10", "5"))
    await desk.pause()
    for number in range(5):
        assert f"'{number}'" in (await desk.reply(str(number)))["problem"]
    assert await desk.reply("A>B") is None
    assert [call.outcome for call in desk.preference.calls] == ["unusable"] * 5 + ["ranked"]


async def test_a_json_object_with_the_order_is_a_reply_too(work):
    desk = Desk(work("10", "5"))
    request = await desk.pause()
    order = order_of(desk, request, "5", "10")
    assert await desk.reply({"order": order}) is None
    assert desk.preference.tiers == ((1,), (0,))
    assert json.loads(desk.preference.calls[0].verdict) == {"order": order}


async def test_f30_a_person_may_leave_out_what_cannot_be_judged(work):
    desk = Desk(work("10", "5", "14"))
    request = await desk.pause()
    best, other, last = (order_of(desk, request, answer) for answer in ("10", "14", "5"))
    assert await desk.reply(f"{best}>{other}|{last}") is None
    assert (desk.preference.tiers, desk.preference.abstained) == (((0,), (2,)), (1,))
    assert desk.preference.matrix == ((0.5, 0.5, 1), (0.5, 0.5, 0.5), (0, 0.5, 0.5))


async def test_an_abstention_is_final_and_says_nothing(work):
    desk = Desk(work("10", "5"))
    await desk.pause()
    assert await desk.reply("abstain") is None
    assert [call.outcome for call in desk.preference.calls] == ["abstained"]
    assert (desk.preference.tiers, desk.preference.abstained) == ((), (0, 1))
    assert desk.preference.matrix == ((0.5, 0.5), (0.5, 0.5))


async def test_the_form_s_examples_are_replies_that_can_be_used(work):
    for count in (2, 3, 30):
        desk = Desk(work(*map(str, range(count))))
        form = (await desk.pause())["form"].split('"')
        for example in form[1::2]:
            again = Desk(desk.work)
            await again.pause()
            assert await again.reply(example) is None
            assert again.preference.calls[-1].outcome in {"ranked", "abstained"}


async def test_a_long_solution_loses_its_middle_and_a_note_says_so(work):
    desk = Desk(work(Option("10", "start " + "x" * 9000 + " end"), "5", limit=1000))
    (long,) = [text for text in (await desk.pause())["solutions"].values() if text.startswith("start")]
    assert "[8010 characters left out]" in long
    assert long.endswith(" end")
    assert len(long) < 1100
