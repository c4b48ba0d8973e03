"""A line: turn, pace, circuit, retries and time limits, in this order, around calls that are metered."""

import asyncio
import time
from functools import partial

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphInterrupt

from aligngraph.calling.budget import Caps, Ledger
from aligngraph.calling.circuit import Circuit
from aligngraph.calling.lane import Lane
from aligngraph.calling.settings import CircuitSettings
from aligngraph.calling.spending import Spending
from aligngraph.errors import BudgetSpentError, CallTimeoutError, ModelRestingError, StoreError

CIRCUIT = CircuitSettings(failures=2, rest_s=60)


class RefusedError(Exception):
    """A provider's error."""

    def __init__(self, status, wait_s=None):
        super().__init__(f"status {status}")
        self.status_code = status
        self.headers = {} if wait_s is None else {"retry-after": f"{wait_s:g}"}


class Calls:
    """Plays the given outcomes one after the other, the last one for ever; an outcome is an error or a reply."""

    def __init__(self, *outcomes):
        self.outcomes, self.made, self.at = list(outcomes), 0, []

    async def __call__(self):
        self.made += 1
        self.at.append(time.monotonic())
        await asyncio.sleep(0)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


async def hang():
    await asyncio.Event().wait()


def model(*replies):
    return FakeListChatModel(responses=list(replies or ("one",)))


class TestEndings:
    async def test_a_value_comes_through(self, open_line):
        ended = await open_line().call(Calls("so it is"))
        assert (ended.value, ended.cause, ended.error) == ("so it is", None, None)

    async def test_f51_an_error_is_its_own_cause(self, open_line):
        ended = await open_line().call(Calls(ValueError("the true reason")))
        assert (ended.value, ended.cause) == (None, "ValueError: the true reason")

    @pytest.mark.parametrize("error", [TimeoutError(), TimeoutError("too slow"), ConnectionError()])
    async def test_f4_no_error_of_a_provider_escapes(self, open_line, error):
        """One without any words did."""
        ended = await open_line(attempts=2).call(Calls(error))
        assert ended.error is error
        assert ended.cause

    async def test_cancellation_and_interrupts_pass_through(self, open_line):
        line = open_line()
        calling = asyncio.create_task(line.call(hang))
        await asyncio.sleep(0)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        with pytest.raises(GraphInterrupt):
            await line.call(Calls(GraphInterrupt()))


class TestTimes:
    async def test_f1_a_hang_costs_the_time_of_one_call(self, open_line):
        begun = time.monotonic()
        ended = await open_line(timeout_s=0.1, attempts=3).call(hang)
        assert ended.cause == "no reply within 0.1 s"
        assert isinstance(ended.error, CallTimeoutError)
        assert 0.1 <= time.monotonic() - begun < 1.0

    async def test_a_client_s_own_error_about_our_time_limit_is_no_reason_to_try_again(self, open_line):
        made = []

        async def call():
            made.append(1)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise TimeoutError("request timed out") from None

        ended = await open_line(timeout_s=0.05, attempts=3).call(call)
        assert (len(made), ended.cause) == (1, "no reply within 0.05 s")

    async def test_waiting_for_a_turn_does_not_count(self, open_line):
        line = open_line(Lane("m", CIRCUIT, most_at_once=1), timeout_s=0.5)

        async def call():
            await asyncio.sleep(0.2)
            return "ok"

        ended = await asyncio.gather(*(line.call(call) for _ in range(5)))
        assert [one.value for one in ended] == ["ok"] * 5

    async def test_keeping_pace_does_not_count(self, open_line):
        line = open_line(Lane("m", CIRCUIT, requests_per_minute=300), timeout_s=0.1)
        ended = await asyncio.gather(*(line.call(Calls("ok")) for _ in range(4)))
        assert [one.value for one in ended] == ["ok"] * 4

    async def test_all_calls_together_end_at_the_deadline_wherever_they_are(self, open_line):
        begun = time.monotonic()
        line = open_line(Lane("m", CIRCUIT, most_at_once=1), deadline=begun + 0.2)
        ended = await asyncio.gather(*(line.call(hang) for _ in range(3)))
        assert time.monotonic() - begun < 1.5
        message = "no reply within the seconds that all calls of the agent may take together"
        assert [one.cause for one in ended] == [message] * 3

    async def test_after_the_deadline_no_call_begins(self, open_line):
        calls = Calls("late")
        ended = await open_line(deadline=time.monotonic() - 1).call(calls)
        assert (calls.made, type(ended.error)) == (0, CallTimeoutError)

    async def test_f51_a_deadline_does_not_hide_why_there_was_a_second_attempt(self, open_line):
        async def call():
            if not made:
                made.append(1)
                raise RefusedError(503)
            await hang()

        made = []
        ended = await open_line(attempts=3, deadline=time.monotonic() + 0.2).call(call)
        assert ended.cause.endswith("may take together; before that: RefusedError: status 503")

    async def test_f51_where_a_wait_would_outlast_the_deadline_the_error_itself_is_the_cause(self, open_line):
        begun, calls = time.monotonic(), Calls(RefusedError(429, wait_s=0.9))
        ended = await open_line(attempts=3, deadline=begun + 0.5).call(calls)
        assert (ended.cause, calls.made) == ("RefusedError: status 429", 1)
        assert time.monotonic() - begun < 0.4

    async def test_the_budget_s_seconds_end_a_call_and_the_cap_is_named(self, open_line):
        line = open_line(caps=Caps(seconds=0.1))
        ended = await line.call(hang)
        assert ended.cause == "budget: its 0.1 seconds are over"
        assert isinstance(ended.error, BudgetSpentError)
        calls = Calls("late")
        assert (await line.call(calls)).cause == ended.cause
        assert calls.made == 0


class TestRetries:
    async def test_errors_that_pass_are_called_again_in_another_turn(self, open_line):
        calls = Calls(RefusedError(503), RefusedError(429), "at last")
        line = open_line(Lane("m", CIRCUIT, most_at_once=1), attempts=3)
        assert (await line.call(calls)).value == "at last"
        assert calls.made == 3

    async def test_while_one_call_waits_to_be_made_again_another_has_the_turn(self, open_line):
        """Nothing is under way then, so that the limit leaves room."""
        lane = Lane("m", CIRCUIT, most_at_once=1)
        patient, other = Calls(RefusedError(429, wait_s=0.5), "at last"), Calls("meanwhile")
        lines = open_line(lane, attempts=2), open_line(lane)
        ended = await asyncio.gather(lines[0].call(patient), lines[1].call(other))
        assert [one.value for one in ended] == ["at last", "meanwhile"]
        assert patient.at[0] < other.at[0] < patient.at[1]

    async def test_attempts_too_go_no_more_at_once_than_the_limit(self, open_line):
        under_way, most = 0, 0

        async def call():
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.002)
            under_way -= 1
            raise RefusedError(503)

        lane = Lane("m", CircuitSettings(failures=100), most_at_once=2)
        ended = await asyncio.gather(*(open_line(lane, attempts=3).call(call) for _ in range(8)))
        assert (most, {one.cause for one in ended}) == (2, {"RefusedError: status 503"})

    async def test_who_is_cancelled_while_waiting_holds_no_turn(self, open_line):
        lane = Lane("m", CIRCUIT, most_at_once=1)
        waiting = asyncio.create_task(open_line(lane, attempts=2).call(Calls(RefusedError(429, wait_s=0.9))))
        await asyncio.sleep(0.02)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        ended = await asyncio.gather(*(open_line(lane).call(Calls("ok")) for _ in range(2)))
        assert [one.value for one in ended] == ["ok"] * 2

    @pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
    async def test_errors_that_last_are_not(self, open_line, status):
        calls = Calls(RefusedError(status))
        assert (await open_line(attempts=3).call(calls)).cause == f"RefusedError: status {status}"
        assert calls.made == 1

    async def test_f17_every_attempt_is_metered(self, open_line):
        made = []

        async def call():
            made.append(1)
            await model().ainvoke("hello")
            raise RefusedError(503)

        line = open_line(attempts=3)
        await line.call(call)
        assert line.spent.calls == line.ledger.spent.calls == len(made) == 3

    async def test_calls_of_one_line_do_not_come_back_together(self, open_line):
        """Five that fail at the same moment wait five different times."""
        line, calls = open_line(attempts=2), [Calls(RefusedError(503), "ok") for _ in range(5)]
        line.retry = line.retry.model_copy(update={"first_wait_s": 0.2})
        await asyncio.gather(*(line.call(one) for one in calls))
        waits = [round(one.at[1] - one.at[0], 2) for one in calls]
        assert len(set(waits)) >= 4

    async def test_the_same_seed_waits_the_same_times(self, open_line):
        waits = []
        for _ in range(2):
            calls = Calls(RefusedError(503), "ok")
            line = open_line(attempts=2)
            line.retry = line.retry.model_copy(update={"first_wait_s": 0.4})
            await line.call(calls)
            waits.append(calls.at[1] - calls.at[0])
        assert waits[0] == pytest.approx(waits[1], abs=0.1)

    async def test_pace_is_kept_by_every_attempt(self, open_line):
        calls = Calls(RefusedError(503), "ok")
        await open_line(Lane("m", CIRCUIT, requests_per_minute=600), attempts=2).call(calls)
        assert calls.at[1] - calls.at[0] >= 0.099


class TestBudget:
    async def test_a_call_that_does_not_fit_is_not_made(self, open_line):
        line, asked = open_line(caps=Caps(calls=1)), model("one", "two")
        assert (await line.call(lambda: asked.ainvoke("hello"))).value.text == "one"
        ended = await line.call(lambda: asked.ainvoke("hello"))
        assert ended.cause == "budget: its 1 calls are spent"
        assert line.spent.calls == line.ledger.spent.calls == 1

    async def test_one_that_may_fit_later_waits_and_goes(self, open_line):
        """Together they would exceed the cap if both used all they may; the second waits, and fits."""
        ledger = Ledger(Caps(tokens=1100))
        ended = await asyncio.gather(
            *(open_line(ledger=ledger).call(lambda: model().ainvoke("hello")) for _ in range(4))
        )
        assert [one.value.text for one in ended] == ["one"] * 4
        assert ledger.spent.calls == 4

    async def test_one_that_waits_for_the_budget_still_has_a_deadline(self, open_line):
        ledger = Ledger(Caps(calls=1))
        ledger.reserve("somebody's, for long", Spending(1))
        begun = time.monotonic()
        ended = await open_line(ledger=ledger, deadline=begun + 0.1).call(lambda: model().ainvoke("hello"))
        assert isinstance(ended.error, CallTimeoutError)
        assert time.monotonic() - begun < 1.0

    async def test_one_that_waits_does_not_stop_those_it_waits_for(self, open_line):
        ledger, lane = Ledger(Caps(tokens=1100)), Lane("m", CIRCUIT, most_at_once=2)
        lines = [open_line(lane, ledger=ledger) for _ in range(6)]
        ended = await asyncio.wait_for(asyncio.gather(*(line.call(lambda: model().ainvoke("hi")) for line in lines)), 5)
        assert all(one.value for one in ended)

    async def test_one_that_waits_leaves_its_turn_to_another_run(self, open_line):
        ledger, lane = Ledger(Caps(calls=1)), Lane("m", CIRCUIT, most_at_once=1)
        ledger.reserve("somebody's, for long", Spending(1))
        waiting = asyncio.create_task(open_line(lane, ledger=ledger).call(lambda: model().ainvoke("hello")))
        await asyncio.sleep(0.01)
        assert (await asyncio.wait_for(open_line(lane).call(Calls("ok")), 5)).value == "ok"
        ledger.settle("somebody's, for long", Spending())
        assert (await waiting).value.text == "one"

    async def test_one_that_waits_uses_up_no_place_in_the_rate(self, open_line):
        """At one request in ten seconds, it is refused four times and goes as soon as it fits."""
        ledger, lane = Ledger(Caps(calls=9)), Lane("m", CIRCUIT, requests_per_minute=6)
        for number in range(9):
            ledger.reserve(number, Spending(1))
        waiting = asyncio.create_task(open_line(lane, ledger=ledger).call(lambda: model().ainvoke("hello")))
        for number in range(4):
            await asyncio.sleep(0.01)
            ledger.settle(number, Spending(1))
        await asyncio.sleep(0.01)
        ledger.settle(4, Spending())
        assert (await asyncio.wait_for(waiting, 5)).value.text == "one"

    async def test_f51_a_retry_that_no_longer_fits_tells_what_it_was_a_retry_of(self, open_line):
        async def call():
            await model().ainvoke("hello")
            raise RefusedError(503)

        line = open_line(caps=Caps(calls=2), attempts=5)
        ended = await line.call(call)
        assert ended.cause == "budget: its 2 calls are spent; before that: RefusedError: status 503"
        assert isinstance(ended.error, BudgetSpentError)
        assert line.spent.calls == 2

    async def test_a_chain_that_has_begun_is_not_begun_again(self, open_line):
        """Refused amid its work it would pay for its first calls twice."""
        ledger, asked = Ledger(Caps(calls=3)), model("x")
        begun = []

        async def work(text):
            begun.append(text)
            for _ in range(3):
                await asked.ainvoke(text)

        chain = RunnableLambda(work)
        lines = [open_line(ledger=ledger) for _ in range(2)]
        ended = await asyncio.gather(*(line.call(lambda: chain.ainvoke("go")) for line in lines))
        assert sum(isinstance(one.error, BudgetSpentError) for one in ended) >= 1
        assert (len(begun), ledger.spent.calls) == (2, 3)

    async def test_calls_of_one_line_at_the_same_time_are_counted_once_each(self, open_line):
        """The first to end must not end the count of the others: a judge asks about several pairs at once."""
        line, models = open_line(), [FakeListChatModel(responses=["x"], sleep=sleep_s) for sleep_s in (0.05, 0.1, 0.3)]
        ended = await asyncio.gather(*(line.call(partial(one.ainvoke, "hello")) for one in models))
        assert [one.value.text for one in ended] == ["x"] * 3
        assert line.spent == line.ledger.spent
        assert (line.spent.calls, line.spent.estimated) == (3, 3)


class TestCircuits:
    async def test_failures_open_it_and_then_no_call_is_made(self, open_line, records):
        lane, calls = Lane("m", CIRCUIT), Calls(RefusedError(401))
        ended = [await open_line(lane).call(calls) for _ in range(4)]
        assert calls.made == 2
        assert [type(one.error).__name__ for one in ended] == ["RefusedError"] * 2 + ["ModelRestingError"] * 2
        assert ended[-1].cause.endswith("failed 2 times in a row; the last cause: RefusedError: status 401")
        with pytest.raises(ModelRestingError):
            await Lane("m", CIRCUIT, known=records.circuits["m"]).admit(records)

    async def test_those_in_the_queue_do_not_go_once_it_has_opened(self, open_line):
        lane, calls = Lane("m", CIRCUIT, most_at_once=1), Calls(RefusedError(401))
        await asyncio.gather(*(open_line(lane).call(calls) for _ in range(30)))
        assert calls.made == 2

    async def test_all_attempts_of_a_call_are_one_failure(self, open_line, records):
        await open_line(Lane("m", CIRCUIT), attempts=3).call(Calls(RefusedError(503)))
        assert records.circuits["m"].failures == 1

    async def test_a_time_limit_counts_against_the_model(self, open_line, records):
        await open_line(Lane("m", CIRCUIT), timeout_s=0.02).call(hang)
        assert (records.circuits["m"].failures, records.circuits["m"].cause) == (1, "no reply within 0.02 s")

    @pytest.mark.parametrize("error", [RefusedError(400), RefusedError(422), BudgetSpentError("budget: spent")])
    async def test_what_does_not_speak_against_the_model_does_not_count(self, open_line, records, error):
        for _ in range(5):
            await open_line(Lane("m", CIRCUIT)).call(Calls(error))
        assert records.circuits == {}

    async def test_a_trial_that_the_budget_refuses_leaves_the_next_one_possible(self, open_line, records):
        now_s = time.time()
        lane = Lane("m", CIRCUIT, clock=lambda: now_s)
        for _ in range(2):
            await open_line(lane).call(Calls(RefusedError(503)))
        now_s += CIRCUIT.rest_s
        assert isinstance((await open_line(lane).call(Calls(BudgetSpentError("spent")))).error, BudgetSpentError)
        assert (await open_line(lane).call(Calls("well again"))).value == "well again"
        assert records.circuits["m"].failures == 0

    async def test_a_trial_that_waits_for_the_budget_is_still_the_trial(self, open_line):
        now_s = time.time()
        lane, ledger = Lane("m", CIRCUIT, clock=lambda: now_s), Ledger(Caps(calls=3))
        for _ in range(2):
            await open_line(lane, ledger=ledger).call(Calls(RefusedError(503)))
        now_s += CIRCUIT.rest_s
        for number in range(3):
            ledger.reserve(number, Spending(1))
        trial = asyncio.create_task(open_line(lane, ledger=ledger).call(lambda: model().ainvoke("hello")))
        await asyncio.sleep(0.01)
        ledger.settle(0, Spending())
        assert (await trial).value.text == "one"

    async def test_what_says_nothing_of_the_model_ends_no_trial_of_another_process(self, open_line, records):
        async def refuse():
            records.circuits["m"] = lane.known = Circuit(5, opened_at=1.0, rest_s=60.0, trial_at=61.0, cause="503")
            raise RefusedError(400)

        lane = Lane("m", CIRCUIT)
        await open_line(lane).call(refuse)
        assert records.circuits["m"].trial_at == 61.0

    @pytest.mark.parametrize("outcome", ["paid for", RefusedError(400), RefusedError(401)])
    async def test_a_circuit_that_cannot_be_recorded_changes_nothing_of_how_a_call_ended(self, open_line, outcome):
        async def broken(_model, _change):
            raise StoreError("cannot use the database: disk full")

        line = open_line(Lane("m", CIRCUIT, known=Circuit(failures=1, cause="503")))
        line.records = broken
        ended = await line.call(Calls(outcome))
        assert (ended.error or ended.value) is outcome
