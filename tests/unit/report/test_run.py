import pytest

from aligngraph.decision import Stopped
from aligngraph.report.document import Figure, Passage, Table
from aligngraph.report.page import write_page
from aligngraph.report.run import report_run

TASK = "What is 6 * 7? <b>\x1b[31m"


@pytest.fixture
def report(make_decision, make_evidence):
    return report_run(make_decision(), make_evidence(), TASK)


def section(report, key):
    return next(section for section in report.sections if section.key == key)


def table(section):
    found = [part if isinstance(part, Table) else part.table for part in section.parts if not isinstance(part, Passage)]
    return found[0]


def test_status_problems_and_the_answer_are_said_first(report):
    assert report.status == "Status: degraded (something failed on the way, and the rest decided)"
    assert len(report.problems) == 1
    assert (report.facts[0].name, report.facts[0].value) == ("answer", "42")
    assert report.facts[1].value == "0.750"


def test_nothing_that_steers_a_screen_is_left_anywhere(report):
    page = write_page(report)
    assert not {"\x1b", "\u202e"} & set(page)
    assert "<script" not in page


def test_alternatives_say_which_rules_would_have_answered_otherwise(report):
    decision = section(report, "decision")
    assert table(decision).rows == (
        ("aligned delegation", "42", "yes"),
        ("plain vote of all samples", "42", "yes"),
        ("the principal's first choice (best of n)", "42", "yes"),
        ("careful alone", "42", "yes"),
        ("quick alone", "41", "no"),
    )
    assert decision.notes == (
        "The answer has the highest posterior: 0.750 with 2 votes, among 2 answers. Rules that would have said something else: quick alone.",
    )


def test_a_principal_that_gave_no_choice_has_a_dash(make_decision):
    others = make_decision().alternatives.model_copy(update={"best_of_n": None}).model_dump()
    rows = table(section(report_run(make_decision(alternatives=others), None, TASK), "decision")).rows
    assert rows[2] == ("the principal's first choice (best of n)", "-", "-")


def test_in_shadow_mode_the_plain_vote_is_the_reason(make_decision):
    changed = {"answer": "41", "alternatives": {**make_decision().alternatives.model_dump(), "majority": "41"}}
    shadow = report_run(make_decision(**changed), None, TASK)
    assert section(shadow, "decision").notes[0].startswith("The answer has the plain vote: 0.250 with 1 vote,")


def test_answers_stand_in_order_of_posterior_with_votes_and_place(report):
    assert table(section(report, "answers")).rows == (
        ("42", "2", "0.667", "1.", "0.750"),
        ("41", "1", "0.333", "2.", "0.250"),
    )


def test_tied_answers_share_the_first_of_their_places(make_decision):
    ranking = {**make_decision().ranking.model_dump(), "ties": [["42", "41"]]}
    rows = table(section(report_run(make_decision(ranking=ranking), None, TASK), "answers")).rows
    assert [row[3] for row in rows] == ["1. (tied)", "1. (tied)"]


def test_the_principal_s_verdicts_that_could_not_be_used_are_counted(report):
    ranking = section(report, "ranking")
    assert "in 2 calls, 1 of them without a usable verdict" in ranking.notes[0]
    assert ranking.notes[1] == "It shares its model with quick."
    assert table(ranking).rows == (("42", "0.50", "1.00"), ("41", "0.00", "0.50"))


def test_abstentions_are_named_and_without_a_ranking_there_is_no_such_section(make_decision):
    ranking = {**make_decision().ranking.model_dump(), "abstained": ["41"]}
    assert (
        section(report_run(make_decision(ranking=ranking), None, TASK), "ranking").notes[-1]
        == "It said nothing about 41."
    )
    assert "ranking" not in [part.key for part in report_run(make_decision(ranking=None), None, TASK).sections]


def test_weights_before_and_after_stand_side_by_side(report):
    weights = section(report, "weights")
    assert table(weights).rows == (
        ("careful/direct", "0.693", "0.900", "0.207"),
        ("quick/direct", "0.693", "0.500", "-0.193"),
    )
    assert [(row.value, row.mark) for row in weights.parts[0].chart.rows] == [(0.9, 0.693), (0.5, 0.693)]


def test_the_shares_of_the_learners_are_said_once_there_are_several(make_decision):
    report = report_run(make_decision(learners={"competence": 0.25, "gradient": 0.75}), None, TASK)
    assert (
        section(report, "weights").notes[1]
        == "Shares of the learners in the posterior: competence 0.250, gradient 0.750."
    )
    assert len(section(report_run(make_decision(), None, TASK), "weights").notes) == 1


def test_warnings_come_after_problems(make_decision):
    report = report_run(make_decision(problems=["a call failed"], warnings=["careful/direct has changed"]), None, TASK)
    assert report.problems == ("a call failed", "note: careful/direct has changed")


def test_texts_that_were_not_kept_are_said_to_be_missing(make_decision):
    candidates = [{**candidate.model_dump(), "text": ""} for candidate in make_decision().candidates]
    report = report_run(make_decision(candidates=candidates, text=""), None, "")
    assert not [
        part
        for part in (*section(report, "decision").parts, *section(report, "candidates").parts)
        if isinstance(part, Passage)
    ]
    assert section(report, "candidates").notes == ("Their texts were not kept.",)


def test_usage_is_that_of_the_decision(report):
    assert table(section(report, "usage")).rows[-1] == ("total", "5", "50", "0", "25", "0", "-")
    assert section(report, "usage").notes == (
        "The total cost is not known: the price of a model that was asked is not.",
    )


def test_a_known_cost_is_shown_and_nothing_is_said_of_unknown_prices(make_decision):
    spent = make_decision().usage.model_dump()
    spent["total"] |= {"cost": 0.0125, "estimated_calls": 2, "cached_tokens": 1500}
    usage = section(report_run(make_decision(usage=spent), None, TASK), "usage")
    assert table(usage).rows[-1] == ("total", "5", "50", "1,500", "25", "2", "0.0125")
    assert usage.notes == ()


def test_samples_that_were_left_out_are_said_where_they_were_saved(make_decision):
    stopped = Stopped(reason="confident", posterior=0.93, skipped_samples=3).model_dump()
    usage = section(report_run(make_decision(stopped=stopped), None, TASK), "usage")
    assert usage.notes[-1] == "3 samples were not asked for (confident)."


def test_candidates_are_listed_with_what_went_wrong_and_their_texts(report):
    candidates = section(report, "candidates")
    assert table(candidates).rows[3] == ("quick.1", "quick/direct", "1", "-", "m", "call failed; HTTP 503")
    passages = [part for part in candidates.parts if isinstance(part, Passage)]
    assert [passage.heading for passage in passages] == ["careful.0: 42", "careful.1: 42", "quick.0: 41"]
    assert r"\x1b[31m\x202egnp" in passages[0].text


def test_a_duplicate_says_that_it_had_no_vote(make_decision):
    candidates = [candidate.model_dump() for candidate in make_decision().candidates]
    candidates[1]["duplicate_of"] = "careful.0"
    rows = table(section(report_run(make_decision(candidates=candidates), None, TASK), "candidates")).rows
    assert rows[1][-1] == "same text as careful.0: no vote"


def test_a_run_without_an_answer_is_reported_all_the_same(make_decision):
    failed = make_decision(
        status="failed",
        answer=None,
        text=None,
        answers=[],
        ranking=None,
        game=None,
        alternatives=None,
        weights={"before": {}, "after": {}},
    )
    report = report_run(failed, None, TASK)
    assert report.status == "Status: failed (there was nothing to decide with)"
    assert report.facts[0].value == "-"
    assert [section.key for section in report.sections] == [
        "decision",
        "answers",
        "weights",
        "fairness",
        "usage",
        "candidates",
    ]
    assert "<svg" not in write_page(report)


def test_every_figure_has_words_and_values(report):
    figures = [part for section in report.sections for part in section.parts if isinstance(part, Figure)]
    assert [figure.chart.name for figure in figures] == ["posterior", "steps", "regret", "weights"]
    assert all(figure.description and figure.table.rows for figure in figures)


class TestFairness:
    def test_samples_of_each_arm_are_counted(self, report):
        fair = section(report, "fairness")
        assert table(fair).rows == (("careful/direct", "2", "2", "0", "0"), ("quick/direct", "2", "1", "1", "0"))
        assert fair.notes[0].startswith("Shared candidate set: yes.")
        assert fair.notes[1].startswith("Equal samples of each agent: no (1 to 2 answers).")
        assert fair.notes[2] == "All planned samples drawn: yes (4 of 4)."

    def test_equal_samples_are_said_to_be_equal(self, make_decision):
        kept = [candidate.model_dump() for candidate in make_decision().candidates if candidate.sample == 0]
        fair = section(report_run(make_decision(candidates=kept), None, TASK), "fairness")
        assert fair.notes[1] == "Equal samples of each agent: yes (1 answer each)."
        assert fair.notes[2].startswith("All planned samples drawn: not known")

    def test_an_early_stop_is_said(self, make_decision, make_evidence):
        fair = section(report_run(make_decision(), make_evidence(asked=(2, 0), stopped=True), TASK), "fairness")
        assert fair.notes[2].startswith("All planned samples drawn: no (2 of 4)")

    def test_rounds_after_a_ranking_are_said(self, make_decision):
        candidates = [candidate.model_dump() for candidate in make_decision().candidates]
        candidates[2]["round"] = 2
        fair = section(report_run(make_decision(candidates=candidates), None, TASK), "fairness")
        assert "Later rounds were drawn knowing the principal's ranking." in fair.notes[0]
