"""Which pairs are compared, and what follows from the comparisons for the pairs that are not."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from aligngraph.ranking.contract import Matrix, RankingCall


@dataclass(frozen=True)
class Duel:
    """One comparison.

    Attributes:
        pair: numbers of the two options, the lower one first.
        winner: the better one's number; None leaves the pair open.
        calls: the calls that it took.
    """

    pair: tuple[int, int]
    winner: int | None
    calls: tuple[RankingCall, ...] = ()


Compare = Callable[[int, int], Awaitable[Duel]]


@dataclass(frozen=True)
class _Run:
    """Options sorted by the duels: no one is placed behind one that it beat."""

    order: list[int]
    duels: list[Duel]


async def compare_all(order: Sequence[int], compare: Compare) -> list[Duel]:
    """Return a duel for each of the K (K - 1) / 2 pairs, all fought at once."""
    return list(await asyncio.gather(*(compare(y, z) for y, z in combinations(sorted(order), 2))))


async def compare_sorting(order: Sequence[int], compare: Compare) -> list[Duel]:
    """Return the duels, at most K ceil(log2 K), by which a merge sort orders the options.

    Args:
        order: the options in the order from which the sort starts.
        compare: awaited for all merges of a level at once.
    """
    return (await _sort(list(order), compare)).duels


def infer_matrix(duels: Sequence[Duel], options: int) -> Matrix:
    """Return the probability for each pair that the one is preferred to the other.

    Measured are the pairs of the duels: 1 for the winner, 1/2 where the duel left it open. Inferred are the other ones:
    1 for the option from which a chain of won duels leads to the other and none leads back, as in any ranking of which
    only neighbours were compared; 1/2 without such a chain.
    """
    measured = {duel.pair: duel.winner for duel in duels}
    beaten: Mapping[int, set[int]] = _beaten(duels)
    below = [_reach(option, beaten) for option in range(options)]

    def chance(y: int, z: int) -> float:
        if (y, z) in measured:
            return 0.5 if measured[y, z] is None else float(measured[y, z] == y)
        return 0.5 + 0.5 * ((z in below[y]) - (y in below[z]))

    numbers = range(options)
    return tuple(tuple(chance(y, z) if y < z else 1 - chance(z, y) for z in numbers) for y in numbers)


def decided_options(duels: Sequence[Duel]) -> list[int]:
    """Return the numbers of the options with at least one decided duel, ascending."""
    return sorted({option for duel in duels if duel.winner is not None for option in duel.pair})


async def _sort(order: list[int], compare: Compare) -> _Run:
    if len(order) <= 1:
        return _Run(order, [])
    middle = len(order) // 2
    left, right = await asyncio.gather(_sort(order[:middle], compare), _sort(order[middle:], compare))
    return await _merge(left, right, compare)


async def _merge(left: _Run, right: _Run, compare: Compare) -> _Run:
    duels = [*left.duels, *right.duels]
    first, second, merged = left.order[:], right.order[:], list[int]()
    while first and second:
        duels.append(await compare(first[0], second[0]))
        # After an open duel the longer run moves on: one option that no duel decides must not use up the other run.
        longer = first if len(first) > len(second) else second
        merged.append(next((run for run in (first, second) if run[0] == duels[-1].winner), longer).pop(0))
    return _Run([*merged, *first, *second], duels)


def _beaten(duels: Sequence[Duel]) -> dict[int, set[int]]:
    beaten: dict[int, set[int]] = defaultdict(set)
    for duel in duels:
        if duel.winner is not None:
            beaten[duel.winner].add(sum(duel.pair) - duel.winner)
    return beaten


def _reach(option: int, beaten: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    frontier = [option]
    while frontier:
        new = beaten.get(frontier.pop(), set()) - found
        found |= new
        frontier.extend(new)
    return found
