"""Results that are kept as they come, so that a trial that was stopped goes on where it stopped."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aligngraph.errors import UsageError
from aligngraph.trials.edition import Edition

Row = dict[str, Any]


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
        """Return the journal with the rows of this edition in `path`; a last line that was cut off is dropped.

        Raises:
            UsageError: the file cannot be read, or holds something else.
        """
        edition = Edition.current()
        if path is None or not path.exists():
            return cls(path, {}, edition)
        lines = _whole_lines(path)
        try:
            rows = {(entry["key"], _made_by(entry)): entry["row"] for entry in map(json.loads, lines)}
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} is not the record of a trial; name another file with --output") from error
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


def _made_by(entry: Mapping[str, Any]) -> Edition | None:
    """Return the edition that a line names; the first journals named none."""
    return Edition(**entry["edition"]) if "edition" in entry else None


def _whole_lines(path: Path) -> list[str]:
    """Return the lines of the file, which afterwards ends with the last whole one."""
    try:
        text = path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be taken up: {error}") from error
    return whole.splitlines()
