"""The decision: one answer, and the audit of how it came about."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["ok", "degraded", "failed"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Usage(_Part):
    """Calls and tokens as the providers counted them.

    Attributes:
        cached_tokens: those of the prompts that providers read from their caches.
        estimated_calls: calls whose tokens are our estimate, since their provider counted none.
        cost: None wherever a price is unknown.
    """

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    estimated_calls: int = 0
    cost: float | None


class Candidate(_Part):
    """One proposal; exactly one of `answer` and `error` is not None.

    Attributes:
        failure: `call_failed`, `no_answer` in the text or from the program, `not_asked` where a budget or a resting model
            stood in the way; None where it has an answer.
        duplicate_of: the id of an earlier sample with the same text of a model that repeats itself; it has no vote.
        model: who was asked last: the agent's own model, or one of its fallbacks.
    """

    id: str
    agent: str
    strategy: str
    sample: int
    round: int
    answer: str | None
    text: str
    error: str | None
    failure: str | None = None
    duplicate_of: str | None = None
    model: str | None = None
    usage: Usage


class Answer(_Part):
    """One distinct answer.

    Attributes:
        votes: number of the latest round's candidates that gave it.
        posterior: in [0, 1]; over all answers the sum is 1.
        policy: by arm, the probability that the arm ends the game proposing this answer.
    """

    answer: str
    votes: int
    posterior: float
    policy: dict[str, float]


class Ranking(_Part):
    """What the principal said.

    Attributes:
        order: answers, best first; empty when it abstained, failed, or had nothing to compare.
        ties: answers that share a place; their sequence in `order` means nothing.
        shares_model_with: agents that the model of a judge works for, too.
        preference: `[K, K]` in the order of the decision's answers, the probability that one is preferred to another.
        abstained: answers about which it said nothing.
        calls: labels shown, verdict, outcome and problem of every call.
    """

    ranker: str
    model: str
    order: list[str]
    ties: list[list[str]]
    shares_model_with: list[str]
    preference: list[list[float]]
    abstained: list[str]
    calls: list[dict[str, Any]]


class GameReport(_Part):
    """How the delegation game went, by arm where it says so.

    Attributes:
        regret: external regret of each arm over the steps played.
        regret_bound: what the regret can be at most, whatever the principal prefers.
        nash_conv: of the final profile in the game without anchor.
        anchored_nash_conv: of the final profile in the game that was played, anchor included.
        entropy: of the posterior, in nats.
    """

    steps: int
    settled: bool
    step_size: float
    anchor: float
    regret: dict[str, float]
    regret_bound: dict[str, float]
    nash_conv: float
    anchored_nash_conv: float
    entropy: float


class Alternatives(_Part):
    """What other rules make of the same candidates, without a further call.

    Attributes:
        delegation: the rule of this product; differs from the answer only in shadow mode.
        best_of_n: the principal's first choice, None when it gave none.
        single: each agent's own majority.
    """

    delegation: str
    majority: str
    best_of_n: str | None
    single: dict[str, str]


class Weights(_Part):
    """The arms' weights (dual coordinates of their competence) before and after this task."""

    before: dict[str, float]
    after: dict[str, float]


class UsageReport(_Part):
    """Who spent what."""

    agents: dict[str, Usage]
    principal: Usage
    total: Usage


class Stopped(_Part):
    """Why some samples were not asked for.

    Attributes:
        reason: `unchangeable` if nothing they might have said would have changed the answer that led the vote, `confident`
            if its posterior exceeded the threshold. Of what a principal might have made of a new answer it says nothing.
        posterior: of the leading answer then, with room for answers that nobody had given.
    """

    reason: str
    posterior: float
    skipped_samples: int


class Decision(_Part):
    """One answer and why; `model_dump(mode="json")` is the object that `aligngraph ask --json` prints.

    Attributes:
        warnings: what does not make the run degraded but wants looking at, as an arm whose payoff has changed of late.
        learners: the share that each learner has in the posterior; competence alone until there was feedback.
        status: `degraded` when something failed on the way (see `problems`), `failed` when there is no answer.
        answer: the short final answer; None when the run failed.
        text: the whole solution that stands for it: of its class the one shown to the principal.
        kind: how answers were read and compared; `kind_guessed` where it was guessed from the task.
        stopped: why some samples were not asked for; None where all were.
        seconds: wall time of the run.
    """

    run_id: str
    status: Status
    problems: list[str]
    warnings: list[str] = []
    answer: str | None
    text: str | None
    domain: str
    kind: str
    kind_guessed: bool
    seed: int
    candidates: list[Candidate]
    answers: list[Answer]
    ranking: Ranking | None
    game: GameReport | None
    alternatives: Alternatives | None
    weights: Weights
    learners: dict[str, float] = {}
    stopped: Stopped | None = None
    usage: UsageReport
    seconds: float
