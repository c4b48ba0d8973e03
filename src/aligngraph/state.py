"""The state of the delegation graph: small and of plain JSON types, since every checkpoint stores it whole.

Candidate texts live in the policy store; the state holds ids, answers and a short preview.
"""

from operator import add
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from aligngraph.answers import AnswerKind

PREVIEW_CHARS = 160
DEFAULT_DOMAIN = "general"

Failure = Literal["no_answer", "call_failed", "not_asked"]


class Usage(TypedDict):
    """Calls and tokens as the providers counted them; `cost` is None where a price is unknown."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    estimated_calls: int
    cost: float | None


class TaskOptions(TypedDict, total=False):
    """How one task is to be run.

    `seed` makes a run repeatable; `task_id` names the task for recorded and scripted models; `kind` says what an answer
    looks like, where it is another kind than the team's.
    """

    seed: int
    task_id: str
    kind: AnswerKind


class RunState(TypedDict):
    """One task of a thread; `number` counts the thread's tasks from 1, `guessed` says that nobody named the kind."""

    run_id: str
    number: int
    task: str
    task_id: str
    kind: AnswerKind
    guessed: bool
    seed: int
    started_at: float


class CandidateState(TypedDict):
    """One candidate; either `answer` is not None, or `error` and `failure` are. `position` is its place in seed order.

    `duplicate_of` is the id of an earlier sample with the same text of a model that repeats itself: it has no vote.
    """

    id: str
    agent: str
    strategy: str
    sample: int
    round: int
    position: int
    answer: str | None
    preview: str
    error: str | None
    failure: Failure | None
    model: NotRequired[str | None]
    duplicate_of: NotRequired[str | None]
    usage: Usage


class AnswerState(TypedDict):
    """One distinct answer of the current round.

    `candidates` are the ids of those that give it now, the first of which is shown to the principal; `spellings` is how
    any candidate of any round wrote it.
    """

    answer: str
    candidates: list[str]
    spellings: list[str]


class JudgeState(TypedDict):
    """What one judge of a panel put first: the tiers of its own preference, under the arm that learns from it."""

    arm: str
    tiers: list[list[int]]


class RankingState(TypedDict):
    """What the principal said, or `model` in its stead where `stand_in`.

    `tiers` holds numbers of answers, the best tier first, those of one tier tied; `judges` what each said where there are
    several; `calls` is the audit of every call, while `usage` counts those of models that failed before, too;
    `shares_model_with` names the agents that a judge's model works for, too.
    """

    ranker: str
    model: str
    stand_in: bool
    tiers: list[list[int]]
    judges: list[JudgeState]
    shares_model_with: list[str]
    preference: list[list[float]]
    abstained: list[int]
    calls: list[dict[str, Any]]
    usage: Usage


class JudgedState(TypedDict):
    """What a principal or judge was paid for its ranking, in [0, 1], and how much of its skill could be seen, in [0, 1]."""

    payoff: float
    clarity: float


class ArmRecord(TypedDict):
    """Sums of what an arm was paid, in this domain and in all others; of what feedback taught here; and of its loss.

    The loss of a principal is what its tasks lacked in clarity, that of an agent's arm what it lost where samples are dealt.

    `made_of` is the digest of its model and strategy: of another arm of that name nothing is known here.
    """

    made_of: str
    total: float
    count: float
    other_total: float
    other_count: float
    other_loss: float
    gradient: float
    loss: float


class LearnerRecord(TypedDict):
    """Tasks that a learner was measured on, and its loss summed over them."""

    count: float
    loss: float


class LearnedState(TypedDict):
    """What earlier tasks taught, read once when the run begins so that a resumed run decides as the first would."""

    arms: dict[str, ArmRecord]
    principals: dict[str, ArmRecord]
    learners: dict[str, LearnerRecord]


class OutcomeState(TypedDict):
    """How the game of the latest round ended; arrays are in the order of `answers`, dictionaries by arm."""

    chosen: int
    posterior: list[float]
    policy: dict[str, list[float]]
    learners: dict[str, float]
    game: dict[str, Any]
    alternatives: dict[str, Any]


class StoppedState(TypedDict):
    """Why the rest of a round's samples was left out; `posterior` is that of the leading answer when it was."""

    reason: Literal["unchangeable", "confident"]
    posterior: float
    skipped_samples: int


class WeightsState(TypedDict):
    """Weights by arm, before and after this task."""

    before: dict[str, float]
    after: dict[str, float]


def merge_candidates(known: list[CandidateState], new: list[CandidateState]) -> list[CandidateState]:
    """Return both lists as one in seed order, each id once, the newer entry of an id winning."""
    by_id = {candidate["id"]: candidate for candidate in [*known, *new]}
    return sorted(by_id.values(), key=lambda candidate: (candidate["position"], candidate["id"]))


class TaskInput(TypedDict):
    """What a run is given: a chat whose last human message is the task, and optionally its domain and options."""

    messages: Annotated[list[AnyMessage], add_messages]
    domain: NotRequired[str]
    options: NotRequired[TaskOptions]


class DelegationState(TypedDict):
    """Everything that nodes share; `run` is absent before a thread's first task.

    `dealt` are the samples of each arm in a round, None where every agent draws its own. `due` are the ids of the samples to be drawn next, None for all of the round; `waiting` those of the waves after it,
    and `stopped` says why some were left out. `evidence` is what can be learned of
    the task, `decision` the audit of the run, the last of `messages` the answer. `agreed` is what the votes of round 1 alone
    make of the ranking of the principal and of the first choice of each judge of its panel, by arm; those that made none, or
    that a stand-in ranked for, are not in it.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    domain: str
    options: TaskOptions
    run: NotRequired[RunState]
    round: int
    dealt: dict[str, int] | None
    due: list[str] | None
    waiting: list[list[str]]
    stopped: StoppedState | None
    learned: LearnedState
    candidates: Annotated[list[CandidateState], merge_candidates]
    answers: list[AnswerState]
    ranking: RankingState | None
    agreed: dict[str, JudgedState]
    principal_usage: Usage
    outcome: OutcomeState | None
    weights: WeightsState
    evidence: dict[str, Any] | None
    problems: Annotated[list[str], add]
    warnings: list[str]
    decision: dict[str, Any] | None


class StateUpdate(TypedDict, total=False):
    """What a node returns: only the keys that it changes."""

    messages: list[AnyMessage]
    domain: str
    options: TaskOptions
    run: RunState
    round: int
    dealt: dict[str, int] | None
    due: list[str] | None
    waiting: list[list[str]]
    stopped: StoppedState | None
    learned: LearnedState
    candidates: Any  # a list, or Overwrite
    answers: list[AnswerState]
    ranking: RankingState | None
    agreed: dict[str, JudgedState]
    principal_usage: Usage
    outcome: OutcomeState | None
    weights: WeightsState
    evidence: dict[str, Any] | None
    problems: Any  # a list, or Overwrite
    warnings: list[str]
    decision: dict[str, Any] | None
