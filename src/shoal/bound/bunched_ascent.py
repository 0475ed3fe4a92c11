"""The ascent of `bound.prices`, with boxes that cost too little.

Raised prices (`bound.raising`) end where none can rise alone, though some could rise if others fell. Let p be
feasible prices, q any others, and v_i the greatest excess at q of a box that holds row i, or any number above
it. Then these prices are feasible:

    q_i - v_i where v_i <= 0,  the lower of p_i and q_i elsewhere.

Proof. Let B be a box, and e its excess at q. If e > 0, all rows of B have v_i >= e > 0 and get p_i at most,
so B has no excess. If e <= 0, no row of B gets more than q_i - e: either v_i >= e, or it gets q_i at most. So
the mean of any k prices in B is at most -e more than that of the k highest q, which is D(B).

So q may be lower than p in some rows, and the sum rises if others gain more. Where v is above 0 at p itself,
because a box that holds the row costs too little, it is not searched for again: such rows keep their prices.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, LongArray
from shoal.bound.prices import Ascent, Plan
from shoal.bound.progress import Share
from shoal.bound.separation import Separation

_FLOOR = 0.1  # of the mean price: v that is further below 0 is left there
_MOST_ROOM = 2.0  # times the mean price that a row may have


class BunchedAscent(Ascent):
    """The best feasible prices so far, and the boxes that matter.

    Parameters
    ----------
    separation : Separation
        Its boxes may cost too little.
    plan : Plan
        Passes over all boxes are not counted: there is one, and one in each round.
    tick : callable
    start : ndarray of int64
        Feasible prices.
    """

    def __init__(self, separation: Separation, plan: Plan, tick: Share, start: LongArray) -> None:
        super().__init__(separation, plan, tick, start)
        self._start = start
        self._stays = np.zeros(separation.m, dtype=bool)

    def run(self) -> LongArray:
        """Return the best prices found."""
        if self._pass(None, 0) is not None and not self._stays.all():
            self._rounds()
        return self._start if self._best is None else self._best

    def _pass(self, known: LongArray | None, margin: int) -> LongArray | None:
        separation, best = self._separation, self._best
        assert best is not None
        is_first = known is None
        if known is None:
            known = np.full(separation.m, self._least)
        else:
            known = np.where(self._stays | (known > 0), separation.highest, known)
        found = separation.excess(self._prices, known, 2 * self._plan.work - self._work, enough=0)
        if found is None:
            return None
        excess, boxes, steps = found
        self._work += steps
        self._tick(self._share)
        has_room = excess <= 0
        if is_first:
            self._stays = ~has_room
        self._boxes.add(boxes[has_room & ~self._stays])
        v = np.where(has_room, self._up(excess), 0)
        feasible = np.where(has_room, self._prices - v, np.minimum(best, self._prices))
        if self._total(feasible) > self._total(best):
            self._best = feasible
        return excess

    def _weigh(self, prices: LongArray) -> LongArray:
        v = np.maximum(super()._weigh(prices), -int(_MOST_ROOM * self._mean))
        self._boxes.weighed.which[self._stays] = -1  # what cannot rise does not vote
        return np.where(self._stays, 0, v)

    def _known(self) -> LongArray:
        return np.maximum(super()._known(), self._least)

    @property
    def _least(self) -> int:
        """The floor, k times."""
        return -int(_FLOOR * self._mean * self._k)

    def _load(self, softness: float, cut: int) -> FloatArray:
        return np.where(self._stays, 1.0, super()._load(softness, cut))
