"""Words that others wrote, made harmless before they reach a page, a picture or a terminal."""

import re
from typing import Final

_SHORT: Final = 28
# What steers a terminal, turns the direction of text, hides, or may stand in no XML document.
_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff\ud800-\udfff]"
)


def harmless(text: str) -> str:
    r"""Return the text with every character that steers, hides or turns what is shown spelled out, as in `\x1b`.

    Tabs and line breaks stay. HTML is not touched: the page's template escapes all of it.
    """
    return _STEERING.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def brief(text: str, most: int = _SHORT) -> str:
    """Return the text as one harmless line of at most `most` characters, for a label or a heading."""
    line = " ".join(harmless(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
