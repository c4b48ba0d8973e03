"""Lines in one coordinate system, each named at its end."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from aligngraph.report.charts import Line, LineChart, Panel

# Dark enough to print, and each with a dash and a marker of its own.
_STYLES: Final[tuple[tuple[Any, str, str], ...]] = (
    ("-", "o", "#111111"),
    ("--", "s", "#1f5fa8"),
    ("-.", "^", "#8a3b12"),
    (":", "D", "#2f6b3a"),
    ((0, (6, 1, 1, 1, 1, 1)), "v", "#6a3d8f"),
    ((0, (2, 1)), "P", "#555555"),
)
_QUIET: Final[dict[str, Any]] = {"color": "#999999", "linewidth": 0.7, "linestyle": "-", "zorder": 1}
_MARKERS: Final = 8
_GAP_ALONE: Final = 0.065  # between labels, in heights of the panel
_GAP_AMONG: Final = 0.13


def draw_panel(axes: Axes, panel: Panel, chart: LineChart, *, alone: bool) -> None:
    """Draw the panel's lines into `axes`; `alone` says whether it has the whole width of the chart."""
    axes.grid(visible=True, axis="y")
    axes.set_title(panel.title, loc="left")
    if chart.diagonal:
        axes.plot((0, 1), (0, 1), **_QUIET)
    loud = [line for line in panel.lines if not line.quiet]
    for line in panel.lines:
        _draw_line(axes, line, chart, loud.index(line) if line in loud else None)
    _set_scales(axes, chart)
    for place, name in chart.events:
        axes.axvline(place, color="#777777", linewidth=0.8, linestyle=(0, (1, 2)))
        axes.text(place, 1.0, f" {name}", transform=axes.get_xaxis_transform(), fontsize=7, rotation=90, va="top")
    _name_ends(axes, panel.lines, _GAP_ALONE if alone else _GAP_AMONG)


def _draw_line(axes: Axes, line: Line, chart: LineChart, style: int | None) -> None:
    if style is None:
        axes.plot(line.x, line.y, **_QUIET)
        return
    dash, marker, colour = _STYLES[style % len(_STYLES)]
    if chart.dots:
        _draw_dots(axes, line, marker, colour)
        return
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, facecolor="#e4e4e4", edgecolor="#b5b5b5", linewidth=0.5)
    every = max(1, len(line.x) // _MARKERS)
    axes.plot(
        line.x, line.y, linestyle=dash, color=colour, linewidth=1.3, marker=marker, markersize=3.2, markevery=every
    )


def _draw_dots(axes: Axes, line: Line, marker: str, colour: str) -> None:
    errors = None
    if line.low is not None and line.high is not None:
        below = [max(0.0, value - low) for value, low in zip(line.y, line.low, strict=True)]
        above = [max(0.0, high - value) for value, high in zip(line.y, line.high, strict=True)]
        errors = [below, above]
    axes.errorbar(line.x, line.y, yerr=errors, fmt=marker, color=colour, markersize=4.5, linewidth=1, capsize=2.5)
    for x, y, note in zip(line.x, line.y, line.notes, strict=False):
        axes.annotate(note, xy=(x, y), xytext=(5, 5), textcoords="offset points", fontsize=7)


def _set_scales(axes: Axes, chart: LineChart) -> None:
    if chart.counts_up:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_locator(MaxNLocator(1))
    elif not chart.diagonal:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    if chart.y_range is not None:
        low, high = chart.y_range
        room = 0.03 * (high - low)
        axes.set_ylim(low - room, high + room)
    if chart.diagonal:
        axes.set_xlim(-0.03, 1.03)


def _name_ends(axes: Axes, lines: Sequence[Line], gap: float) -> None:
    """Write each line's label beside its end, moved apart where they would overlap."""
    named = [line for line in lines if line.label and line.x]
    low, high = axes.get_ylim()
    ends = [(line.y[-1] - low) / (high - low) for line in named]
    for line, place in zip(named, apart(ends, gap), strict=True):
        axes.annotate(
            line.label,
            xy=(line.x[-1], line.y[-1]),
            xytext=(1.03, place),
            textcoords="axes fraction",
            fontsize=7.5,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": "#aaaaaa",
                "linewidth": 0.5,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Return the places moved as little upward as keeps neighbours `gap` apart, then the whole stack back into [0, 1]."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = list(places)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + gap)
    ceiling = 1.0
    for number in reversed(order):
        moved[number] = min(moved[number], ceiling)
        ceiling = moved[number] - gap
    return moved
