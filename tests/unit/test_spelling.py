import pytest

from aligngraph.spelling import nearest


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("samlpes", ["strategies", "samples"], "; did you mean 'samples'?"),
        ("zzz", ["b", "a"], "; known: a, b"),
        ("zzz", [], "; known: "),
        ("", ["a"], "; known: a"),
    ],
)
def test_the_nearest_word_is_named_else_all_in_order(word, known, said):
    assert nearest(word, iter(known)) == said
