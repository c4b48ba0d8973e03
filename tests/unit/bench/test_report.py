import io
import json

import pytest
from rich.console import Console

from aligngraph.bench.measurement import Measurement
from aligngraph.bench.report import print_table, write_json
from aligngraph.bench.speed import publish, run_speed
from aligngraph.errors import UsageError

ROWS = [
    Measurement("quick enough", "ms", (1.0,), 2.0),
    Measurement("too slow", "s", (2.5,), 2.0),
    Measurement("just told", "MB", (123.4,)),
]


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=120)


def test_the_table_says_ok_over_or_nothing(console):
    print_table(ROWS, console)
    lines = {row.name: line for row in ROWS for line in console.file.getvalue().splitlines() if row.name in line}
    cells = {name: [cell.strip() for cell in line.strip("│").split("│")] for name, line in lines.items()}
    assert cells["quick enough"] == ["quick enough", "1", "1", "1", "ms", "2", "ok"]
    assert cells["too slow"] == ["too slow", "2.5", "2.5", "2.5", "s", "2", "over"]
    assert cells["just told"] == ["just told", "123", "123", "123", "MB", "-", "-"]


def test_the_file_says_what_was_measured_on_what(tmp_path):
    write_json(ROWS, tmp_path / "speed.json")
    written = json.loads((tmp_path / "speed.json").read_text())
    assert set(written["measured_on"]) == {"at", "aligngraph", "python", "system", "cores"}
    assert written["rows"] == [row.as_json() for row in ROWS]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"missing.speed\.json cannot be written: No such file.*--output"):
        write_json(ROWS, tmp_path / "missing" / "speed.json")


def test_what_is_over_is_counted(console, tmp_path):
    publish(ROWS, tmp_path / "speed.json", console)
    assert f"1 of 3 over the limit; written to {tmp_path / 'speed.json'}" in console.file.getvalue()


@pytest.mark.parametrize("repeats", [0, -1])
def test_nothing_to_repeat_is_refused(repeats, tmp_path):
    with pytest.raises(UsageError, match=f"--repeats is {repeats}"):
        run_speed(tmp_path / "speed.json", repeats)
