import io

import pytest
from rich.console import Console

from aligngraph.report.charts import Row, RowChart
from aligngraph.report.document import Fact, Figure, Passage, Report, Section, Table
from aligngraph.report.text import print_report


def printed(report, width=100):
    out = io.StringIO()
    print_report(report, Console(file=out, width=width, emoji=False, highlight=False))
    return out.getvalue()


def of(*parts, notes=()):
    return Report(
        "Run r1", "Status: degraded", ("quick failed",), (Fact("answer", "42"),), (Section("s", "Part", notes, parts),)
    )


def test_status_and_problems_come_first():
    """F31: whoever reads a report sees first whether it can be relied on."""
    lines = printed(of(notes=("a note",))).splitlines()
    assert lines == ["Run r1", "Status: degraded", "! quick failed", "answer: 42", "", "Part", "a note"]


@pytest.mark.parametrize("text", ["[red]x[/]", "[/nonsense]", ":smile:", "\\[x]"])
def test_nothing_is_taken_for_markup(text):
    table = Table.of(text, (text,), [(text,)])
    assert printed(of(table, Passage(text, text), notes=(text,))).count(text) == 6


def test_a_figure_is_its_words_and_its_table():
    figure = Figure(
        "bars", "what is seen", RowChart("b", "v", (Row("x", 1.0),)), Table.of("values", ("who", "v"), [("x", "1.00")])
    )
    shown = printed(of(figure))
    assert "what is seen" in shown
    assert "1.00" in shown


def test_a_long_table_shows_its_ends_and_says_what_is_left_out():
    table = Table.of("long", ("n",), [(f"row {number}",) for number in range(100)])
    shown = printed(of(table))
    assert "row 0 " in shown
    assert "row 99" in shown
    assert "88 rows between are left out; the page has them" in shown
    assert "left out" not in printed(of(Table.of("short", ("n",), [("x",)] * 24)))


def test_a_long_text_is_cut_and_says_so():
    shown = printed(of(Passage("p", "x" * 5000)), width=10_000)
    assert "(5000 characters; the page has all)" in shown
    assert shown.count("x") < 1000


def test_a_wide_table_folds_and_loses_nothing():
    table = Table.of("wide", ("a", "b"), [("x" * 90, "y" * 90)])
    shown = printed(of(table), width=40)
    assert (shown.count("x"), shown.count("y")) == (90, 90)
