import pytest

from aligngraph.persistence import Update
from aligngraph.report.alignment import agent_of, align_agents, task_tau
from aligngraph.report.timeline import follow

THREE = {
    "first": ((3.0, 2.0, 1.0, 0.0), (0.0, 0.0, 4.0, 0.0)),
    "counts": ((3.0, 2.0, 1.0), (0.0, 0.0, 4.0)),
    "posterior": (0.5, 0.3, 0.2),
    "preference": ((0.5, 1.0, 1.0), (0.0, 0.5, 1.0), (0.0, 0.0, 0.5)),
}


def points_of(*evidence):
    runs = {f"r{number}": one for number, one in enumerate(evidence)}
    return follow([Update(run, 1, "d", ()) for run in runs], runs).points


def test_an_agent_in_the_principal_s_order_has_tau_one(make_evidence):
    assert task_tau(make_evidence(**THREE), "careful") == pytest.approx(1.0)


def test_an_agent_that_backs_the_last_answer_alone_is_opposed(make_evidence):
    # shares 0, 0, 1 against 3 > 2 > 1: two discordant pairs, one tied: tau-b = -2 / sqrt(2 * 3)
    assert task_tau(make_evidence(**THREE), "quick") == pytest.approx(-2 / 6**0.5)


def test_all_arms_of_an_agent_count_together(make_evidence):
    evidence = make_evidence(**{**THREE, "arms": ("one/a", "one/b")})
    # votes 3, 2, 5 against 3 > 2 > 1: one concordant pair of three
    assert task_tau(evidence, "one") == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"preference": None},
        {"judges": {}},
        {"preference": ((0.5, 0.5), (0.5, 0.5))},
        {"first": ((0.0, 0.0, 2.0), (0.0, 1.0, 0.0))},
        {"first": ((1.0, 1.0, 0.0), (0.0, 1.0, 0.0))},
    ],
    ids=["nobody judged", "a stand-in judged", "nothing preferred", "no vote left", "equally sure of all"],
)
def test_where_one_side_orders_nothing_there_is_no_tau(make_evidence, changes):
    assert task_tau(make_evidence(**changes), "careful") is None


def test_the_mean_is_over_the_tasks_that_have_one(make_evidence):
    points = points_of(make_evidence(**THREE), make_evidence(preference=None), make_evidence())
    careful, quick = align_agents(points)
    assert (careful.agent, careful.tasks, careful.tau) == ("careful", 2, 1.0)
    assert (quick.tasks, quick.tau) == (2, pytest.approx((-2 / 6**0.5 - 1) / 2))
    assert careful.low < 1.0
    assert careful.high == pytest.approx(1.0)
    assert -1.0 <= quick.low < quick.tau < quick.high


def test_the_interval_shrinks_with_tasks(make_evidence):
    few, many = (align_agents(points_of(*[make_evidence()] * count))[0] for count in (3, 100))
    assert many.low > few.low > -1
    assert many.low > 0.9


def test_without_a_judgement_there_is_neither_mean_nor_interval(make_evidence):
    (careful, _) = align_agents(points_of(make_evidence(judges={})))
    assert (careful.tasks, careful.tau, careful.low, careful.high) == (0, None, None, None)


def test_an_agent_is_named_before_the_first_slash():
    assert agent_of("careful/step/odd") == "careful"
