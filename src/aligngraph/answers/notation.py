r"""One spelling for the many ways of writing an answer: LaTeX, Unicode, Markdown and plain text become one notation.

What is only presentation goes (`$...$`, `\left`, `\text{}`, thin spaces, emphasis, the full stop); what carries meaning stays,
in the spelling that the LaTeX parser reads best (`\frac{1}{2}` for `½` and `\frac12`, `^{2}` for `²`, `\sqrt{2}` for `√2`).
"""

import functools
import re
import unicodedata

from aligngraph.answers.typography import CHARACTERS

MAX_CHARACTERS = 1_000
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))
_SUPERSCRIPT = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
_CHARACTERS = CHARACTERS | str.maketrans(
    {
        "\N{FRACTION SLASH}": "/",
        "\N{DIVISION SIGN}": "/",
        "\N{MULTIPLICATION SIGN}": r"\times ",
        "\N{MIDDLE DOT}": r"\cdot ",
        "\N{DOT OPERATOR}": r"\cdot ",
        "\N{GREEK SMALL LETTER PI}": r"\pi ",
        "\N{INFINITY}": r"\infty ",
        "\N{LESS-THAN OR EQUAL TO}": r"\le ",
        "\N{GREATER-THAN OR EQUAL TO}": r"\ge ",
        "\N{NOT EQUAL TO}": r"\ne ",
        "\N{ALMOST EQUAL TO}": r"\approx ",
        "\N{DEGREE SIGN}": r"^\circ ",
        "\N{UNION}": r"\cup ",
        "\N{ELEMENT OF}": r"\in ",
        "\N{EMPTY SET}": r"\emptyset ",
        "\N{PLUS-MINUS SIGN}": r"\pm ",
        "\N{SQUARE ROOT}": r"\sqrt ",
    }
)
_VULGAR = re.compile("[\N{VULGAR FRACTION ONE QUARTER}-\N{VULGAR FRACTION THREE QUARTERS}\u2150-\u215e]")
_BOX = re.compile(r"\\f?boxed\s*\{(.*)\}", re.DOTALL)
_NAMED = {name: rf"\{name} " for name in ("pi", "infty", "theta", "alpha", "beta")} | {"infinity": r"\infty "}
_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\\\(?=[a-zA-Z](?!.*\\begin))", r"\\"),  # a backslash that was escaped once too often
        (r"(?<!\\)\\[()\[\]]|\$\$", " "),  # delimiters of LaTeX maths
        (r"(?<![\\$])\$(?=[^\s$])([^$]*[^\s$\\])\$(?!\d)", r"\1"),  # $...$, but not `$5 and $6`
        (r"\\displaystyle|\\(?:left|right)(?![a-z])\s*\.?|\\[bB]igg?[lr]?(?![a-z])", ""),
        (r"\\!\s*|\{,\}\s*|(?<=\d)\\[,;:]\s*(?=\d{3})", lambda match: "," if match[0].startswith("{") else ""),
        (r"(?<!\\)\\[,;: ]|\\q?quad(?![a-z])|~", " "),
        (r"\\(?:text|mbox|hbox|math|operatorname)(?:rm|bf|it|tt|sf|normal|up)?\s*\{([^{}]*)\}", r" \1 "),
        (r"\\([$%#&])", r"\1"),
        (r"\\[dtc]frac(?![a-z])", r"\\frac"),
        (r"\\frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}"),
        (r"\\frac\s*(\d)\s*\{", r"\\frac{\1}{"),
        (r"(\\frac\s*\{[^{}]*\})\s*(\d)", r"\1{\2}"),
        (r"\\frac\s+", r"\\frac"),
        (r"\}\s+\{", "}{"),
        (r"(?<![\\a-zA-Z])sqrt(?=\s*[({\d])", r"\\sqrt"),
        (r"\\sqrt\s*(\d+|[a-zA-Z](?![a-zA-Z]))", r"\\sqrt{\1}"),
        (r"\\sqrt\s*\(([^()]*)\)", r"\\sqrt{\1}"),
        (r"(?<!\S)\*\*(?=\S)([^*]+)\*\*(?=[\s.,;:!?]|$)", r"\1"),
        (r"(?<!\S)([*_`])(?=\S)([^*_`]+)\1(?=[\s.,;:!?]|$)", r"\2"),
        (r"\*\*", "^"),
        (r"\^\s*\((-?[\w/]+)\)", r"^{\1}"),
        (r"\^\s*(-?\d{2,}|-\d)", r"^{\1}"),
        (r"(?<=[\w)}\]!])\s*\*\s*(?=[\w({\[\\-])", r" \\cdot "),
        (r"\\[lc]dots(?![a-z])", r"\\dots"),
        (r"\\leq(?![a-z])", r"\\le"),
        (r"\\geq(?![a-z])", r"\\ge"),
        (r"<=", r"\\le "),
        (r">=", r"\\ge "),
        (r"\\(?:varnothing|O)(?![a-z])", r"\\emptyset"),
        (r"(?<![\\a-zA-Z])(pi|infinity|infty|theta|alpha|beta)(?![a-zA-Z])", lambda match: _NAMED[match[1]]),
        (r"(?<![\\a-zA-Z])(sin|cos|tan|cot|sec|csc|ln|log|exp)(?=[(^_])", r"\\\1"),
        (r"\s+", " "),
        (r"(?i)(?<![\w-])negative (?=[$\d]|\.\d|\\(?:frac|sqrt|pi))|^ ?minus (?=[$\d]|\.\d)", "-"),
    )
)


def _superscript(match: re.Match[str]) -> str:
    return "^{" + "".join(_SUPERSCRIPTS[character] for character in match[0]) + "}"


@functools.lru_cache(maxsize=4096)
def plain(answer: str) -> str:
    """Return the answer in the one notation, without surrounding quotes, punctuation and markup.

    What is longer than MAX_CHARACTERS stays as it is: no answer that a parser could read is as long.
    """
    if len(answer) > MAX_CHARACTERS:
        return answer.strip()
    text = _SUPERSCRIPT.sub(_superscript, answer)
    text = _VULGAR.sub(lambda match: f" {match[0]}", text)
    text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS)).translate(_CHARACTERS)
    if box := _BOX.search(text):
        text = box[1]
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return _bare(text)


def _bare(text: str) -> str:
    text = text.strip().rstrip(".,;?").strip()
    for mark in "\"'`":
        text = text.strip(mark) if text.startswith(mark) and text.endswith(mark) else text
    return text.rstrip(".,;?").strip()
