"""What a report says, before it is a page or lines in a terminal: both show the same values, since both are made of this."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from aligngraph.report.charts import LineChart, RowChart


@dataclass(frozen=True)
class Fact:
    """One value and what it is called."""

    name: str
    value: str


@dataclass(frozen=True)
class Table:
    """Rows of cells, as many as there are headings; `left` says how many of the first columns hold words."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1

    @classmethod
    def of(cls, caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Self:
        """Return the table of any sequences.

        Raises:
            ValueError: a row has more or fewer cells than there are headings.
        """
        if wrong := [row for row in rows if len(row) != len(headings)]:
            raise ValueError(f"table {caption!r}: got a row of {len(wrong[0])} cells, allowed are {len(headings)}")
        return cls(caption, tuple(headings), tuple(map(tuple, rows)), left)


@dataclass(frozen=True)
class Figure:
    """A chart with its words for those who do not see it, and the table that its values can be read from.

    Attributes:
        description: what the chart shows, in one or two sentences; the whole of it for a screen reader.
    """

    title: str
    description: str
    chart: LineChart | RowChart
    table: Table


@dataclass(frozen=True)
class Passage:
    """A text that somebody else wrote, shown as it is; `shown` says whether the page shows it before it is asked to."""

    heading: str
    text: str
    shown: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a report; `key` is its anchor, `notes` say what is needed to read it, or why there is nothing."""

    key: str
    title: str
    notes: tuple[str, ...] = ()
    parts: tuple[Table | Figure | Passage, ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole report: status and problems come first, whatever shows it.

    Attributes:
        title: of the page.
        status: one line.
        problems: what went wrong or limits what may be concluded.
        facts: the result in a few values.
    """

    title: str
    status: str
    problems: tuple[str, ...]
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
