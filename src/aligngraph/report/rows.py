"""Bars, or dots with intervals, one a row."""

from typing import Final

from matplotlib.axes import Axes

from aligngraph.report.charts import RowChart
from aligngraph.report.wording import number

_HATCHES: Final = ("", "////", "....", "xxxx")
_DARK: Final = "#222222"


def draw_rows(axes: Axes, chart: RowChart) -> None:
    """Draw the chart into `axes`, its first row at the top."""
    places = range(len(chart.rows))
    axes.set_yticks(places, [row.label for row in chart.rows])
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    axes.grid(visible=True, axis="x")
    axes.set_axisbelow(True)
    if chart.x_range is not None:
        axes.set_xlim(*chart.x_range)
    if chart.reference is not None:
        axes.axvline(chart.reference, color="#777777", linewidth=0.9)
    for place in places:
        if chart.dots:
            _draw_dot(axes, chart, place)
        else:
            _draw_bar(axes, chart, place)
    _name_values(axes, chart)


def _draw_bar(axes: Axes, chart: RowChart, place: int) -> None:
    row = chart.rows[place]
    hatch = _HATCHES[place % len(_HATCHES)]
    axes.barh(place, row.value, height=0.62, facecolor="#dfe6ee", edgecolor=_DARK, linewidth=0.8, hatch=hatch)
    axes.annotate(
        number(row.value, chart.places),
        xy=(max(0.0, row.value), place),
        xytext=(4, 0),
        textcoords="offset points",
        fontsize=7.5,
        va="center",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )
    if row.mark is not None:
        axes.plot(row.mark, place, marker="D", color=_DARK, markersize=5, linestyle="none", clip_on=False)


def _draw_dot(axes: Axes, chart: RowChart, place: int) -> None:
    row = chart.rows[place]
    if row.low is not None and row.high is not None:
        axes.plot((row.low, row.high), (place, place), color=_DARK, linewidth=1.2, marker="|", markersize=7)
    axes.plot(row.value, place, marker="o", color=_DARK, markersize=5, linestyle="none")
    if row.mark is not None:
        axes.plot(row.mark, place, marker="D", markerfacecolor="white", color=_DARK, markersize=5, linestyle="none")


def _name_values(axes: Axes, chart: RowChart) -> None:
    shape = "dot" if chart.dots else "bar"
    mark = f"; {chart.mark_label} (diamond)" if chart.mark_label else ""
    axes.set_xlabel(f"{chart.value_label} ({shape}){mark}")
