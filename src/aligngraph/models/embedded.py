"""Embedded models: a llama.cpp server of our own on a free loopback port, one for each file and context length.

The model is then talked to like any OpenAI-compatible server: one code path with real providers.
"""

import atexit
import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from aligngraph.errors import MissingExtraError, ModelError
from aligngraph.models.spec import ModelSpec

CONTEXT_TOKENS = 2048
MAX_TOKENS = 256


@dataclass(frozen=True)
class _Server:
    process: subprocess.Popen[str]
    base_url: str


@dataclass(frozen=True)
class Budget:
    """How the context of one call, in tokens, is shared between prompt (`max_input_tokens`) and completion."""

    max_input_tokens: int
    max_tokens: int

    @property
    def context_tokens(self) -> int:
        """Prompt and completion together."""
        return self.max_input_tokens + self.max_tokens


_servers: dict[tuple[Path, int], _Server] = {}
_starting = threading.Lock()


def budget_of(spec: ModelSpec) -> Budget:
    """Return the token budget of an embedded model, with our defaults where the spec is silent."""
    max_tokens = spec.max_tokens or MAX_TOKENS
    return Budget(spec.max_input_tokens or max(CONTEXT_TOKENS - max_tokens, CONTEXT_TOKENS // 2), max_tokens)


def serve(weights: Path, *, context_tokens: int = CONTEXT_TOKENS) -> str:
    """Return the base URL (".../v1") of the server of `weights`, started by the first call in this process.

    Blocks for about a second while the server starts. Four calls at a time are answered together, each with
    `context_tokens` for prompt and completion. The server ends with this process, however that ends.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        ModelError: llama.cpp cannot load the file.
    """
    if find_spec("xllamacpp") is None:
        raise MissingExtraError('embedded models need xllamacpp: pip install "aligngraph[local]"')
    with _starting:
        server = _servers.get((weights, context_tokens))
        if server is None or server.process.poll() is not None:
            server = _servers[weights, context_tokens] = _start(weights, context_tokens)
    return server.base_url


def _start(weights: Path, context_tokens: int) -> _Server:
    program = Path(__file__).with_name("llama_process.py")
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", str(program), str(weights), str(context_tokens)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # the terminal's Ctrl-C is for us; the server ends when we do
    )
    atexit.register(_stop, process)
    address = process.stdout.readline().strip() if process.stdout else ""
    if not address:
        _stop(process)
        raise ModelError(f"llama.cpp cannot load {str(weights)!r}: it is damaged, or not a GGUF model")
    return _Server(process, f"{address}/v1")


def _stop(process: subprocess.Popen[str]) -> None:
    with process:  # leaving the block closes the pipes, at which the server ends, and waits for it
        pass
