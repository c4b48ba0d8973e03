"""Programs of models: always confined where that can be, and within the time that the calls before them left."""

import time

import pytest

from aligngraph import Team, aask
from aligngraph.nodes import Resources, programs
from aligngraph.nodes.programs import MOST_OUTPUT_CHARS, run_reply
from aligngraph.persistence import Location

TASK = "What is 6 * 7?"
REACHES_OUT = "```python\nimport random\ndef solution():\n    return len(random._os.listdir('/'))\n```"
ENDLESS = "```python\nwhile True: pass\n```"
SETTINGS = 'strategies = ["program"]\n'


@pytest.fixture
def resources_of(scripted_team, tmp_path):
    """Return a function that makes the resources of a team which allows unsafe programs, or does not."""

    def make(*, allowed):
        team = Team.load(scripted_team({"a": ["42"]})).model_copy(update={"allow_unsafe_programs": allowed})
        return Resources.at(team, Location(tmp_path / "db"))

    return make


def program(code):
    return f"So be it.\n```python\n{code}\n```"


class TestConfinement:
    @pytest.mark.parametrize("allowed", [False, True])
    async def test_a_machine_that_can_confine_does_whatever_the_team_allows(self, resources_of, allowed):
        """Every module holds the operating system somewhere: only the walls are in the way."""
        ran = await run_reply(REACHES_OUT, resources_of(allowed=allowed))
        assert ran.problem.startswith("program: was refused by the sandbox: PermissionError")
        assert ran.text == REACHES_OUT

    async def test_one_that_cannot_runs_it_only_if_the_team_allows_it(self, resources_of, monkeypatch):
        monkeypatch.setattr("aligngraph.sandbox.running.platform.system", lambda: "Plan 9")
        monkeypatch.setattr(programs, "missing_confinement", lambda: "only Linux can")
        refused = await run_reply(program("print(42)"), resources_of(allowed=False))
        assert refused.problem == "program: cannot be confined here: only Linux can, this is Plan 9"
        assert (await run_reply(program("print(42)"), resources_of(allowed=True))).text.endswith("\n\nAnswer: 42")


class TestWhatItComesTo:
    async def test_what_it_printed_stands_between_the_program_and_its_answer(self, resources_of):
        code = program("print('thinking')\ndef solution():\n    return 6 * 7")
        ran = await run_reply(code, resources_of(allowed=False))
        assert (ran.text, ran.problem) == (f"{code}\n\nThe program printed:\nthinking\n\nAnswer: 42", None)

    async def test_of_long_output_the_beginning_is_shown(self, resources_of):
        ran = await run_reply(program("print('x' * 5000)\nprint(42)"), resources_of(allowed=False))
        assert ran.text.endswith(f"The program printed:\n{'x' * MOST_OUTPUT_CHARS}\n\nAnswer: 42")

    async def test_without_a_program_there_is_nothing_to_run(self, resources_of):
        ran = await run_reply("I would rather not.", resources_of(allowed=False))
        assert (ran.text, ran.problem) == ("I would rather not.", "no Python program in the reply")


class TestTime:
    """F1 F31: a slow program takes no more than the time that its agent, or the run, has left."""

    @pytest.mark.parametrize(
        ("keys", "sections", "failure", "cause"),
        [
            (
                "total_timeout_s = 0.7\n",
                "",
                "call_failed",
                "no reply within the seconds that all calls of the agent may take together",
            ),
            ("", "[budget]\nseconds = 0.7\n", "not_asked", "budget: its 0.7 seconds are over"),
        ],
        ids=["of the agent", "of the run"],
    )
    async def test_it_ends_with_the_time(self, scripted_team, db, keys, sections, failure, cause):
        agent_keys = {"slow": SETTINGS + keys}
        team = scripted_team({"a": ["42"], "slow": []}, rows=[{"agent": "slow", "text": ENDLESS}], sections=sections, agent_keys=agent_keys)  # fmt: skip
        team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
        begun = time.monotonic()
        decision = await aask(TASK, team=team, db=db)
        assert time.monotonic() - begun < 3
        slow = decision.candidates[1]
        assert (slow.failure, slow.error, slow.usage.calls) == (failure, cause, 1)
        assert (decision.status, decision.answer) == ("degraded", "42")

    async def test_with_enough_of_it_nothing_changes(self, scripted_team, db):
        rows = [{"agent": "p", "text": program("print(6 * 7)")}]
        agent_keys = {"p": SETTINGS + "total_timeout_s = 20\n"}
        team = scripted_team({"a": ["42"], "p": []}, rows=rows, agent_keys=agent_keys)
        team.write_text(team.read_text().replace("samples = 0", "samples = 1"))
        decision = await aask(TASK, team=team, db=db)
        assert [one.answer for one in decision.candidates] == ["42", "42"]
        assert decision.status == "ok"
