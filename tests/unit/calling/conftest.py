"""Lines to models, with circuits that they share."""

import asyncio

import pytest

from aligngraph.calling.budget import Caps, Ledger
from aligngraph.calling.circuit import Circuit
from aligngraph.calling.lane import Lane
from aligngraph.calling.line import Line
from aligngraph.calling.settings import CircuitSettings, RetrySettings


class Records:
    """Circuits that several lanes share, as processes share the store; change and write are one step."""

    def __init__(self):
        self.circuits, self.changes = {}, 0

    async def __call__(self, model, change):
        await asyncio.sleep(0)
        self.changes += 1
        self.circuits[model] = Circuit.from_json(change(self.circuits.get(model, Circuit())).as_json())
        return self.circuits[model]


@pytest.fixture
def records():
    return Records()


@pytest.fixture
def open_line(records):
    """Return a function that opens a line: of a lane, with caps, settings of retries and circuits, and times."""

    def make(lane=None, *, caps=None, ledger=None, attempts=1, failures=5, timeout_s=5.0, **more):
        return Line(
            lane=lane or Lane("m", CircuitSettings(failures=failures)),
            records=records,
            ledger=ledger or Ledger(caps or Caps()),
            timeout_s=timeout_s,
            retry=RetrySettings(attempts=attempts, first_wait_s=0.001, longest_wait_s=1),
            seed=0,
            **more,
        )

    return make
