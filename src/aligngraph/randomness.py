"""The seed tree: run -> round -> agent -> sample, one independent stream for each unit of work."""

import hashlib
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MAX_SEED = 2**31 - 1  # what providers accept as a sampling seed


def fresh_seed() -> int:
    """Return an unpredictable seed in [0, MAX_SEED]."""
    return secrets.randbelow(MAX_SEED + 1)


def sampling_seed(seed: int, *path: str | int) -> int:
    """Return the provider's sampling seed in [0, MAX_SEED] for the unit of work at `path` below `seed`."""
    return int.from_bytes(_digest(seed, path)[:4], "big") & MAX_SEED


def generator(seed: int, *path: str | int) -> "np.random.Generator":
    """Return the random generator for the unit of work at `path` below `seed`.

    Work in any order, or in parallel, draws the same numbers, since no two units share a stream.
    """
    import numpy as np  # noqa: PLC0415 - numpy costs a tenth of a second that `--help` need not pay

    return np.random.default_rng(int.from_bytes(_digest(seed, path), "big"))


def _digest(seed: int, path: tuple[str | int, ...]) -> bytes:
    return hashlib.blake2b(repr((seed, *path)).encode(), digest_size=16).digest()
