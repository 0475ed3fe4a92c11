"""What a privacy goal allows in a class, as far as a lower bound uses it (see `bound.goal_prices`).

A class is taken as k rows in all, each of them a whole row or a part of one, and counted in units: so many to
a row. Each value may have so many units of its own, and all values together some more. Counting rows from the
highest price on, and of each as many units as are still allowed, gives the class with the highest prices: the
allowance is a flow from rows by their values to k rows in all, so no row that was counted has to give way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner

BEYOND, N_VALUES = 0, 1  # of what is counted: units left beyond those of each value; values seen


class Allowance(NamedTuple):
    """The value of each of m tuples, and what V values may have; with scratch of one thread."""

    value: np.ndarray  # int32 (m): of each tuple; rows that lack one have a value to themselves
    own: np.ndarray  # int64 (V): units that each value may have
    beyond: int  # units that all values together may have beyond their own
    needed: int  # different values that a class needs
    is_value: np.ndarray  # int64 (V): 1 for each value, 0 for the lack of one
    unit: int  # units of one row
    taken: np.ndarray  # int64 (V): scratch: units counted, -1 before the value has been seen
    state: np.ndarray  # int64 (2): scratch: BEYOND, N_VALUES


@inner
def begin_counting(allowance):
    """Forget what has been counted. Writes `allowance`."""
    if allowance is not None:
        for value in range(allowance.taken.shape[0]):
            allowance.taken[value] = -1
        allowance.state[BEYOND], allowance.state[N_VALUES] = allowance.beyond, 0


@inner
def units_of(allowance, k):
    """Return how many units k rows are; without goals, rows are units."""
    if allowance is None:
        return np.int64(k)
    return np.int64(k * allowance.unit)


@inner
def count(allowance, one, rows, left):
    """Count the rows of a tuple as far as allowed; return how many of `left` units. Writes `allowance`."""
    if allowance is None:
        return min(left, rows)
    value = allowance.value[one]
    if allowance.taken[value] < 0:
        allowance.taken[value] = 0
        allowance.state[N_VALUES] += allowance.is_value[value]
    wanted = min(left, rows * allowance.unit)
    own = max(np.int64(0), min(wanted, allowance.own[value] - allowance.taken[value]))
    beyond = min(wanted - own, allowance.state[BEYOND])
    allowance.taken[value] += own
    allowance.state[BEYOND] -= beyond
    return own + beyond


@inner
def has_values(allowance):
    """Return whether enough different values have been seen."""
    if allowance is None:
        return True
    return allowance.state[N_VALUES] >= allowance.needed


@inner
def in_rows(allowance, total):
    """Return a sum over units as one over rows, rounded up."""
    if allowance is None:
        return total
    return -((-total) // allowance.unit)
