"""Which neighbouring values of a range are taken together (see `bound.raising`)."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from shoal.arrays import FloatArray, IntArray, LongArray

# 0 would make bunches equally wide: one would hold nearly all rows if a few are far away. 1 would leave those
# few, which lose the most, in one bunch.
_CROWDED = 0.75

_Bunch = tuple[float, int, int]  # less what it costs, so that the dearest comes first; from, to


def bunches(values: IntArray, rows: LongArray, span: int, together: float) -> LongArray:
    """Return where bunches of neighbouring values begin.

    There are as many as if each were as wide as this share of the range. But boxes are narrow where many rows
    are and wide where few are, and bunches should be as well. A bunch costs its width times a power of its
    rows: the one that costs most is cut where its parts cost least, again and again.

    Parameters
    ----------
    values : ndarray of int32
        The different positions, in order. Missing values lie beyond the range, and stay alone.
    rows : ndarray of int64
        How many rows have each.
    span : int
        The width of the range.
    together : float
        A share of it, above 0.
    """
    n_inside = int(np.searchsorted(values, span, side="right"))
    place, before = values.astype(np.float64), np.append(0.0, np.cumsum(rows))
    bunch: list[_Bunch] = [(0.0, 0, n_inside)] if n_inside else []
    for _ in range(1, _n_of_equal_width(values[:n_inside], together * span)):
        _, begin, end = heappop(bunch)
        for part in _parts(place, before, begin, end):
            heappush(bunch, part)
    begins = sorted(begin for _, begin, _ in bunch)
    return np.array([*begins, *range(n_inside, len(values))], np.int64)


def _n_of_equal_width(values: IntArray, width: float) -> int:
    """Return how many bunches there are if each is as wide as it may be."""
    n, at = 0, 0
    while at < len(values):
        n, at = n + 1, int(np.searchsorted(values, values[at] + width, side="right"))
    return n


def _parts(place: FloatArray, before: FloatArray, begin: int, end: int) -> list[_Bunch]:
    """Cut a bunch of several values in two."""
    cuts = np.arange(begin + 1, end)
    left = (place[cuts - 1] - place[begin]) * (before[cuts] - before[begin]) ** _CROWDED
    right = (place[end - 1] - place[cuts]) * (before[end] - before[cuts]) ** _CROWDED
    at = int(np.argmin(left + right))
    return [(-float(left[at]), begin, int(cuts[at])), (-float(right[at]), int(cuts[at]), end)]
