"""A report as one page of HTML that needs nothing else: no network, no script, and texts of others shown as they are."""

from functools import cache
from importlib.metadata import version
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from aligngraph.report.document import Figure, Report
from aligngraph.report.plots import draw


def write_page(report: Report) -> str:
    """Return the page; the same report gives the same bytes."""
    figures = [part for section in report.sections for part in section.parts if isinstance(part, Figure)]
    pictures = {
        figure.chart.name: Markup(draw(figure.chart, figure.description))  # noqa: S704 - serialised, so escaped, XML
        for figure in figures
    }
    return _template().render(report=report, pictures=pictures, version=version("aligngraph"))


@cache
def _template() -> Template:
    text = files("aligngraph.report").joinpath("page.html").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
