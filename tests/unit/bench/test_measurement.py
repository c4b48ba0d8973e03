import json

import pytest

from aligngraph.bench.measurement import Measurement


@pytest.mark.parametrize(
    ("values", "limit", "verdict"),
    [
        ((1.0, 2.0, 9.0), 2.0, "ok"),
        ((1.0, 2.1, 2.2), 2.0, "over"),
        ((3.0,), 2.0, "over"),
        ((0.0, 0.0), 0.0, "ok"),
        ((9.0,), None, None),
    ],
)
def test_the_median_is_held_to_the_limit(values, limit, verdict):
    assert Measurement("x", "ms", values, limit).verdict == verdict


def test_a_row_is_plain_json():
    row = Measurement("x", "ms", (3.0, 1.0, 2.0), 2.0).as_json()
    assert row == {
        "name": "x",
        "unit": "ms",
        "median": 2.0,
        "min": 1.0,
        "max": 3.0,
        "repeats": 3,
        "limit": 2.0,
        "verdict": "ok",
    }
    assert json.loads(json.dumps(row)) == row
