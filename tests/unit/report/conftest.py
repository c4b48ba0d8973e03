"""A domain whose tasks are made up and whose learning is real: agents of known skill, a principal of known skill."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from aligngraph.decision import Decision
from aligngraph.learning.evidence import Evidence, Judged, Rules
from aligngraph.learning.feedback import correct
from aligngraph.learning.known import earned_anchor, read_learned, read_learners
from aligngraph.learning.teaching import Verdict, teach
from aligngraph.persistence import Counted, Sums, Update, replayed
from aligngraph.policy import GameRules, play_round, posterior_clarity, principal_payoff
from aligngraph.report.timeline import follow

SAMPLES = 2
MADE_OF = "m1"


@dataclass
class MadeUpDomain:
    """Its log and evidence, as a store would give them back; answer 0 of four is always the right one."""

    skills: dict
    judge: float = 0.8
    seed: int = 0
    updates: list = field(default_factory=list)
    evidence: dict = field(default_factory=dict)
    right: dict = field(default_factory=dict)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)

    @property
    def arms(self):
        return dict.fromkeys(self.skills, MADE_OF)

    def learned(self):
        return read_learned(Sums(replayed(self.updates), {}), self.arms, {"principal": "p1"})

    def ask(self, *, failing=None, feedback=False):
        """Play and learn one task; `failing` is an arm whose calls all fail."""
        run_id = f"r{len(self.evidence) + 1}"
        evidence = self.decide(failing)
        self.evidence[run_id] = evidence
        self.append(run_id, 1, teach(evidence, self.learned()))
        if feedback:
            self.feed_back(run_id)
        return run_id

    def feed_back(self, run_id, right=None):
        """Say which of its answers are right; by default those that are."""
        evidence = self.evidence[run_id]
        verdict = Verdict(right if right is not None else self.right[run_id])
        own = [update for update in self.updates if update.run_id == run_id]
        counted = tuple(Counted(update, 1.0, update.increments) for update in own)
        increments = correct(evidence, verdict, self.learned(), counted)
        words = {"verdict": "answer", "answer": "", "right": None if verdict.right is None else list(verdict.right)}
        self.append(run_id, len(own) + 1, increments, kind="feedback", result={"feedback": words})

    def append(self, run_id, round_number, increments, **rest):
        sequence = len(self.updates) + 1
        at = f"2026-01-01T00:00:{sequence % 60:02d}.000+00:00"
        self.updates.append(Update(run_id, round_number, "sums", increments, at=at, sequence=sequence, **rest))

    def decide(self, failing=None):
        drawn = np.array(
            [
                [0 if self.rng.random() < skill else self.rng.integers(1, 4) for _ in range(SAMPLES)]
                for skill in self.skills.values()
            ]
        )
        answered = [arm != failing for arm in self.skills]
        seen = list(dict.fromkeys(drawn[answered].ravel().tolist()))
        counts = [
            [int((row == answer).sum()) if ok else 0 for answer in seen]
            for row, ok in zip(drawn, answered, strict=True)
        ]
        preference = self.prefer(seen) if len(seen) > 1 else None
        return self.settle(seen, counts, preference, failing)

    def prefer(self, seen):
        """Return the preference of a principal that puts the right answer first with its skill, else last."""
        liked = [answer or (-1 if self.rng.random() < self.judge else 9) for answer in seen]
        return [[0.5 if a == b else float(a < b) for b in liked] for a in liked]

    def settle(self, seen, counts, preference, failing):
        learned, players = self.learned(), [number for number, row in enumerate(counts) if any(row)]
        names = list(self.skills)
        playing = [names[player] for player in players]
        rules = GameRules(1.0, earned_anchor(learned, playing, len(seen)), 0.5, 200)
        places = [sum(row) for row in preference] if preference else []
        tiers = tuple((int(number),) for number in np.argsort(-np.array(places), kind="stable")) if places else ()
        played = play_round(
            [counts[player] for player in players],
            preference or [[0.5]],
            read_learners(learned, playing, team_samples=SAMPLES * len(names)),
            rules,
        )
        belief = played.unranked_posterior
        heard = {"principal": Judged(principal_payoff(belief, preference), posterior_clarity(belief))} if tiers else {}
        self.right[f"r{len(self.evidence) + 1}"] = tuple(answer == 0 for answer in seen)
        return Evidence(
            arms=tuple(names),
            made_of=(MADE_OF,) * len(names),
            asked=(SAMPLES,) * len(names),
            failed=tuple(SAMPLES * (name == failing) for name in names),
            first=tuple((*map(float, row), 0.0) for row in counts),
            counts=tuple(tuple(map(float, row)) for row in counts),
            rules=Rules(rules.step_size, rules.anchor, rules.smoothing, rules.max_steps),
            chosen=played.chosen,
            majority=played.majority,
            posterior=tuple(played.posterior.tolist()),
            planned=SAMPLES * len(names),
            preference=tuple(map(tuple, preference)) if preference else None,
            tiers=tiers,
            judges={"principal": tiers[0]} if tiers else {},
            agreed=heard,
            principals={"principal": "p1"},
        )

    def timeline(self):
        return follow(self.updates, self.evidence)


SKILLS = {"careful/step_by_step": 0.8, "quick/direct": 0.55, "tiny/direct": 0.3}


@pytest.fixture(scope="session")
def make_domain():
    return lambda **settings: MadeUpDomain(SKILLS, **settings)


@pytest.fixture
def domain(make_domain):
    return make_domain()


HOSTILE = '<script>document.title = "owned"</script> & \x1b[31m\u202egnp'


def usage(calls=1):
    return {"calls": calls, "prompt_tokens": 10 * calls, "completion_tokens": 5 * calls, "cost": None}


def candidate(agent, sample, answer, **rest):
    fields = {
        "strategy": "direct",
        "round": 1,
        "text": f"{agent} thinks. Answer: {answer}",
        "error": None,
        "model": "m",
    }
    return {
        "id": f"{agent}.{sample}",
        "agent": agent,
        "sample": sample,
        "answer": answer,
        "usage": usage(),
        **fields,
        **rest,
    }


def _decision_fields():
    policies = {"42": {"careful/direct": 0.9, "quick/direct": 0.4}, "41": {"careful/direct": 0.1, "quick/direct": 0.6}}
    return {
        "run_id": "r1",
        "status": "degraded",
        "problems": [f"quick.1: HTTP 503 {HOSTILE}"],
        "answer": "42",
        "text": f"6 * 7 is 42. {HOSTILE}",
        "domain": "sums <i>",
        "kind": "number",
        "kind_guessed": True,
        "seed": 7,
        "candidates": [
            candidate("careful", 0, "42", text=f"text {HOSTILE}"),
            candidate("careful", 1, "42"),
            candidate("quick", 0, "41"),
            candidate("quick", 1, None, text="", error="HTTP 503", failure="call_failed"),
        ],
        "answers": [
            {"answer": "42", "votes": 2, "posterior": 0.75, "policy": policies["42"]},
            {"answer": "41", "votes": 1, "posterior": 0.25, "policy": policies["41"]},
        ],
        "ranking": {
            "ranker": "listwise", "model": "judge", "order": ["42", "41"], "ties": [], "shares_model_with": ["quick"],
            "preference": [[0.5, 1.0], [0.0, 0.5]], "abstained": [], "calls": [{"outcome": "ranked"}, {"outcome": "unusable"}],
        },
        "game": {
            "steps": 3, "settled": True, "step_size": 1.0, "anchor": 0.3, "regret": {"careful/direct": 0.5, "quick/direct": 1.5},
            "regret_bound": {"careful/direct": 2.0, "quick/direct": 2.5}, "nash_conv": 0.125, "anchored_nash_conv": 0.0625,
            "entropy": 0.5625,
        },
        "alternatives": {
            "delegation": "42", "majority": "42", "best_of_n": "42", "single": {"careful": "42", "quick": "41"},
        },
        "weights": {"before": {"careful/direct": 0.693, "quick/direct": 0.693}, "after": {"careful/direct": 0.9, "quick/direct": 0.5}},
        "usage": {"agents": {"careful": usage(2), "quick": usage(2)}, "principal": usage(1), "total": usage(5)},
        "seconds": 1.25,
    }  # fmt: skip


@pytest.fixture
def make_decision():
    """Return a function that makes a decision of two answers, with these fields changed."""
    return lambda **changes: Decision.model_validate({**_decision_fields(), **changes})


@pytest.fixture
def make_evidence():
    """Return a function that makes the evidence of that decision, with these fields changed."""

    def make(**changes):
        fields = {
            "arms": ("careful/direct", "quick/direct"),
            "made_of": ("a", "b"),
            "asked": (2, 2),
            "failed": (0, 1),
            "first": ((2.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
            "counts": ((2.0, 0.0), (0.0, 1.0)),
            "rules": Rules(1.0, 0.3, 0.5, 200),
            "chosen": 0,
            "majority": 0,
            "posterior": (0.75, 0.25),
            "planned": 4,
            "preference": ((0.5, 1.0), (0.0, 0.5)),
            "tiers": ((0,), (1,)),
            "judges": {"principal": (0,)},
            "principals": {"principal": "p"},
        }
        return Evidence(**{**fields, **changes})

    return make
