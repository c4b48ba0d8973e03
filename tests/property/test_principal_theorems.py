"""What is promised of the trust in a principal, for any record: each test is one promise."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aligngraph.policy import PrincipalRecord, earned_anchor, posterior_clarity, principal_payoff, principal_trust

EXAMPLES = settings(max_examples=100, deadline=None)
seeds = st.integers(0, 2**32 - 1)
unit = st.floats(0, 1, allow_subnormal=False)
answers = st.integers(2, 8)
weights = st.lists(st.floats(0.01, 20), min_size=1, max_size=6)
TASKS, DRAWS, VOTES = 300, 200, 4


@st.composite
def records(draw, *, most=400):
    """Return a record that a principal could have: what it was paid is within what could be seen of it."""
    count, seen, skill = draw(st.floats(0, most)), draw(unit), draw(unit)
    clarity = count * seen
    return PrincipalRecord(count / 2 + clarity * (skill - 0.5), count, clarity)


def paid_tasks(rng, tasks):
    """Return `[tasks, 2]`, the payoff and clarity of tasks of any number of answers and any judge."""
    rows = []
    for _ in range(tasks):
        belief = rng.dirichlet(np.full(rng.integers(2, 6), 0.5))
        upper = np.triu(rng.random((len(belief),) * 2), 1)
        preference = upper + np.tril(1 - upper.T, -1) + np.eye(len(belief)) / 2
        rows.append((principal_payoff(belief, preference), posterior_clarity(belief)))
    return np.array(rows)


def record_of(rows):
    paid, clarity = rows.sum(axis=0).tolist() if len(rows) else (0.0, 0.0)
    return PrincipalRecord(paid, len(rows), clarity)


@EXAMPLES
@given(seeds, st.integers(1, 60), st.integers(1, 5), weights, answers)
def test_sums_of_any_workers_earn_the_same_anchor_in_any_order(seed, tasks, workers, held, count):
    rng = np.random.default_rng(seed)
    rows = paid_tasks(rng, tasks)
    expected = earned_anchor(record_of(rows), held, count)
    parts = [record_of(part) for part in np.array_split(rng.permutation(rows), workers)]
    merged = PrincipalRecord(
        *(math.fsum(getattr(part, name) for part in parts) for name in ("total", "count", "clarity"))
    )
    assert math.isclose(earned_anchor(merged, held, count), expected, rel_tol=1e-9)
    half = [record_of(rows[::2]), record_of(rows[1::2])]
    assert math.isclose(principal_trust(*half), principal_trust(*half), rel_tol=1e-9)


@EXAMPLES
@given(records(), records(), weights, st.integers(1, 8))
def test_an_anchor_is_within_its_range_whatever_the_record(here, elsewhere, held, count):
    assert 0 <= principal_trust(here, elsewhere) <= math.log(19) + 1e-9
    assert 0.1 <= earned_anchor(here, held, count, elsewhere) <= 5


@EXAMPLES
@given(records(), unit, records(), weights, answers)
def test_who_is_paid_more_is_trusted_no_less_and_earns_no_firmer_anchor(here, share, elsewhere, held, count):
    better = PrincipalRecord(here.total + share * (here.count - here.total), here.count, here.clarity)
    assert principal_trust(better, elsewhere) >= principal_trust(here, elsewhere)
    assert earned_anchor(better, held, count, elsewhere) <= earned_anchor(here, held, count, elsewhere)
    assert principal_trust(elsewhere, better) >= principal_trust(elsewhere, here)


@EXAMPLES
@given(records(), st.lists(st.floats(0, 5), min_size=6, max_size=6), weights, answers)
def test_players_that_proved_more_are_held_firmer(here, more, held, count):
    heavier = [weight + added for weight, added in zip(held, more, strict=False)]
    assert earned_anchor(here, heavier, count) >= earned_anchor(here, held, count)
    assert earned_anchor(here, held, count + 1) <= earned_anchor(here, held, count)


@EXAMPLES
@given(records(), st.integers(2, 6), seeds)
def test_a_principal_that_says_nothing_earns_nothing_by_it(here, count, seed):
    """A task with an even preference pays 1/2, which is seen the better the clearer the task, and never raises trust."""
    belief = np.random.default_rng(seed).dirichlet(np.ones(count))
    paid, clarity = principal_payoff(belief, np.full((count, count), 0.5)), posterior_clarity(belief)
    assert math.isclose(paid, 0.5, rel_tol=1e-12)
    silent = PrincipalRecord(here.total + paid, here.count + 1, here.clarity + clarity)
    assert math.isclose(silent.beyond_chance, here.beyond_chance, abs_tol=1e-9)
