"""The circuits of models that failed, for `aligngraph policy show`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from aligngraph.calling.circuit import Circuit
from aligngraph.cli.rendering import shown, visible

CAUSE_CHARS = 100


def describe_circuits(rows: Mapping[str, Mapping[str, Any]], now: float) -> list[dict[str, Any]]:
    """Return every stored circuit but those of models that have answered since, in plain JSON, by model.

    Args:
        rows: the circuits as they are stored, by model.
        now: seconds since the epoch.
    """
    found = (_describe(model, row, now) for model, row in sorted(rows.items()))
    return [entry for entry in found if entry is not None]


def print_circuits(entries: list[dict[str, Any]], screen: Console) -> None:
    """Print a table of the circuits that `describe_circuits` returned; nothing where there are none."""
    if not entries:
        return
    table = Table(title="models that failed of late", title_justify="left")
    for heading in ("model", "circuit", "failures in a row", "rests until", "last cause"):
        table.add_column(heading, justify="right" if heading == "failures in a row" else "left", overflow="fold")
    for entry in entries:
        cells = (
            entry["model"],
            entry["state"],
            str(entry["failures"]),
            entry["rests_until"] or "",
            entry["cause"] or "",
        )
        table.add_row(*map(shown, cells))
    screen.print(table)


def _describe(model: str, row: Mapping[str, Any], now: float) -> dict[str, Any] | None:
    try:
        circuit = Circuit.from_json(row)
    except (ValueError, RecursionError) as error:
        return _entry(model, Circuit(), now, f"counts as closed: {error}")
    if circuit == Circuit():
        return None
    return _entry(model, circuit, now, circuit.cause)


def _entry(model: str, circuit: Circuit, now: float, cause: str | None) -> dict[str, Any]:
    state = circuit.state(now)
    return {
        "model": model,
        "state": state,
        "failures": circuit.failures,
        "rests_until": _moment(circuit.trial_due_at) if state == "open" else None,
        "cause": None if cause is None else _shorten(visible(cause)),
    }


def _moment(seconds: float | None) -> str | None:
    """Return the moment in UTC, ISO 8601 to the second; None for one that no calendar has."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return None


def _shorten(text: str) -> str:
    return text if len(text) <= CAUSE_CHARS else f"{text[: CAUSE_CHARS - 3]}..."
