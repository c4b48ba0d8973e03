"""A sequence classifier of transformers: loaded once, and fed tasks with solutions that fit it."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any

from aligngraph.errors import DownloadError, MissingExtraError, ModelError
from aligngraph.isolation import describe_cause
from aligngraph.ranking.sheet import shorten

_LEAST_CHARS = 2  # of a solution that is shortened; of fewer there is no middle
_MARGIN = 0.9  # cutting the characters in proportion to the tokens may not cut enough of these
_LOADING = Lock()


class TaskTooLongError(ValueError):
    """A task leaves the classifier no room for its solution."""


@dataclass(frozen=True)
class Classifier:
    """A model with its tokenizer, and the most tokens of an input."""

    model: Any
    tokenizer: Any
    most_tokens: int

    def classify(self, task: str, solutions: Sequence[str], most_chars: int) -> list[list[float]]:
        """Return the logits of each solution, all from one forward pass.

        Raises:
            TaskTooLongError: the task leaves no room for a solution.
        """
        import torch  # noqa: PLC0415 - loaded with the model

        rows = [self._fit(task, solution, most_chars) for solution in solutions]
        batch = self.tokenizer.pad(rows, return_tensors="pt").to(self.model.device)
        known = signature(self.model.forward).parameters  # a tokenizer of no kind in particular may give more
        with torch.inference_mode():
            scored = self.model(**{name: batch[name] for name in batch if name in known})
        logits: list[list[float]] = scored.logits.float().tolist()
        return logits

    def _fit(self, task: str, solution: str, most_chars: int) -> dict[str, list[int]]:
        """Return the tokens of task and solution, the solution without its middle where they would be too many."""
        while most_chars >= _LEAST_CHARS:
            encoded = self._encode(task, shorten(solution, most_chars))
            tokens = len(encoded["input_ids"])
            if tokens <= self.most_tokens:
                return encoded
            most_chars = int(_MARGIN * min(most_chars, len(solution)) * self.most_tokens / tokens)
        raise TaskTooLongError(f"the task leaves no room for a solution in the {self.most_tokens} tokens of the model")

    def _encode(self, task: str, solution: str) -> dict[str, list[int]]:
        task, solution = self._disarm(task), self._disarm(solution)
        if not self.tokenizer.chat_template:
            return dict(self.tokenizer(task, solution, verbose=False))
        chat = [{"role": "user", "content": task}, {"role": "assistant", "content": solution}]
        text = self.tokenizer.apply_chat_template(chat, tokenize=False)
        return dict(self.tokenizer(text, add_special_tokens=False, verbose=False))

    def _disarm(self, text: str) -> str:
        """Return the text with its control tokens broken up: they could end the solution and begin another turn."""
        added = {token.content for token in self.tokenizer.added_tokens_decoder.values() if token.special}
        for token in sorted(added | set(self.tokenizer.all_special_tokens)):
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text


def load(name: str) -> Classifier:
    """Return the classifier in the folder `name`, or of this name on the hub; a process loads each once.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        DownloadError: there is no such folder, nor could the hub be asked for it.
        ModelError: the folder holds no sequence classifier.
    """
    with _LOADING:
        return _load(name)


@functools.cache
def _load(name: str) -> Classifier:
    try:
        import torch  # noqa: PLC0415 - seconds that no other ranker pays
        from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError('the reward_model ranker needs: pip install "aligngraph[hf]"') from error
    # Said outright, since transformers would otherwise ask on the terminal whether to run code from the folder.
    safe: dict[str, Any] = {"trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **safe)
        model, found = AutoModelForSequenceClassification.from_pretrained(name, output_loading_info=True, **safe)
    except Exception as error:
        raise _unloadable(name, error) from error
    if found["missing_keys"]:
        missing = ", ".join(sorted(found["missing_keys"]))
        raise ModelError(f"reward model {name!r} is no trained sequence classifier: it lacks {missing}")
    _pad(model, tokenizer)
    return Classifier(model.to(_device(torch)).eval(), tokenizer, _most_tokens(model, tokenizer))


def _unloadable(name: str, error: BaseException) -> ModelError:
    while error.__cause__ is not None:  # the clients wrap it in advice for their own users
        error = error.__cause__
    if Path(name).is_dir():
        return ModelError(f"reward model {name!r} cannot be loaded: {describe_cause(error)}")
    return DownloadError(f"reward model {name!r} is no folder, and no hub gave it: {describe_cause(error)}")


def _pad(model: Any, tokenizer: Any) -> None:  # noqa: ANN401 - transformers is no dependency of the core
    """Agree on a padding token; a decoder reads its verdict off the last token before the padding."""
    if tokenizer.pad_token is None:
        known = model.config.pad_token_id
        tokenizer.pad_token = tokenizer.eos_token if known is None else tokenizer.convert_ids_to_tokens(known)
    model.config.pad_token_id = tokenizer.pad_token_id


def _device(torch: Any) -> str:  # noqa: ANN401
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _most_tokens(model: Any, tokenizer: Any) -> int:  # noqa: ANN401
    positions = getattr(model.config, "max_position_embeddings", None)
    return min(int(tokenizer.model_max_length), positions or int(tokenizer.model_max_length))
