"""What a large game costs, next to the matrix products that it cannot do without."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aligngraph.bench.measurement import Measurement
from aligngraph.policy import initial_policy, play
from aligngraph.randomness import generator

GAME_MS = 150
OVER_PRODUCTS = 3
BEST_OF = 5


@dataclass(frozen=True)
class GameSize:
    """Players, answers, steps."""

    players: int = 64
    answers: int = 256
    steps: int = 200


def measure_game(repeats: int, size: GameSize | None = None) -> list[Measurement]:
    """Return the time of a whole game, and its ratio to its products alone, measured in turn; each the best of several."""
    chosen = size or GameSize()
    draw = generator(0, "bench", "game")
    start = initial_policy(draw.dirichlet(np.ones(chosen.answers), size=chosen.players))
    preference = _preference(draw.random((chosen.answers, chosen.answers)))
    games, ratios = [], []
    for _ in range(repeats):
        game = products = np.inf
        for _ in range(BEST_OF):
            game = min(game, _time_ms(lambda: play(start, preference, max_steps=chosen.steps, tolerance=0)))
            products = min(products, _time_ms(lambda: _multiply(start, preference, chosen.steps)))
        games.append(float(game))
        ratios.append(float(game / products))
    what = f"game of {chosen.players} players x {chosen.answers} answers, {chosen.steps} steps"
    return [
        Measurement(what, "ms", tuple(games), GAME_MS),
        Measurement(f"{what}, over its matrix products", "times", tuple(ratios), OVER_PRODUCTS),
    ]


def _preference(drawn: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a preference matrix: each pair sums to 1."""
    upper = np.triu(drawn, 1)
    return upper + np.tril(1 - upper.T, -1) + np.eye(len(drawn)) / 2


def _multiply(policy: npt.NDArray[np.float64], preference: npt.NDArray[np.float64], steps: int) -> None:
    for _ in range(steps):
        np.matmul(policy, preference.T)


def _time_ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000
