from copy import deepcopy

import numpy as np
import pytest

from aligngraph.persistence import Increment, Update, replayed
from aligngraph.report.document import Figure, Passage
from aligngraph.report.domain import DomainRecord, report_domain
from aligngraph.report.page import write_page
from aligngraph.report.timeline import Timeline, follow, follow_principal


@pytest.fixture(scope="module")
def learned(make_domain):
    domain = make_domain()
    for number in range(30):
        domain.ask(feedback=number % 2 == 0, failing="tiny/direct" if number % 5 == 0 else None)
    return domain


@pytest.fixture(scope="module")
def report(learned):
    return report_domain(DomainRecord("sums", learned.timeline()))


def section(report, key):
    return next(section for section in report.sections if section.key == key)


def figure(report, name):
    figures = [part for section in report.sections for part in section.parts if isinstance(part, Figure)]
    return next(figure for figure in figures if figure.chart.name == name)


def test_status_and_problems_come_first(report):
    """F31: whoever reads a report sees first whether it can be relied on."""
    assert report.status == "Status: 30 tasks learned from, 15 with feedback, the last in run r30"
    assert "tiny/direct: 20.0 % of its calls failed" in report.problems


def test_rows_that_were_set_aside_are_the_first_problem(learned):
    report = report_domain(DomainRecord("sums", learned.timeline(), ("arm 'x/y': total nan \x1b[2J",)))
    assert report.problems[0] == r"set aside: arm 'x/y': total nan \x1b[2J"


def test_a_plain_vote_that_did_better_is_a_problem(learned):
    learned = deepcopy(learned)
    right = {
        run: tuple(number == one.majority for number in range(one.answers)) for run, one in learned.evidence.items()
    }
    differing = [run for run, one in learned.evidence.items() if one.majority != one.chosen]
    for run in differing:
        learned.feed_back(run, right[run])
    report = report_domain(DomainRecord("sums", learned.timeline()))
    facts = {fact.name: fact.value for fact in report.facts}
    assert differing
    assert (
        f"the plain vote was right more often than the decisions: {facts['plain vote right, of those']} to "
        in " ".join(report.problems)
    )


def test_without_feedback_every_section_that_needs_it_says_so(domain):
    for _ in range(3):
        domain.ask()
    report = report_domain(DomainRecord("sums", domain.timeline()))
    assert report.problems[0].startswith("no task has feedback: competence rests on agreement alone")
    assert section(report, "losses").notes == (
        "None of 3 tasks has feedback that names a right answer, so that no loss is known.",
    )
    assert section(report, "learners").notes == ("Without any feedback competence decides alone.",)
    assert section(report, "calibration").notes[0].startswith("No task has feedback")
    assert not section(report, "losses").parts


def test_little_feedback_is_said_to_be_little(domain):
    for _ in range(3):
        domain.ask(feedback=True)
    report = report_domain(DomainRecord("sums", domain.timeline()))
    assert "only 3 tasks with feedback: losses, regret and calibration say little yet" in report.problems


def test_competence_of_the_last_row_is_that_of_the_chart(report, learned):
    shown = figure(report, "competence")
    now = {row[0]: row for row in section(report, "competence").parts[0].rows}
    for panel in shown.chart.panels:
        (line,) = panel.lines
        assert now[panel.title][2] == f"{line.y[-1]:.3f}"
        assert all(low < mean < high for low, mean, high in zip(line.low, line.y, line.high, strict=True))
    assert now["tiny/direct"][1] == "24"


def test_loss_table_and_chart_say_the_same(report):
    losses = section(report, "losses")
    totals, chart = losses.parts[0], figure(report, "losses").chart
    ends = {line.label: line.y[-1] for line in chart.panels[0].lines}
    shown = {row[0]: float(row[1]) for row in totals.rows}
    assert {name: shown[name] for name in ends} == pytest.approx(ends, abs=0.006)
    assert {"decisions", "plain vote", "best fixed weights"} <= set(ends)


def test_the_regret_stands_beside_its_bound(report):
    own, learner, bound = figure(report, "task-regret").chart.panels[0].lines
    assert (own.label, learner.label, bound.label) == ("decisions", "gradient, told at once", "bound")
    assert own.y[-1] <= bound.y[-1]
    assert "as these tasks went, be at most" in section(report, "losses").notes[1]


def test_calibration_counts_every_task_with_feedback(report):
    shown = figure(report, "calibration")
    assert sum(int(row[2]) for row in shown.table.rows) == 15
    assert shown.chart.panels[0].lines[0].notes[0].split()[1] in {"task", "tasks"}


def test_failures_are_counted_for_each_arm(report):
    shown = figure(report, "failures")
    assert [row.value for row in shown.chart.rows] == [0.0, 0.0, 12.0]
    assert shown.table.rows[2] == ("tiny/direct", "12", "60", "20.0 %")


def test_alignment_has_every_agent_with_its_interval(report):
    shown = figure(report, "alignment")
    assert [row.label for row in shown.chart.rows] == ["careful", "quick", "tiny"]
    assert all(row.low <= row.value <= row.high for row in shown.chart.rows)


def test_an_agent_that_is_surely_opposed_is_a_problem(make_evidence):
    evidence = make_evidence(preference=((0.5, 0.0), (1.0, 0.5)), judges={"principal": (1,)})
    runs = {f"r{number}": evidence for number in range(9)}
    report = report_domain(DomainRecord("d", follow([Update(run, 1, "d", ()) for run in runs], runs)))
    assert "surer of what the principal likes less: careful" in report.problems


def test_dealing_samples_stands_beside_its_bound(report):
    assert "the bound without forgetting is" in section(report, "samples").notes[0]


def test_quantities_have_their_exact_names(report):
    """F52: neither regret nor NashConv is exploitability."""
    assert "Neither is exploitability." in " ".join(section(report, "quantities").notes)


def test_a_domain_whose_tasks_left_no_evidence_shows_its_sums():
    updates = [Update(f"r{number}", 1, "d", (Increment("a/x", "agent", 1.0),)) for number in range(3)]
    report = report_domain(DomainRecord("d", follow(updates, {})))
    assert "3 tasks from before evidence was kept: only their sums are shown" in report.problems
    assert section(report, "competence").parts[0].rows == (("a/x", "3", "0.714", "0.409 to 0.900", "1.609"),)
    assert "<svg" in write_page(report)


def test_a_reset_is_marked_in_every_chart_of_what_was_learned(learned):
    learned = deepcopy(learned)
    learned.append("again", 1, (), kind="reset", cleared=tuple(replayed(learned.updates)))
    report = report_domain(DomainRecord("sums", learned.timeline()))
    for name in ("competence", "weights", "learners", "anchors"):
        assert figure(report, name).chart.events == ((30.0, "reset"),)
    assert {row[1] for row in section(report, "competence").parts[0].rows} == {"0"}


def test_what_the_principal_is_trusted_with_is_that_of_the_series(report, learned):
    shown = figure(report, "agreement")
    known = follow_principal(learned.timeline().points)
    assert shown.chart.panels[0].lines[0].y[-1] == pytest.approx(known.mean[-1])
    assert f"Its word weighs {known.trust[-1]:.3f} nats in one duel" in shown.description
    assert [part.chart.name for part in section(report, "trust").parts] == ["agreement", "anchors"]
    played = known.anchor[~np.isnan(known.anchor)]
    assert figure(report, "anchors").chart.panels[0].lines[0].y == pytest.approx(played)


def test_a_new_principal_is_hardly_heard_and_a_good_one_earns_a_lower_anchor(make_domain):
    domain = make_domain(judge=0.95)
    for _ in range(40):
        domain.ask(feedback=True)
    known = follow_principal(domain.timeline().points)
    played = known.anchor[~np.isnan(known.anchor)]
    assert played[0] == 5
    assert played[-1] < 1.5
    assert known.trust[-1] > 0.5


def test_the_three_learners_share_the_decision(report):
    shown = figure(report, "learners")
    lines = shown.chart.panels[0].lines
    assert [line.label for line in lines] == ["competence", "exponentiated gradient", "hedge"]
    assert np.sum([line.y for line in lines], axis=0) == pytest.approx(1)
    assert f"hedge has {lines[-1].y[-1]:.3f} now" in shown.description


def test_a_principal_that_never_judged_is_said_to_be_unknown(make_evidence):
    evidence = {"r1": make_evidence(preference=None, tiers=(), judges={})}
    report = report_domain(DomainRecord("d", follow([Update("r1", 1, "d", ())], evidence)))
    assert section(report, "trust").notes == ("The principal has not judged yet, or nothing was learned of it.",)
    assert section(report, "alignment").notes[1].startswith("No task has both")


def test_of_many_arms_some_are_drawn_and_all_are_in_the_table():
    arms = [f"a{number}/x" for number in range(15)]
    update = Update("r1", 1, "d", tuple(Increment(arm, "agent", number / 15) for number, arm in enumerate(arms)))
    report = report_domain(DomainRecord("d", follow([update], {})))
    shown = figure(report, "competence")
    assert len(shown.chart.panels) == 12
    assert shown.description.endswith("Of 15 arms 12 are shown.")
    assert len(section(report, "competence").parts[0].rows) == 15
    assert figure(report, "weights").chart.panels[0].lines[0].label == "a14/x"
    assert len(figure(report, "weights").chart.panels[0].lines) == 6


def test_a_domain_without_tasks_says_so():
    report = report_domain(DomainRecord("new", Timeline()))
    assert report.status == "Status: nothing learned yet"
    assert [section.key for section in report.sections] == ["quantities"]


def test_a_hostile_domain_is_only_words(learned):
    report = report_domain(DomainRecord("<script>\x1b", learned.timeline()))
    page = write_page(report)
    assert "<script" not in page
    assert r"&lt;script&gt;\x1b" in page


def test_the_page_of_a_domain_is_the_same_each_time(report):
    assert write_page(report) == write_page(report)
    assert not any(isinstance(part, Passage) for section in report.sections for part in section.parts)
