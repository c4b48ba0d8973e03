"""What somebody who wrote an unknown word may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known word most like `word`, else the list of known words."""
    known = sorted(known)
    matches = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else f"; known: {', '.join(known)}"
