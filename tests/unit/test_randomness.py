from aligngraph.randomness import MAX_SEED, fresh_seed, generator, sampling_seed


def test_a_unit_of_work_always_draws_the_same():
    assert generator(7, 1, "careful", 0).random() == generator(7, 1, "careful", 0).random()
    assert sampling_seed(0, 1, "careful", 0) == sampling_seed(0, 1, "careful", 0)


def test_no_two_units_share_a_stream():
    paths = [
        (seed, *path) for seed in (0, 1) for path in ((1, "a", 0), (1, "a", 1), (2, "a", 0), (1, "b", 0), (1, "a"), ())
    ]
    assert len({generator(*path).random() for path in paths}) == len(paths)
    assert len({sampling_seed(*path) for path in paths}) == len(paths)


def test_zero_is_a_seed_like_any_other():
    assert generator(0).random() != generator(1).random()


def test_names_and_numbers_are_not_confused():
    assert sampling_seed(1, "2", "3") != sampling_seed(1, 2, 3) != sampling_seed(1, "23")


def test_sampling_seeds_are_what_providers_take():
    assert all(0 <= sampling_seed(seed) <= MAX_SEED for seed in range(500))
    assert all(0 <= fresh_seed() <= MAX_SEED for _ in range(50))


def test_a_seed_made_on_any_machine_is_the_same():
    assert sampling_seed(7, 1, "careful", 0) == 835685142
