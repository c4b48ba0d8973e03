r"""Reading an answer into a tree (`tree`), so that each of its parts is compared by itself.

An answer is read into a tree. Its leaves are numbers, expressions (which the worker process evaluates) and whatever is opaque; its
inner nodes are tuples, intervals, sets, matrices, quantities and assignments. Two answers are one where their trees are, leaf by
leaf: `(2,4)` is not `(4,2)`, `\{2,4\}` is `\{4,2\}`, and `1331 and 1728` is never taken for its last number.
"""

import functools
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from aligngraph.answers.notation import MAX_CHARACTERS, plain
from aligngraph.answers.numbers import Number, Quantity, read_quantity
from aligngraph.answers.prose import read_prose, statement, unit_of, without_remark
from aligngraph.answers.splitting import (
    Relation,
    bracketed,
    is_wordy,
    nesting,
    split_commas,
    split_list,
    split_relation,
    split_union,
)
from aligngraph.answers.texts import words_key
from aligngraph.answers.tree import EMPTY_SET, Assignment, Expression, Measured, Node, Opaque, Series, SeriesKind
from aligngraph.answers.units import Unit

_NAME = re.compile(
    r"(?:\\(?:angle|triangle|alpha|beta|gamma|theta|phi|lambda|mu|sigma|overline)(?![a-z])\s*|[A-Za-z])?\{?[A-Z]{0,3}\}?"
    r"(?:_\{?\w+\}?)?'?(?:\s*\(\s*[a-zA-Z]\s*\))?|\([a-z](?:\s*,\s*[a-z])+\)"
)
_INFINITY = re.compile(r"\+?(-?)\s*\\infty")
_MATRIX = re.compile(
    r"\\begin\{(?:\w?matrix|array)\}(?:\{[lcr|]*\})?((?:(?!\\begin).)*)\\end\{(?:\w?matrix|array)\}", re.DOTALL
)
_RATIO = re.compile(r"(\d+)\s*:\s*(?!\d\d(?:\D|$))(\d+)")
_BASED = re.compile(r"(\d{1,400})\s*_\s*\{?\s*(\d{1,2})\s*\}?")
_TIME = re.compile(r"\d{1,2}:\d\d(?:\s*[ap]\.?m)?|\d{1,2}\s*[ap]\.?m", re.IGNORECASE)
_NO_SOLUTION = re.compile(r"(?:there (?:is|are) )?no solutions?|(?:the )?empty set", re.IGNORECASE)
_KIND_OF = re.compile(
    r"(?:the )?(?:solution )?(?:set|interval|(?:ordered )?pair|point|matrix|vector) (?=[(\[{\\])", re.IGNORECASE
)
_MATHS = re.compile(r"[\d\\=+^*/<>|]")
_SPACED_NUMBERS = re.compile(r"-?[\d.,]+(?:\s+-?[\d.,]+)+")
_IN_DEGREES = re.compile(
    r"(\\(?:sin|cos|tan|cot|sec|csc)(?:\^\{?\d\}?)?)\s*[({]?\s*(\d+)\s*\^\s*\{?\s*\\circ\s*\}?\s*[)}]?"
)
_SYMBOL = re.compile(r"(?<![A-Za-z\\])[A-Za-z]")
_FLIPPED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}
MAX_NESTING = 40  # trees of answers are flat; a deeper nesting of brackets is an attack


@functools.lru_cache(maxsize=4096)  # the few answers of one task are compared hundreds of times
def read_math(answer: str) -> Node:
    """Return the tree of a mathematical answer; what cannot be read is Opaque, and one with the same words only."""
    text = plain(answer)
    if len(text) > MAX_CHARACTERS or nesting(text) > MAX_NESTING:
        return Opaque(text)
    return _read(text)


def read_text(answer: str) -> Node:
    """Return the number that the answer is, or its words."""
    return read_quantity(without_remark(answer) or answer) or Opaque(words_key(answer))


def _read(text: str) -> Node:
    return next((node for reader in _READERS if (node := reader(text))), None) or _read_rest(text)


def _read_remarked(text: str) -> Node | None:
    value = without_remark(text)
    return read_quantity(value) if value else None


def _read_infinity(text: str) -> Node | None:
    match = _INFINITY.fullmatch(text)
    return Opaque(f"{match[1]}infinity") if match else None


def _read_words(text: str) -> Node | None:
    if text in {"\\emptyset", "\\{\\}", "{}"} or _NO_SOLUTION.fullmatch(text):
        return EMPTY_SET
    if text.casefold() in {"\\mathbb{r}", "all real numbers", "all reals"}:
        return _interval("-\\infty", "<", "\\infty", "<")
    return Opaque(words_key(text)) if not text or (is_wordy(text) and not _MATHS.search(text)) else None


def _read_matrix(text: str) -> Node | None:
    match = _MATRIX.fullmatch(text)
    if match is None:
        return None
    rows = [row.split("&") for row in match[1].split("\\\\") if row.strip()]
    return Series("matrix", tuple(Series("row", tuple(_read(cell.strip()) for cell in row)) for row in rows))


def _read_based(text: str) -> Node | None:
    """Return a number of another base (`40_9`), which like a unit may be left out."""
    match = _BASED.fullmatch(text)
    return Quantity(Number(Fraction(match[1])), Unit(f"base {match[2]}", Fraction(1))) if match else None


def _read_ratio(text: str) -> Node | None:
    if _TIME.fullmatch(text):
        return Opaque(re.sub(r"[ .]", "", words_key(text)))
    match = _RATIO.fullmatch(text)
    number = match and read_quantity(f"{match[1]}/{match[2]}")
    return Series("ratio", (number,)) if number else None


def _read_kind_of(text: str) -> Node | None:
    match = _KIND_OF.match(text)
    return _read(text[match.end() :]) if match else None


def _read_list(text: str) -> Node | None:
    parts = split_list(text)
    return _enumeration([_read(part) for part in parts]) if len(parts) > 1 and all(map(_is_member, parts)) else None


def _is_member(part: str) -> bool:
    """Return whether a part of an enumeration is mathematics, at most with a known unit: `5 dogs and 10 cats` is no set."""
    found = unit_of(part)
    return not is_wordy(part) or bool(found and found.unit)


def _enumeration(nodes: Sequence[Node]) -> Node:
    """Return a list of values; values of one name (`x = 1 or x = 2`, `x = 1, 2`) are values of one assignment."""
    first = nodes[0]
    rest = [
        node.value
        if isinstance(node, Assignment) and isinstance(first, Assignment) and node.name == first.name
        else node
        for node in nodes[1:]
    ]
    if isinstance(first, Assignment) and not any(isinstance(node, Assignment) for node in rest):
        return Assignment(first.name, _collection("list", [first.value, *rest]))
    return _collection("list", nodes)


def _collection(kind: SeriesKind, nodes: Sequence[Node]) -> Series:
    parts = [node.parts if isinstance(node, Series) and node.kind == "list" else (node,) for node in nodes]
    return Series(kind, tuple(part for several in parts for part in several))


def _read_relation(text: str) -> Node | None:
    relation = split_relation(text)
    if not relation.operators or not all(relation.operands):
        return None
    if set(relation.operators) <= {"=", "\\approx", "\\in"}:
        return _read_equation(relation)
    return _read_inequality(relation)


def _read_equation(relation: Relation) -> Node | None:
    first, last = relation.operands[0], relation.operands[-1]
    if _is_name(first):
        return Assignment(_name(first), _read(last))
    if _is_name(last):
        return Assignment(_name(last), _read(first))
    if is_wordy(first) or not (_SYMBOL.search(first) or (_SYMBOL.search(last) and not is_wordy(last))):
        return _read(last)  # `the total = 5`, `2 + 3 = 5`
    return None if len(relation.operands) > 2 else Expression(f"({first})-({last})", is_equation=True)  # noqa: PLR2004


def _read_inequality(relation: Relation) -> Node | None:
    match (
        relation.operands,
        tuple(operator.replace("\\lt", "<").replace("\\gt", ">") for operator in relation.operators),
    ):
        case (left, right), (operator,) if operator in _FLIPPED and _is_name(left):
            return _ray(left, operator, right)
        case (left, right), (operator,) if operator in _FLIPPED and _is_name(right):
            return _ray(right, _FLIPPED[operator], left)
        case (low, name, high), (one, other) if {one, other} <= {"<", "\\le"} and _is_name(name):
            return Assignment(_name(name), _interval(low, one, high, other))
        case (high, name, low), (one, other) if {one, other} <= {">", "\\ge"} and _is_name(name):
            return Assignment(_name(name), _interval(low, _FLIPPED[other], high, _FLIPPED[one]))
    return None


def _ray(name: str, operator: str, bound: str) -> Node:
    if operator in {"<", "\\le"}:
        return Assignment(_name(name), _interval("-\\infty", "<", bound, operator))
    return Assignment(_name(name), _interval(bound, _FLIPPED[operator], "\\infty", "<"))


def _interval(low: str, low_operator: str, high: str, high_operator: str) -> Series:
    brackets: SeriesKind = _BRACKETS["[" if low_operator == "\\le" else "(", "]" if high_operator == "\\le" else ")"]
    return Series(brackets, (_read(low), _read(high)))


_BRACKETS: dict[tuple[str, str], SeriesKind] = {("(", ")"): "()", ("[", "]"): "[]", ("(", "]"): "(]", ("[", ")"): "[)"}


def _is_name(text: str) -> bool:
    return bool(text and _NAME.fullmatch(text))


def _name(text: str) -> str:
    return "".join(character for character in text if character not in "{} ")


def _read_union(text: str) -> Node | None:
    parts = split_union(text)
    if len(parts) < 2:  # noqa: PLR2004
        return None
    nodes = [_read(part) for part in parts]
    return Series("set", tuple(member for node in nodes for member in _members(node)))


def _members(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, Series) and node.kind in {"set", "list"} else (node,)


def _read_brackets(text: str) -> Node | None:
    inside = bracketed(text)
    if inside is None:
        return None
    if inside.opening in {"\\{", "{"}:
        return _read_set(inside.inner) if inside.opening == "\\{" or "," in inside.inner else _read(inside.inner)
    nodes = [_read(part) for part in split_commas(inside.inner)]
    kind = _BRACKETS.get((inside.opening, inside.closing))
    if len(nodes) == 1 or kind is None:
        return nodes[0] if kind else None
    return _collection(kind if len(nodes) == 2 else "()", nodes)  # noqa: PLR2004


def _read_set(inner: str) -> Node:
    condition = re.split(r"\\mid(?![a-z])|[|:]", inner, maxsplit=1)
    if len(condition) > 1:
        return _read(condition[1].strip())
    return _collection("set", [_read(part) for part in split_commas(inner)]) if inner else EMPTY_SET


def _read_plus_minus(text: str) -> Node | None:
    if not re.search(r"\\(?:pm|mp)(?![a-z])", text):
        return None
    signs = (("+", "-"), ("-", "+"))
    return _collection(
        "list", [_read(text.replace("\\pm", plus).replace("\\mp", minus).strip()) for plus, minus in signs]
    )


def _read_measured(text: str) -> Node | None:
    found = unit_of(text)
    value = _read(found.value) if found else None
    if found is None or found.unit is None:
        return value
    return Measured(value, found.unit) if isinstance(value, Expression) else value


def _read_statement(text: str) -> Node | None:
    said = statement(text)
    if said is None:
        return read_prose(text)
    if _SPACED_NUMBERS.fullmatch(said):  # `answer is 3 5`: what was said last counts
        said = said.split()[-1]
    return _read(said)


def _read_rest(text: str) -> Node:
    if (is_wordy(text) and " " in text and not re.search(r"[\\=+^*]", text)) or _SPACED_NUMBERS.fullmatch(text):
        return Opaque(words_key(text))
    if re.search(r"\d\s*_|'", text):  # subscripts of numbers and primes: the parser would drop them
        return Opaque(text)
    return Expression(_IN_DEGREES.sub(r"\1{\\frac{\2\\pi}{180}}", text))


_READERS: tuple[Callable[[str], Node | None], ...] = (
    read_quantity,
    _read_remarked,
    _read_infinity,
    _read_words,
    _read_matrix,
    _read_based,
    _read_ratio,
    _read_kind_of,
    _read_list,
    _read_relation,
    _read_union,
    _read_brackets,
    _read_plus_minus,
    _read_measured,
    _read_statement,
)
