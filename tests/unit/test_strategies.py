import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import ValidationError

from aligngraph.errors import TeamError
from aligngraph.prompts import STRATEGIES
from aligngraph.roles import Agent
from aligngraph.strategies import Example, Strategy, find_strategy
from aligngraph.team import Team

DOCS = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text()
LAST_LINE = "Answer: <the final answer alone>"
EXAMPLES = '{"task": "1 + 1?", "solution": "Two.\\nAnswer: 2"}\n{"task": "2 + 2?", "solution": "Answer: 4"}\n'
AGENT = '[[agents]]\nname = "a"\nmodel = "scripted:script.jsonl"\nstrategies = ['
PRINCIPAL = ']\n[principal]\nmodel = "scripted:script.jsonl"\n'


@pytest.fixture
def folder(tmp_path):
    """Return a folder for own strategies, beside a file of examples."""
    (tmp_path / "strategies").mkdir()
    (tmp_path / "examples.jsonl").write_text(EXAMPLES)
    return tmp_path / "strategies"


@pytest.fixture
def own(folder):
    """Return a function that writes an own strategy and finds it."""

    def find(text, name="mine"):
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        return find_strategy(name, folder)

    return find


def built_in(name):
    return find_strategy({"name": name, "examples": "examples.jsonl"} if name == "few_shot" else name)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_built_in_strategy_can_be_used(name, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    strategy = built_in(name)
    assert strategy.name == name
    assert strategy.reply == ("program" if name == "program" else "text")
    assert len(strategy.turns) == {"least_to_most": 2, "self_check": 3}.get(name, 1)
    assert len(strategy.examples) == (2 if name == "few_shot" else 0)
    assert not [turn for turn in strategy.turns if "+++" in turn or re.search("^---", turn, re.MULTILINE)]


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_text_ends_with_the_declared_final_line_and_every_program_without(name, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    strategy = built_in(name)
    assert (strategy.turns[-1].splitlines()[-1] == LAST_LINE) is (strategy.reply == "text")
    assert ("Answer:" in "".join(strategy.turns)) is (strategy.reply == "text")


def test_the_seven_strategies_are_in_the_package_and_the_docs_name_each():
    names = {"direct", "step_by_step", "plan_then_solve", "least_to_most", "self_check", "program", "few_shot"}
    assert set(STRATEGIES) == names
    assert {path.name for path in (files("aligngraph.prompts") / "strategies").iterdir()} == {f"{n}.md" for n in names}
    assert set(re.findall(r"^\| `(\w+)` \|", DOCS, re.MULTILINE)) == {*names, "as_is"}


def test_as_is_has_no_text_and_so_neither_file_nor_examples(folder):
    strategy = find_strategy("as_is", folder)
    assert (strategy.name, strategy.turns, strategy.examples) == ("as_is", (), ())
    assert strategy.label == Strategy(name="as_is", turns=()).label
    with pytest.raises(TeamError, match="'as_is' shows the chat as it came: it takes no examples"):
        find_strategy({"name": "as_is", "examples": str(folder.parent / "examples.jsonl")})
    with pytest.raises(TeamError, match=r"unknown strategy 'as_iz'; did you mean 'as_is'\?"):
        find_strategy("as_iz")
    (folder / "as_is.md").write_text("Draft.")
    with pytest.raises(TeamError, match="strategy 'as_is' is built in"):
        find_strategy("as_is", folder)


def test_the_first_turn_is_the_system_text_and_each_further_one_is_stripped(own):
    strategy = own("\n\nDraft.\nSecond line.\n\n---\n\n Criticise. \n---  \nFinish.\n\n")
    assert strategy.turns == ("Draft.\nSecond line.", "Criticise.", "Finish.")
    assert (strategy.reply, strategy.examples) == ("text", ())


def test_only_a_line_of_exactly_three_dashes_ends_a_turn(own):
    assert own("a\n----\n- b\n--- c\n ---\n").turns == ("a\n----\n- b\n--- c\n ---",)


def test_braces_and_percent_signs_are_text(own):
    text = 'Reply as {"answer": x}, {{so}}, {0}, %s, $name.'
    assert own(text).turns == (text,)


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_no_text(folder):
    (folder / "mine.md").write_bytes(b'\xef\xbb\xbf+++\r\nreply = "program"\r\n+++\r\nDraft.\r\n---\r\nFinish.\r\n')
    strategy = find_strategy("mine", folder)
    assert (strategy.reply, strategy.turns) == ("program", ("Draft.", "Finish."))


def test_front_matter_says_what_the_reply_holds_and_names_examples_beside_the_file(own, folder):
    (folder / "solved.jsonl").write_text('\n{"task": " t ", "solution": "s"}\n\n')
    strategy = own('+++\nreply = "program"\nexamples = "solved.jsonl"\n+++\nWrite a program.\n')
    assert strategy.reply == "program"
    assert strategy.examples == (Example(task="t", solution="s"),)
    assert strategy.turns == ("Write a program.",)


def test_front_matter_may_be_empty_and_later_plus_signs_are_text(own):
    assert own("+++\n+++\nDraft.\n+++\n").turns == ("Draft.\n+++",)
    assert own("Draft.\n+++\nreply = 3\n+++\n").turns == ("Draft.\n+++\nreply = 3\n+++",)
    assert own("++++\nDraft.").turns == ("++++\nDraft.",)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "mine.md: turn 1 of 1 is empty"),
        (" \n\t\n", "mine.md: turn 1 of 1 is empty"),
        ("+++\n+++\n", "mine.md: turn 1 of 1 is empty"),
        ("Draft.\n---\n\n---\nFinish.", "mine.md: turn 2 of 3 is empty"),
        ("Draft.\n---\n", "mine.md: turn 2 of 2 is empty"),
        ('+++\nreply = "text"\nDraft.', "mine.md: begins with a line of +++, but no second one"),
        ("+++\nreply: text\n+++\nDraft.", "mine.md: between the lines of +++: not TOML"),
        (f"+++\nreply = {'1' * 5_000}\n+++\nDraft.", "mine.md: between the lines of +++: not TOML that can be read: "),
        (f"+++\nreply = {'[' * 5_000}\n+++\nDraft.", "mine.md: between the lines of +++: not TOML that can be read: "),
        ('+++\nreplies = "text"\n+++\nDraft.', "unknown key 'replies'; did you mean 'reply'?"),
        ('+++\nreply = "code"\n+++\nDraft.', "+++: reply = 'code': Input should be 'text' or 'program'"),
        ("+++\nexamples = 3\n+++\nDraft.", "+++: examples = 3: Input should be a valid string"),
        ('+++\nexamples = ""\n+++\nDraft.', "+++: examples = ''"),
        ('+++\nexamples = "absent.jsonl"\n+++\nDraft.', "absent.jsonl cannot be read: there is no such file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line_with_its_name(own, text, finding):
    with pytest.raises(TeamError) as caught:
        own(text)
    assert finding in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ("", "examples.jsonl holds no examples"),
        ("\n \n", "examples.jsonl holds no examples"),
        (EXAMPLES + "\n{", "examples.jsonl, line 4: Invalid JSON"),
        (EXAMPLES + "[]", "examples.jsonl, line 3: "),
        (EXAMPLES + '{"task": "t"}', "examples.jsonl, line 3: key 'solution' is missing"),
        ('{"solution": "s"}', "examples.jsonl, line 1: key 'task' is missing"),
        ('{"task": "t", "solution": 3}', "line 1: solution = 3: Input should be a valid string"),
        ('{"task": " ", "solution": "s"}', "line 1: task = "),
        ('{"task": "t", "solution": ""}', "line 1: solution = '': String should have at least 1 character"),
        ('{"task": "t", "solution": "\\ud800"}', "line 1: Invalid JSON"),
    ],
)
def test_a_bad_example_is_named_with_its_file_and_line(folder, rows, finding):
    path = folder / "examples.jsonl"
    path.write_text(rows)
    with pytest.raises(TeamError) as caught:
        find_strategy({"name": "few_shot", "examples": str(path)})
    assert finding in str(caught.value)
    assert "\n" not in str(caught.value)


def test_examples_keep_their_order_and_other_columns_and_line_ends_do_no_harm(folder):
    rows = [{"id": n, "task": f"a\u2028{n}", "solution": "s"} for n in range(3)]
    path = folder / "examples.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    strategy = find_strategy({"name": "few_shot", "examples": str(path)})
    assert [example.task for example in strategy.examples] == [row["task"] for row in rows]


def test_examples_of_the_team_take_the_place_of_those_of_the_file(own, folder):
    (folder / "solved.jsonl").write_text('{"task": "t", "solution": "s"}')
    assert len(own('+++\nexamples = "solved.jsonl"\n+++\nDraft.').examples) == 1
    table = {"name": "mine", "examples": str(folder.parent / "examples.jsonl")}
    assert len(find_strategy(table, folder).examples) == 2


def test_few_shot_without_examples_shows_the_form_of_the_table():
    with pytest.raises(TeamError, match=r'needs examples: write \{ name = "few_shot", examples = "examples\.jsonl" \}'):
        find_strategy("few_shot")


@pytest.mark.parametrize(
    ("entry", "finding"),
    [
        ("dirct", "unknown strategy 'dirct'; did you mean 'direct'? (there is no file {folder}/dirct.md)"),
        ("min", "(there is no file {folder}/min.md)"),
        ("Direct", "unknown strategy 'Direct'; did you mean 'direct'? (own ones have up to 41 of the characters a-z"),
        ("../mine", "unknown strategy '../mine'; known: as_is, direct, "),
        ("a" * 42, "(own ones have up to 41"),
        ("zzz", "known: as_is, direct, few_shot, least_to_most, plan_then_solve, program, self_check, step_by_step ("),
        ({"nam": "direct"}, "table of a strategy: key 'name' is missing"),
        ({"name": "direct", "exampels": "e"}, "unknown key 'exampels'; did you mean 'examples'?"),
        ({"name": 3}, "name = 3: Input should be a valid string"),
        ({"name": "direct", "examples": ""}, "examples = ''"),
    ],
)
def test_a_wrong_entry_is_met_with_the_nearest_right_one(own, folder, entry, finding):
    own("Draft.")
    with pytest.raises(TeamError) as caught:
        find_strategy(entry, folder)
    assert finding.format(folder=folder) in str(caught.value)


@pytest.mark.parametrize("place", ["absent", "examples.jsonl"])
def test_no_folder_holds_no_own_strategies_but_the_built_in_ones_stay(folder, place):
    assert find_strategy("direct", folder.parent / place) == find_strategy("direct")
    with pytest.raises(TeamError, match="there is no file"):
        find_strategy("mine", folder.parent / place)
    with pytest.raises(TeamError, match="own ones need a team file, and a folder 'strategies' beside it"):
        find_strategy("mine")


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_an_own_file_named_like_a_built_in_strategy_is_refused(own, name):
    with pytest.raises(
        TeamError, match=rf"strategy '{name}' is built in: give your own file .*{name}\.md another name"
    ):
        own("Draft.", name)


def test_a_file_that_is_no_text_and_one_that_is_a_folder_are_named(folder):
    (folder / "binary.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TeamError, match=r"binary\.md is not UTF-8 text"):
        find_strategy("binary", folder)
    (folder / "inner.md").mkdir()
    with pytest.raises(TeamError, match=r"inner\.md cannot be read: Is a directory"):
        find_strategy("inner", folder)


BASE = {"name": "s", "turns": ("a", "b"), "examples": (Example(task="t", solution="s"),)}


@pytest.mark.parametrize(
    "change",
    [
        {"turns": ("a", "c")},
        {"turns": ("a",)},
        {"turns": ("b", "a")},
        {"turns": ("ab",)},
        {"reply": "program"},
        {"examples": ()},
        {"examples": (Example(task="t", solution="z"),)},
        {"examples": (Example(task="z", solution="s"),)},
        {"examples": BASE["examples"] * 2},
    ],
)
def test_the_digest_changes_with_any_content(change):
    strategy = Strategy(**BASE)
    assert re.fullmatch("[0-9a-f]{16}", strategy.digest)
    assert Strategy(**{**BASE, **change}).digest != strategy.digest


def test_the_digest_does_not_change_with_the_name_or_the_place(own):
    assert (
        own("Draft.", "one").digest == own("\nDraft.\n", "two").digest == Strategy(name="s", turns=("Draft.",)).digest
    )
    assert own("Draft.", "one").label == f"one@{own('Draft.', 'two').digest}"


def test_a_strategy_is_a_value():
    assert Strategy(**BASE) == Strategy(**BASE)
    assert len({Strategy(**BASE), Strategy(**BASE)}) == 1
    with pytest.raises(ValidationError, match="frozen"):
        Strategy(**BASE).name = "other"


@pytest.mark.parametrize("change", [{"name": "A b"}, {"turns": ()}, {"turns": (" ",)}, {"reply": "code"}, {"more": 1}])
def test_a_strategy_of_no_use_cannot_be_made(change):
    with pytest.raises(ValidationError):
        Strategy(**{**BASE, **change})


def load(folder, strategies, top=""):
    """Return the only agent of a team with these strategies, read from a file in the folder."""
    (folder / "team.toml").write_text(f"{top}\n{AGENT}{strategies}{PRINCIPAL}")
    return Team.load(folder / "team.toml").agents[0]


def test_own_strategies_and_examples_lie_beside_the_team_file(own, folder, monkeypatch):
    own("Draft.")
    agent = load(folder.parent, '"mine", { name = "few_shot", examples = "examples.jsonl" }')
    assert [(strategy.name, len(strategy.examples)) for strategy in agent.strategies] == [("mine", 0), ("few_shot", 2)]
    monkeypatch.chdir(folder.parent)
    assert Team.load("team.toml").agents[0] == agent.model_copy(
        update={"model": Team.load("team.toml").agents[0].model}
    )


def test_the_team_may_name_another_folder_and_a_run_remembers_content_only(own, folder):
    own("Draft.")
    beside = load(folder.parent, '"mine"')
    team = folder.parent / "teams"
    team.mkdir()
    with pytest.raises(
        TeamError, match=r"agents\[0\]\.strategies\[0\]: unknown strategy 'mine'.*teams/strategies/mine\.md"
    ):
        load(team, '"mine"')
    assert load(team, '"mine"', 'strategy_folder = "../strategies"').strategies == beside.strategies
    described = Team.load(team / "team.toml").describe()
    assert "strategy_folder" not in described
    assert described["agents"][0]["strategies"] == [beside.strategies[0].label]


def test_what_is_wrong_with_a_strategy_is_said_at_its_place_in_the_team(folder):
    (folder / "mine.md").write_text("Draft.\n---\n")
    with pytest.raises(TeamError, match=r"team\.toml: agents\[0\]\.strategies\[1\]: .*mine\.md: turn 2 of 2 is empty"):
        load(folder.parent, '"direct", "mine"')
    with pytest.raises(TeamError, match=r"agents\[0\]\.strategies\[0\]: .*absent\.jsonl cannot be read"):
        load(folder.parent, '{ name = "few_shot", examples = "absent.jsonl" }')
    with pytest.raises(TeamError, match=r"agents\[0\]\.strategies\[0\]: got 3; a strategy is a name such as"):
        load(folder.parent, "3")


def test_one_strategy_twice_is_refused_even_with_other_examples(folder):
    table = '{ name = "direct", examples = "examples.jsonl" }'
    with pytest.raises(TeamError, match="strategies must be unique: 'direct' occurs more than once"):
        load(folder.parent, f'"direct", {table}')


def test_from_python_an_agent_takes_names_tables_and_strategies(folder):
    mine = Strategy(name="mine", turns=("Draft.",))
    few_shot = {"name": "few_shot", "examples": str(folder.parent / "examples.jsonl")}
    agent = Agent(name="a", model="openai:m", samples=3, strategies=["direct", few_shot, mine])
    assert [strategy.name for strategy in agent.strategies] == ["direct", "few_shot", "mine"]
    assert agent.strategy(5) is mine


def test_a_team_with_changed_examples_is_another_team(folder):
    table = '{ name = "few_shot", examples = "examples.jsonl" }'
    before = load(folder.parent, table).model_dump(mode="json")
    assert load(folder.parent, table).model_dump(mode="json") == before
    (folder.parent / "examples.jsonl").write_text(EXAMPLES.replace("Two", "2"))
    after = load(folder.parent, table).model_dump(mode="json")
    assert after["strategies"] != before["strategies"]
    assert {**after, "strategies": []} == {**before, "strategies": []}


def test_the_default_team_is_described_by_its_strategies_and_their_digests():
    """A run belongs to its team: whoever changes these texts ends the runs that are under way."""
    described = Team.parse(files("aligngraph").joinpath("default_team.toml").read_text(), "default").describe()
    assert [agent["strategies"] for agent in described["agents"]] == [
        ["step_by_step@1107aeaa5f9b6013"],
        ["plan_then_solve@6a5e4dc023e26f17"],
        ["direct@c3ae547c1875dbb9"],
    ]
    assert json.loads(json.dumps(described)) == described


def test_the_strategies_of_the_docs_are_valid(own, folder):
    (text,) = re.findall(r"^````markdown\n(.*?)^````", DOCS, re.DOTALL | re.MULTILINE)
    (rows,) = re.findall(r"^```json\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)
    (folder / "fractions.jsonl").write_text(rows)
    strategy = own(text, "exact_fractions")
    assert len(strategy.turns) == 2
    assert [example.solution.splitlines()[-1][:8] for example in strategy.examples] == ["Answer: "] * 2
    assert strategy.turns[-1].splitlines()[-1] == LAST_LINE
