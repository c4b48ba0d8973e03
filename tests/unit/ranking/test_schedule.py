import asyncio
import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligngraph.ranking.schedule import Duel, compare_all, compare_sorting, decided_options, infer_matrix

SIZES = (1, 2, 3, 9, 16, 25)


class Arena:
    """Fights duels by a rule and keeps who met whom, in the order asked."""

    def __init__(self, rule):
        self.rule, self.met = rule, []

    async def compare(self, y, z):
        self.met.append((y, z))
        await asyncio.sleep(0)
        return Duel((min(y, z), max(y, z)), self.rule(min(y, z), max(y, z)))


def lower(y, z):
    return y


def open_pair(y, z):
    return None


@given(st.permutations(range(9)))
def test_sorting_recovers_a_total_order_from_any_start(order):
    duels = asyncio.run(compare_sorting(order, Arena(lower).compare))
    matrix = infer_matrix(duels, 9)
    assert all(matrix[y][z] == 1 and matrix[z][y] == 0 for y, z in combinations(range(9), 2))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rule", [lower, open_pair, lambda y, z: None if (y + z) % 3 else z])
async def test_sorting_takes_no_more_than_k_log_k_comparisons_and_none_twice(size, rule):
    arena = Arena(rule)
    duels = await compare_sorting(range(size), arena.compare)
    assert len(duels) == len(arena.met) <= size * math.ceil(math.log2(size))
    assert len({duel.pair for duel in duels}) == len(duels)


async def test_all_pairs_are_each_compared_once():
    duels = await compare_all([3, 1, 0, 2], Arena(lower).compare)
    assert [duel.pair for duel in duels] == list(combinations(range(4), 2))


async def test_merges_of_one_level_do_not_wait_for_each_other():
    arena = Arena(lower)
    await compare_sorting(range(8), arena.compare)
    assert arena.met[:4] == [(0, 1), (2, 3), (4, 5), (6, 7)]


async def test_duels_come_in_the_same_order_whatever_finishes_first():
    async def slow_when(condition):
        async def compare(y, z):
            for _ in range(5 if condition(y) else 0):
                await asyncio.sleep(0)
            return Duel((min(y, z), max(y, z)), min(y, z))

        return await compare_sorting([5, 2, 8, 0, 7, 1, 3, 6, 4], compare)

    assert await slow_when(lambda y: y % 2) == await slow_when(lambda y: not y % 2)


@given(st.integers(2, 14), st.randoms(use_true_random=False))
def test_a_sort_never_concludes_against_what_was_measured_whoever_wins(size, random):
    fought = {pair: random.choice([*pair, None]) for pair in combinations(range(size), 2)}
    duels = asyncio.run(compare_sorting(range(size), Arena(lambda y, z: fought[y, z]).compare))
    matrix = infer_matrix(duels, size)
    for duel in duels:
        y, z = duel.pair
        assert matrix[y][z] == (0.5 if duel.winner is None else float(duel.winner == y))
    assert all(matrix[y][z] + matrix[z][y] == 1 for y in range(size) for z in range(size))
    assert all(matrix[y][y] == 0.5 for y in range(size))


async def test_one_option_that_no_duel_decides_leaves_most_of_the_order_to_be_found():
    found = []
    for unjudged in range(9):
        arena = Arena(lambda y, z, unjudged=unjudged: None if unjudged in (y, z) else y)
        matrix = infer_matrix(await compare_sorting(range(9), arena.compare), 9)
        others = [number for number in range(9) if number != unjudged]
        found += [matrix[y][z] for y, z in combinations(others, 2)]
        assert all(matrix[unjudged][other] == 0.5 for other in others)
    assert 0.5 * found.count(0.5) + found.count(1) == sum(found)  # nothing false is concluded
    assert found.count(1) > 0.9 * len(found)


def test_a_pair_that_was_not_compared_follows_from_a_chain():
    matrix = infer_matrix([Duel((0, 1), 0), Duel((1, 2), 1), Duel((2, 3), 2)], 5)
    assert (matrix[0][3], matrix[3][0]) == (1, 0)
    assert [matrix[4][other] for other in range(4)] == [0.5] * 4


def test_an_open_duel_ends_a_chain_and_stays_open():
    matrix = infer_matrix(
        [Duel((0, 1), 0), Duel((1, 2), None), Duel((0, 3), 0), Duel((2, 3), 3), Duel((0, 2), None)], 4
    )
    assert matrix[0][2] == 0.5  # measured, though 0 beat 3 and 3 beat 2
    assert matrix[1][2] == matrix[1][3] == 0.5


def test_a_chain_in_either_direction_concludes_nothing():
    matrix = infer_matrix([Duel((0, 1), 0), Duel((1, 2), 1), Duel((2, 3), 2), Duel((0, 3), 3)], 4)
    assert (matrix[0][2], matrix[1][3]) == (0.5, 0.5)


def test_options_are_decided_that_won_or_lost_at_least_one_duel():
    assert decided_options([Duel((0, 3), 3), Duel((0, 1), None), Duel((1, 2), None)]) == [0, 3]
