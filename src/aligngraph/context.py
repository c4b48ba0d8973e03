"""Run configuration: LangGraph's typed context, shown by Studio as the configuration form."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from aligngraph.team import Game, LearningMode, Team


class DelegationContext(BaseModel):
    """What one run may set differently from the team file; a value left out is the team's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step_size: float | None = Field(default=None, gt=0, description="Step size of mirror descent.")
    anchor: Literal["trust"] | float | None = Field(
        default=None,
        description="How strongly agents hold on to their first answers: 'trust' (learned) or a number >= 0.",
    )
    smoothing: float | None = Field(
        default=None, gt=0, description="Share of the initial policy spread over all answers."
    )
    max_steps: int | None = Field(default=None, ge=1, description="Most steps of the game.")
    max_rounds: int | None = Field(default=None, ge=1, le=20, description="Most rounds of proposals and rankings.")
    learning: LearningMode | None = Field(
        default=None, description="on, frozen (learn nothing) or shadow (decide by plain vote)."
    )

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
