"""Evidence outlives its run as plain JSON, and what is not evidence says so."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.errors import StoreError
from aligngraph.learning.evidence import Evidence, Judged


@given(st.data())
def test_evidence_comes_back_from_json_as_it_went_in(evidences, data):
    evidence = data.draw(evidences)
    assert Evidence.read(json.loads(json.dumps(evidence.as_json()))) == evidence


def test_of_a_task_without_any_answer_too(evidence_of):
    evidence = evidence_of([[0], [0]], chosen=None, majority=None, failed=(2, 1))
    assert Evidence.read(json.loads(json.dumps(evidence.as_json()))) == evidence
    assert (evidence.answers, evidence.players) == (0, [])


def test_votes_at_the_end_are_written_only_where_they_are_others(evidence_of):
    evidence = evidence_of([[1, 0, 0], [0, 1, 0]])
    assert "counts" not in evidence.as_json()
    moved = replace(evidence, counts=((1, 0), (1, 0)))
    assert moved.as_json()["counts"] == ((1, 0), (1, 0))


def test_players_are_the_arms_with_a_vote_at_the_end(evidence_of):
    evidence = evidence_of([[1, 0, 0], [0, 0, 0], [0, 0, 2]], counts=((1, 0), (0, 0), (0, 1)))
    assert evidence.players == [0, 2]


def test_it_names_no_answer_and_holds_no_text_but_names(evidence_of):
    plain = evidence_of([[1, 0, 0]], judges={"principal": (0,)}, agreed={"principal": Judged(0.5)}).as_json()
    texts = {name for name, value in plain.items() if "answer" in json.dumps(value)}
    assert texts == set()


@pytest.mark.parametrize(
    "fields",
    [
        {"asked": (1,)},
        {"failed": (0, 0, 0)},
        {"made_of": ()},
        {"posterior": (1.0,)},
        {"counts": ((1, 0, 0), (0, 1, 0))},
        {"first": ((1, 0, 0), (0, 1))},
    ],
)
def test_rows_and_columns_must_be_those_of_the_arms_and_answers(evidence_of, fields):
    with pytest.raises(ValueError, match="one number of each is allowed"):
        replace(evidence_of([[1, 0, 0], [0, 1, 0]]), **fields)


@pytest.mark.parametrize(
    "damage",
    [
        lambda plain: {},
        lambda plain: {"first": 3},
        lambda plain: {"first": [[]] * 2},
        lambda plain: {key: value for key, value in plain.items() if key != "rules"},
        lambda plain: {**plain, "rules": None},
        lambda plain: {**plain, "chosen": "first"},
        lambda plain: {**plain, "posterior": [0.5, "half"]},
        lambda plain: {**plain, "asked": [1]},
        lambda plain: {**plain, "arms": None},
    ],
)
def test_stored_evidence_that_is_broken_is_an_error_of_the_store(evidence_of, damage):
    plain = json.loads(json.dumps(evidence_of([[1, 0, 0], [0, 1, 0]]).as_json()))
    with pytest.raises(StoreError, match="the stored evidence of a task cannot be read"):
        Evidence.read(damage(plain))


def test_evidence_of_an_earlier_version_lacks_what_was_not_known_then(evidence_of):
    plain = json.loads(json.dumps(evidence_of([[1, 0, 0], [0, 1, 0]]).as_json()))
    for late in ("stopped", "chances", "rounds", "agreed", "principals", "judges"):
        del plain[late]
    read = Evidence.read(plain)
    assert (read.stopped, read.chances, read.rounds, dict(read.judges)) == (False, (), 1, {})
