"""What the commands that try principals have in common: numbers in tables, and the file of results."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aligngraph.errors import UsageError
from aligngraph.trials.edition import Edition
from aligngraph.trials.journal import Journal
from aligngraph.trials.shares import Estimate

JOURNAL_SUFFIX = ".jsonl"


def decimal(number: float | None) -> str:
    """Return the number with two digits after the point, a dash for None."""
    return "-" if number is None else f"{number:.2f}"


def interval(estimate: Estimate | None) -> str:
    """Return the interval alone, a dash for None."""
    return "-" if estimate is None else f"{estimate.low:.2f} .. {estimate.high:.2f}"


def journal_beside(output: Path) -> Journal:
    """Return the journal of the trial whose results go to `output`: a file of that name with the suffix `.jsonl`.

    Raises:
        UsageError: `output` has that suffix itself, or the journal cannot be opened.
    """
    if output.suffix.lower() == JOURNAL_SUFFIX:  # a file system may not tell .JSONL from it
        raise UsageError(
            f"--output {output} is where the record of the trial is kept; name a file such as results.json"
        )
    return Journal.open(output.with_suffix(JOURNAL_SUFFIX))


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """Write the results as JSON, with the version and the digest of the prompts that they are of.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        path.write_text(json.dumps({**asdict(Edition.current()), **report}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file with --output") from error
