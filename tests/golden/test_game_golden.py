"""The game against independent implementations: ours, kept next to this file, and any that lies beside the project."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aligngraph.policy import GameOutcome, initial_policy, payoff, play, vote_shares

HERE = Path(__file__).parent
SMALL = HERE / "game_small.json"


def golden_files():
    beside = Path(os.environ.get("ALIGNGRAPH_REFERENCE") or HERE.parents[2] / "shared" / "reference")
    return [SMALL, *(path for path in [beside / "game_golden.json"] if path.is_file())]


def golden_cases():
    return [
        pytest.param(case, id=f"{path.stem}-{case['name']}")
        for path in golden_files()
        for case in json.loads(path.read_text())["cases"]
    ]


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for key, branch in tree.items() for leaf in [key, *leaves(branch)]]
    if isinstance(tree, list):
        return [len(tree), *(leaf for branch in tree for leaf in leaves(branch))]
    return [tree]


def outcome_of(case, steps) -> GameOutcome:
    return play(
        initial_policy(vote_shares(case["counts"]), case["smoothing"]),
        case["preference"],
        step_size=case["step_size"],
        anchor=case["anchor"],
        max_steps=steps,
        tolerance=0,
    )


@pytest.mark.parametrize("case", golden_cases())
def test_initial_policy_is_golden(case):
    initial = initial_policy(vote_shares(case["counts"]), case["smoothing"])
    np.testing.assert_allclose(initial, case["initial_policy"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", golden_cases())
def test_first_payoff_is_golden(case):
    initial = initial_policy(vote_shares(case["counts"]), case["smoothing"])
    paid = payoff(initial, np.array(case["preference"]), opponent=initial[0])
    if "first_payoff" in case:
        np.testing.assert_allclose(paid, case["first_payoff"], rtol=0, atol=1e-9)
    regret = (paid.max(axis=1) - (initial * paid).sum(axis=1)).tolist()
    np.testing.assert_allclose(regret, case["after_1"]["regret"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", golden_cases())
def test_every_golden_field_after_every_golden_number_of_steps(case):
    stages = {key: stage for key, stage in case.items() if re.fullmatch(r"after_\d+", key)}
    assert len(stages) >= 3
    for key, stage in stages.items():
        steps = int(key.removeprefix("after_"))
        outcome = outcome_of(case, steps)
        assert outcome.steps == steps
        for field, expected in stage.items():
            got = getattr(outcome, field)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9, err_msg=f"{key} {field}")


def test_the_small_golden_file_is_what_its_script_prints():
    printed = subprocess.run(
        [sys.executable, HERE / "reference_game.py"], capture_output=True, check=True, text=True
    ).stdout
    fresh, kept = leaves(json.loads(printed)), leaves(json.loads(SMALL.read_text()))
    assert len(fresh) == len(kept)
    for ours, theirs in zip(fresh, kept, strict=True):
        assert ours == (pytest.approx(theirs, rel=0, abs=1e-12) if isinstance(theirs, float) else theirs)


def test_the_small_golden_file_holds_a_cycle_a_lone_player_and_an_abstention():
    cases = json.loads(SMALL.read_text())["cases"]
    assert min(len(case["counts"]) for case in cases) == 1
    assert any(case["anchor"] == 0 for case in cases)
    assert any(set(np.ravel(case["preference"])) == {0.5} and len(case["preference"]) > 1 for case in cases)
    assert any(set(np.ravel(case["preference"])) == {0.0, 0.5, 1.0} for case in cases)
