"""Every error that aligngraph raises on purpose.

AlignGraphError                 exit status 1
├── UsageError                  exit status 2: something to correct before any model is asked
│   ├── TaskError               the task is empty or longer than a model reads
│   ├── TeamError               the team file is missing, not TOML, or says something unknown
│   ├── ModelError              a model spec cannot become a model
│   │   ├── MissingExtraError   a package is not installed; says which
│   │   ├── MissingKeyError     an API key is not set; says which variable
│   │   └── DownloadError       weights could not be fetched or have the wrong hash
│   └── StoreError              a database cannot be opened, read or written; says which file
├── DelegationFailedError       no agent answered; carries every cause
├── ReviewPendingError          a run waits for a person's ranking; carries its id and what is to be ranked
└── ScriptError                 a scripted model was asked for something its script does not hold

A message says what was got, what is allowed and what to do, its first line standing alone.

The first two are built-in errors as well, a RuntimeError and a ValueError: of any other a LangGraph server tells its
client only that an internal error occurred. To a request that draws a graph it answers a ValueError with status 400.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class AlignGraphError(RuntimeError):
    """Base of the tree: one `except` catches everything that aligngraph raises on purpose."""

    exit_status: ClassVar[int] = 1


class UsageError(AlignGraphError, ValueError):
    """Something to correct before any model is asked."""

    exit_status: ClassVar[int] = 2


class TaskError(UsageError):
    """The task is empty, or longer than a model of the team reads."""


class TeamError(UsageError):
    """The team is missing, not TOML, or says something unknown."""


class ModelError(UsageError):
    """A model spec cannot become a model."""


class MissingExtraError(ModelError):
    """A package that this model needs is not installed."""


class MissingKeyError(ModelError):
    """An API key that this model needs is not set."""


class DownloadError(ModelError):
    """Weights could not be fetched, or are not the ones expected."""


class StoreError(UsageError):
    """A database cannot be opened, read or written."""


class DelegationFailedError(AlignGraphError):
    """No agent gave an answer.

    Attributes:
        causes: what went wrong, one line per failed candidate.
        decision: the audit of the failed run, of the same shape as any decision's.
    """

    def __init__(self, message: str, causes: Sequence[str], decision: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.causes = tuple(causes)
        self.decision = decision


class ReviewPendingError(AlignGraphError):
    """A run waits for a person's ranking, and goes on when it gets one; nothing that was paid for is lost.

    Attributes:
        run_id: the run.
        review: what is asked, plain JSON: `id`, `kind`, `task`, `solutions` by anonymous label, `form` of the reply, and
            `problem`: why the last reply could not be used, or None.
    """

    def __init__(self, run_id: str, review: Mapping[str, Any]) -> None:
        problem = f"{review['problem']}; " if review.get("problem") else ""
        super().__init__(f"{problem}run {run_id} waits for a person's ranking: aligngraph review {run_id}")
        self.run_id = run_id
        self.review = review


class ScriptError(AlignGraphError):
    """A scripted model was asked for something its script does not hold."""
