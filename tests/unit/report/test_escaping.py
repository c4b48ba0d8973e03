import pytest

from aligngraph.report.escaping import brief, harmless


@pytest.mark.parametrize(
    ("hostile", "spelled"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202egnp", r"\x202egnp"),
        ("a\x00b", r"a\x00b"),
        ("\u2066left\u2069", r"\x2066left\x2069"),
        ("\ud800", r"\xd800"),
        ("zero\u200bwidth", r"zero\x200bwidth"),
        ("\x9b31m", r"\x9b31m"),
    ],
)
def test_what_steers_a_screen_is_spelled_out(hostile, spelled):
    assert harmless(hostile) == spelled


@pytest.mark.parametrize("text", ["line\none\ttab", "<b>&amp;</b>", "x² ≤ π", "数学", "é"])
def test_what_is_only_text_stays(text):
    assert harmless(text) == text


def test_a_label_is_one_line_of_bounded_length():
    assert brief("two\n  lines") == "two lines"
    assert brief("x" * 28) == "x" * 28
    assert brief("x" * 29) == "x" * 27 + "…"
    assert brief("abcdef", 4) == "abc…"
    assert "\x1b" not in brief("\x1b[2J" * 9)
