"""Numbers as readers see them."""

import math
from collections.abc import Sequence
from typing import Final

NOTHING: Final = "-"


def number(value: float | None, places: int = 3) -> str:
    """Return the value with that many places, `-` where there is none; never minus zero."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{round(value, places) + 0.0:.{places}f}"


def percent(share: float | None) -> str:
    """Return a share in [0, 1] as a percentage with one place."""
    return NOTHING if share is None else f"{number(100 * share, 1)} %"


def interval(low: float | None, high: float | None, places: int = 3) -> str:
    """Return both ends of an interval, `-` where there is none."""
    return NOTHING if low is None or high is None else f"{number(low, places)} to {number(high, places)}"


def counted(count: int, word: str) -> str:
    """Return the number and its word, in the plural unless it is one."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def spread(length: int, most: int) -> list[int]:
    """Return at most `most` positions of a sequence, the first and the last among them, evenly between."""
    if length <= most:
        return list(range(length))
    return sorted({round(step * (length - 1) / (most - 1)) for step in range(most)})


def listed(words: Sequence[str]) -> str:
    """Return the words as a list in a sentence, `nobody` for none."""
    if not words:
        return "nobody"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
