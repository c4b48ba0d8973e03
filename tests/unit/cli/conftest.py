"""A store for the commands on what was learned, and the commands as Typer runs them."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from aligngraph.cli.policy_commands import policy_app
from aligngraph.persistence import Increment, Location, PolicyStore, Update

RUNS = (0.75, 1.0, 0.5)


def lesson(run_id, domain, paid, **fields):
    """Return what a run taught: the payoffs of arms by name, an arm with one failed call, and a principal that agreed."""
    arms = tuple(Increment(arm, "agent", payoff, made_of="m", loss=1 - payoff) for arm, payoff in paid.items())
    failed = Increment("b/direct", "agent", 0.0, 0.0, failures=1, made_of="m")
    principal = Increment("principal", "principal", 0.75, made_of="p", loss=0.5)
    dealt = Increment("delegation", "learner", 0.0, loss=0.5)
    return Update(run_id, 1, domain, (*arms, failed, principal, dealt), **fields)


@pytest.fixture
def in_store(db):
    """Return a function that does something with the store and returns what it returned."""

    def call(work):
        async def opened():
            async with await PolicyStore.open(Location.find(db)) as store:
                return await work(store)

        return asyncio.run(opened())

    return call


@pytest.fixture
def learned(in_store):
    """Fill the store: two domains, of which maths has learned from three runs and law from one."""

    async def learn(store):
        for number, payoff in enumerate(RUNS, 1):
            at = f"2026-01-0{number}T12:00:00.000+00:00"
            await store.apply_update(lesson(f"r{number}", "maths", {"a/direct": payoff}, at=at))
        await store.apply_update(lesson("l1", "law", {"a/direct": 0.25}, at="2026-01-02T18:00:00.000+00:00"))

    in_store(learn)


@pytest.fixture
def policy(db, monkeypatch):
    """Return a function that runs `aligngraph policy ...` on the store; an error of ours is raised."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments, place=db, status=0):
        result = CliRunner().invoke(policy_app, [*map(str, arguments), *(["--db", place] if place else [])])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output
        return result.output

    return run


@pytest.fixture
def shown(policy):
    """Return a function that returns what `policy show --json` says of a domain."""

    def read(domain="maths"):
        (entry,) = json.loads(policy("show", "--domain", domain, "--json"))["domains"]
        return entry

    return read


@pytest.fixture
def totals(in_store):
    """Return a function that returns the sum of payoffs and the tasks of every arm of a domain."""

    async def read(store, domain):
        here = (await store.read_sums(domain)).here
        return {key.arm: (row.total, row.count) for key, row in here.items()}

    return lambda domain="maths": in_store(lambda store: read(store, domain))
