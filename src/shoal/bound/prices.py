"""Prices of rows: a lower bound of Total IL from the dual of choosing boxes.

Give each row i a price p_i, any number. The *excess* of a box with at least k rows is the mean of the k
highest prices inside it, less its diversity D. Prices are *feasible* if no such box has an excess above 0.
Then

    Total IL >= sum of p_i      for feasible prices.

Proof. Let C be a class and B its box. The mean of p over C is at most the mean of its k highest prices, which
is at most the mean of the k highest in B, which is at most D(B) = D(C). So the prices of C add up to at most
|C| D(C), its loss. Add up the classes. (With `nh`, each row has a box over k rows, and each row is in k such
sets: the prices in a set add up to at most k D, and adding up all sets counts each price k times.)

Any prices can be made feasible. Let v_i be the greatest excess of a box that holds row i, or any number
above it. Then p - v is feasible: let S be the k rows of highest p - v in a box B. Each has v_i >= excess(B)
>= (mean of p over S) - D(B), so the mean of p - v over S is at most D(B). And if p was feasible, v <= 0 can
be taken, so the sum never falls. From p = 0 the first pass gives the smallest box of each row. The terms with
drag (see `bound.lower_bound`) are feasible prices too, because their proof holds for any k rows.

Everything is counted in whole fixed-point steps, and v is rounded up, so prices are feasible exactly as far
as D in steps is exact; the rounding of D is subtracted by the caller.

*Passes* find v by going through all boxes (`kernels.excess`). They take less time if rows whose v is far
below 0 are left at a floor: max(v_i, floor) is no less than v_i, so it is valid too. *The ascent* then
changes prices on a working set of boxes, by subgradients of the sum of p - v, within a small distance of the
best feasible ones; a pass makes the result feasible and adds the boxes that were missing. Where the first
pass would take a good part of the time, `bound.raising` raises prices in cheaper ones; the ascent of
`bound.bunched_ascent` follows there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, LongArray
from shoal.bound.progress import Share
from shoal.bound.raising import Raising
from shoal.bound.separation import Separation
from shoal.bound.sums import total_of
from shoal.bound.working_set import WorkingSet

_FLOOR = 0.2  # the share of rows whose v is left at the floor, once a pass takes long:
_LONG = 9  # of such passes would be all the work
_FURTHER = 1.25  # times v is subtracted in the first passes: the next one makes up for what is too much
_REACH = 0.07  # how far prices may move in a round, as a share of the mean price
_LESS_REACH = 0.8  # after a round without gain
_MARGIN = 0.001  # of the mean price: boxes with less excess than that are passed over in a round
_SLACK = 0.25  # of the mean price: a box this far from an excess leaves the working set
_FIRST_STEPS, _MORE_STEPS, _MOST_STEPS = 5, 1.4, 150  # of a round
_MOMENTUM = 0.9, 0.95  # of directions: of the best boxes alone, and of soft votes
_SOFT_FROM = 0.12  # the share of the work after which rows vote for more than one box
_SOFTNESS = 0.006, 0.0015  # of the mean price: at first, and at the end
_SOFT_STEP = 0.3
_FURTHEST = 10.0  # times the mean price: no single step is longer
_WEIGHING, _LOADING = 4, 8  # steps of a pass that take as long as weighing, or loading, one row of a box
_CALL = 20_000  # and as calling the kernel that does it
WORK_FOR_ONE = 1_000_000  # steps for each tuple, at most: small tables need less
_LONG_PASS = 2  # first passes would be all the work: if it is longer, prices are raised in cheaper ones
_PATIENCE = 6  # rounds without gain, after which the ascent ends
_BETWEEN = (0.15, 0.3, 0.5, 0.75, 1.0)  # where on the way from the best to the last prices a round may begin


@dataclass(frozen=True)
class Plan:
    """How much is computed: never a matter of time, so that the result is always the same.

    Parameters
    ----------
    passes : int
        Over all boxes, before the ascent.
    rounds : int
        Of the ascent, at most.
    work : int
        In steps of a pass, about 4 nanoseconds each; nothing is begun after that, and what has been begun
        may take as much again.
    """

    passes: int
    rounds: int
    work: int


PLANS = {
    "quick": Plan(passes=2, rounds=0, work=500_000_000),
    "normal": Plan(passes=2, rounds=6, work=2_200_000_000),
    "high": Plan(passes=5, rounds=1_000, work=16_000_000_000),
}


def feasible_prices(
    separation: Separation,
    plan: Plan,
    tick: Share,
    start: LongArray | None = None,
    later: Callable[[], LongArray] | None = None,
) -> LongArray | None:
    """Return feasible prices with a high sum, in fixed-point steps; None if the first pass takes too long.

    Parameters
    ----------
    separation : Separation
    plan : Plan
    tick : callable
        Called with the share that is done.
    start : ndarray of int64, optional
        Feasible prices to begin with; the sum is never lower than theirs.
    later : callable, optional
        Makes feasible prices, which takes a while: only asked where passes end before the ascent. Then the
        sum is never lower than theirs.
    """
    return Ascent(separation, plan, tick, start, later).run()


class Ascent:
    """The best feasible prices so far, and the boxes that matter."""

    def __init__(
        self,
        separation: Separation,
        plan: Plan,
        tick: Share,
        start: LongArray | None,
        later: Callable[[], LongArray] | None = None,
    ) -> None:
        plan = replace(plan, work=min(plan.work, WORK_FOR_ONE * separation.m))
        self._separation, self._plan, self._tick = separation, plan, tick
        self._k, self._size = separation.k, separation.priced.size
        self._boxes = WorkingSet(separation)
        self._work = 0
        self._best, self._later = start, later
        self._prices = np.zeros(separation.m, np.int64) if start is None else start
        self._reach, self._wanted = _REACH, float(_FIRST_STEPS)
        self._direction = np.zeros(separation.m)
        self._is_soft = False
        self._has_floor = False
        self._in_vain = 0  # rounds since the last gain

    def run(self) -> LongArray | None:
        """Return the best prices found."""
        known: LongArray | None = None
        for number in range(self._plan.passes):
            excess = self._pass(known, 0)
            if excess is None and number == 0:
                return self._raised()
            if excess is None or self._work >= self._plan.work:
                return self._or_later()
            if number + 1 < self._plan.passes:
                further = _FURTHER if number + 2 < self._plan.passes else 1.0
                self._prices = self._prices - _whole(further * self._up(excess))
                known = self._known()
        self._rounds()
        self._tick(1.0)
        return self._best

    def _rounds(self) -> None:
        """Climb and make the prices feasible again, while there is time and gain."""
        for number in range(self._plan.rounds):
            if self._work >= self._plan.work or self._in_vain >= _PATIENCE:
                break
            known, before = self._climb(number), self._total(self._best)
            if self._pass(known, int(_MARGIN * self._mean * self._k)) is None:
                break
            self._adapt(has_gained=self._total(self._best) > before)

    def _or_later(self) -> LongArray | None:
        """Return the best prices, or those that take a while if they are better."""
        if self._later is not None:
            others = self._later()
            if self._best is None or self._total(others) > self._total(self._best):
                self._best = others
        return self._best

    def _raised(self) -> LongArray | None:
        """Raise the first prices in cheaper passes; None if there is no time for any.

        Also None where prices that take a while are to be raised by bunches of values instead.
        """
        if self._best is None and self._later is not None:
            if len(self._separation.priced.span) > 1:
                return None
            self._prices = self._best = self._later()
        work, whole = self._plan.work + self._plan.work // 2, self._separation.whole
        raising = Raising(self._prices, self._size, self._k, whole, work, self._tick)
        raising.by(self._separation)
        return self._best if raising.prices is self._prices else raising.prices

    @property
    def _mean(self) -> float:
        """The mean of the best prices."""
        return max(1.0, self._total(self._best) / float(self._size.sum()))

    def _total(self, prices: LongArray | None) -> float:
        assert prices is not None
        return total_of(prices, self._size)

    def _up(self, excess: LongArray) -> LongArray:
        """Divide by k, rounding up."""
        return -((-excess) // self._k)

    def _pass(self, known: LongArray | None, margin: int) -> LongArray | None:
        """Go through all boxes at the current prices; note the best feasible prices. None: no time left."""
        is_first = known is None
        left = self._plan.work // _LONG_PASS if is_first else 2 * self._plan.work - self._work
        found = self._separation.excess(self._prices, known, left, margin)
        if found is None:
            return None
        excess, boxes, steps = found
        self._work += steps
        self._has_floor |= steps > self._plan.work // _LONG
        self._tick(self._share)
        self._boxes.add(boxes)
        feasible = self._prices - self._up(excess + margin)
        if self._best is None or self._total(feasible) > self._total(self._best):
            self._best = feasible
        return excess

    @property
    def _share(self) -> float:
        """The share of the work that is done."""
        return min(1.0, self._work / self._plan.work)

    def _weigh(self, prices: LongArray) -> LongArray:
        """Return v of each row, from the boxes of the working set alone."""
        self._work += _CALL + _WEIGHING * self._boxes.n_inside
        return self._up(self._boxes.weigh(prices))

    def _known(self) -> LongArray:
        """Return k times v of each row at the current prices, of known boxes, but no less than a floor."""
        self._weigh(self._prices)
        excess: LongArray = self._boxes.weighed.best.copy()
        if not self._has_floor:
            return excess
        at = int(_FLOOR * len(excess))
        return np.maximum(excess, int(np.partition(excess, at)[at]))

    def _climb(self, number: int) -> LongArray:
        """Change prices by the working set; return what `_known` does."""
        assert self._best is not None
        self._prices = self._beginning(number)
        self._drop_boxes()
        share = self._share
        is_soft = share > _SOFT_FROM and self._plan.rounds > PLANS["normal"].rounds
        if number % 5 == 0 or is_soft != self._is_soft:
            self._direction = np.zeros(len(self._prices))
        self._is_soft = is_soft
        if is_soft:
            self._soft_steps((share - _SOFT_FROM) / (1 - _SOFT_FROM))
        else:
            self._hard_steps(max(0.002, 0.01 * (1 - share)))
        reach = int(self._reach * self._mean)
        self._prices = np.clip(self._prices, self._best - reach, self._best + reach)
        for _ in range(2):
            self._prices = self._prices - np.maximum(0, self._weigh(self._prices))
        self._tick(self._share)
        return self._known()

    def _beginning(self, number: int) -> LongArray:
        """Return the best prices on the way to the last ones, judged by the working set."""
        assert self._best is not None
        found = self._best - self._weigh(self._best)
        for share in _BETWEEN if number else ():
            between = self._best + _whole(share * (self._prices - self._best))
            between -= self._weigh(between)
            if self._total(between) > self._total(found):
                found = between
        return found

    def _drop_boxes(self) -> None:
        """Keep the boxes that are the best over some row, or nearly have an excess."""
        self._weigh(self._prices)
        self._boxes.load(0.0, 0)
        weighed = self._boxes.weighed
        self._boxes.keep((weighed.votes > 0) | (weighed.excess > -_SLACK * self._mean * self._k))

    def _hard_steps(self, beyond: float) -> None:
        """Follow subgradients, as if the optimum were so far beyond the best sum (Polyak's rule)."""
        best, highest, momentum = self._prices, 0.0, _MOMENTUM[0]
        for _ in range(int(self._wanted)):
            v = self._weigh(self._prices)
            total = self._total(self._prices - v)
            if total > highest:
                best, highest = self._prices - v, total
            slope = 1.0 - self._load(0.0, 0)
            is_first = not self._direction.any()
            self._direction = slope if is_first else momentum * self._direction + (1 - momentum) * slope
            gap = (1 + beyond) * max(highest, self._total(self._best)) - total
            step = 0.5 * gap / max(1e-9, total_of(self._direction**2, self._size))
            self._prices = self._prices - v + self._move(step)
        self._prices = best

    def _soft_steps(self, share: float) -> None:
        """Follow the slopes of a smoothed sum, in which rows vote for all boxes that are nearly the best."""
        first, last = _SOFTNESS
        softness = self._mean * first * (last / first) ** min(1.0, share)
        momentum = _MOMENTUM[1]
        for _ in range(int(self._wanted)):
            v = self._weigh(self._prices)
            cut = int((float(np.median(v)) - 8 * softness) * self._k)
            slope = np.clip(1.0 - self._load(softness * self._k, cut), -3.0, 1.0)
            self._direction = momentum * self._direction + (1 - momentum) * slope
            step = _SOFT_STEP * softness / (1 - momentum) ** 0.5
            self._prices = self._prices - v + self._move(step)

    def _move(self, step: float) -> LongArray:
        """Return a step in the current direction; a flat direction must not lead beyond all numbers."""
        most = _FURTHEST * self._mean
        return _whole(np.clip(step * self._direction, -most, most))

    def _load(self, softness: float, cut: int) -> FloatArray:
        self._work += _LOADING * self._boxes.n_inside
        return self._boxes.load(softness, cut)

    def _adapt(self, *, has_gained: bool) -> None:
        """Take more steps in the next round after a gain; after none, fewer, and stay nearer to the best."""
        self._in_vain = 0 if has_gained else self._in_vain + 1
        if has_gained:
            self._wanted = min(_MOST_STEPS, self._wanted * _MORE_STEPS)
        else:
            self._wanted = max(_FIRST_STEPS, self._wanted * 0.7)
            self._reach *= _LESS_REACH


def _whole(numbers: npt.NDArray[Any]) -> LongArray:
    """Cut off fractions."""
    return numbers.astype(np.int64)
