import asyncio
import os
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from blockbuster import blockbuster_ctx

from aligngraph.errors import UsageError
from aligngraph.ranking import Option
from aligngraph.ranking.program import MOST_OUTPUT_BYTES, CommandScorer, ProgramRanker

GOOD = Option("42", "def answer():\n    return 42\n")
BAD = Option("41", "def answer():\n    return 41\n")
BROKEN = Option("40", "def answer(:\n")


def python(source):
    return (sys.executable, "-c", source)


def script(path, source):
    path.write_text(source)
    return str(path)


def passes(task, answer, solution):
    return answer == "42"


async def scored(command, task="", answer="", solution=""):
    return await CommandScorer(command, 20.0)(task, answer, solution)


class TestProgramRanker:
    async def test_what_passes_is_preferred_to_what_does_not(self, work):
        preference = await ProgramRanker(passes).rank(work("41", "42"))
        assert preference.tiers == ((1,), (0,))
        assert preference.matrix[1][0] > 0.99
        assert [call.score for call in preference.calls] == [0.0, 1.0]

    async def test_f20_programs_that_pass_alike_are_one_tier(self, work):
        preference = await ProgramRanker(lambda task, answer, solution: answer != "0").rank(work("1", "0", "2"))
        assert preference.tiers == ((0, 2), (1,))
        assert preference.matrix[0][2] == 0.5

    async def test_the_function_is_given_task_answer_and_solution(self, work):
        given = []
        await ProgramRanker(lambda *texts: bool(given.append(texts))).rank(work(GOOD, BAD, task="Write it."))
        assert sorted(given) == [("Write it.", "41", BAD.solution), ("Write it.", "42", GOOD.solution)]

    @pytest.mark.parametrize("score", [True, 1, 1.0, np.float32(1), np.True_, Fraction(1, 1)])
    async def test_any_kind_of_number_is_a_score(self, work, score):
        preference = await ProgramRanker(lambda *texts: score).rank(work("1", "2"))
        assert [call.score for call in preference.calls] == [1.0, 1.0]
        assert [call.verdict for call in preference.calls] == ["1.0", "1.0"]

    @pytest.mark.parametrize("score", [-0.1, 1.5, float("nan"), float("inf"), None, "1.0", [1.0]])
    async def test_what_is_no_score_says_nothing_about_its_option(self, work, score):
        preference = await ProgramRanker(lambda task, answer, solution: score if answer == "1" else 1).rank(
            work("1", "2", "3")
        )
        assert preference.abstained == (0,)
        assert preference.calls[0].outcome == "unusable"
        assert preference.calls[0].problem == f"the score is {score!r}, not a number in [0, 1]"
        assert preference.matrix[0] == (0.5, 0.5, 0.5)

    async def test_an_array_of_scores_is_a_failure_of_its_option(self, work):
        preference = await ProgramRanker(lambda *texts: np.ones(2)).rank(work("1", "2"))
        assert [call.outcome for call in preference.calls] == ["failed", "failed"]

    async def test_an_exception_fails_its_option_alone_and_keeps_its_cause(self, work):
        def divide(task, answer, solution):
            return 1 / int(answer)

        preference = await ProgramRanker(divide).rank(work("0", "2", "4"))
        assert preference.order == (1, 2, 0)
        assert (preference.calls[0].outcome, preference.calls[0].score) == ("ranked", 0.0)
        assert "ZeroDivisionError: division by zero" in preference.calls[0].problem

    @pytest.mark.parametrize("error", [SystemExit(1), StopIteration(), KeyboardInterrupt()])
    async def test_a_function_that_would_end_the_process_fails_its_option_alone(self, work, error):
        def leave(task, answer, solution):
            if answer == "0":
                raise error
            return 1.0

        preference = await ProgramRanker(leave).rank(work("0", "2"))
        assert preference.tiers == ((1,), (0,)), "what passes shows that the program works"
        assert type(error).__name__ in preference.calls[0].problem

    async def test_a_late_function_fails_its_option_alone(self, work):
        release = threading.Event()

        def hang(task, answer, solution):
            return answer != "0" or release.wait(60)

        preference = await ProgramRanker(hang, 0.2).rank(work("0", "2", "3"))
        release.set()
        assert preference.tiers == ((1, 2), (0,))
        assert preference.calls[0].problem == "no reply within 0.2 s"

    async def test_an_asynchronous_function_that_would_end_the_process_fails_its_option_alone(self, work):
        async def leave(task, answer, solution):
            if answer == "0":
                sys.exit(1)
            return 1.0

        assert (await ProgramRanker(leave).rank(work("0", "2"))).tiers == ((1,), (0,))

    async def test_an_asynchronous_function_runs_on_the_callers_loop(self, work):
        loops = []

        async def score(task, answer, solution):
            loops.append(asyncio.get_running_loop())
            return answer == "2"

        preference = await ProgramRanker(score).rank(work("1", "2"))
        assert preference.order == (1, 0)
        assert set(loops) == {asyncio.get_running_loop()}

    async def test_a_plain_function_does_not_hold_up_the_loop(self, work):
        threads = []
        await ProgramRanker(lambda *texts: bool(threads.append(threading.current_thread()))).rank(work("1", "2"))
        assert threading.main_thread() not in threads
        assert all(thread.daemon for thread in threads)

    async def test_no_more_run_at_once_than_there_are_cores(self, work):
        running, most = 0, 0

        async def score(*texts):
            nonlocal running, most
            running, most = running + 1, max(most, running + 1)
            await asyncio.sleep(0)
            running -= 1
            return 1.0

        await ProgramRanker(score).rank(work(*map(str, range(4 * (os.cpu_count() or 1)))))
        assert most <= (os.cpu_count() or 1)

    async def test_calls_are_recorded_in_the_order_of_the_options_and_cost_no_tokens(self, work):
        preference = await ProgramRanker(passes).rank(work("41", "42", "43"))
        assert [list(call.labels.values()) for call in preference.calls] == [[0], [1], [2]]
        assert {call.usage for call in preference.calls} == {None}


HOLDING = (  # a command that opens a pipe and has a child hold it as well
    "import os, subprocess, sys, time; pipe = os.open(sys.argv[1], os.O_WRONLY); os.set_inheritable(pipe, True);"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], close_fds=False)"
)


@pytest.fixture
async def held(tmp_path):
    """Return the path of a pipe, and what is done as soon as all that opened it are gone."""
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe"), asyncio.ensure_future(asyncio.to_thread((tmp_path / "pipe").read_bytes))


class TestCommandScorer:
    @pytest.mark.parametrize(("status", "score"), [(0, 1.0), (1, 0.0)])
    async def test_the_exit_status_passes_or_fails(self, status, score):
        assert await scored(python(f"raise SystemExit({status})")) == score

    async def test_any_other_status_says_that_the_command_did_not_work(self):
        source = "import sys; print('no such test file', file=sys.stderr); sys.exit(4)"
        with pytest.raises(UsageError, match=r"exited with status 4: no such test file"):
            await scored(python(source))

    async def test_a_script_that_is_not_there_is_no_verdict_on_anybody(self, work):
        ranker = ProgramRanker(CommandScorer((sys.executable, "no-such-script.py", "{answer}")))
        preference = await ranker.rank(work("1", "2"))
        assert (preference.tiers, {call.outcome for call in preference.calls}) == ((), {"failed"})
        assert "No such file" in preference.calls[0].problem

    async def test_a_command_that_dies_by_a_signal_fails(self):
        assert await scored(python("import os; os.abort()")) == 0.0

    @pytest.mark.parametrize(
        ("output", "score"),
        [
            ("0.25", 0.25),
            ("3 of 4 passed\n0.75\n\n", 0.75),
            ("0", 0.0),
            ("1", 1.0),
            ("0.5\n3 passed in 0.01s", 1.0),
            ("7", 1.0),
            ("-1", 1.0),
            ("nan", 1.0),
            ("", 1.0),
        ],
    )
    async def test_a_last_line_that_is_a_number_is_the_score(self, output, score):
        assert await scored(python(f"print({output!r})")) == score

    async def test_a_number_printed_by_a_command_that_fails_passes_nothing(self):
        assert await scored(python("print(1); raise SystemExit(1)")) == 0.0

    async def test_what_goes_to_the_error_output_is_no_score(self):
        assert await scored(python("import sys; print('0.5'); print('0.1', file=sys.stderr)")) == 0.5

    async def test_of_a_long_output_the_end_is_read(self):
        assert await scored(python(f"print('x\\n' * {2 * MOST_OUTPUT_BYTES}); print(0.5)")) == 0.5

    async def test_the_texts_reach_the_command_unaltered_in_files(self, tmp_path):
        texts = ("Frage: wie viel?\r\n", "4\u00bd {solution}", "print('$HOME')\n# \u2713\n")
        copy = script(
            tmp_path / "copy.py", "import shutil, sys\n[shutil.copy(p, sys.argv[-1]) for p in sys.argv[1:-1]]"
        )
        command = (sys.executable, copy, "{task}", "{answer}", "{solution}", str(tmp_path))
        assert await scored(command, *texts) == 1.0
        copied = [(tmp_path / f"{name}.txt").read_bytes().decode() for name in ("task", "answer", "solution")]
        assert copied == list(texts)

    async def test_half_a_character_does_not_fail_the_command(self):
        assert await scored(python("pass"), solution="\ud83d") == 1.0

    async def test_a_placeholder_may_be_part_of_an_argument(self):
        source = "import sys; assert open(sys.argv[1].removeprefix('--file=')).read() == 'x'"
        assert await scored((*python(source), "--file={solution}"), solution="x") == 1.0

    @pytest.mark.parametrize("text", ["; touch pwned", "$(touch pwned)", "`touch pwned`", "--help", "a\0b", "{answer}"])
    async def test_f54_no_text_becomes_an_argument_or_is_interpreted(self, tmp_path, monkeypatch, text):
        monkeypatch.chdir(tmp_path)
        source = (
            "import pathlib, sys; print(int(all(pathlib.Path(p).name in {'task.txt', 'answer.txt', 'solution.txt'}"
            " for p in sys.argv[1:])))"
        )
        command = (*python(source), "{task}", "{answer}", "{solution}")
        assert await scored(command, text, text, text) == 1.0
        assert list(tmp_path.iterdir()) == []

    async def test_the_files_lie_in_a_private_folder_that_is_removed(self, tmp_path):
        source = "import os, sys; p = os.path.dirname(sys.argv[1]); open(sys.argv[2], 'w').write(p); print(0.5 * (os.stat(p).st_mode & 0o777 == 0o700))"
        assert await scored((*python(source), "{answer}", str(tmp_path / "where"))) == 0.5
        assert not await asyncio.to_thread(Path((tmp_path / "where").read_text()).exists)

    async def test_two_solutions_never_share_a_folder(self, tmp_path):
        source = "import sys; open(sys.argv[2], 'a').write(sys.argv[1] + '\\n')"
        command = (*python(source), "{answer}", str(tmp_path / "where"))
        await asyncio.gather(scored(command), scored(command))
        assert len(set((tmp_path / "where").read_text().split())) == 2

    async def test_nothing_can_be_read_from_the_terminal(self):
        assert await scored(python("import sys; assert sys.stdin.read() == ''")) == 1.0

    async def test_a_command_that_does_not_exist_is_named(self, work):
        with pytest.raises(UsageError, match="the command 'no-such-program' cannot be started: No such file"):
            await scored(("no-such-program",))
        preference = await ProgramRanker(CommandScorer(("no-such-program",), 5.0), 5.0).rank(work("1", "2"))
        assert preference.abstained == (0, 1)
        assert "'no-such-program' cannot be started" in preference.calls[0].problem

    async def test_a_file_that_is_no_program_is_named(self, tmp_path):
        with pytest.raises(UsageError, match="cannot be started: Permission denied"):
            await scored((script(tmp_path / "notes", "x"),))

    async def test_a_late_command_is_killed_with_all_it_started(self, held):
        path, released = held
        with pytest.raises(TimeoutError, match="did not end within 3 s"):
            await CommandScorer((*python(f"{HOLDING}; time.sleep(600)"), path), 3.0)("", "", "")
        await asyncio.wait_for(released, 60)

    async def test_where_none_passes_a_late_command_says_nothing_about_its_option(self, work):
        source = "import sys, time; time.sleep(60 * (open(sys.argv[1]).read() == '0')); sys.exit(1)"
        scorer = CommandScorer((*python(source), "{answer}"), 60.0)
        preference = await ProgramRanker(scorer, 2.0).rank(work("0", "1", "2"))
        assert preference.abstained == (0,)

    @pytest.mark.parametrize("end", ["time.sleep(600)", "os._exit(2)", "raise SystemExit(7)", "os.abort()"])
    async def test_no_end_that_a_solution_chooses_beats_one_that_passes(self, work, end):
        source = f"import os, sys, time\nif open(sys.argv[1]).read() == '0':\n    {end}"
        preference = await ProgramRanker(CommandScorer((*python(source), "{answer}"), 60.0), 2.0).rank(work("0", "1"))
        assert preference.tiers == ((1,), (0,))

    async def test_a_process_that_left_the_group_holds_up_no_verdict(self):
        leaving = "import subprocess, sys; subprocess.Popen(['setsid', 'sleep', '5']); print(0.5)"
        began = time.monotonic()
        assert await scored(python(leaving)) == 0.5
        assert time.monotonic() - began < 4

    async def test_a_late_command_fails_where_another_passes(self, work):
        source = "import sys, time; time.sleep(60 * (open(sys.argv[1]).read() == '0'))"
        scorer = CommandScorer((*python(source), "{answer}"), 60.0)
        preference = await ProgramRanker(scorer, 2.0).rank(work("0", "1"))
        assert preference.tiers == ((1,), (0,))

    async def test_what_a_command_leaves_running_is_killed_and_not_waited_for(self, held):
        path, released = held
        assert await scored((*python(f"{HOLDING}; print(0.5)"), path)) == 0.5
        await asyncio.wait_for(released, 60)

    async def test_f57_a_caller_that_gives_up_leaves_no_process(self, held, tmp_path):
        path, released = held
        os.mkfifo(tmp_path / "started")
        source = f"{HOLDING}; open(sys.argv[2], 'w').close(); time.sleep(600)"
        running = asyncio.create_task(
            CommandScorer((*python(source), path, str(tmp_path / "started")), 600.0)("", "", "")
        )
        await asyncio.to_thread((tmp_path / "started").read_bytes)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(released, 60)

    async def test_f11_nothing_blocks_the_event_loop(self, work):
        scorer = CommandScorer(python("pass"), 20.0)
        with blockbuster_ctx("aligngraph"):
            preference = await ProgramRanker(scorer, 20.0).rank(work("1", "2"))
        assert preference.tiers == ((0, 1),)

    async def test_unit_tests_tell_programs_apart(self, tmp_path, work):
        check = script(
            tmp_path / "check.py", "import runpy, sys\nassert runpy.run_path(sys.argv[1])['answer']() == 42\n"
        )
        scorer = CommandScorer((sys.executable, check, "{solution}"), 20.0)
        preference = await ProgramRanker(scorer, 20.0).rank(work(BROKEN, GOOD, BAD))
        assert preference.tiers == ((1,), (0, 2))
