"""Evidence for tests: written down by hand, or drawn at random with everything that a task may bring."""

import pytest
from hypothesis import strategies as st

from aligngraph.learning.evidence import Evidence, Judged, Rules
from aligngraph.learning.known import DELEGATION, UNSEEN
from aligngraph.policy import LEARNERS

RULES = Rules(step_size=1.0, anchor=0.3, smoothing=0.5, max_steps=20)
JUDGES = ("principal", "principal/listwise@m")


def arm_names(arms):
    return tuple(f"{letter}/direct" for letter in "abcdefgh"[:arms])


def write_evidence(first, **fields):
    """Return evidence of these first votes `[A][K + 1]`, which still stand at the end; the first answer was chosen."""
    answers, arms = len(first[0]) - 1, len(first)
    whole = {
        "arms": arm_names(arms),
        "made_of": ("m",) * arms,
        "asked": tuple(int(sum(row)) for row in first),
        "failed": (0,) * arms,
        "first": tuple(map(tuple, first)),
        "counts": tuple(tuple(row[:-1]) for row in first),
        "rules": RULES,
        "chosen": 0,
        "majority": 0,
        "posterior": (1 / answers,) * answers if answers else (),
        "planned": 2 * arms,
        **fields,
    }
    return Evidence(**whole)


def write_record(**sums):
    return {**UNSEEN, "made_of": "m", **sums}


def write_learned(arms, *, principals=("principal",), learners=None, **records):
    """Return what is known of the arms; `records` are by the first letter of an arm."""
    return {
        "arms": {arm: write_record(**records.get(arm[0], {})) for arm in arms},
        "principals": {arm: write_record() for arm in principals},
        "learners": {
            name: {"count": 0.0, "loss": 0.0, **(learners or {}).get(name, {})} for name in (*LEARNERS, DELEGATION)
        },
    }


@st.composite
def _simplex(draw, width):
    parts = draw(st.lists(st.integers(1, 20), min_size=width, max_size=width))
    return tuple(part / sum(parts) for part in parts)


@st.composite
def _votes(draw, arms, answers):
    """Return first votes and those at the end; an arm may have failed, given answers up, or found one later."""
    row = st.lists(st.integers(0, 3), min_size=answers + 1, max_size=answers + 1).map(tuple)
    first = [draw(row) for _ in range(arms)]
    counts = [one[:-1] if any(one[:-1]) else draw(row)[:-1] if one[-1] else (0,) * answers for one in first]
    voted = draw(st.integers(0, arms - 1))
    first[voted] = tuple(1 if number == 0 else count for number, count in enumerate(first[voted]))
    counts[voted] = first[voted][:-1]
    return tuple(first), tuple(counts)


@st.composite
def _ranking(draw, answers):
    """Return what the principal said of the answers, nothing where it was not asked."""
    if answers < 2 or draw(st.booleans()):
        return {}
    order = draw(st.permutations(range(answers)))
    cut = draw(st.integers(1, answers))
    tiers = (tuple(order[:cut]), *((number,) for number in order[cut:]))
    place = {number: place for place, tier in enumerate(tiers) for number in tier}
    beats = lambda one, other: 0.5 + (place[one] < place[other]) / 2 - (place[one] > place[other]) / 2  # noqa: E731
    judges = draw(st.sampled_from([(), JUDGES[:1], JUDGES]))
    return {
        "preference": tuple(tuple(beats(one, other) for other in range(answers)) for one in range(answers)),
        "tiers": tiers,
        "judges": dict.fromkeys(judges, tiers[0]),
        "agreed": {arm: Judged(draw(st.floats(0, 1)), draw(st.floats(0, 1))) for arm in judges},
        "principals": dict.fromkeys(JUDGES, "p"),
    }


@st.composite
def evidence_strategy(draw):
    arms, answers = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    first, counts = draw(_votes(arms, answers))
    failed = tuple(draw(st.integers(0, 2)) for _ in range(arms))
    asked = tuple(int(sum(row)) + missed for row, missed in zip(first, failed, strict=True))
    return write_evidence(
        first,
        counts=counts,
        failed=failed,
        asked=asked,
        chosen=draw(st.integers(0, answers - 1)),
        majority=draw(st.integers(0, answers - 1)),
        posterior=draw(_simplex(answers)),
        stopped=draw(st.booleans()),
        rounds=draw(st.integers(1, 3)),
        **draw(_ranking(answers)),
    )


@pytest.fixture(scope="session")
def evidence_of():
    return write_evidence


@pytest.fixture(scope="session")
def learned_of():
    return write_learned


@pytest.fixture(scope="session")
def evidences():
    """Return the strategy that draws evidence of a task with an answer."""
    return evidence_strategy()
