"""Several principals as one: each sees what it may see, and their preferences are pooled by trust."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aligngraph.isolation import attempt
from aligngraph.randomness import sampling_seed
from aligngraph.ranking.contract import LEAST_COMPARABLE, Option, Preference, Ranker, RankingCall, RankingTask
from aligngraph.ranking.listwise import average


@dataclass(frozen=True)
class Seat:
    """One member of a panel.

    Attributes:
        ranker: how it is asked, and who.
        trust: weight of its word, > 0.
        options: what it is shown in place of the task's options, by their number; the others it does not see. None
            shows it all of them.
        max_solution_chars: where it is other than the task's.
    """

    ranker: Ranker
    trust: float = 1.0
    options: Mapping[int, Option] | None = None
    max_solution_chars: int | None = None

    async def rank(self, work: RankingTask) -> Preference:
        """Return the member's preference among all options of `work`; it abstains from those it does not see."""
        shown = dict(enumerate(work.options)) if self.options is None else self.options
        numbers = sorted(shown)
        if len(numbers) < LEAST_COMPARABLE:
            return Preference.none(len(work.options))
        seen = replace(
            work,
            options=tuple(shown[number] for number in numbers),
            max_solution_chars=self.max_solution_chars or work.max_solution_chars,
        )
        ended = await attempt(self.ranker.rank(seen), None)  # each call of it has its own limit
        if ended.value is None:
            return Preference.none(len(work.options), [RankingCall({}, "", "failed", problem=ended.cause)])
        return ended.value.widen(numbers, len(work.options))


@dataclass(frozen=True)
class PanelRanker:
    """Asks every seat at once; each pair of options goes by the trust-weighted mean of the members that judged both."""

    seats: tuple[Seat, ...]

    async def rank(self, work: RankingTask) -> Preference:
        """Return the pooled preference."""
        return self.pool(await self.rank_each(work))

    async def rank_each(self, work: RankingTask) -> list[Preference]:
        """Return what each member prefers, in the order of the seats."""
        works = [replace(work, seed=sampling_seed(work.seed, "seat", number)) for number in range(len(self.seats))]
        return list(await asyncio.gather(*(seat.rank(own) for seat, own in zip(self.seats, works, strict=True))))

    def pool(self, preferences: Sequence[Preference]) -> Preference:
        """Return what the members prefer together: the only one's own preference, else the mean weighed by trust."""
        if len(preferences) == 1:
            return preferences[0]
        return average(preferences, [seat.trust for seat in self.seats])
