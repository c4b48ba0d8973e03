"""Who is tried: a ranker bound to a model."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.caches import InMemoryCache
from langchain_core.language_models import BaseChatModel
from pydantic import TypeAdapter, ValidationError

from aligngraph.errors import UsageError
from aligngraph.models import ModelSpec, model_label, open_model
from aligngraph.ranking import Judge, Preference, Ranker, RankingTask, open_ranker
from aligngraph.ranking.contract import TIE
from aligngraph.ranking.judge import solution_room
from aligngraph.ranking.specs import RankerSpec, Spec, models_needed


@dataclass(frozen=True)
class Contender:
    """A ranker with the name under which its results stand.

    Attributes:
        model: whom it asks; None where it asks no model.
    """

    label: str
    ranker: Ranker
    model: BaseChatModel | None = None

    def room_for(self, task: str, options: int) -> int:
        """Return how many characters of each of `options` solutions of `task` its model can be shown."""
        return solution_room(self.model, task, options)


async def open_contender(spec: Spec, model: Any, timeout_s: float) -> Contender:  # noqa: ANN401 - a team's model
    """Return the ranker of `spec`, asking `model` (None for one that asks no model).

    Raises:
        ModelError: the model cannot be opened.
        UsageError: the ranker asks a person, or a model where there is none.
    """
    if spec.name == "human":
        raise UsageError("ranker 'human' asks a person, who cannot be tried this way")
    if not models_needed(spec):
        return Contender(contender_label(spec, None), open_ranker(spec, None))
    if model is None:
        raise UsageError(f"ranker {spec.name!r} asks a model: the team's principal names none")
    opened = await open_model(model, temperature=0.0, timeout_s=timeout_s)
    # What is asked twice in the same words and with the same seed is answered alike: a swap then shows the effect of the
    # order, and not the noise of a server that adds up in another order when it is busy.
    opened = opened.model_copy(update={"cache": InMemoryCache()})
    ranker = open_ranker(spec, Judge(opened, timeout_s))
    return Contender(contender_label(spec, model), ranker, opened)


def parse_ranker(text: str) -> Spec:
    """Return the ranker that `text` names, as in "verifier" or '{ name = "listwise", shuffles = 4 }'.

    Raises:
        UsageError: there is no such ranker or setting.
    """
    try:
        value = tomllib.loads(f"ranker = {text}")["ranker"] if text.startswith("{") else text
        spec: Spec = TypeAdapter(RankerSpec).validate_python(value)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"ranker {text!r} is not a TOML table: {error}") from error
    except ValidationError as error:
        raise UsageError(f"ranker {text!r}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from error
    return spec


def contender_label(spec: Spec, model: Any) -> str:  # noqa: ANN401 - a team's model
    """Return the ranker's name with what differs from its defaults, and where it asks one, the model and its place."""
    settings = spec.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    given = f"({', '.join(f'{key}={value}' for key, value in settings.items())})" if settings else ""
    return f"{spec.name}{given}" + (f" @ {place_of(model)}" if models_needed(spec) else "")


def place_of(model: Any) -> str:  # noqa: ANN401 - a team's model
    """Return the model's label, with its server: two may serve one name."""
    base_url = model.base_url if isinstance(model, ModelSpec) else None
    return f"{model_label(model)} at {base_url}" if base_url else model_label(model)


def winner(preference: Preference, one: int, other: int) -> int | None:
    """Return which of two options is preferred; None where neither is."""
    lead = preference.matrix[one][other] - preference.matrix[other][one]
    if abs(lead) < TIE:
        return None
    return one if lead > 0 else other


def failed(preference: Preference) -> bool:
    """Return whether calls were made and none that can hold a verdict got a reply: nothing is known about the ranker."""
    return bool(preference.calls) and not preference.heard


def swapped_order(preference: Preference) -> list[int]:
    """Return the options in an order that, ranked with the same seed, swaps every two of them in what is shown.

    A ranker that shows all options at once draws their places from the seed alone: with the options mirrored in the
    sequence that it has shown, the same seed shows the mirrored sequence. Another seed could undo the swap.
    """
    count = len(preference.matrix)
    shown = next((list(call.labels.values()) for call in preference.calls if len(call.labels) == count), range(count))
    mirrored = dict(zip(shown, reversed(shown), strict=True))
    return [mirrored[number] for number in range(count)]


def reordered(work: RankingTask, order: Sequence[int]) -> RankingTask:
    """Return the same task with its options in another order."""
    return replace(work, options=tuple(work.options[number] for number in order))
