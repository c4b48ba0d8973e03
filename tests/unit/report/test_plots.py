import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest

from aligngraph.report.charts import Line, LineChart, Panel, Row, RowChart
from aligngraph.report.plots import draw

SVG = "{http://www.w3.org/2000/svg}"
X = tuple(float(number) for number in range(1, 21))


def line_chart(name="c", labels=("one", "two"), **rest):
    lines = tuple(Line(label, X, tuple(0.02 * x * number for x in X)) for number, label in enumerate(labels, 1))
    return LineChart(name, "task", "weight", (Panel("", lines),), **rest)


def parsed(svg):
    return ET.fromstring(svg)  # noqa: S314 - our own


def words(svg):
    return ["".join(text.itertext()).strip() for text in parsed(svg).iter(f"{SVG}text")]


def test_the_same_chart_gives_the_same_bytes():
    assert draw(line_chart(), "d") == draw(line_chart(), "d")


def test_the_picture_says_what_it_shows_and_can_be_read_as_text():
    root = parsed(draw(line_chart(), 'both "rise" & <fall>'))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'both "rise" & <fall>')
    assert {"one", "two", "task", "weight"} <= set(words(draw(line_chart(), "d")))


def test_the_picture_takes_the_width_of_the_page():
    root = parsed(draw(line_chart(), "d"))
    assert root.get("viewBox")
    assert {"width", "height"} & set(root.attrib) == set()


def test_ids_of_two_pictures_never_meet_and_references_find_theirs():
    first, second = draw(line_chart("a"), "d"), draw(RowChart("b", "v", (Row("x", 1.0), Row("y", 2.0))), "d")
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, second)]
    assert not ids[0] & ids[1]
    for svg, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg)) <= {(name, "") for name in own} | {
            ("", name) for name in own
        }


def test_lines_differ_by_more_than_colour():
    svg = draw(line_chart(labels=("a", "b", "c", "d")), "d")
    dashes = set(re.findall(r"stroke-dasharray: ([^;\"]+)", svg))
    assert len(dashes) >= 3
    assert len(set(re.findall(r"<path id=\"c-m[^\"]+\" d=\"([^\"]+)\"", svg))) >= 4


def test_neighbouring_bars_differ_by_more_than_colour():
    svg = draw(RowChart("r", "v", tuple(Row(str(number), 1.0) for number in range(4))), "d")
    assert svg.count("<pattern") == 3


@pytest.mark.parametrize(
    "name",
    ["$\\frac{$", "_hidden", "<script>", "]]>", "数学", "\U0001d518", "a & b", "%d {0}", "\\n", "W" * 28],
    ids=range(10),
)
def test_no_name_breaks_a_picture(name):
    shown = words(draw(line_chart(labels=(name, "other")), name))
    assert name in shown


def test_settings_of_the_machine_neither_matter_nor_change():
    plain = draw(line_chart(), "d")
    with mpl.rc_context({"font.size": 40, "svg.fonttype": "path", "lines.linewidth": 9}):
        assert draw(line_chart(), "d") == plain
        assert (mpl.rcParams["font.size"], mpl.rcParams["svg.fonttype"]) == (40, "path")


def test_events_intervals_notes_and_the_diagonal_are_drawn():
    low, high = tuple(0.1 for _ in X), tuple(0.9 for _ in X)
    banded = Line("", X, tuple(0.5 for _ in X), low, high)
    chart = LineChart("e", "task", "y", (Panel("arm", (banded,)),), y_range=(0, 1), events=((5.0, "reset"),))
    assert {"reset", "arm"} <= set(words(draw(chart, "d")))
    dots = Line("", (0.2, 0.8), (0.3, 0.7), (0.1, 0.5), (0.6, 0.9), notes=("3 tasks", "1 task"))
    reliability = LineChart("d", "posterior", "right", (Panel("", (dots,)),), y_range=(0, 1), diagonal=True, dots=True)
    assert {"3 tasks", "1 task", "posterior"} <= set(words(draw(reliability, "d")))


def test_quiet_lines_take_no_style_of_the_others():
    quiet = Line("", X, X, quiet=True)
    (loud,) = line_chart(labels=("one",)).panels[0].lines
    both = draw(LineChart("c", "x", "y", (Panel("", (quiet, loud)),)), "d")
    assert "#111111" in both
    assert "#1f5fa8" not in both


def test_steps_are_shown_on_a_logarithmic_scale():
    chart = line_chart(counts_up=True)
    assert {"1", "10"} <= set(words(draw(chart, "d")))


@pytest.mark.parametrize("panels", [1, 2, 3, 4, 12])
def test_small_multiples_have_a_panel_each_and_one_name_for_both_axes(panels):
    chart = LineChart("m", "task", "competence", tuple(Panel(f"arm {n}", (Line("", X, X),)) for n in range(panels)))
    shown = words(draw(chart, "d"))
    assert {f"arm {n}" for n in range(panels)} <= set(shown)
    assert (shown.count("task"), shown.count("competence")) == (1, 1)


def test_rows_say_what_bars_dots_and_diamonds_are():
    bars = RowChart("r", "regret", (Row("a", 1.25, mark=2.0), Row("b", -0.5)), mark_label="its bound")
    assert {"regret (bar); its bound (diamond)", "a", "b", "1.25", "-0.50"} <= set(words(draw(bars, "d")))
    dots = RowChart("t", "tau", (Row("a", 0.1, -0.2, 0.4),), x_range=(-1, 1), dots=True, reference=0.0)
    assert "tau (dot)" in words(draw(dots, "d"))
    counts = RowChart("f", "failed calls", (Row("a", 3.0),), places=0)
    assert "3" in words(draw(counts, "d"))
