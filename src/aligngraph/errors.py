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
├── RunCancelledError           exit status 130: somebody stopped the run; carries the id under which it goes on
├── CallError                   a call that we ended, did not make or cannot read; isolated like any failed call, so no caller sees it
│   ├── BudgetSpentError        it does not fit into the run's budget
│   ├── ModelRestingError       the model failed so often of late that it is not asked for a while
│   ├── StrangeReplyError       an agent of the user's own returned what holds no reply
│   ├── StrayStopError          what was called raised SystemExit, a stray cancellation or the like
│   └── CallTimeoutError        it took longer than it may
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


class RunCancelledError(AlignGraphError):
    """Somebody stopped the run. What was finished is kept, and asked again with its id it goes on where it stopped.

    Attributes:
        run_id: the run.
    """

    exit_status: ClassVar[int] = 130  # as after Ctrl-C

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} was cancelled; asked again with its id it goes on where it stopped")
        self.run_id = run_id


class CallError(AlignGraphError):
    """A call that we ended, did not make or cannot read."""


class StrayStopError(CallError):
    """What was called raised something that ends a program or a task, such as SystemExit: that is its failure alone."""


class CallTimeoutError(CallError):
    """A call took longer than it may. It is not made again: what was slow once is likely to be slow twice."""


class BudgetSpentError(CallError):
    """A call does not fit into the run's budget. It is not made, and the run decides with what it has.

    Attributes:
        pending: whether it may fit once calls under way have settled.
    """

    def __init__(self, message: str, *, pending: bool = False) -> None:
        super().__init__(message)
        self.pending = pending


class ModelRestingError(CallError):
    """A model failed so often of late that it is not asked for a while."""


class StrangeReplyError(CallError):
    """An agent of the user's own returned what holds no reply; its message says what it was."""


class ScriptError(AlignGraphError):
    """A scripted model was asked for something its script does not hold."""
