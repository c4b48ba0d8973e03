"""One character for those that only the typesetting tells apart: dashes, quotation marks, and what cannot be seen."""

DASHES = "\N{MINUS SIGN}\N{EN DASH}\N{EM DASH}\N{HYPHEN}\N{NON-BREAKING HYPHEN}"
INVISIBLE = "\N{SOFT HYPHEN}\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
CHARACTERS: dict[int, str | None] = {
    **dict.fromkeys(map(ord, DASHES), "-"),
    **dict.fromkeys(map(ord, INVISIBLE), None),
    **dict.fromkeys(map(ord, "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}"), "'"),
    **dict.fromkeys(map(ord, "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"), '"'),
}
