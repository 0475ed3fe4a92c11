"""Sums over all rows."""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, LongArray


def total_of(prices: LongArray | FloatArray, size: LongArray) -> float:
    """Add up the prices of all rows; `size` says how many rows have each.

    Not by `prices @ size`: from 10,000 numbers on that is shared out among threads that wait for each other
    all the time, and the last digits depend on their number.
    """
    return float((prices.astype(np.float64) * size).sum())
