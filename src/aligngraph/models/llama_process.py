"""The server of one embedded model, a program of its own: `python llama_process.py WEIGHTS CONTEXT_TOKENS`.

It writes its address to standard output once it answers, and ends when its standard input does: however the parent
dies, its server dies too. Inside the parent it could not be closed safely: llama.cpp waits for ever for a call that is
under way, and crashes when it is not waited for.

Run by its path, it imports nothing of ours: the package would cost more than the server.
"""

import os
import sys
from pathlib import Path
from typing import Any

SLOTS = 4


def main(weights: str, context_tokens: str) -> None:
    """Serve until standard input ends."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads would spin on cores that others need
    import xllamacpp  # noqa: PLC0415 - reads the variable above when it is imported

    server = xllamacpp.Server(_parameters(xllamacpp.CommonParams(), weights, int(context_tokens)))
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


def _parameters(parameters: Any, weights: str, context_tokens: int) -> Any:  # noqa: ANN401 - xllamacpp is untyped
    parameters.model.path, parameters.model_alias = weights, {Path(weights).stem}
    parameters.port = 0
    parameters.n_parallel = SLOTS
    parameters.n_ctx = SLOTS * context_tokens
    # A thread on every core doubled the speed of reading prompts on two cores, and halved that of writing.
    cores = os.cpu_count() or 1
    parameters.cpuparams.n_threads = max(1, cores // 2)
    parameters.cpuparams_batch.n_threads = cores
    parameters.verbosity = -1
    parameters.ui = parameters.endpoint_slots = False
    return parameters


if __name__ == "__main__":
    main(*sys.argv[1:])
