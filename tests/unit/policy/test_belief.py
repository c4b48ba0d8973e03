import math

import numpy as np
import pytest

from aligngraph.policy import (
    LEARNER_PRIOR,
    LEARNERS,
    Learners,
    believe,
    choose,
    gradient_posterior,
    gradient_weights,
    initial_policy,
    pooled_majority,
    posterior,
    vote_shares,
    weight,
)
from aligngraph.policy.belief import hedge_posterior

POLICY = [[0.8, 0.2], [0.3, 0.7]]
VOTES = [[1.0, 0.0], [0.0, 1.0]]
SAMPLES = [2, 1]
COMPETENCE = [0.7, 0.4]


def believed(votes=VOTES, policy=POLICY, samples=SAMPLES, **changes):
    known = {"competence": COMPETENCE, "gradient": [0.0, 0.0], "shares": [0.6, 0.2], "team_samples": 3, **changes}
    return believe(Learners(**known), samples, policy, votes)


def test_without_feedback_competence_decides_alone():
    belief = believed(losses=(9.0, 0.0, 0.0))
    np.testing.assert_allclose(belief.posterior, posterior(weight(COMPETENCE, 2), SAMPLES, POLICY))
    assert belief.shares.tolist() == [1.0, 0.0, 0.0], "losses without tasks count for nothing"


@pytest.mark.parametrize("counts", [[[2, 1], [0, 2]], [[3, 0, 0], [0, 2, 0], [0, 2, 1]], [[1, 0, 0, 2], [0, 1, 1, 0]]])
def test_untrained_it_decides_as_the_pooled_majority(counts):
    arms, seen = len(counts), range(len(counts[0]))
    new = Learners(np.full(arms, 0.5), np.zeros(arms), np.full(arms, 1 / arms), team_samples=np.sum(counts))
    votes = vote_shares(counts)
    belief = believe(new, np.sum(counts, axis=1), initial_policy(votes), votes)
    assert choose(belief.posterior, None, seen) == pooled_majority(counts, seen)


def test_by_hand():
    """Weights log(7/3) + log 2 and log(2/3) + log 2; three samples, all of them counted."""
    scores = [math.log(14 / 3) * 2 * row + math.log(4 / 3) * other for row, other in ((0.8, 0.3), (0.2, 0.7))]
    belief = believed()
    assert belief.posterior[0] == pytest.approx(math.exp(scores[0]) / sum(map(math.exp, scores)))
    assert belief.weights == pytest.approx([math.log(14 / 3), math.log(4 / 3)])


def test_with_feedback_each_learner_speaks_by_its_prior_and_what_its_forecasts_were_worth():
    losses = (2.0, 2.0 - math.log(3), 1.0)
    belief = believed(gradient=[-1.0, 1.5], losses=losses, fed_back=4.0)
    rows = [
        posterior(weight(COMPETENCE, 2), SAMPLES, POLICY),
        gradient_posterior(gradient_weights([-1.0, 1.5], 3), SAMPLES, POLICY),
        hedge_posterior([0.6, 0.2], VOTES),
    ]
    likelihoods = np.array(LEARNER_PRIOR) * np.exp(-np.array(losses))
    np.testing.assert_allclose(belief.by_learner, rows)
    np.testing.assert_allclose(belief.shares, likelihoods / likelihoods.sum())
    np.testing.assert_allclose(belief.posterior, belief.shares @ rows)


def test_with_the_first_feedback_they_start_from_their_prior():
    assert believed(fed_back=1e-6).shares == pytest.approx(LEARNER_PRIOR)
    assert len(LEARNERS) == len(LEARNER_PRIOR)


def test_alone_with_the_truth_hedge_needs_more_than_its_prior_to_lead():
    """Behind by 4.5 to 1, it leads the others together only where it forecast better by more than log 9 nats."""
    shares = [believed(losses=(ahead, ahead, 0.0), fed_back=3.0).shares[2] for ahead in (math.log(8.9), math.log(9.1))]
    assert shares[0] < 0.5 < shares[1]


def test_hedge_goes_by_the_votes_and_by_no_principal():
    """Shares 3/4 and 1/4 of the two players, whatever the policies that the principal made of their votes."""
    moved = believed(policy=[[0.1, 0.9], [0.1, 0.9]])
    assert moved.by_learner[-1] == pytest.approx([0.75, 0.25])
    assert believed(votes=[[0.5, 0.5], [0.0, 1.0]]).by_learner[-1] == pytest.approx([0.375, 0.625])


@pytest.mark.parametrize("fed_back", [0.0, 3.0])
def test_what_is_believed_is_on_the_simplex_whatever_the_records(fed_back):
    belief = believed(
        competence=[1e-12, 1 - 1e-12],
        gradient=[-50.0, 50.0],
        shares=[1e-9, 1.0],
        losses=(1e4, 0.0, 1e4),
        fed_back=fed_back,
        samples=[1000, 1],
        policy=VOTES,
    )
    assert belief.posterior.sum() == pytest.approx(1)
    assert (belief.posterior >= 0).all()


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"competence": [0.5]}, "weights"), ({"gradient": [0.0]}, "weights"), ({"shares": [1.0]}, "shares")],
)
def test_records_that_do_not_fit_the_players_are_refused(changes, named):
    with pytest.raises(ValueError, match=named):
        believed(**changes)


def test_one_share_gives_its_arm_s_votes():
    assert hedge_posterior([0.0, 3.0], [[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]).tolist() == [0.0, 0.25, 0.75]


@pytest.mark.parametrize(("shares", "votes"), [([-1.0, 2.0], VOTES), ([0.5, 0.5], [[1.0, 0.1], [0.0, 1.0]])])
def test_hedge_refuses_what_is_no_share_and_no_vote(shares, votes):
    with pytest.raises(ValueError, match=r"(shares|votes): got"):
        hedge_posterior(shares, votes)


def test_shares_of_nothing_are_refused():
    with pytest.raises(ValueError, match="shares: got"):
        hedge_posterior([0.0, 0.0], VOTES)
