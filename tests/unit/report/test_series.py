import numpy as np
import pytest

from aligngraph.report.series import MOST_POINTS, MOST_ROWS, band, line, series_table

X = np.arange(1.0, 1001.0)


def test_a_short_series_is_kept_whole():
    found = line("a", X[:5], X[:5] ** 2)
    assert (found.label, found.x, found.y) == ("a", (1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 4.0, 9.0, 16.0, 25.0))


def test_a_long_series_keeps_its_ends_and_every_point_stays_with_its_task():
    found = line("a", X, 2 * X)
    assert len(found.x) == MOST_POINTS
    assert (found.x[0], found.x[-1]) == (1.0, 1000.0)
    assert found.y == tuple(2 * x for x in found.x)


def test_what_is_not_known_is_left_out_of_a_line_and_a_dash_in_a_table():
    values = np.array([np.nan, 0.5, np.nan, 0.75])
    assert (line("a", X[:4], values).x, line("a", X[:4], values).y) == ((2.0, 4.0), (0.5, 0.75))
    table = series_table("t", X[:4], [("a", values)])
    assert table.rows == (("1", "-"), ("2", "0.500"), ("3", "-"), ("4", "0.750"))


def test_a_band_is_thinned_with_its_line():
    found = band("", X, X / 1000, X / 2000, X / 500)
    assert len(found.low) == len(found.y) == len(found.high) == MOST_POINTS
    assert found.low == pytest.approx([y / 2 for y in found.y])
    assert found.high == pytest.approx([y * 2 for y in found.y])


def test_a_table_has_a_row_of_the_first_and_of_the_last_task():
    table = series_table("t", X, [("a", X), ("b", -X)], places=1)
    assert (table.headings, table.left, len(table.rows)) == (("task", "a", "b"), 0, MOST_ROWS)
    assert table.rows[0] == ("1", "1.0", "-1.0")
    assert table.rows[-1] == ("1000", "1000.0", "-1000.0")
