"""What prices prove about a table with many numbers, where searches take long, from a sample of its rows.

As in `bound.sampled_prices`, n times the mean of q - v is a lower bound of Total IL, for any prices q and any
v no less than the greatest excess over each row. Good searches take hundredths of a second here, so few rows
can be searched. Prices and the limit are made for that.

*Prices.* Let r_i be the distance of row i and its (k - 1)-th nearest other row. q is a multiple of r, the
same for all rows. Dense regions have low prices, sparse ones high prices, and near rows have similar ones,
because r_i and r_j differ by no more than i and j do. So the k highest prices in a box are little above the
others, and little is lost by them. What rows lose in the classes of a release differs more from one to the
next, because a row could as well be in another class. Which multiple is best is decided by a few rows that
are drawn beforehand and not counted.

*The limit.* A glance at the rows near by (`kernels.glance`) shows some u_i that is no less than v_i, in a
hundredth of the time of a search. The mean of q - v is taken apart:

    q - v = r - (u + r - q) + (u - v).

r is known of all rows. The mean of u + r - q is estimated from some thousand glances. It differs little from
row to row, and is never above the highest price: no box costs less than r, so u + r is not above that. Only
u - v, which varies less than v, is left to the rows that are searched. It is never negative, because where a
search was cut short, u may take the place of v. Glances are many, so a tenth of the probability to be wrong
is enough for theirs.

*Rows that may be left out* cost W, the sum of all weights, so no q - v above W is counted: u and v are raised
to q - W.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.arrays import LongArray
from shoal.bound.confidence import lower_limit
from shoal.bound.progress import Share, part
from shoal.bound.sampled_prices import MOST_STAKED, Draw, Sampled
from shoal.bound.scans import Scans
from shoal.bound.sums import total_of

_MULTIPLES = (0.9, 1.4, 2.0, 2.7)  # the higher prices are, the longer it takes to search a row
_CUT = 0.98  # of the rows have lower prices than the highest one
_GLANCES = 0.1  # of the probability to be wrong is that of the glances
_MOST_DRAWN = 4_000


@dataclass(frozen=True)
class Plan:
    """How much time an estimate takes.

    Parameters
    ----------
    for_one : int
        Steps of one search; where they are not enough, excess is overestimated.
    pilot : int
        Rows that decide.
    steps : int
        Of the searches after these.
    glances : int
        Rows that are glanced at.
    """

    for_one: int
    pilot: int
    steps: int
    glances: int


PLANS = {
    "normal": Plan(for_one=22_000_000, pilot=16, steps=3_200_000_000, glances=3_000),
    "high": Plan(for_one=300_000_000, pilot=48, steps=100_000_000_000, glances=10_000),
}


class NearPrices:
    """Prices of all rows that follow from how far the nearest rows are, evaluated on rows drawn.

    Parameters
    ----------
    scans : Scans
    near : ndarray of int64
        D of each tuple and its (k - 1)-th nearest other row.
    most : int, optional
        No feasible price above it is counted.
    """

    def __init__(self, scans: Scans, near: LongArray, most: int | None = None) -> None:
        self._scans, self._near, self._most = scans, near, most

    def limit(self, draw: Draw, plan: Plan, error: float, tick: Share) -> Sampled:
        """Return a lower confidence limit of the mean of feasible prices.

        Parameters
        ----------
        draw : callable
            Draws rows; draws of different calls are independent.
        plan : Plan
        error : float
        tick : callable
        """
        prices, steps = self._chosen(draw(plan.pilot), plan.for_one, part(tick, 0.0, 0.2))
        glanced, highest = draw(plan.glances), int(prices.max())
        above = self._glanced(prices, glanced, part(tick, 0.2, 0.3)) + (self._near - prices)[glanced]
        glances = highest - lower_limit((highest - above).astype(np.float64), _GLANCES * error, MOST_STAKED)
        drawn = draw(min(_MOST_DRAWN, int(plan.steps / max(1.0, steps))))
        found, _ = self._searched(prices, drawn, plan.for_one, part(tick, 0.3, 1.0))
        less = self._glanced(prices, drawn, part(tick, 1.0, 1.0)) - found
        searches = lower_limit(np.maximum(0.0, less), (1 - _GLANCES) * error, MOST_STAKED)
        near = total_of(self._near, self._scans.size) / float(self._scans.size.sum())
        return Sampled(near - glances + searches, len(drawn))

    def prices(self) -> list[LongArray]:
        """Return the prices that may be tried."""
        order = np.argsort(self._near, kind="stable")
        rows = np.cumsum(self._scans.size[order])
        near = np.minimum(self._near, self._near[order[np.searchsorted(rows, _CUT * rows[-1])]])
        return [(multiple * near).astype(np.int64) for multiple in _MULTIPLES]

    def _chosen(self, pilot: LongArray, steps: int, tick: Share) -> tuple[LongArray, float]:
        """Return the best prices, and the mean steps of a search."""
        tried, most = self.prices(), -np.inf
        best, mean_steps = tried[0], 1.0
        for at, prices in enumerate(tried):
            share = part(tick, at / len(tried), (at + 1) / len(tried))
            found, taken = self._searched(prices, pilot, steps, share)
            mean = float((prices[pilot] - found).mean())
            if mean <= most:
                break  # terms are concave in the prices: no higher ones are better
            best, mean_steps, most = prices, taken, mean
        return best, mean_steps

    def _searched(
        self, prices: LongArray, drawn: LongArray, steps: int, tick: Share
    ) -> tuple[LongArray, float]:
        """Return v of the rows drawn, and the mean steps of a search."""
        ones = self._in_order(drawn)
        found, taken, _ = self._scans.patient_excess(ones, prices, steps, tick)
        return self._of_rows(prices, ones, found)[drawn], float(taken.mean())

    def _glanced(self, prices: LongArray, drawn: LongArray, tick: Share) -> LongArray:
        """Return u of the rows drawn."""
        ones = self._in_order(drawn)
        found: LongArray = self._of_rows(prices, ones, self._scans.glances(ones, prices, tick))[drawn]
        return found

    def _in_order(self, drawn: LongArray) -> LongArray:
        """Return the tuples of the rows drawn, near ones one after the other."""
        is_drawn: npt.NDArray[np.bool_] = np.zeros(self._scans.m, dtype=bool)
        is_drawn[drawn] = True
        ones: LongArray = self._scans.order[is_drawn[self._scans.order]]
        return ones

    def _of_rows(self, prices: LongArray, ones: LongArray, found: LongArray) -> LongArray:
        """Return excess that was found k times, rounded up, by tuple."""
        excess = np.zeros(self._scans.m, np.int64)
        excess[ones] = -((-found) // self._scans.k)
        if self._most is not None:
            excess[ones] = np.maximum(excess[ones], prices[ones] - self._most)
        return excess
