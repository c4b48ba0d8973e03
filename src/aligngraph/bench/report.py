"""How a benchmark is shown: a table for people, a JSON file for comparing runs."""

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from aligngraph.bench.measurement import Measurement
from aligngraph.errors import UsageError

_STYLES = {"ok": "green", "over": "bold red", None: "dim"}


def print_table(rows: Sequence[Measurement], console: Console) -> None:
    """Print a line for each row."""
    table = Table()
    for heading in ("measured", "median", "min", "max", "unit", "limit", ""):
        table.add_column(heading, justify="left" if heading in {"measured", "unit", ""} else "right")
    for row in rows:
        numbers = (_show(number) for number in (row.median, min(row.values), max(row.values)))
        limit = "-" if row.limit is None else _show(row.limit)
        table.add_row(row.name, *numbers, row.unit, limit, row.verdict or "-", style=_STYLES[row.verdict])
    console.print(table)


def write_json(rows: Sequence[Measurement], path: Path) -> None:
    """Write the rows, and what they were measured on, to `path`.

    Raises:
        UsageError: the file cannot be written.
    """
    measured = {"measured_on": _machine(), "rows": [row.as_json() for row in rows]}
    try:
        path.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file with --output") from error


def _machine() -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "aligngraph": version("aligngraph"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def _show(number: float) -> str:
    """Return `number` with about three digits."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"  # noqa: PLR2004 - three digits before the point
