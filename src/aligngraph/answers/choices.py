"""Options of a multiple-choice task, and which of them an answer names."""

import re
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from aligngraph.answers.notation import plain
from aligngraph.answers.numbers import read_quantity
from aligngraph.answers.texts import words_key

_LETTERS = "ABCDEFGHIJ"
_MARKER = re.compile(
    r"(?:(?<=\s)|(?<=^)|(?<=[,;?{]))(?:\\text(?:bf)?\{)?[*_]*"
    r"(?:\((?P<round>[A-Ja-j])\)|(?P<half>[A-Ja-j])\)|\[(?P<square>[A-J])\])[*_]*\}?[.:]?"
    r"|^[ \t>*_-]*(?P<line>[A-J])[*_]*[.:][*_]*(?=[ \t]+\S)",
    re.MULTILINE,
)
_NAMED = re.compile(
    r"(?:(?:option|choice|answer|letter)\s+)?[*_]*"
    r"(?:\(\s*(?P<round>[A-Ja-j])\s*\)|\[(?P<square>[A-Ja-j])\]|(?P<half>[A-Ja-j])[*_]*\s*[).:,]|(?P<bare>[A-Ja-j])(?![\w']))"
    r"[*_:]*\s*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CLAUSE_END = r"(?=[*_]*\s*(?:$|[.,;:!)\u2013\u2014\n]|-\s|(?:because|since|as|for)\b))"
_IS_RIGHT = r"is (?:the )?(?:correct|right|best)(?: (?:answer|option|choice|one))?"
_REMARK = re.compile(rf"(?:{_IS_RIGHT}|is the answer){_CLAUSE_END}.*", re.DOTALL)
_BRACKETED = r"[(\[](?P<{}>[A-Ja-j])[)\]]"
_STATED = re.compile(
    r"(?:\b(?i:correct|right|best|final) (?i:answer|option|choice)\b"
    r"(?:[^.!?\n]{0,40}?(?:\b(?i:is)\b|:)[*_:\s]*(?:(?i:option|choice|letter|answer) )?[*_]*"
    rf"(?:{_BRACKETED.format('round')}|(?P<bare>[A-J]){_CLAUSE_END})"
    rf"|\s*[*_]*{_BRACKETED.format('beside')})"
    rf"|(?<![Ii]f )(?<!whether )\b(?i:answer|option|choice) (?:is )?[*_(\[]*(?P<named>[A-J])[)\]*_]* {_IS_RIGHT}{_CLAUSE_END})"
    r"(?!\s*(?:[,/&]|or\b|and\b)\s*(?:or |and )?[*_(\[]*[A-J]\b)",  # one of several
    re.MULTILINE,
)
_MIN_OPTIONS = 2


class Choice(NamedTuple):
    """One of the answers that a task offers."""

    letter: str
    text: str


def find_options(task: str) -> tuple[Choice, ...]:
    """Return the options that the task lists, lettered from A without a gap; none where it lists fewer than two."""
    found: list[re.Match[str]] = []
    for match in _MARKER.finditer(task):
        letter = _letter(match)
        if letter == "A":
            found = [match]
        elif len(found) < len(_LETTERS) and letter == _LETTERS[len(found)]:
            found.append(match)
    if len(found) < _MIN_OPTIONS:
        return ()
    ends = [*(match.start() for match in found[1:]), len(task)]
    return tuple(Choice(_letter(match), _text(task[match.end() : end])) for match, end in zip(found, ends, strict=True))


def chosen_letter(answer: str, options: Sequence[Choice] = ()) -> str | None:
    r"""Return the letter of the option that the answer names (`b`, `(B)`, `\text{(B)}`, `B) Rome`, `Rome`), or None."""
    text = plain(answer)
    meant = [option.letter for option in options if text and _meaning(option.text) == _meaning(text)]
    if len(meant) == 1:
        return meant[0]
    match = _NAMED.fullmatch(text)
    letter = _letter(match) if match else ""
    if match is None or (options and letter not in {option.letter for option in options}):
        return None
    return letter if _agrees(match, letter, options) else None


def stated_letter(text: str, options: Sequence[Choice] = ()) -> str | None:
    """Return the letter that the last such statement gives (`the correct option is (B)`, a last line `B`), or None."""
    lines = text.strip().splitlines()
    last = chosen_letter(lines[-1], options) if lines else None
    matches = list(_STATED.finditer(text))
    if last is None and matches:
        return chosen_letter(_letter(matches[-1]), options)
    return last


def _agrees(match: re.Match[str], letter: str, options: Sequence[Choice]) -> bool:
    """Return whether what follows the letter leaves it at that: nothing, its own text, or after a mark another remark."""
    rest, key = match["rest"], words_key(match["rest"])
    if not key or _REMARK.fullmatch(key):
        return True
    meant = {option.letter for option in options if _meaning(option.text) == _meaning(rest)}
    if meant:
        return letter in meant
    return match["bare"] is None and not re.match(r"(?:and|or|&|,)?\s*\(?[a-j]\b", key)


def _meaning(text: str) -> Hashable:
    return read_quantity(text) or words_key(plain(text))


def _letter(match: re.Match[str]) -> str:
    return next(group for name, group in match.groupdict().items() if group and name != "rest").upper()


def _text(passage: str) -> str:
    """Return the text of an option: up to the end of its paragraph or, if it stands on the marker's line, of the line."""
    line = passage.strip().partition("\n")[0]
    return line.strip().strip("$").removesuffix("\\qquad").strip(" ,;.*_\\")
