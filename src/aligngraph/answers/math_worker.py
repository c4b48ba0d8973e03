r"""The worker process that parses and evaluates mathematical answers: `python -m aligngraph.answers.math_worker`.

Answers come from language models, so whatever is read here may be hostile. The parser is that of math-verify, which works on
LaTeX and evaluates no Python; beyond that the process that reads may not start others, write files or open sockets, has bounded
memory, and the operating system ends it when a request outlasts its limit of processor time: even in the middle of an endless
multiplication, and when nobody is left to wait for it. Where the system can fork, it is then replaced in a millisecond.

A request is a line of JSON, and so is its reply. `{"value": latex}` and `{"equation": latex}` (an expression that an equation
says to be 0) are answered by `{"exact": [numerator, denominator]}` in hexadecimal, by `{"points": [[real, imaginary], ...]}`,
null being undefined, by `{"readable": true}` for mathematics without a value, or by `{}` for what is none;
`{"same": [latex, latex]}` by `{"same": bool}`; a request that outlasted its limit by null. With every reply comes what it has
cost: `"seconds"` of processor time. At its start the process says `{}`.
"""

import hashlib
import json
import logging
import os
import re
import signal
import sys
import time
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import sympy
from antlr4 import PredictionMode
from antlr4.error.ErrorListener import ErrorListener
from latex2sympy2_extended import normalize_latex
from latex2sympy2_extended.antlr_parser import PSParser
from latex2sympy2_extended.latex2sympy2 import ConversionConfig, NormalizationConfig, _Latex2Sympy
from math_verify import verify
from sympy.matrices import MatrixBase
from sympy.parsing import sympy_parser

DIGITS = 40
MAX_MEMORY_BYTES = 2 * 1024**3
_POINTS = (1, 1, 1, 1, -1, -1)  # signs of the points at which expressions with variables are evaluated
_FORBIDDEN = re.compile(
    r"os\.(?!listdir|scandir|putenv|walk|fwalk)|subprocess|socket|shutil|ctypes|pty|ftplib|urllib|http|webbrowser|sqlite3|tempfile"
)
# What is imported late is imported, and the tables of the parser are filled, before the readers are forked.
_WARM_UP = (
    r"\frac{\sqrt{2}}{x} + 0.5",
    r"3\pi \cdot (5!) - e^{-2}",
    r"x^2 - 2x + \binom{4}{2}",
    r"\sqrt{1/n}",
    r"\log_2 8 + \sin(y)",
)
_CONVERSION = ConversionConfig(lowercase_symbols=False)
_REPLIED = 1  # exit status of a reader that stumbled and said so


def main() -> None:
    """Answer requests until standard input ends. A reader that stumbles over a request is replaced, as one that was ended."""
    logging.disable()
    for latex in _WARM_UP:
        _answer({"value": latex})
    _say({})
    while hasattr(os, "fork") and (reader := os.fork()):
        status = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
        if status == 0:
            return
        if status != _REPLIED:
            _say({} if status > 0 else None)
    _confine()
    _serve()


def _serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        start = time.process_time()
        sys.excepthook = partial(_stumble, start)
        _set_alarm(request.pop("limit_s"))
        reply = _answer(request)
        _set_alarm(0)
        _say({**reply, "seconds": time.process_time() - start})


def _say(reply: dict[str, Any] | None) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply. The fast strategy of the parser comes first: what it can parse, it parses rightly."""
    try:
        return _reply(request, PredictionMode.SLL)
    except _UnreadableError:
        return _reply(request, PredictionMode.LL)


def _reply(request: dict[str, Any], prediction: PredictionMode) -> dict[str, Any]:
    if "same" in request:
        one, other = (_parse(latex, prediction) for latex in request["same"])
        return {"same": _verified(one, other) or _verified(other, one)}
    if "equation" in request:
        return _equation(_parse(request["equation"], prediction))
    return _value(_parse(request["value"], prediction))


class _UnreadableError(Exception):
    """What the parser does not understand."""


class _Listener(ErrorListener):  # type: ignore[misc]
    def __init__(self, latex: str) -> None:
        super().__init__()
        self._latex = latex

    def syntaxError(self, *_: object) -> NoReturn:  # noqa: N802 - the parser's name for it
        raise _UnreadableError(self._latex)


class _Reader(_Latex2Sympy):  # type: ignore[misc]
    """The parser of math-verify, reading decimals as exact fractions."""

    MathErrorListener = _Listener

    def __init__(self, prediction: PredictionMode) -> None:
        super().__init__(is_real=True, config=_CONVERSION)
        self._prediction = prediction

    def create_parser(self, latex_str: str) -> PSParser:
        parser = super().create_parser(latex_str)
        parser._interp.predictionMode = self._prediction  # noqa: SLF001
        return parser

    def parse_number(self, text: str) -> sympy.Rational:
        return sympy.Rational(text.replace(",", ""))


def _parse(latex: str, prediction: PredictionMode) -> sympy.Basic:
    """Return the parsed expression, with `i` as the imaginary unit."""
    parsed = _Reader(prediction).parse(normalize_latex(latex, NormalizationConfig()))
    imaginary = [symbol for symbol in parsed.free_symbols if symbol.name == "i"]
    return parsed.subs(imaginary[0], sympy.I) if imaginary else parsed


def _verified(one: sympy.Basic, other: sympy.Basic) -> bool:
    return bool(
        verify(
            [one],
            [other],
            float_rounding=DIGITS,
            numeric_precision=DIGITS,
            allow_set_relation_comp=True,
            timeout_seconds=None,
        )
    )


def _value(expression: sympy.Basic) -> dict[str, Any]:
    if isinstance(expression, MatrixBase) or not isinstance(expression, sympy.Expr):
        return {"readable": True}
    if not expression.free_symbols:
        exact = expression.doit()
        if isinstance(exact, sympy.Rational):
            return {"exact": [format(int(exact.p), "x"), format(int(exact.q), "x")]}
        return _pointwise([_at(exact, 0)])
    return _pointwise([_at(expression, number) for number in range(len(_POINTS))])


def _equation(difference: sympy.Expr) -> dict[str, Any]:
    """Return the values over the first one: `2x - 10` and `x - 5` say the same of x."""
    if not difference.free_symbols:
        return {"readable": True}
    values = [_at(difference, number) for number in range(len(_POINTS))]
    first = values[0]
    return _pointwise([value and (value / first).evalf(DIGITS) for value in values]) if first else {"readable": True}


def _at(expression: sympy.Expr, number: int) -> sympy.Expr | None:
    """Return the number that the expression is at a point, or None; where variables are negative, only a real one."""
    point = {symbol: _POINTS[number] * _coordinate(symbol.name, number) for symbol in expression.free_symbols}
    value = expression.evalf(DIGITS, subs=point, maxn=400)
    real, imaginary = (_significant(part) for part in value.as_real_imag())
    if real is None or imaginary is None or (_POINTS[number] < 0 and imaginary):
        return None
    return real + sympy.I * imaginary


def _significant(part: sympy.Expr) -> sympy.Expr | None:
    """Return the number, 0 where all digits have cancelled, or None where it is none."""
    if not part.is_Number or not part.is_finite:
        return None
    return sympy.Integer(0) if isinstance(part, sympy.Float) and part._prec < DIGITS else part  # noqa: SLF001


def _pointwise(values: list[sympy.Expr | None]) -> dict[str, Any]:
    if not any(value is not None for value in values):
        return {"readable": True}
    return {"points": [None if value is None else [str(part) for part in value.as_real_imag()] for value in values]}


def _coordinate(name: str, number: int) -> sympy.Rational:
    """Return a number between 1/3 and 7/3 that depends on the variable's name and the point only."""
    digest = hashlib.sha256(f"{name} {number}".encode()).digest()
    return sympy.Rational(1, 3) + sympy.Rational(int.from_bytes(digest[:4]), 2**31)


def _set_alarm(seconds: float) -> None:
    """Have the system end this process after so many seconds of processor time (0: never): Python may be too busy to."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _confine() -> None:
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    if os.name == "posix":
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sympy_parser.eval_expr = _refuse
    sys.addaudithook(_forbid)


def _stumble(start: float, *_: object) -> NoReturn:
    """Say that a request cannot be answered, and end at once: nobody reads the traceback, and the next reader is waiting."""
    status = _REPLIED + 1
    try:
        _say({"seconds": time.process_time() - start})
        status = _REPLIED
    finally:
        os._exit(status)


def _refuse(*_: object) -> NoReturn:
    """Take the place of the function by which sympy evaluates strings as Python."""
    raise PermissionError("no string is evaluated here")


def _forbid(event: str, arguments: tuple[Any, ...]) -> None:
    if _FORBIDDEN.match(event) or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        raise PermissionError(event)


if __name__ == "__main__":
    main()
