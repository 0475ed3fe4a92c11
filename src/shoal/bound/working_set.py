"""A working set of boxes: those that had the greatest excess over some row in a pass over all boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.bound.separation import Separation


class WorkingSet:
    """Boxes that had the greatest excess over some tuple, and the rows inside them.

    Parameters
    ----------
    separation : Separation
    """

    def __init__(self, separation: Separation) -> None:
        from shoal.kernels.working_set import Boxes

        self._separation, self.k = separation, separation.k
        self._last = separation.priced.code[-1][separation.by_value]
        self.keys = np.zeros((0, 2 * len(separation.priced.code)), np.int32)
        nothing = np.zeros(0, np.int64)
        self.boxes: Any = Boxes(np.zeros(1, np.int64), np.zeros(0, np.int32), nothing, separation.priced.size)

    def add(self, found: IntArray) -> None:
        """Add boxes as a pass found them; rows of -1 are none."""
        known = len(self.keys)
        both = np.vstack([self.keys, np.unique(found[found[:, 0] >= 0], axis=0)])
        _, first = np.unique(both, axis=0, return_index=True)
        new = both[np.sort(first[first >= known])]
        begin, inside, cost = self._listed(new)
        old = self.boxes
        self._set(
            np.vstack([self.keys, new]),
            np.append(old.begin, old.begin[-1] + begin[1:]),
            np.append(old.inside, inside),
            np.append(old.cost, cost),
        )

    def keep(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Keep some boxes only."""
        sizes, old = np.diff(self.boxes.begin), self.boxes
        begin = np.append(0, np.cumsum(sizes[chosen]))
        self._set(self.keys[chosen], begin, old.inside[np.repeat(chosen, sizes)], old.cost[chosen])

    @property
    def n_inside(self) -> int:
        """The tuples inside all boxes together."""
        return len(self.boxes.inside)

    def weigh(self, prices: LongArray) -> LongArray:
        """Return k times the greatest excess of these boxes over each tuple."""
        from shoal.kernels.working_set import weigh

        self.by_rank = np.argsort(prices, kind="stable")
        self.rank = np.empty(len(prices), np.int64)
        self.rank[self.by_rank] = np.arange(len(prices))
        weigh(self.boxes, self._separation.allowance, self.k, prices, self.rank, self.by_rank, self.weighed)
        best: LongArray = self.weighed.best
        return best

    def load(self, softness: float, cut: int) -> FloatArray:
        """Return how often the best boxes count each row, at the prices weighed last."""
        from shoal.kernels.working_set import load_rows

        allowance = self._separation.allowance
        load_rows(self.boxes, allowance, self.k, self.rank, self.by_rank, softness, cut, self.weighed)
        load: FloatArray = self.weighed.load
        return load

    def _listed(self, keys: IntArray) -> tuple[LongArray, IntArray, LongArray]:
        """Return where each box's tuples begin, the tuples, and what the boxes cost."""
        from shoal.kernels.working_set import list_inside

        low, high, cost = self._separation.corners(keys)
        first = np.searchsorted(self._last, low[:, -1])
        stop = np.searchsorted(self._last, high[:, -1], side="right")
        begin, inside = np.zeros(len(keys) + 1, np.int64), np.zeros(0, np.int32)
        given = self._separation.priced.code, low, high, self._separation.by_value, first, stop
        list_inside(*given, begin, inside, True)
        inside = np.zeros(begin[-1], np.int32)
        list_inside(*given, begin, inside, False)
        return begin, inside, cost

    def _set(self, keys: IntArray, begin: LongArray, inside: IntArray, cost: LongArray) -> None:
        from shoal.kernels.working_set import empty_weighed

        self.keys = keys
        self.boxes = self.boxes._replace(begin=begin, inside=inside, cost=cost)
        self.weighed: Any = empty_weighed(len(keys), self._separation.m)
