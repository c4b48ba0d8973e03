from aligngraph.nodes.votes import count_first_votes, count_votes, current_candidates


def candidate(agent, sample, answer, round_=1, strategy="direct"):
    return {
        "id": f"{agent}.{sample}",
        "agent": agent,
        "strategy": strategy,
        "sample": sample,
        "round": round_,
        "answer": answer,
    }


ANSWERS = [
    {"answer": "1", "candidates": [], "spellings": ["1"]},
    {"answer": "2", "candidates": [], "spellings": ["2.0", "2", "$2"]},
]


def test_an_arm_is_a_row_and_an_answer_a_column():
    votes = count_votes(
        ANSWERS, [candidate("a", 0, "1"), candidate("a", 1, "2.0"), candidate("b", 0, "2"), candidate("b", 1, "$2")]
    )
    assert (votes.arms, votes.counts) == (("a/direct", "b/direct"), ((1, 1), (0, 2)))


def test_each_strategy_of_an_agent_is_an_arm_of_its_own():
    votes = count_votes(ANSWERS, [candidate("a", 0, "1"), candidate("a", 1, "1", strategy="step_by_step")])
    assert votes.arms == ("a/direct", "a/step_by_step")


def test_an_arm_without_a_valid_sample_does_not_play():
    assert count_votes(ANSWERS, [candidate("a", 0, None), candidate("b", 0, "1")]).arms == ("b/direct",)


def test_the_latest_round_of_an_agent_replaces_its_earlier_ones():
    candidates = [candidate("a", 0, "1"), candidate("b", 0, "2"), candidate("a", 1, "2", round_=2)]
    assert [entry["id"] for entry in current_candidates(candidates)] == ["b.0", "a.1"]
    assert count_votes(ANSWERS, candidates).counts == ((0, 1), (0, 1))


def test_a_later_round_without_an_answer_replaces_nothing():
    candidates = [candidate("a", 0, "1"), candidate("a", 1, None, round_=2)]
    assert [entry["id"] for entry in current_candidates(candidates)] == ["a.0"]


def test_first_votes_count_answers_given_up_since_in_a_last_column():
    candidates = [
        candidate("a", 0, "9"),
        candidate("a", 1, "1"),
        candidate("b", 0, "2"),
        candidate("a", 2, "2", round_=2),
    ]
    assert count_first_votes(ANSWERS, candidates).counts == ((1, 0, 1), (0, 1, 0))
