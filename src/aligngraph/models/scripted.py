"""A chat model that replays a script: for tests, for the documentation, for trying a team without paying for one."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult

from aligngraph.errors import ScriptError
from aligngraph.models.script import Cue, Row, Script, load_script


class ScriptedFailure(Exception):  # noqa: N818 - it plays a provider's failure, and is not one of our errors
    """A row of the script says that this call fails."""


class ScriptedChatModel(BaseChatModel):
    """Answers each call with the row of `script` for the call's agent, task and sample.

    They come with the call, as `config={"metadata": {"agent": ..., "task": ..., "sample": ..., "labels": {...}}}`;
    `labels` maps the anonymous labels that the prompt shows to the answers behind them.
    """

    script: Script
    cache: bool = False  # LangChain's cache keys on the prompt, and would give all agents the first one's row

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Return the model that replays the script in `path`.

        Raises:
            ModelError: the file or one of its lines cannot be read.
        """
        return cls(script=load_script(path))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: CallbackManagerForLLMRun | None = None,
        **_settings: Any,
    ) -> ChatResult:
        metadata = _metadata_of(run_manager)
        row = self.script.row_for(_cue(metadata))
        time.sleep(row.latency_s)
        return self._play(row, metadata, messages)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the interface's
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_settings: Any,
    ) -> ChatResult:
        metadata = _metadata_of(run_manager)
        row = self.script.row_for(_cue(metadata))
        await asyncio.sleep(row.latency_s)
        return self._play(row, metadata, messages)

    def _play(self, row: Row, metadata: Mapping[str, Any], messages: list[BaseMessage]) -> ChatResult:
        if row.error == "timeout":
            raise TimeoutError("the script says that this call times out")
        if row.text is None:
            raise ScriptedFailure(row.error)
        text = self._with_labels(row.text, metadata.get("labels") or {})
        message = AIMessage(text, usage_metadata=_usage(row, text, messages), response_metadata=_logprobs(row, text))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _with_labels(self, text: str, labels: Mapping[str, str]) -> str:
        for label, answer in labels.items():
            text = text.replace(f"{{label:{answer}}}", label)
        if "{label:" in text:
            raise ScriptError(
                f"script {str(self.script.path)!r}: no label in {dict(labels)!r} for an answer in {text!r}"
            )
        return text


def _metadata_of(run: AsyncCallbackManagerForLLMRun | CallbackManagerForLLMRun | None) -> Mapping[str, Any]:
    return (run.metadata if run else None) or {}


def _cue(metadata: Mapping[str, Any]) -> Cue:
    return Cue(metadata.get("agent"), metadata.get("task"), metadata.get("sample"))


def _usage(row: Row, text: str, messages: list[BaseMessage]) -> UsageMetadata:
    prompt = row.usage.prompt if row.usage else sum(len(message.text.split()) for message in messages)
    completion = row.usage.completion if row.usage else len(text.split())
    return UsageMetadata(input_tokens=prompt, output_tokens=completion, total_tokens=prompt + completion)


def _logprobs(row: Row, text: str) -> dict[str, Any]:
    """Return the mean for every word, in the form that OpenAI has for tokens."""
    if row.logprob_mean is None:
        return {}
    return {"logprobs": {"content": [{"token": word, "logprob": row.logprob_mean} for word in text.split()]}}
