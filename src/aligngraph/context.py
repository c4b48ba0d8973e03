"""Run configuration: LangGraph's typed context, shown by Studio as the configuration form."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from aligngraph.errors import UsageError
from aligngraph.settings import Game, LearningMode
from aligngraph.spelling import nearest
from aligngraph.team import Team


def _setting(description: str, **limits: Any) -> Any:  # noqa: ANN401 - as pydantic's own Field
    """Return a field left to the team by default; Studio shows it beside the node that reads it, too."""
    return Field(
        default=None, description=description, json_schema_extra={"langgraph_nodes": ["policy_update"]}, **limits
    )


class DelegationContext(BaseModel):
    """What one run may set differently from the team file; a value left out is the team's."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    step_size: float | None = _setting("Step size of mirror descent.", gt=0, le=1000)
    anchor: Literal["trust"] | Annotated[float, Field(ge=0, le=1e6)] | None = _setting(
        "How strongly agents hold on to their first answers: 'trust' (learned) or a number >= 0."
    )
    smoothing: float | None = _setting("Share of the initial policy spread over all answers.", gt=0, le=1e6)
    max_steps: int | None = _setting("Most steps of the game.", ge=1, le=100_000)
    max_rounds: int | None = _setting("Most rounds of proposals and rankings.", ge=1, le=20)
    learning: LearningMode | None = _setting("on, frozen (learn nothing) or shadow (decide by plain vote).")

    @classmethod
    def of(cls, given: "DelegationContext | None") -> "DelegationContext":
        """Return the context of a run; LangGraph passes None, not an empty one, where the caller gave none."""
        return cls() if given is None else given

    def game(self, team: Team) -> Game:
        """Return the team's game with this run's values in it."""
        changes = {name: value for name in Game.model_fields if (value := getattr(self, name)) is not None}
        return Game.model_validate(team.game.model_dump() | changes)

    def learning_mode(self, team: Team) -> LearningMode:
        """Return this run's learning mode, else the team's."""
        return self.learning or team.learning.mode


class StudioContext(DelegationContext):
    """Run configuration on a server, where the team itself is chosen per assistant."""

    team: str | None = Field(
        default=None, description="Team file (TOML). Default: ALIGNGRAPH_TEAM, else the built-in team."
    )
    db: str | None = Field(
        default=None, description="Folder or PostgreSQL URL of what lasts. Default: ALIGNGRAPH_DB, else user data."
    )

    @field_validator("db")
    @classmethod
    def _refuse_password(cls, db: str | None) -> str | None:
        url = urlsplit(db or "")
        if url.password or "password" in parse_qs(url.query):
            raise ValueError("holds a password, and servers keep run configuration in clear: set ALIGNGRAPH_DB instead")
        return db

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the context with the values of a request.

        Raises:
            UsageError: a name is unknown or a value not allowed; the message says which.
        """
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise UsageError(f"run configuration: {'; '.join(map(_describe, error.errors()))}") from error


def _describe(error: ErrorDetails) -> str:
    """Return one finding in words, without the value where that may be a secret."""
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return f"unknown key {name!r}{nearest(name, StudioContext.model_fields)}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{name}: {message}" if name == "db" else f"{name} is {error['input']!r}: {message}"
