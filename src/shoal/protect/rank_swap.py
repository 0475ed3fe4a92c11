"""Rank swapping: each value changes places with one of nearby rank, so every value stays in the column.

Values are sorted. From the lowest on, each that has not been swapped yet is swapped with one drawn from those
that have not been swapped either and whose rank is at most p % of the rows higher [moore1996]_. If there is
none, it keeps its place.

References
----------
.. [moore1996] Moore. Controlled Data-Swapping Techniques for Masking Public Use Microdata Sets. U.S. Bureau
   of the Census, Statistical Research Division Report RR 96/04 (1996).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor

import numpy as np

from shoal.arrays import LongArray

_BLOCK = 1 << 14  # random numbers drawn at a time


def window_of(n_values: int, percent: float) -> int:
    """Return how many ranks apart two values may be that are swapped; at least one."""
    return max(1, floor(Fraction(repr(percent)) / 100 * n_values))


def partners(n_values: int, window: int, draw: Callable[[], float]) -> LongArray:
    """Return, for each rank, the rank that it is swapped with; its own if with none.

    Parameters
    ----------
    n_values, window : int
        The number of values, and how far apart ranks may be.
    draw : callable
        Returns a number from 0 up to, but not including, 1.

    Notes
    -----
    Ranks above the window of all before are free, so the number of free ones in a window is known without
    looking. One of them is found by drawing ranks of the window until one is free, about once per value on
    average: where few are free, few values are left that need one.
    """
    partner = list(range(n_values))
    is_free = bytearray(b"\1" * n_values)
    end = min(window, n_values - 1)  # the last rank in the window of rank 0
    n_free = end
    for rank in range(n_values):
        if is_free[rank]:
            if n_free:
                width = end - rank
                other = rank + 1 + int(draw() * width)
                while not is_free[other]:
                    other = rank + 1 + int(draw() * width)
                partner[rank], partner[other] = other, rank
                is_free[other] = 0
                n_free -= 1
            is_free[rank] = 0
        if end + 1 < n_values:
            end += 1
            n_free += 1
        if rank + 1 < n_values and is_free[rank + 1]:
            n_free -= 1  # it leaves the window as its first rank
    return np.array(partner, dtype=np.int64)


def drawing(random: np.random.Generator) -> Callable[[], float]:
    """Return a function that draws numbers one by one, faster than the generator does."""
    waiting: list[float] = []

    def draw() -> float:
        if not waiting:
            waiting.extend(random.random(_BLOCK).tolist())
        return waiting.pop()

    return draw
