"""A whole team behind LangChain's chat model interface."""

import os
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from aligngraph.decision import Decision
from aligngraph.session import aask
from aligngraph.state import DEFAULT_DOMAIN, TaskOptions
from aligngraph.sync_door import run_blocking
from aligngraph.team import Team


class AlignChatModel(BaseChatModel):
    """A chat model whose every reply is a team's decision, so that `prompt | AlignChatModel(team=...) | parser` works.

    The reply's text is the winning solution. `response_metadata["decision"]` holds the audit, `usage_metadata` the
    tokens of all agents and the principal together. A team whose principal is a person raises ReviewPendingError, which
    names the run to review.

    Attributes:
        team: a team, or the path of a team file; by default ALIGNGRAPH_TEAM, else the built-in team.
        db: folder or PostgreSQL URL of what lasts; by default ALIGNGRAPH_DB, else the user's data folder.
        domain: the kind of task, under which competence is learned.
        seed: makes every reply repeatable, as far as the models' are and as long as the weights stay.
    """

    team: Team | str | os.PathLike[str] | None = None
    db: str | None = None
    domain: str = DEFAULT_DOMAIN
    seed: int | None = None

    @property
    def _llm_type(self) -> str:
        return "aligngraph"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _to_result(run_blocking(self._decide(messages)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _to_result(await self._decide(messages))

    async def _decide(self, messages: list[BaseMessage]) -> Decision:
        options = TaskOptions() if self.seed is None else TaskOptions(seed=self.seed)
        chat = cast("list[AnyMessage]", messages)
        return await aask(chat, team=self.team, db=self.db, domain=self.domain, options=options)


def _to_result(decision: Decision) -> ChatResult:
    spent = decision.usage.total
    message = AIMessage(
        content=decision.text or "",
        usage_metadata={
            "input_tokens": spent.prompt_tokens,
            "output_tokens": spent.completion_tokens,
            "total_tokens": spent.prompt_tokens + spent.completion_tokens,
        },
        response_metadata={"model_name": "aligngraph", "decision": decision.model_dump(mode="json")},
    )
    return ChatResult(generations=[ChatGeneration(message=message)])
