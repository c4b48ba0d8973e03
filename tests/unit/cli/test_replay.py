import io
import json

import pytest
from rich.console import Console

from aligngraph.cli.replay import print_replay, read_judge, read_number, replay_panel
from aligngraph.errors import UsageError
from aligngraph.trials.replay import ReplayColumn, ReplayRow
from aligngraph.trials.replay_tasks import ReplaySetting
from aligngraph.trials.shares import Estimate

ROW = ReplayRow("made[1]", 8, 600, (ReplayColumn("weights alone", 0.51234, Estimate(0.02, -0.01, 0.05), (0.5, 0.525)),))


def printed(row, setting, width=120):
    screen = Console(file=io.StringIO(), width=width, emoji=False, highlight=False)
    print_replay(row, setting, screen)
    return screen.file.getvalue()


def test_the_table_has_a_line_for_each_rule_in_points_beyond_the_vote():
    text = printed(ROW, ReplaySetting(judge=0.64))
    for shown in ("weights alone", "0.512", "+2.00", "-1.00 .. +5.00", "0.500", "0.525", "made[1]"):
        assert shown in text
    assert "a judge right about 0.64 of the pairs, told nothing" in " ".join(text.split())


def test_the_title_says_who_was_told_what():
    text = " ".join(printed(ROW, ReplaySetting(feedback=True, weaker_half=True), width=300).split())
    assert "8 agents of the weaker half of made[1], 600 tasks, no judge, told the right answers" in text


def test_a_judge_is_none_or_simulated():
    assert read_judge("none") is None
    assert read_judge("simulated:.64") == 0.64
    assert read_judge("simulated:0") == 0.0


@pytest.mark.parametrize(
    "bad", ["", "simulated", "simulated:", "simulated:1.1", "simulated:-1", "simulated:nan", "0.5"]
)
def test_another_judge_is_refused(bad):
    with pytest.raises(UsageError, match="allowed are none and simulated:P with P from 0 to 1"):
        read_judge(bad)


def test_a_number_is_all_or_whole():
    assert (read_number("--agents", "all"), read_number("--agents", "8")) == (None, 8)


@pytest.mark.parametrize("bad", ["0", "-1", "eight", "1.5", "", "²"])
def test_another_number_is_refused(bad):
    with pytest.raises(UsageError, match=r"--tasks .* allowed are all and a whole number from 1"):
        read_number("--tasks", bad)


def test_a_panel_is_played_printed_and_written(tmp_path, capsys):
    folder = tmp_path / "gen_gsm8k_subq"
    folder.mkdir()
    rows = [
        {"id": f"q{number}", "question": "How many?", "gold": "1", "answers": ["1", "1", "2"], "ok": [1, 1, 0]}
        for number in range(6)
    ]
    (folder / "panel.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    names = [{"name": str(number), "model": f"m{number}"} for number in range(3)]
    (folder / "sources.json").write_text(json.dumps(names), encoding="utf-8")
    output = tmp_path / "out.json"
    replay_panel("gen_gsm8k_subq", tmp_path, ReplaySetting(agents=None, draws=1), output)
    report = json.loads(output.read_text(encoding="utf-8"))
    assert report["setting"]["agents"] is None
    accuracy = {column["name"]: column["accuracy"] for column in report["row"]["columns"]}
    assert accuracy == {"best single": 1, "majority": 1, "weights alone": 1, "oracle": 1}
    assert "weights alone" in capsys.readouterr().out


def test_a_panel_of_another_name_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"got panel '\.\./secret', allowed are gen_zeroeval_gsm8k"):
        replay_panel("../secret", tmp_path, ReplaySetting(), tmp_path / "out.json")
