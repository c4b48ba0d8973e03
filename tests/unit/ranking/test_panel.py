import json

import pytest
from langgraph.errors import GraphInterrupt

from aligngraph.ranking import ListwiseRanker, Option, PanelRanker, Preference, RankingCall, Seat


def prefers(*answers):
    """Return what a judge replies that likes these answers in this order, the others not shown to it left out."""

    def reply(call):
        label = {answer: label for label, answer in call.labels.items()}
        return json.dumps({"order": ">".join(label[answer] for answer in answers if answer in label)})

    return reply


@pytest.fixture
def seat(judge):
    return lambda *answers, **settings: Seat(ListwiseRanker(judge(prefers(*answers))), **settings)


async def test_the_trusted_word_weighs_more(seat, work):
    preference = await PanelRanker((seat("1", "2", trust=3.0), seat("2", "1", trust=1.0))).rank(work("1", "2"))
    assert preference.matrix[0][1] == 0.75
    assert preference.tiers == ((0,), (1,))
    assert len(preference.calls) == 2


async def test_equal_trust_in_opposite_words_is_a_tie(seat, work):
    preference = await PanelRanker((seat("1", "2"), seat("2", "1"))).rank(work("1", "2"))
    assert preference.tiers == ((0, 1),)


async def test_one_seat_is_the_judge_itself(seat, work):
    preference = await PanelRanker((seat("2", "1"),)).rank(work("1", "2"))
    assert (preference.tiers, preference.matrix[1]) == (((1,), (0,)), (1.0, 0.5))


async def test_f28_who_does_not_see_an_answer_says_nothing_about_it_and_the_rest_of_the_panel_ranks_it(seat, work):
    blind = seat("1", "2", options={0: Option("1", "one"), 1: Option("2", "two")})
    preference = await PanelRanker((blind, seat("3", "2", "1"))).rank(work("1", "2", "3"))
    assert preference.tiers[0] == (2,)
    assert preference.matrix[0][1] == 0.5, "the two disagree"
    assert preference.matrix[2][0] == 1.0, "only one of them judged it"


async def test_a_judge_is_shown_its_own_choice_of_solutions(judge, work):
    own = judge(prefers("1", "2"))
    options = {0: Option("1", "from a stranger"), 1: Option("2", "from another")}
    await PanelRanker((Seat(ListwiseRanker(own), options=options),)).rank(work("1", "2"))
    (call,) = own.model.calls
    assert "from a stranger" in call.texts[1]
    assert "One sees" not in call.texts[1]


async def test_with_one_answer_left_to_see_nothing_is_asked(judge, work):
    own = judge(prefers("1"))
    preference = await PanelRanker((Seat(ListwiseRanker(own), options={1: Option("2", "two")}),)).rank(work("1", "2"))
    assert (preference.tiers, own.model.calls) == ((), [])


async def test_a_long_solution_is_shortened_to_what_the_seat_reads(judge, work):
    own = judge(prefers("1", "2"))
    long = Option("1", "x" * 3000)
    await PanelRanker((Seat(ListwiseRanker(own), max_solution_chars=100),)).rank(work(long, "2"))
    assert "[2900 characters left out]" in own.model.calls[0].texts[1]


class Broken:
    def __init__(self, error):
        self.error = error

    async def rank(self, work):
        raise self.error


async def test_a_ranker_that_breaks_is_a_failed_call_and_the_others_are_heard(seat, work):
    preference = await PanelRanker((Seat(Broken(RuntimeError("no such classifier"))), seat("2", "1"))).rank(
        work("1", "2")
    )
    assert preference.tiers == ((1,), (0,))
    assert preference.calls[0] == RankingCall({}, "", "failed", problem="RuntimeError: no such classifier")


async def test_a_pause_for_a_person_passes_through(work):
    with pytest.raises(GraphInterrupt):
        await PanelRanker((Seat(Broken(GraphInterrupt(()))),)).rank(work("1", "2"))


async def test_seats_draw_their_own_orders(seat, work):
    panel = PanelRanker(tuple(seat("1", "2", "3", "4", "5") for _ in range(6)))
    preference = await panel.rank(work("1", "2", "3", "4", "5"))
    assert len({tuple(call.labels.values()) for call in preference.calls}) > 2
    assert preference.tiers == Preference.from_order(range(5), 5).tiers
