"""Results that are kept as they come, so that a trial that was stopped goes on where it stopped."""

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aligngraph.errors import UsageError
from aligngraph.trials.edition import Edition

Row = dict[str, Any]
Key = tuple[str, Edition | None]

OPENING = b'{"edition": {"aligngraph": "'  # of every line that is written


@dataclass(frozen=True)
class Journal:
    """Rows of plain JSON types by their key, each written to the end of a file at once; without a path in memory alone.

    In the file a key is that of a row together with the edition that made it: rows of another one stay there, unread.
    """

    path: Path | None
    rows: dict[str, Row]
    edition: Edition

    @classmethod
    def open(cls, path: Path | None) -> "Journal":
        """Return the journal with the rows of this edition in `path`; a last line of its own that was cut off is dropped.

        Raises:
            UsageError: the file cannot be read, or holds something else: it is left as it is.
        """
        edition = Edition.current()
        if path is None or not path.exists():
            return cls(path, {}, edition)
        rows = _take_up(path)
        return cls(path, {key: row for (key, made_by), row in rows.items() if made_by == edition}, edition)

    async def keep(self, key: str, make: Callable[[], Awaitable[Row | None]]) -> Row | None:
        """Return the row under `key`, made now where there is none yet; None is not kept.

        Raises:
            UsageError: the file cannot be written.
        """
        if key not in self.rows:
            row = await make()
            if row is None:
                return None
            self._write({"edition": asdict(self.edition), "key": key, "row": row})
            self.rows[key] = row
        return self.rows[key]

    def _write(self, entry: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written: {error.strerror}; name another file with --output"
            ) from error


def _take_up(path: Path) -> dict[Key, Row]:
    """Return the rows of the file, which afterwards ends with the last whole line."""
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        rows = _parse(whole)
        if rows is None or not _is_cut_off(content[len(whole) :], after=rows):
            raise UsageError(f"{path} is not the record of a trial; name another file with --output")
        if whole != content:
            os.truncate(path, len(whole))
    except OSError as error:
        raise UsageError(f"{path} cannot be taken up: {error}") from error
    return rows


def _parse(lines: bytes) -> dict[Key, Row] | None:
    """Return the rows, None where a line holds something else."""
    try:
        return dict(map(_parse_entry, lines.splitlines()))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _parse_entry(line: bytes) -> tuple[Key, Row]:
    """Return the row of a line under its key and the edition that it names; the first journals named none."""
    entry = json.loads(line)
    made_by = Edition(**entry["edition"]) if "edition" in entry else None
    return (entry["key"], made_by), {**entry["row"]}


def _is_cut_off(end: bytes, *, after: Mapping[Key, Row]) -> bool:
    """Return whether the end of a file is nothing, or the start of a line of ours."""
    # The first few bytes of a line show whose it is only after others that do.
    return not end or end.startswith(OPENING) or (bool(after) and OPENING.startswith(end))
