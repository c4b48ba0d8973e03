"""Whole numbers in words: `seven`, `forty-two`, `one hundred and twenty`, `two thousand five hundred`."""

import re

_ONES = "zero one two three four five six seven eight nine".split()  # noqa: SIM905
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_BELOW_HUNDRED = [*_ONES, *_TEENS, *(f"{ten} {one}".removesuffix(" zero") for ten in _TENS for one in _ONES)]
_BELOW_THOUSAND = {
    f"{hundred}{rest}".strip(): value
    for value, (hundred, rest) in enumerate(
        (hundred, "" if hundred and rest == "zero" else rest)
        for hundred in ("", *(f"{one} hundred " for one in _ONES[1:]))
        for rest in _BELOW_HUNDRED
    )
}
_SCALES = {"trillion": 10**12, "billion": 10**9, "million": 10**6, "thousand": 1000}


def read_number_words(text: str) -> int | None:
    """Return the number that the words say, negative after `negative` or `minus`, or None for any other words."""
    words = re.sub(
        r"(?<=hundred|housand|million|billion) and ", " ", " ".join(text.casefold().replace("-", " ").split())
    )
    positive = re.sub(r"^(?:negative|minus) ", "", words)
    value = _positive(positive)
    return None if value is None else value if positive == words else -value


def _positive(words: str) -> int | None:
    total = 0
    for scale, factor in _SCALES.items():
        head, found, tail = words.partition(f" {scale}")
        if not found:
            continue
        if head not in _BELOW_THOUSAND:
            return None
        total, words = total + _BELOW_THOUSAND[head] * factor, tail.strip()
        if not words:
            return total
    return total + _BELOW_THOUSAND[words] if words in _BELOW_THOUSAND else None
