"""Series over the tasks of a domain, as charts and tables show them."""

from collections.abc import Sequence
from typing import Final

from aligngraph.policy.checks import FloatArray
from aligngraph.report.charts import Line, Points
from aligngraph.report.document import Table
from aligngraph.report.wording import number, spread

MOST_POINTS: Final = 400
MOST_ROWS: Final = 16


def line(label: str, x: FloatArray, y: FloatArray, *, quiet: bool = False) -> Line:
    """Return the line, of a long one 400 points; those that are not known are left out."""
    kept = [place for place in spread(len(y), MOST_POINTS) if y[place] == y[place]]
    return Line(label, _picked(x, kept), _picked(y, kept), quiet=quiet)


def band(label: str, x: FloatArray, y: FloatArray, low: FloatArray, high: FloatArray) -> Line:
    """Return the line with its interval, of a long one 400 points."""
    kept = spread(len(y), MOST_POINTS)
    return Line(label, _picked(x, kept), _picked(y, kept), _picked(low, kept), _picked(high, kept))


def series_table(caption: str, x: FloatArray, columns: Sequence[tuple[str, FloatArray]], places: int = 3) -> Table:
    """Return some rows of the series, evenly spread from the first task to the last."""
    headings = ("task", *(name for name, _ in columns))
    rows = [
        (number(float(x[place]), 0), *(number(float(values[place]), places) for _, values in columns))
        for place in spread(len(x), MOST_ROWS)
    ]
    return Table.of(caption, headings, rows, left=0)


def _picked(values: FloatArray, places: Sequence[int]) -> Points:
    return tuple(float(values[place]) for place in places)
