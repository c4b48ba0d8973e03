"""A line: all calls of one model for one unit of work, such as a sample or a ranking."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TypeVar

from aligngraph.calling.budget import Ledger
from aligngraph.calling.lane import CircuitRecords, Lane
from aligngraph.calling.meter import Meter, metered
from aligngraph.calling.retrying import retry_advice, with_retries
from aligngraph.calling.settings import RetrySettings
from aligngraph.calling.spending import NOTHING, PriceOf, Spending
from aligngraph.errors import BudgetSpentError, CallError, CallTimeoutError, ModelRestingError, UsageError
from aligngraph.isolation import Attempt, attempt, describe_cause

Value = TypeVar("Value")


@dataclass
class Line:
    """The way from one unit of work to one model. Every call within it is metered, however deep it is made.

    Attributes:
        lane: what it shares with all other lines to the model.
        records: where the lane's circuit lasts.
        ledger: of the run.
        timeout_s: seconds that one call may take, counted from when it is sent.
        retry: when a failed call is made again.
        seed: of the random part of the waits between, other ones for each call.
        price: of the model; None where it is unknown.
        deadline: on the monotonic clock, after which no call may go on; None for none.
        spent: what the line's calls have used so far.
    """

    lane: Lane
    records: CircuitRecords
    ledger: Ledger
    timeout_s: float
    retry: RetrySettings
    seed: int
    price: PriceOf | None = None
    deadline: float | None = None
    spent: Spending = field(default=NOTHING, init=False)
    _numbers: "count[int]" = field(default_factory=count, init=False, repr=False)

    async def call(self, make: Callable[[], Awaitable[Value]]) -> Attempt[Value]:
        """Return the value of the call that `make` begins, or the cause of its failure.

        A call that does not fit into the budget only while others are under way waits for them.
        """
        causes: list[str] = []
        return await attempt(self._in_time(lambda: self._in_turn(make, causes), causes), None)

    async def within(self, work: Callable[[], Awaitable[Value]]) -> Attempt[Value]:
        """Return the value of what belongs to the calls without being one, or why it failed or there was no time for it."""
        return await attempt(self._in_time(work, ()), None)

    async def _in_time(self, work: Callable[[], Awaitable[Value]], causes: Sequence[str]) -> Value:
        left_s = self._left_s()
        if left_s == 0:
            raise self._overtime(causes)
        try:
            async with asyncio.timeout(left_s) as limit:
                return await work()
        except TimeoutError:
            if not limit.expired():
                raise
        raise self._overtime(causes)

    async def _in_turn(self, make: Callable[[], Awaitable[Value]], causes: list[str]) -> Value:
        """Return the value; `causes` gets why each attempt failed that was made again."""
        rng = Random(f"{self.seed}/{next(self._numbers)}")  # noqa: S311 - spreads load
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self.lane.turn())
            trial_at = await self.lane.admit(self.records)  # while this call waited, others may have found out
            ended = await attempt(
                with_retries(
                    lambda: self._once(make, turn),
                    self.retry,
                    rng,
                    deadline_s=self._left_s(),
                    on_retry=lambda error, _: causes.append(describe_cause(error)),
                    sleep=lambda wait_s: self._out_of_turn(turn, asyncio.sleep(wait_s)),
                ),
                None,
            )
            await self._note(ended, trial_at)
        if isinstance(ended.error, BudgetSpentError) and causes:
            raise BudgetSpentError(_after(str(ended.error), causes)) from ended.error
        return ended.result()

    async def _out_of_turn(self, turn: AsyncExitStack, wait: Awaitable[None]) -> None:
        """Leave the turn to others during `wait`, and return in the next one."""
        await turn.aclose()
        await wait
        await turn.enter_async_context(self.lane.turn())

    async def _note(self, ended: Attempt[Value], trial_at: float | None) -> None:
        if ended.error is None:
            await self.lane.note_success(self.records)
        elif _is_the_models(ended.error):
            await self.lane.note_failure(self.records, ended.cause or "")
        else:
            await self.lane.note_nothing(self.records, trial_at)

    async def _once(self, make: Callable[[], Awaitable[Value]], turn: AsyncExitStack) -> Value:
        """Return the value of one attempt, which waits for the budget as long as that may help."""
        while True:
            place = await self.lane.keep_pace()
            meter = Meter(self.ledger, self.price)
            ended = await self._metered(make, meter)
            waits = isinstance(ended.error, BudgetSpentError) and ended.error.pending and not meter.spent.calls
            if not waits:
                return ended.result()
            self.lane.give_back(place)
            await self._out_of_turn(turn, self.ledger.wait_for_settlement())

    async def _metered(self, make: Callable[[], Awaitable[Value]], meter: Meter) -> Attempt[Value]:
        try:
            async with asyncio.timeout(self.timeout_s) as limit:
                with metered(meter):
                    ended = await attempt(make(), None)
            if not limit.expired():  # a client may have made an error of its own of our cancelling it
                return ended
        except TimeoutError:
            pass
        finally:
            self.spent += meter.spent
        late = CallTimeoutError(f"no reply within {self.timeout_s:g} s")
        return Attempt(None, str(late), late)

    def _left_s(self) -> float | None:
        """Return the seconds that the run's budget and the agent's deadline leave; None for any number."""
        until_deadline = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        return min((left for left in (until_deadline, self.ledger.remaining_s) if left is not None), default=None)

    def _overtime(self, causes: Sequence[str]) -> CallError:
        if self.ledger.remaining_s == 0:
            return BudgetSpentError(_after(f"budget: its {self.ledger.caps.seconds:g} seconds are over", causes))
        return CallTimeoutError(
            _after("no reply within the seconds that all calls of the agent may take together", causes)
        )


def _after(message: str, causes: Sequence[str]) -> str:
    """Return the message with what had gone wrong before: the true cause, where there is one."""
    return f"{message}; before that: {causes[-1]}" if causes else message


def _is_the_models(error: Exception) -> bool:
    """Return whether an error speaks against the model, and not against this one request or our own budget."""
    if isinstance(error, BudgetSpentError | ModelRestingError | UsageError):
        return False
    return retry_advice(error).fault != "request"
