"""How a team wants its calls repeated, and failing models left alone."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RetrySettings(_Settings):
    """When a call that failed is made again, provided that its error is one that passes (429, 5xx, a lost connection).

    Attributes:
        attempts: in all; 1 repeats nothing.
        first_wait_s: the longest wait before the second attempt; doubled with each one, and drawn at random below that.
        longest_wait_s: no wait is longer. Where the server asks for more than this, the call fails at once.
    """

    attempts: int = Field(default=3, ge=1, le=10)
    first_wait_s: float = Field(default=0.5, gt=0, le=3600)
    longest_wait_s: float = Field(default=30, gt=0, le=3600)


class CircuitSettings(_Settings):
    """When a model that keeps failing is left alone for a while, by every task of every process.

    Attributes:
        failures: calls in a row that open its circuit.
        rest_s: until one trial call may go; doubled with each trial that fails.
        longest_rest_s: no rest is longer.
    """

    failures: int = Field(default=5, ge=1, le=1000)
    rest_s: float = Field(default=60, gt=0, le=86_400)
    longest_rest_s: float = Field(default=3600, gt=0, le=86_400)

    @model_validator(mode="after")
    def _order(self) -> Self:
        if self.longest_rest_s < self.rest_s:
            raise ValueError(f"longest_rest_s {self.longest_rest_s:g} is less than rest_s {self.rest_s:g}")
        return self
