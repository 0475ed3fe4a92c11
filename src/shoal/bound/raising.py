"""Raise feasible prices, where v is only known to be below something or a pass over all boxes takes long.

Let p be feasible prices (see `bound.prices`), and q >= p any others. Let v_i be the greatest excess at q of a
box that holds row i, or any number above it. Then these prices are feasible too, and nowhere below p:

    q_i - v_i where v_i <= 0,  p_i elsewhere.

Proof. Let B be a box, and e its excess at q. If e > 0, all rows of B have v_i >= e > 0 and keep their price,
so B has no excess, as before. If e <= 0, no row of B gets more than q_i - e: either v_i >= e, or it keeps p_i
<= q_i. So the mean of any k prices in B rises by at most -e over the k highest of q: to D(B) at most.

Nothing is lost where v is overestimated by much: such rows keep their price. So v may come from boxes that
cost less than they should. With several numeric columns there are too many boxes to go through. *Taking
neighbouring values together* leaves far fewer: a box from one bunch of values to another holds all rows of
both, and costs what the ends that face each other are apart. Any box lies in such a box that costs no more,
so its excess is no higher. Bunches (`bound.bunches`) get narrower as long as there is time.

For the same reason, only rows whose v may be below 0 are searched for, and v that is far below 0 is left at a
floor. q is beyond p by about what the pass before allowed: prices that rise pass after pass get there
sooner, and rows for which that was too much stay where they were.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.arrays import FloatArray, LongArray
from shoal.bound.progress import Share
from shoal.bound.separation import Separation
from shoal.bound.sums import total_of
from shoal.bound.working_set import WorkingSet

TOGETHER = (0.2, 0.1, 0.05, 0.025, 0.0125)  # of a range: the mean width of bunches, one level after the other
_WORK_PER_BOX = 10  # steps, at least: where there are more boxes than that allows, no pass is begun
_PASSES = 12  # for each level, at most
_LEAST_GAIN = 0.01  # of the sum: after a pass that gains less, the next level is begun
_FLOOR = 0.3  # of the mean price: below 0 by so much, v is not searched for, at first
_LEAST_FLOOR = 1 / 64  # of the cost of a whole row
_ALL = 0.9  # of what was gained: if rows at the floor have that share, it is far too high,
_MUCH = 0.5  # and with that share too high as long as passes are cheap:
_CHEAP = 20  # of these would be all the work
_NEXT_FLOOR = 4.0, 2.0, 1.0, 0.65  # times the floor: then, then, with the same share elsewhere, otherwise
_BEYOND = 1.0, 0.5  # times the last raise that q is beyond p: for rows at the floor, and others
_AFTER_FAILURE = 0.25  # times as far for a row that was raised by too much


class Raising:
    """Feasible prices that rise from pass to pass.

    Parameters
    ----------
    prices : ndarray of int64
        Feasible prices of distinct tuples, in fixed-point steps.
    size : ndarray of int64
        How many rows have each.
    k : int
    whole : int
        What a row costs that is generalized completely.
    work : int
        In steps of a pass; none is begun after that, and one that has been begun may take as much again.
    tick : callable
        Called with the share that is done.
    """

    def __init__(
        self, prices: LongArray, size: LongArray, k: int, whole: int, work: int, tick: Share
    ) -> None:
        self.prices = prices
        self._size, self._k, self._limit, self._tick = size, k, work, tick
        self._work = 0
        self.most_gained = TOGETHER[0]  # the width of bunches by which prices have risen most
        self._floor = max(_FLOOR * self._total / float(size.sum()), _LEAST_FLOOR * whole)

    def by_bunches(self, separation_of: Callable[[float], Separation]) -> LongArray:
        """Raise prices with narrower and narrower bunches of values; return them."""
        most = 0.0
        for together in TOGETHER:
            separation, before = separation_of(together), self._total
            if separation.n_boxes * _WORK_PER_BOX > self._limit:
                break
            has_time = self.by(separation)
            if self._total - before > most:
                most, self.most_gained = self._total - before, together
            if not has_time:
                break
        return self.prices

    def by(self, separation: Separation) -> bool:
        """Raise prices in a few passes over the same boxes; return whether there was time for them."""
        boxes = WorkingSet(separation)
        beyond = np.zeros(separation.m)
        hopeless: LongArray | None = None
        for _ in range(_PASSES):
            if self._work >= self._limit:
                return False
            before = self._total
            tried = self.prices + beyond.astype(np.int64)
            least = -int(self._floor * self._k)
            known = self._known(separation, boxes, tried, least)
            if hopeless is not None:
                known = np.maximum(known, hopeless)
            found = separation.excess(tried, known, 2 * self._limit - self._work, enough=0)
            if found is None:
                return False
            excess, where, steps = found
            self._work += steps
            self._tick(min(1.0, self._work / self._limit))
            is_raised = excess <= 0
            boxes.add(where[is_raised] if hopeless is not None else where)
            if hopeless is None:
                # Nothing is beyond p yet: if v is above 0 now, it stays there while the boxes are the same.
                hopeless = np.where(is_raised, separation.lowest, separation.highest)
            beyond = self._raise(tried, excess, least, beyond, is_cheap=_CHEAP * steps < self._limit)
            if self._total < before * (1 + _LEAST_GAIN):
                break
        return True

    @property
    def _total(self) -> float:
        return total_of(self.prices, self._size)

    def _known(self, separation: Separation, boxes: WorkingSet, prices: LongArray, least: int) -> LongArray:
        """Return k times v of each row, of known boxes, but no less than a floor; above 0 it is enough."""
        excess = np.full(separation.m, separation.lowest)
        if len(boxes.keys):
            self._work += 4 * boxes.n_inside
            excess = boxes.weigh(prices)
        return np.where(excess > 0, separation.highest, np.maximum(excess, least))

    def _raise(
        self, tried: LongArray, excess: LongArray, least: int, beyond: FloatArray, *, is_cheap: bool
    ) -> FloatArray:
        """Raise the prices of rows that have room; return how far beyond to try each in the next pass."""
        is_raised, is_at_floor = excess <= 0, excess <= least
        gained = np.where(is_raised, (-excess) // self._k, 0)
        self.prices = np.where(is_raised, tried + gained, self.prices)
        at_floor = float(gained[is_at_floor].sum() / max(1, gained.sum()))
        far, further, same, nearer = _NEXT_FLOOR
        if at_floor >= _MUCH:
            self._floor *= far if at_floor >= _ALL else further if is_cheap else same
        else:
            self._floor *= nearer
        # Room is left beside a row if only the floor has stopped most rows, or few rise at all.
        stopped = float(is_at_floor.sum() / max(1, is_raised.sum()))
        hope = 1.0 if is_cheap else max(stopped**2, 1.0 - float(is_raised.mean()))
        beyond_next = hope * np.where(is_at_floor, *_BEYOND) * gained
        return np.where(is_raised, beyond_next, _AFTER_FAILURE * beyond)
