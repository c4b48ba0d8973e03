"""What a team says about its ranker: a name, or a table with the ranker's own settings."""

import re
import shutil
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

RankerName = Literal["listwise", "pairwise", "pointwise", "verifier", "survival", "program", "reward_model", "human"]


_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ListwiseSpec(_Spec):
    """All solutions in one call, averaged over `shuffles` orders."""

    name: Literal["listwise"] = "listwise"
    shuffles: int = Field(default=1, ge=1, le=25)


class PairwiseSpec(_Spec):
    """Two solutions at a time, in both orders; a pair whose orders disagree is left open."""

    name: Literal["pairwise"] = "pairwise"


class PointwiseSpec(_Spec):
    """One solution at a time: the probability of "yes", or a mark from 1 to 10."""

    name: Literal["pointwise"] = "pointwise"
    scale: Literal["probability", "ten"] = "probability"


class VerifierSpec(_Spec):
    """One solution at a time: checked step by step, then one word; averaged over `checks` checks."""

    name: Literal["verifier"] = "verifier"
    checks: int = Field(default=1, ge=1, le=25)


class SurvivalSpec(_Spec):
    """The principal's model completes masked beginnings of each solution: the share that reaches the same answer.

    Attributes:
        shares: how much of a solution each beginning holds, in [0, 1); 0 is the bare task.
        completions: of each beginning.
    """

    name: Literal["survival"] = "survival"
    shares: tuple[Annotated[float, Field(ge=0, lt=1)], ...] = Field(default=(0.0, 0.3, 0.6), min_length=1)
    completions: int = Field(default=2, ge=1, le=25)


class ProgramSpec(_Spec):
    """No model: a test command, or from Python a function, scores each solution.

    Attributes:
        command: started for each solution; `{solution}` in it becomes the path of a file with the solution, `{answer}`
            of one with the answer, `{task}` of one with the task. Exit status 0 passes, with the number in [0, 1] on the
            last line of output, if there is one, as its score; 1 fails; another says that the command did not work.
        score: from Python: of task, answer and solution, in [0, 1].
        timeout_s: seconds for one solution.
    """

    name: Literal["program"] = "program"
    command: tuple[str, ...] = ()
    score: Annotated[Any, PlainSerializer(lambda score: getattr(score, "__qualname__", None))] = None
    timeout_s: float = Field(default=10, gt=0, le=3600)

    @model_validator(mode="after")
    def _take_one(self) -> "ProgramSpec":
        if bool(self.command) == callable(self.score):
            raise ValueError("needs either a command or, from Python, a score function")
        return self

    @model_validator(mode="after")
    def _show_the_solution(self) -> "ProgramSpec":
        named = {name for argument in self.command for name in _PLACEHOLDER.findall(argument)}
        if unknown := sorted(named - {"task", "answer", "solution"}):
            raise ValueError(f"unknown placeholder {{{unknown[0]}}}; known: {{task}}, {{answer}}, {{solution}}")
        if self.command and not named & {"answer", "solution"}:
            raise ValueError("the command is shown no solution: name {solution} or {answer} in it")
        return self


class RewardModelSpec(_Spec):
    """No principal model: a sequence classifier of transformers scores task and solution.

    Attributes:
        model: its folder, or its name on a hub.
    """

    name: Literal["reward_model"] = "reward_model"
    model: str = Field(min_length=1)


class HumanSpec(_Spec):
    """A person ranks: the run pauses until Studio or `aligngraph review` brings the ranking."""

    name: Literal["human"] = "human"


Spec = (
    ListwiseSpec
    | PairwiseSpec
    | PointwiseSpec
    | VerifierSpec
    | SurvivalSpec
    | ProgramSpec
    | RewardModelSpec
    | HumanSpec
)


def _read_name(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value not in get_args(RankerName):
        close = get_close_matches(value, get_args(RankerName), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(get_args(RankerName))}"
        raise ValueError(f"unknown ranker {value!r}; {hint}")
    return {"name": value}


def _write_name(spec: Spec) -> Any:  # noqa: ANN401 - a string or a table
    """Return the name alone where nothing else is set, so that a plain team reads as it was written."""
    table = spec.model_dump(mode="json", exclude_defaults=True)
    return {**table, "name": spec.name} if table.keys() - {"name"} else spec.name


RankerSpec = Annotated[
    Annotated[Spec, Field(discriminator="name")], BeforeValidator(_read_name), PlainSerializer(_write_name)
]


def models_needed(spec: Spec) -> bool:
    """Return whether the ranker asks the principal's model."""
    return not isinstance(spec, ProgramSpec | RewardModelSpec | HumanSpec)


def shown_at_once(spec: Spec, options: int) -> int:
    """Return how many of so many solutions stand in one prompt."""
    match spec:
        case ListwiseSpec() | HumanSpec():
            return options
        case PairwiseSpec():
            return 2
        case _:
            return 1


def missing_for(spec: Spec) -> str | None:
    """Return what a ranker without a model lacks on this machine, None where it lacks nothing. It blocks: it looks for files."""
    if isinstance(spec, ProgramSpec) and spec.command and shutil.which(spec.command[0]) is None:
        return f"ranker 'program': there is no command {spec.command[0]!r}"
    if isinstance(spec, RewardModelSpec) and not (find_spec("transformers") and find_spec("torch")):
        return "ranker 'reward_model' needs: pip install \"aligngraph[hf]\""
    return None
