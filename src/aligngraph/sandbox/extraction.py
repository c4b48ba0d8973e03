"""The program in a model's reply."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

_FEWEST_TICKS = 3  # of a fence, as Markdown has it
_LANGUAGES = {"python", "python3", "py"}
_MOST_CHARS = 20_000  # of a text that is parsed to see whether it is a program: parsing takes time


@dataclass(frozen=True)
class _Block:
    language: str
    code: str


def extract_program(reply: str) -> str | None:
    """Return the program that a reply holds, or None.

    It is the last fenced block marked as Python; else the last one that is not marked and reads as a program; else the
    last one not marked; else the whole reply, if it is Python that does something. A fence left open ends with the reply.
    """
    blocks = [block for block in _find_blocks(reply) if block.code.strip()]
    marked = [block.code for block in blocks if block.language in _LANGUAGES]
    bare = [block.code for block in blocks if not block.language]
    found = marked or [code for code in bare if _is_program(code)] or bare
    if found:
        return found[-1]
    return reply if _is_program(reply) else None


def _find_blocks(reply: str) -> Iterator[_Block]:
    fence, language, lines = "", "", list[str]()
    for line in reply.splitlines():
        ticks, word = _read_fence(line)
        if not fence and ticks:
            fence, language, lines = ticks, word.lower(), []
        elif fence and ticks and not word and len(ticks) >= len(fence):
            yield _Block(language, dedent("\n".join(lines)))
            fence = ""
        elif fence:
            lines.append(line)
    if fence:
        yield _Block(language, dedent("\n".join(lines)))


def _read_fence(line: str) -> tuple[str, str]:
    """Return the backticks of a line that is a fence, and the word right after them; both empty for another line."""
    fence = line.lstrip(" \t")
    after = fence.lstrip("`")
    ticks = fence[: len(fence) - len(after)]
    if len(ticks) < _FEWEST_TICKS or "`" in after:
        return "", ""
    after = after.lstrip(" \t")
    return ticks, "" if after[:1].isspace() else "".join(after.split(maxsplit=1)[:1])


def _is_program(text: str) -> bool:
    """Say whether `text` is Python with a statement that is more than an expression."""
    if len(text) > _MOST_CHARS:
        return False
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return any(not isinstance(statement, ast.Expr) for statement in statements)
