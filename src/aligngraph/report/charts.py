"""What a chart shows, as plain values: who draws it decides how it looks."""

from dataclasses import dataclass

Points = tuple[float, ...]


@dataclass(frozen=True)
class Line:
    """One line: points of the same number in `x` and `y`, and where it is known the interval around each.

    Attributes:
        label: stands at the end of the line; "" for a line that needs none.
        quiet: a line to compare with, drawn thin.
        notes: words beside each point, or none at all.
    """

    label: str
    x: Points
    y: Points
    low: Points | None = None
    high: Points | None = None
    quiet: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One coordinate system of a chart."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class LineChart:
    """Small multiples of lines over one quantity.

    Attributes:
        name: unique within a report.
        x_label: under the panels.
        y_label: beside them.
        panels: at least one; all have the same axes.
        y_range: lowest and highest value, None to fit the lines.
        counts_up: whether x is a count of steps whose first ones matter most, shown on a logarithmic scale.
        diagonal: whether to draw where y equals x.
        dots: whether points are measured ones, shown as dots with their interval.
        events: where something happened that explains a jump, with its name.
    """

    name: str
    x_label: str
    y_label: str
    panels: tuple[Panel, ...]
    y_range: tuple[float, float] | None = None
    counts_up: bool = False
    diagonal: bool = False
    dots: bool = False
    events: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Row:
    """One row of a row chart.

    Attributes:
        value: where the bar ends or the dot stands.
        low: the lower end of its interval, None where there is none.
        high: the upper end.
        mark: another value to compare with.
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    mark: float | None = None


@dataclass(frozen=True)
class RowChart:
    """One bar, or one dot with its interval, for each row.

    Attributes:
        name: unique within a report.
        value_label: what the bar or dot is.
        rows: at least one.
        mark_label: what the mark of the rows is, "" if they have none.
        x_range: lowest and highest value, None to fit the rows.
        dots: dots in the place of bars.
        reference: where to draw a line to compare with.
        places: decimal places of the values beside the bars.
    """

    name: str
    value_label: str
    rows: tuple[Row, ...]
    mark_label: str = ""
    x_range: tuple[float, float] | None = None
    dots: bool = False
    reference: float | None = None
    places: int = 2
