import itertools
import time

import pytest

from aligngraph.answers import AnswerForm, valuation
from aligngraph.answers.tree import Expression
from aligngraph.answers.valuation import BUDGET_S, Valuation, by_length

MATH = AnswerForm.of("", "math")
TOWERS = [f"9^{{9^{{9^{{{n}}}}}}}" for n in range(2, 10)]


class Worker:
    """Takes all the time that it is given for a hostile expression, and a hundredth of a second for others."""

    def __init__(self, hostile):
        self.hostile = hostile
        self.asked = {}

    def ask(self, request, limit_s):
        (text,) = request.values()
        text = str(text)
        assert text not in self.asked, "asked twice"
        self.asked[text] = limit_s if self.hostile(text) else 0.01
        return None if self.hostile(text) else {"readable": True, "same": True, "seconds": 0.01}


@pytest.fixture
def worker(monkeypatch):
    worker = Worker(lambda text: text.startswith("9"))
    monkeypatch.setattr(valuation, "ask", worker.ask)
    return worker


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 40, 300])
def test_all_expressions_together_cost_no_more_than_the_budget(worker, count):
    Valuation([Expression(f"9^{number}") for number in range(count)])
    assert len(worker.asked) >= min(count, BUDGET_S / 0.1 - 1)
    assert sum(worker.asked.values()) <= BUDGET_S + 1e-9


def test_a_pair_has_the_whole_limit_for_each_of_its_expressions(worker):
    Valuation([Expression("9^1"), Expression("9^2")])
    assert set(worker.asked.values()) == {valuation.LIMIT_S}


def test_hostile_expressions_leave_the_others_and_their_comparison_their_share(worker):
    hostile = [Expression(f"9^{number}") for number in range(12)]
    honest = [Expression("x \\ne 1 and longer"), Expression("1 \\ne x and longer")]
    values = Valuation([*hostile, *honest])
    assert {leaf.latex for leaf in honest} <= set(worker.asked)
    assert values.is_same(*honest)
    assert not values.is_same(hostile[0], honest[0])
    assert sum(worker.asked.values()) <= BUDGET_S + 1e-9


def test_what_finds_no_place_in_the_budget_is_the_same_as_nothing_else(worker):
    one, other = Expression("x + 1"), Expression("1 + x")
    assert not Valuation([one, other], budget_s=0).is_same(one, other)
    assert worker.asked == {}


def test_the_order_of_the_expressions_changes_nothing(monkeypatch):
    leaves = [Expression("9^3"), Expression("9^22"), Expression("x"), Expression("x + 1")]
    costs = []
    for order in itertools.permutations(leaves):
        worker = Worker(lambda text: text.startswith("9"))
        monkeypatch.setattr(valuation, "ask", worker.ask)
        Valuation(order)
        costs.append(worker.asked)
    assert all(list(cost.items()) == list(costs[0].items()) for cost in costs)
    assert min(leaves, key=by_length) == Expression("x")


@pytest.mark.timeout(60)
def test_many_hostile_answers_of_a_group_end_at_the_budget_and_the_honest_ones_are_right():
    assert MATH.same(r"\sqrt{4}", "2")
    start = time.monotonic()
    groups = MATH.group([*TOWERS, r"\sqrt{49} + \pi", r"\pi + 7", TOWERS[0]])
    assert time.monotonic() - start < BUDGET_S + 10
    assert [group.members for group in groups] == [(0, 10), *((number,) for number in range(1, 8)), (8, 9)]
