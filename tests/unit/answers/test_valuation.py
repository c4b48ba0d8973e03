import itertools
import time

import pytest

from aligngraph.answers import AnswerForm, valuation
from aligngraph.answers.tree import Expression
from aligngraph.answers.valuation import BUDGET_S, Valuation, by_cost, by_length

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


def test_what_looks_enormous_takes_nothing_from_what_does_not(worker):
    enormous = [Expression(f"9^{{{{{number}!}}}}!") for number in range(10, 60)]
    honest = [Expression(r"2\sqrt{2} and longer than the others"), Expression(r"\sqrt{8} and longer than the others")]
    Valuation([*enormous, *honest])
    assert list(worker.asked)[:2] == [leaf.latex for leaf in sorted(honest, key=by_length)]
    assert sum(worker.asked.values()) <= BUDGET_S + 1e-9


@pytest.mark.parametrize(
    ("latex", "is_enormous"),
    [
        ("9^{9^{9}}", True),
        ("9^9^9", True),
        ("9^{{10!}}!", True),
        ("2^{10000}", True),
        ("2^99999", True),
        ("1000!", True),
        ("5!!", True),
        ("(5!)!", True),
        (r"\sum_{k=1}^{9} k", True),
        (r"2\sqrt{2}", False),
        ("x^{2} + 2x + 1", False),
        ("10!", False),
        ("2^{100} - 3^{5}", False),
        (r"\frac{1}{10000}", False),
    ],
)
def test_towers_long_exponents_and_large_factorials_come_last(latex, is_enormous):
    assert by_cost(Expression(latex))[0] is is_enormous


@pytest.mark.timeout(60)
def test_many_hostile_answers_of_a_group_end_at_the_budget_and_the_honest_ones_are_right():
    assert MATH.same(r"\sqrt{4}", "2")
    start = time.monotonic()
    groups = MATH.group([*TOWERS, r"\sqrt{49} + \pi", r"\pi + 7", TOWERS[0]])
    assert time.monotonic() - start < BUDGET_S + 10
    assert [group.members for group in groups] == [(0, 10), *((number,) for number in range(1, 8)), (8, 9)]


@pytest.mark.timeout(60)
def test_fifty_short_hostile_answers_split_no_honest_ones():
    hostile = [f"9^{{{{{number}!}}}}!" for number in range(10, 60)]
    groups = MATH.group([*hostile, r"2\sqrt{2}", r"\sqrt{8}"])
    assert groups[-1].members == (50, 51)
