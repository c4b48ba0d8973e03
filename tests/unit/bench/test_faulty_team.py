"""The team for a faulty server: its tasks, what its models say, and its file."""

import json

import pytest

from aligngraph import Team
from aligngraph.bench.faulty_team import JUDGE, RIGHT, SAMPLES, FaultyTeam, Proposer, Ranker, Sum, replies

TASK = Sum(7, 123, 456)


def asked(*texts):
    return [{"role": "system", "content": "Be careful."}, *({"role": "user", "content": text} for text in texts)]


def sheet(**answers):
    shown = [
        f"Solution {label}\n--- abc123 ---\nI think.\nAnswer: {answer}\n--- abc123 ---"
        for label, answer in answers.items()
    ]
    return asked(f"The task:\n{TASK.text}\n\nThe solutions:\n" + "\n\n".join(shown) + "\n\nRank the solutions.")


def test_a_task_is_found_again_in_a_request():
    assert Sum.among(asked(TASK.text)) == TASK
    assert Sum.among(asked(f"The task:\n{TASK.text}\n", "That reply cannot be used.")) == TASK
    assert TASK.right == "579"


def test_a_request_without_a_task_is_not_of_this_benchmark():
    with pytest.raises(ValueError, match="hold no task"):
        Sum.among(asked("hello"))


def test_the_same_seed_gives_the_same_tasks_and_no_two_of_them_are_alike():
    tasks = [Sum.draw(3, number) for number in range(50)]
    assert tasks == [Sum.draw(3, number) for number in range(50)]
    assert len({task.text for task in tasks}) == 50
    assert tasks != [Sum.draw(4, number) for number in range(50)]


def test_every_model_of_the_team_has_its_replies():
    assert set(replies(0)) == {*RIGHT, JUDGE}


@pytest.mark.parametrize("name", RIGHT)
def test_an_agent_is_right_about_as_often_as_it_should_be(name):
    reply, right = replies(0)[name], 0
    for number in range(300):
        task = Sum.draw(0, number)
        right += reply(asked(task.text), 0).endswith(f"\nAnswer: {task.right}")
    assert right / 300 == pytest.approx(RIGHT[name], abs=0.09), "three standard deviations"


def test_an_agent_says_the_same_again_but_not_in_every_sample():
    reply = Proposer(0, "ada", 0.5)
    texts = [reply(asked(TASK.text), sample) for sample in range(20)]
    assert texts == [reply(asked(TASK.text), sample) for sample in range(20)]
    assert 1 < len(set(texts)) <= 5, "the right answer and four mistakes"


def test_the_judge_puts_the_right_answer_first_where_it_sees_it():
    order = json.loads(Ranker(0, 1.0)(sheet(A="570", B="579", C="578"), 0))["order"].split(">")
    assert order[0] == "B"
    assert sorted(order) == ["A", "B", "C"]


def test_a_judge_that_never_sees_it_guesses():
    firsts = {json.loads(Ranker(seed, 0.0)(sheet(A="570", B="579"), 0))["order"][0] for seed in range(20)}
    assert firsts == {"A", "B"}


def test_the_judge_ranks_when_asked_again():
    again = [*sheet(A="570", B="579"), {"role": "user", "content": "That reply cannot be used. Reply once more."}]
    assert json.loads(Ranker(0, 1.0)(again, 0)) == {"order": "B>A"}


def test_the_team_file_is_a_team(tmp_path):
    team = Team.load(FaultyTeam("http://127.0.0.1:1/v1", 1.5, 2.0).write(tmp_path))
    assert [agent.name for agent in team.agents] == list(RIGHT)
    assert {agent.samples for agent in team.agents} == {SAMPLES}
    assert {agent.model.base_url for agent in team.agents} == {"http://127.0.0.1:1/v1"}
    assert {agent.timeout_s for agent in team.agents} | {team.principal.timeout_s} == {1.5}
    assert (team.principal.model.name, team.retry.longest_wait_s, team.answers.kind) == (JUDGE, 2.0, "number")
    assert (team.learning.mode, team.circuit.failures) == ("on", 5), "learning and circuits are as by default"
