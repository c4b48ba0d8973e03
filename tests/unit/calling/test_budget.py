"""The ledger of a run: what is set aside, what was used, and who has to wait."""

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aligngraph.calling.budget import Caps, Ledger
from aligngraph.calling.spending import NOTHING, Spending, total
from aligngraph.errors import BudgetSpentError
from aligngraph.models import TokenCounts
from aligngraph.randomness import generator


class Clock:
    """Time that passes when the test says so."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


def one_call(prompt=10, completion=20, cost=0.5):
    return Spending(1, prompt, completion, cost=cost)


def refusal(ledger, most, call="next"):
    with pytest.raises(BudgetSpentError) as caught:
        ledger.reserve(call, most)
    return caught.value


def try_to_reserve(ledger, call, most):
    """Return the refusal, None where there is none."""
    try:
        ledger.reserve(call, most)
    except BudgetSpentError as error:
        return error
    return None


class TestSpending:
    def test_a_sum_has_everything_of_its_parts(self):
        parts = [Spending(1, 10, 5, 4, 0, 0.25), Spending(2, 7, 3, 0, 1, 0.5)]
        assert total(parts) == Spending(3, 17, 8, 4, 1, 0.75)
        assert total(parts).tokens == 25
        assert total([]) == NOTHING

    def test_a_sum_with_an_unknown_price_is_unknown_and_never_zero(self):
        assert total([one_call(), one_call(cost=None), one_call()]).cost is None

    def test_a_call_without_a_price_has_no_cost(self):
        counts = TokenCounts(10, 5, 3)
        assert Spending.of_call(counts, None, estimated=True) == Spending(1, 10, 5, 3, 1, None)
        assert Spending.of_call(counts, lambda used: used.total / 10) == Spending(1, 10, 5, 3, 0, 1.5)


class TestRefusals:
    @pytest.mark.parametrize(
        ("caps", "message"),
        [
            (Caps(calls=2), r"^budget: its 2 calls are spent$"),
            (Caps(tokens=89), r"^budget: 60 of its 89 tokens are spent, and this call may need more than the rest$"),
            (Caps(money=1.25), r"^budget: 1\.0000 of its 1\.25 money is spent, and this call may cost more"),
        ],
    )
    def test_what_no_longer_fits_is_refused_for_good_and_the_cap_is_named(self, caps, message):
        ledger = Ledger(caps)
        for number in range(2):
            ledger.reserve(number, one_call())
            ledger.settle(number, one_call())
        error = refusal(ledger, one_call())
        assert error.pending is False
        with pytest.raises(BudgetSpentError, match=message):
            raise error

    def test_what_would_fit_if_others_use_less_is_pending(self):
        ledger = Ledger(Caps(tokens=100))
        ledger.reserve("slow", one_call(completion=70))
        assert refusal(ledger, one_call()).pending
        ledger.settle("slow", one_call(completion=5))
        ledger.reserve("next", one_call())

    def test_what_never_fits_is_final_though_others_are_under_way(self):
        ledger = Ledger(Caps(tokens=100))
        ledger.reserve("slow", one_call())
        assert refusal(ledger, one_call(prompt=101)).pending is False

    def test_a_refused_call_has_reserved_nothing(self):
        ledger = Ledger(Caps(tokens=100))
        refusal(ledger, one_call(prompt=101))
        ledger.reserve("one", one_call(prompt=80))
        ledger.settle("one", one_call())
        assert ledger.spent == one_call()

    def test_an_unknown_price_never_fits_under_a_cap_on_money(self):
        assert refusal(Ledger(Caps(money=1e9)), one_call(cost=None)).pending is False

    def test_without_caps_everything_fits(self):
        ledger = Ledger(Caps())
        for number in range(100):
            ledger.reserve(number, Spending(1, 10**9, 10**9, cost=None))
        assert ledger.remaining_s is None

    def test_a_free_call_fits_where_the_money_is_gone(self):
        ledger = Ledger(Caps(money=0.5))
        ledger.settle("unreserved", one_call())
        ledger.reserve("free", one_call(cost=0.0))
        assert refusal(ledger, one_call(cost=0.001)).pending is False

    def test_seconds_run_from_the_beginning_and_end_everything(self):
        clock = Clock()
        ledger = Ledger(Caps(seconds=3), clock=clock)
        clock.now_s += 2
        ledger.reserve("in time", one_call())
        assert ledger.remaining_s == 1
        clock.now_s += 5
        assert ledger.remaining_s == 0
        error = refusal(ledger, one_call())
        assert (str(error), error.pending) == ("budget: its 3 seconds are over", False)


class TestWhatIsKnownFromElsewhere:
    def test_what_another_process_spent_counts(self):
        ledger = Ledger(Caps(calls=5))
        ledger.acknowledge(Spending(4, 40, 80, cost=2.0))
        ledger.reserve("fifth", one_call())
        ledger.settle("fifth", one_call())
        assert refusal(ledger, one_call()).pending is False
        assert ledger.spent == Spending(5, 50, 100, cost=2.5)

    def test_the_same_told_again_counts_once(self):
        ledger = Ledger(Caps(calls=5))
        for _ in range(3):
            ledger.acknowledge(Spending(2, 20, 40, cost=1.0))
        ledger.reserve("own", one_call())
        ledger.settle("own", one_call())
        ledger.acknowledge(Spending(2, 20, 40, cost=1.0))
        assert ledger.spent.calls == 3

    def test_what_nobody_saw_leaves_the_rest_of_the_money(self):
        """A graph on another server says nothing of its cost: the models beside it may still be asked."""
        ledger = Ledger(Caps(money=2.0))
        ledger.acknowledge(Spending(0, cost=None), Spending(2, 20, 40, cost=1.0))
        assert ledger.spent == Spending(2, 20, 40, cost=1.0)
        ledger.reserve("next", one_call(cost=1.0))
        ledger.settle("next", one_call(cost=1.0))
        assert refusal(ledger, one_call(cost=0.5)).pending is False


tokens = st.integers(0, 60)


class LedgerInAnyOrder(RuleBasedStateMachine):
    """Calls begin, end and are cancelled in any order: as long as each uses no more than it reserved, no cap breaks."""

    @initialize(calls=st.integers(1, 12), cap=st.integers(1, 300), money=st.integers(1, 300))
    def open(self, calls, cap, money):
        self.caps = Caps(calls=calls, tokens=cap, money=money)
        self.ledger, self.outstanding, self.made, self.spent = Ledger(self.caps), {}, 0, NOTHING

    @rule(prompt=tokens, completion=tokens, cost=tokens)
    def reserve(self, prompt, completion, cost):
        most = Spending(1, prompt, completion, cost=float(cost))
        self.made += 1
        fits = self._fits(total([self.spent, *self.outstanding.values(), most]))
        error = try_to_reserve(self.ledger, self.made, most)
        assert (error is None) == fits
        if error is None:
            self.outstanding[self.made] = most
        else:
            assert error.pending == self._fits(self.spent + most)
            assert not error.pending or self.outstanding

    @precondition(lambda self: self.outstanding)
    @rule(which=st.randoms(use_true_random=False), share=st.floats(0, 1))
    def settle(self, which, share):
        call = which.choice(sorted(self.outstanding))
        most = self.outstanding.pop(call)
        used = Spending(1, int(most.prompt * share), int(most.completion * share), cost=float(int(most.cost * share)))
        self.ledger.settle(call, used)
        self.spent += used

    @invariant()
    def no_cap_is_exceeded(self):
        assert self.ledger.spent == self.spent
        assert self._fits(self.ledger.spent + total(self.outstanding.values()))

    def _fits(self, sum_):
        return (
            sum_.calls <= self.caps.calls
            and sum_.tokens <= self.caps.tokens
            and sum_.cost is not None
            and sum_.cost <= self.caps.money
        )


TestLedgerInAnyOrder = LedgerInAnyOrder.TestCase
TestLedgerInAnyOrder.settings = settings(max_examples=50, stateful_step_count=30)


class TestWaiting:
    async def test_nobody_waits_where_nothing_is_outstanding(self):
        await asyncio.wait_for(Ledger(Caps(calls=1)).wait_for_settlement(), 5)

    async def test_a_settlement_wakes_everyone_who_waits(self):
        ledger = Ledger(Caps(calls=1))
        ledger.reserve("slow", one_call())
        waiting = [asyncio.create_task(ledger.wait_for_settlement()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        ledger.settle("slow", one_call())
        await asyncio.wait_for(asyncio.gather(*waiting), 5)

    async def test_a_settlement_in_another_thread_wakes_too(self):
        ledger = Ledger(Caps(calls=1))
        ledger.reserve("slow", one_call())
        waiting = asyncio.create_task(ledger.wait_for_settlement())
        await asyncio.sleep(0)
        await asyncio.to_thread(ledger.settle, "slow", one_call())
        await asyncio.wait_for(waiting, 5)

    def test_who_gave_up_waiting_in_a_loop_that_has_ended_disturbs_no_settlement(self):
        ledger = Ledger(Caps(calls=1))
        ledger.reserve("slow", one_call())

        async def give_up():
            waiting = asyncio.create_task(ledger.wait_for_settlement())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

        asyncio.run(give_up())
        ledger.settle("slow", one_call())
        assert ledger.spent == one_call()


def test_threads_together_exceed_no_cap():
    ledger, made = Ledger(Caps(calls=200, tokens=5000)), []

    def work(seed):
        rng = generator(seed)
        for number in range(100):
            most = one_call(completion=int(rng.integers(40)))
            if try_to_reserve(ledger, (seed, number), most) is None:
                made.append(most)
                ledger.settle((seed, number), most)

    workers = [threading.Thread(target=work, args=[seed]) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert ledger.spent.tokens == total(made).tokens <= 5000
    assert ledger.spent.calls == len(made) <= 200
    assert len(made) > 100


@given(st.lists(st.tuples(tokens, tokens), max_size=30), st.integers(0, 400))
def test_one_after_the_other_goes_as_far_as_it_can(calls, cap):
    """A call that fits on its own is never refused because of earlier ones that used less than they reserved."""
    ledger, spent = Ledger(Caps(tokens=max(1, cap))), 0
    for number, (most, used) in enumerate(calls):
        if try_to_reserve(ledger, number, Spending(1, most, 0)):
            assert spent + most > max(1, cap)
        else:
            ledger.settle(number, Spending(1, min(most, used), 0))
            spent += min(most, used)
    assert spent <= max(1, cap)
