"""Pairs of answers, each with what kind it is and whether the two are one."""

import itertools
import json
import os
from pathlib import Path

import pytest

from aligngraph.answers import AnswerForm

OWN = [json.loads(line) for line in Path(__file__).with_name("pairs.jsonl").read_text().splitlines()]
MATH = AnswerForm.of("", "math")


def given_pairs():
    """Return the pairs of the data folder that ALIGNGRAPH_DATA names; where it names none, the own ones in their form."""
    path = Path(os.environ.get("ALIGNGRAPH_DATA", ".")) / "answer_pairs" / "pairs.jsonl"
    if path.exists():
        return [json.loads(line) for line in path.read_text().splitlines()]
    return [{"gold": row["other"], "answer": row["one"], "equal": int(row["equal"])} for row in OWN]


@pytest.mark.parametrize("row", OWN, ids=lambda row: f"{row['kind']}: {row['one']} | {row['other']}")
def test_a_pair_is_judged_rightly_in_both_orders(row):
    assert MATH.same(row["one"], row["other"]) is row["equal"]
    assert MATH.same(row["other"], row["one"]) is row["equal"]


def test_there_are_pairs_of_every_kind_equal_and_unequal():
    kinds = {row["kind"] for row in OWN}
    assert len(OWN) >= 150
    for equal in (True, False):
        assert {row["kind"] for row in OWN if row["equal"] is equal} == kinds


@pytest.mark.parametrize("kind", ["math", "number"])
def test_the_pairs_of_the_data_folder_are_judged_rightly_in_both_orders(kind):
    form, pairs = AnswerForm.of("", kind), given_pairs()
    assert len(pairs) >= 30
    orders = [(row, *order) for row in pairs for order in itertools.permutations((row["gold"], row["answer"]))]
    assert [row for row, one, other in orders if form.same(one, other) is not bool(row["equal"])] == []
