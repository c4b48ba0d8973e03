"""What a team file says beside its roles: how answers are read, the game played, and what is learned, spent and kept."""

from typing import Annotated, Literal

from pydantic import Field

from aligngraph.answers import AnswerKind
from aligngraph.calling.budget import Caps
from aligngraph.roles import Model, Price, Table

LearningMode = Literal["on", "frozen", "shadow"]


class Answers(Table):
    """What an answer looks like.

    Attributes:
        kind: how answers are read and compared; `auto` guesses it from the task.
        judge: a model that says whether two texts are one answer, of up to eight; without it normalised texts are compared.
        price: of that model.
    """

    kind: Literal["auto", AnswerKind] = "auto"
    judge: Model | None = None
    price: Price | None = None


class Game(Table):
    """How the delegation game of one task is played; see docs/algorithm.md."""

    step_size: float = Field(default=1.0, gt=0, le=1000)
    anchor: Literal["trust"] | Annotated[float, Field(ge=0, le=1e6)] = "trust"
    smoothing: float = Field(default=0.5, gt=0, le=1e6)
    max_steps: int = Field(default=200, ge=1, le=100_000)
    max_rounds: int = Field(default=1, ge=1, le=20)


class Learning(Table):
    """What a task leaves behind.

    Attributes:
        mode: `on` learns, `frozen` does not, `shadow` learns but decides by plain vote.
        half_life: tasks of a domain after which what was learned counts half; None forgets nothing.
    """

    mode: LearningMode = "on"
    half_life: float | None = Field(default=None, ge=1, le=1e9)


class Budget(Table):
    """What one run may use, of all its models together, and when enough has been asked; None is no cap.

    Attributes:
        samples: candidates of one round.
        calls: of any model, retries and repairs included.
        tokens: of prompts and completions together.
        seconds: wall time from when a process takes the run up.
        money: in the unit of the prices; every model must have one.
        stop: `settled` asks in waves, and no further once more samples would hardly change the decision.
        threshold: how sure of that it must be, in [0.5, 1].
        deal: `fixed` has every agent draw its own samples; `learned` deals as many in all by what each arm has earned, at
            least one to each while they last.
    """

    samples: int | None = Field(default=None, ge=1)
    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    money: float | None = Field(default=None, gt=0)
    stop: Literal["all", "settled"] = "all"
    threshold: float = Field(default=0.9, ge=0.5, le=1)
    deal: Literal["fixed", "learned"] = "fixed"

    @property
    def caps(self) -> Caps:
        """What every call is checked against."""
        return Caps(self.calls, self.tokens, self.money, self.seconds)


class Cache(Table):
    """What need not be paid for twice.

    Attributes:
        responses: an agent's reply to the same question, sample by sample; not of a Runnable, whose inside nobody knows.
        keep_days: a reply that is older is not used any more, and deleted when another one is kept.
    """

    responses: bool = False
    keep_days: float = Field(default=30, gt=0, le=36_500)


class Privacy(Table):
    """Which texts last: tasks, candidates, answers, verdicts and decisions. What was learned needs none of them.

    Attributes:
        store_texts: whether they are kept at all; else they are in memory while the run is under way, and it cannot be
            taken up by another process. A LangGraph server, or a checkpointer of yours, keeps texts of its own.
        encrypt: whether they are encrypted at rest, checkpoints included, with the key in LANGGRAPH_AES_KEY.
    """

    store_texts: bool = True
    encrypt: bool = False
