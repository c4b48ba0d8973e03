import pytest

from aligngraph.report.document import Table


def test_a_table_takes_any_sequences():
    table = Table.of("t", ["a", "b"], [["1", "2"]], left=0)
    assert (table.headings, table.rows, table.left) == (("a", "b"), (("1", "2"),), 0)


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="table 't': got a row of 1 cells, allowed are 2"):
        Table.of("t", ["a", "b"], [["1", "2"], ["3"]])
