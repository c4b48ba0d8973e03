"""What is promised of the trust in a principal, for any record: each test is one promise."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aligngraph.policy import (
    PrincipalRecord,
    earned_anchor,
    initial_policy,
    posterior,
    posterior_clarity,
    principal_payoff,
    principal_trust,
    vote_shares,
)
from aligngraph.policy.principal import NO_RECORD
from aligngraph.trials.replay_tasks import made_up_preference

EXAMPLES = settings(max_examples=100, deadline=None)
seeds = st.integers(0, 2**32 - 1)
unit = st.floats(0, 1, allow_subnormal=False)
answers = st.integers(2, 8)
weights = st.lists(st.floats(0.01, 20), min_size=1, max_size=6)
TASKS, LIVES, VOTERS, RIGHT = 300, 40, 6, 0.7


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


def merged(parts):
    """Return the record of workers that each added up a part."""
    return PrincipalRecord(
        *(math.fsum(getattr(part, name) for part in parts) for name in ("total", "count", "clarity"))
    )


@EXAMPLES
@given(seeds, st.integers(1, 60), st.integers(1, 5), weights, answers)
def test_sums_of_any_workers_earn_the_same_anchor_in_any_order(seed, tasks, workers, held, count):
    rng = np.random.default_rng(seed)
    rows = paid_tasks(rng, tasks)
    one, split = record_of(rows), merged([record_of(part) for part in np.array_split(rng.permutation(rows), workers)])
    assert math.isclose(earned_anchor(split, held, count), earned_anchor(one, held, count), rel_tol=1e-9)
    lent, other = earned_anchor(NO_RECORD, held, count, split), earned_anchor(NO_RECORD, held, count, one)
    assert math.isclose(lent, other, rel_tol=1e-9)


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
    """It is paid 1/2, and the clearer the task, the plainer it is that this is chance."""
    belief = np.random.default_rng(seed).dirichlet(np.ones(count))
    paid, clarity = principal_payoff(belief, np.full((count, count), 0.5)), posterior_clarity(belief)
    assert math.isclose(paid, 0.5, rel_tol=1e-12)
    silent = PrincipalRecord(here.total + paid, here.count + 1, here.clarity + clarity)
    assert principal_trust(silent) <= principal_trust(here) + 1e-9


def lived(judge, rng):
    """Return the record after 300 tasks of six voters, each right by itself in 70 %, wrong ones in one of three ways."""
    rows = []
    for said in np.where(rng.random((TASKS, VOTERS)) < RIGHT, 0, rng.integers(1, 4, (TASKS, VOTERS))).tolist():
        seen = list(dict.fromkeys(said))
        if len(seen) > 1:
            counts = [[float(answer == own) for answer in seen] for own in said]
            voted = initial_policy(vote_shares(counts))
            belief = posterior(np.full(VOTERS, math.log(len(seen))), np.ones(VOTERS), voted)
            preference = made_up_preference(np.array(seen) == 0, judge, rng)
            rows.append((principal_payoff(belief, preference), posterior_clarity(belief)))
    return record_of(np.array(rows))


def lives(judge):
    rng = np.random.default_rng(3)
    return [lived(judge, rng) for _ in range(LIVES)]


def test_a_judge_that_guesses_among_good_votes_is_hardly_ever_trusted():
    records = lives(0.5)
    trusts = np.array([principal_trust(record) for record in records])
    assert np.mean(trusts == 0) > 0.8
    assert np.mean(trusts < 0.2) > 0.95
    assert np.mean([earned_anchor(record, [math.log(2)], 2) == 5 for record in records]) > 0.8


def test_a_judge_of_86_in_100_pairs_is_trusted_among_votes_that_are_right_in_70():
    records = lives(0.86)
    assert min(principal_trust(record) for record in records) > 1.5
    assert max(earned_anchor(record, [math.log(2)] * VOTERS, 2) for record in records) < 0.3
