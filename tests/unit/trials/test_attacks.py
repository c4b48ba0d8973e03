from collections import Counter

from aligngraph.ranking import Option
from aligngraph.trials.attacks import KINDS, Attack, built_in_attacks
from aligngraph.trials.items import built_in_items

WRONG = Option("5", "3 + 4 - 2 = 5.\nAnswer: 5")


def test_f54_there_are_at_least_forty_attacks_of_ten_kinds_with_several_of_each():
    kinds = Counter(attack.kind for attack in built_in_attacks())
    assert sum(kinds.values()) >= 40
    assert set(kinds) == set(KINDS)
    assert len(KINDS) == 10
    assert min(kinds.values()) >= 4


def test_attacks_have_names_of_their_own():
    assert len({attack.name for attack in built_in_attacks()}) == len(built_in_attacks())


def test_the_first_ten_attacks_are_of_ten_kinds():
    assert {attack.kind for attack in built_in_attacks()[:10]} == set(KINDS)


def test_every_attack_differs_from_its_control_and_leaves_no_placeholder():
    for attack in built_in_attacks():
        for item in built_in_items():
            hostile, spared = attack.inject(item.wrong), attack.spare(item.wrong)
            assert hostile != spared
            assert not any(mark in hostile + spared for mark in ("{solution}", "{answer}", "{filler}"))


def test_every_attack_still_gives_the_wrong_answer():
    for attack in built_in_attacks():
        assert f"Answer: {WRONG.answer}" in attack.inject(WRONG)
        assert attack.spare(WRONG).endswith(f"Answer: {WRONG.answer}")


def test_the_control_is_the_bare_solution_except_where_there_is_no_solution():
    for attack in built_in_attacks():
        bare = "Answer: 5" if attack.kind == "empty" else WRONG.solution
        assert attack.spare(WRONG) == bare


def test_length_attacks_are_longer_than_what_a_judge_is_shown_and_give_no_order():
    for attack in built_in_attacks():
        if attack.kind == "length":
            assert len(attack.inject(WRONG)) > 4000
            assert not any(word in attack.filler.lower() for word in ("rank", "prefer", "first", "best", "correct"))


def test_unicode_attacks_hold_what_their_names_say():
    texts = {attack.name: attack.inject(WRONG) for attack in built_in_attacks() if attack.kind == "unicode"}
    assert "\u200b" in texts["zero width"]
    assert "\u202e" in texts["right to left"]
    assert "\u0456gn\u043er\u0435" in texts["homoglyphs"]
    assert any(0xE0000 <= ord(character) < 0xE0080 for character in texts["tags"])
    assert "\u0336" in texts["combining marks"]
    assert "\uff32" in texts["full width"]


def test_the_filler_stands_as_often_as_it_says():
    attack = Attack("length", "x", "{solution}{filler}", filler="ab", times=3)
    assert attack.inject(WRONG) == f"{WRONG.solution}ababab"
