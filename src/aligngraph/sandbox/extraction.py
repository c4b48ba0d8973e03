"""The program in a model's reply."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

_FENCE = re.compile(r"[ \t]*(`{3,})[ \t]*([^\s`]*)[^`]*")
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
        match = _FENCE.fullmatch(line)
        if not fence and match:
            fence, language, lines = match[1], match[2].lower(), []
        elif fence and match and not match[2] and len(match[1]) >= len(fence):
            yield _Block(language, dedent("\n".join(lines)))
            fence = ""
        elif fence:
            lines.append(line)
    if fence:
        yield _Block(language, dedent("\n".join(lines)))


def _is_program(text: str) -> bool:
    """Say whether `text` is Python with a statement that is more than an expression."""
    if len(text) > _MOST_CHARS:
        return False
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return any(not isinstance(statement, ast.Expr) for statement in statements)
