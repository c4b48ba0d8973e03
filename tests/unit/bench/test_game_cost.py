import numpy as np

from aligngraph.bench.game_cost import GameSize, _preference, measure_game
from aligngraph.policy import initial_policy, play
from aligngraph.randomness import generator


def test_its_preference_is_one_and_every_step_is_played():
    preference = _preference(generator(0, "test").random((6, 6)))
    start = initial_policy(np.full((3, 6), 1 / 6))
    assert play(start, preference, max_steps=40, tolerance=0).steps == 40


def test_a_game_takes_longer_than_its_products():
    game, ratio = measure_game(2, GameSize(players=3, answers=4, steps=20))
    assert (game.unit, ratio.unit) == ("ms", "times")
    assert "3 players x 4 answers, 20 steps" in game.name
    assert min(ratio.values) > 1
    assert len(game.values) == len(ratio.values) == 2
