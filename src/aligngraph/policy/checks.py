"""What the numeric core accepts: each function returns its argument as float64 or integers, or raises ValueError."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TOLERANCE: Final = 1e-9  # how far a sum of probabilities may be off, in absolute terms


def finite_array(name: str, values: npt.ArrayLike, *, ndim: int) -> FloatArray:
    """Return `values` as a non-empty, finite array of `ndim` dimensions."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim or array.size == 0:
        raise ValueError(f"{name}: got shape {array.shape}, allowed is a non-empty array of {ndim} dimension(s)")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: got {array[~np.isfinite(array)][0]!s}, allowed are finite numbers")
    return array


def non_negative(name: str, values: npt.ArrayLike, *, ndim: int) -> FloatArray:
    """Return `values` as a non-empty, finite array of numbers >= 0."""
    array = finite_array(name, values, ndim=ndim)
    if (array < 0).any():
        raise ValueError(f"{name}: got {array.min()!s} in shape {array.shape}, allowed are numbers >= 0")
    return array


def simplex_rows(name: str, values: npt.ArrayLike, *, ndim: int = 2) -> FloatArray:
    """Return `values` as an array whose last axis holds probabilities: >= 0, each row summing to 1."""
    array = non_negative(name, values, ndim=ndim)
    sums = array.sum(axis=-1)
    worst = float(np.ravel(sums)[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > TOLERANCE:
        raise ValueError(f"{name}: got a row with sum {worst!r} in shape {array.shape}, allowed is a sum of 1")
    return array


def preference_matrix(values: npt.ArrayLike, *, answers: int) -> FloatArray:
    """Return `values` as `[K, K]` probabilities with values + values.T = 1, hence 1/2 on the diagonal."""
    array = non_negative("preference", values, ndim=2)
    if array.shape != (answers, answers):
        raise ValueError(f"preference: got shape {array.shape}, allowed is ({answers}, {answers}), one row an answer")
    gap = np.abs(array + array.T - 1)
    y, z = np.unravel_index(gap.argmax(), gap.shape)
    if gap[y, z] > TOLERANCE:
        got = f"[{y}, {z}] = {array[y, z]!s} with [{z}, {y}] = {array[z, y]!s}"
        raise ValueError(f"preference: got {got} in shape {array.shape}, allowed are pairs with sum 1")
    return array


def same_length(name: str, values: npt.NDArray[np.generic], length: int) -> None:
    """Check that the first axis of `values` has `length` entries."""
    if len(values) != length:
        raise ValueError(f"{name}: got shape {values.shape}, allowed is a first axis of {length}")


def positive_number(name: str, value: float) -> float:
    """Return `value` if it is finite and > 0."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name}: got {value!r}, allowed is a finite number > 0")
    return float(value)


def non_negative_number(name: str, value: float) -> float:
    """Return `value` if it is finite and >= 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name}: got {value!r}, allowed is a finite number >= 0")
    return float(value)


def seed_positions(values: npt.ArrayLike, *, answers: int) -> IntArray:
    """Return `values` as `[K]` distinct integers: where each answer was first seen in seed order."""
    array = np.asarray(values)
    if array.shape != (answers,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"first_seen: got {array.dtype} of shape {array.shape}, allowed are integers of ({answers},)")
    if np.unique(array).size != answers:
        raise ValueError(f"first_seen: got {array.tolist()!r}, allowed are distinct positions, or ties stay open")
    return array.astype(np.int64)
