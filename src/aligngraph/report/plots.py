"""Charts as SVG pictures: told apart by line style, marker, hatch and label, never by colour alone.

The same chart always gives the same bytes. Text stays text: browsers show it in fonts of their own, and can search it.
"""

import io
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from aligngraph.report.charts import LineChart, RowChart
from aligngraph.report.lines import draw_panel
from aligngraph.report.rows import draw_rows

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_WIDTH_IN: Final = 7.2
_COLUMNS: Final = 3
_STYLE: Final[Any] = {
    "axes.edgecolor": "#777777",
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": "sans-serif",
    "font.size": 8.5,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
_LINK: Final = f"{{{_XLINK}}}href"

ET.register_namespace("", _SVG)
ET.register_namespace("xlink", _XLINK)


def draw(chart: LineChart | RowChart, description: str) -> str:
    """Return the chart as an SVG element to stand in a page; `description` is what a screen reader says in its place."""
    with _style(chart.name):
        figure = _line_figure(chart) if isinstance(chart, LineChart) else _row_figure(chart)
        written = io.StringIO()
        FigureCanvasSVG(figure)
        figure.savefig(written, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return _embeddable(written.getvalue(), chart.name, description)


@contextmanager
def _style(name: str) -> Iterator[None]:
    """Draw in our style, whatever the settings of the machine; glyphs that its fonts lack are the browser's business."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        mpl.rcParams["svg.hashsalt"] = name
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _line_figure(chart: LineChart) -> Figure:
    columns = min(_COLUMNS, len(chart.panels))
    lines = -(-len(chart.panels) // columns)
    height = 3.0 if columns == 1 else 0.4 + 1.7 * lines
    figure = Figure(figsize=(_WIDTH_IN, height), layout="constrained")
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, panel in zip(grid, chart.panels, strict=False):
        draw_panel(axes, panel, chart, alone=columns == 1)
    for axes in grid[len(chart.panels) :]:
        axes.set_axis_off()
    _name_axes(figure, grid[0], chart)
    return figure


def _name_axes(figure: Figure, first: Axes, chart: LineChart) -> None:
    if len(chart.panels) == 1:
        first.set_xlabel(chart.x_label)
        first.set_ylabel(chart.y_label)
        return
    figure.supxlabel(chart.x_label, fontsize=8.5)
    figure.supylabel(chart.y_label, fontsize=8.5)


def _row_figure(chart: RowChart) -> Figure:
    figure = Figure(figsize=(_WIDTH_IN, 0.7 + 0.3 * len(chart.rows)), layout="constrained")
    draw_rows(figure.subplots(), chart)
    return figure


def _embeddable(written: str, name: str, description: str) -> str:
    """Return the picture without its frame as a file, its ids made unique within the page."""
    root = ET.fromstring(written)  # noqa: S314 - written by matplotlib a moment ago
    for element in root.iter():
        if "id" in element.attrib:
            element.set("id", f"{name}-{element.get('id')}")
        for key, value in element.attrib.items():
            element.set(key, value.replace("url(#", f"url(#{name}-"))
        if element.get(_LINK, "").startswith("#"):
            element.set(_LINK, f"#{name}-{element.attrib[_LINK][1:]}")
    del root.attrib["width"], root.attrib["height"]
    root.set("role", "img")
    root.set("aria-label", description)
    return ET.tostring(root, encoding="unicode")
