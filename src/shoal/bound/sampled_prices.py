"""What prices prove about a large table, from a sample of its rows.

Let q be any prices, and v_i the greatest excess at q of a box that holds row i, or any number above it. Then
q - v is feasible (see `bound.prices`), so n times the mean of x_i = q_i - v_i is a lower bound of Total IL.
v_i takes one search among all rows (`kernels.row_excess`), which is a search for the smallest box if q is 0.
For rows drawn at random, independently of q, the x_i are independent draws, and a lower confidence limit of
their mean gives one of the bound.

*Which prices?* If there is time to find the smallest box of every row, a little more than these: what a
second pass over all rows would begin with. They are feasible prices p themselves. Elsewhere, those of a
release that is at hand: the best prices have a mean near D in every class of the best release, so a row's
price is a share of what its class loses. Which of several prices are the best, and whether they are better
than p or the smallest boxes, is decided by a few rows that are drawn beforehand and not counted.

*Variance.* The mean of q over all rows is known, so only the mean of x - q is estimated, which differs far
less from row to row than x.

*A floor.* The limit (`bound.confidence`) wants terms that are not negative. Let M be the maximum of q_j - p_j
over all rows, where p are feasible prices, 0 if none are known. The k highest q in a box B have a mean of at
most M plus the mean p of the same rows, which is at most M + D(B). So no excess is above M, and x_i - q_i
is never below -M. Few very high prices of classes would lower the limit more than they add, so they are cut.

*Rows that may be left out* cost W, the sum of all weights. Lower prices stay feasible, so no x above W is
counted: then leaving a row out costs no less than its price.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.bound.confidence import lower_limit
from shoal.bound.progress import Share, silent
from shoal.bound.scans import Scans
from shoal.bound.sums import total_of
from shoal.table.fixed import FixedColumns

Draw = Callable[[int], LongArray]  # draws so many rows independently, and returns their tuples

_SHARES = (0.4, 0.55, 0.25)  # of what a class loses
_FURTHER = 1.25  # times the smallest box
_BOTH = 0.9, 0.2  # times the smallest box, and what a class loses
_CUT = 0.98  # of the rows have lower prices than the highest one
_PILOT = 64  # rows
_FOR_ONE = 4_000_000  # steps of one search; where they are not enough, excess is overestimated
_LONG = _FOR_ONE // 3  # on average: then too many searches are given up
_STEPS = 1_500_000_000  # of all searches
_PATIENT_SHARES = (0.25, 0.4, 0.55)  # the same, where searches take long: the next is harder than the last
_PATIENT_FOR_ONE = 10_000_000
_PATIENT_STEPS = 2_500_000_000
_MOST_DRAWN, _LEAST_DRAWN = 4_000, 300
MOST_STAKED = 0.9  # see `lower_limit`: terms of prices differ little


@dataclass(frozen=True)
class Sampled:
    """A lower confidence limit of the mean of feasible prices.

    Parameters
    ----------
    mean : float
        In fixed-point steps; too high with the probability asked for at most.
    n_drawn : int
        Rows that it is computed from.
    """

    mean: float
    n_drawn: int


class SampledPrices:
    """Prices of all rows, evaluated on rows drawn.

    Parameters
    ----------
    scans : Scans
    smallest : ndarray of int64, optional
        The cost of each tuple's smallest box, in fixed-point steps, rounded down.
    costs : ndarray of float64, optional
        What a row of each tuple loses in its class, in steps. One of these two is given, or both.
    most : int, optional
        No feasible price above it is counted.
    is_slow : bool, default False
        Searches take long, because there are many numbers with many values.
    """

    def __init__(
        self,
        scans: Scans,
        smallest: LongArray | None,
        costs: FloatArray | None,
        most: int | None = None,
        *,
        is_slow: bool = False,
    ) -> None:
        self._scans, self._smallest, self._costs, self._most = scans, smallest, costs, most
        self._is_slow = is_slow

    def limit(self, draw: Draw, lookups: int, error: float, tick: Share) -> Sampled | None:
        """Return a lower confidence limit; None where smallest boxes are as good, or searches are too long.

        Parameters
        ----------
        draw : callable
            Draws rows; draws of different calls are independent.
        lookups : int
            Of distances, for all rows drawn together.
        error : float
        tick : callable
        """
        pilot = draw(_PILOT)
        chosen = self._chosen(pilot)
        if chosen is None:
            return None
        prices, steps = chosen
        all_steps = _PATIENT_STEPS if self._is_slow else _STEPS
        time_for = min(lookups // self._scans.work_of_one, int(all_steps / max(1.0, steps)))
        if time_for < _LEAST_DRAWN:
            return None
        drawn = draw(min(_MOST_DRAWN, time_for))
        terms, _ = self._terms(prices, drawn, tick)
        highest = int((prices if self._smallest is None else prices - self._smallest).max())
        # Excess is overestimated where a search was given up; it is never above the highest.
        above = np.maximum(0.0, terms - prices[drawn] + highest)
        limit = lower_limit(above, error, MOST_STAKED) - highest
        mean = total_of(prices, self._scans.size) / float(self._scans.size.sum())
        return Sampled(mean + limit, len(drawn))

    def prices(self) -> list[LongArray]:
        """Return the prices that are tried."""
        smallest = self._smallest
        if self._costs is None:
            assert smallest is not None
            return [_whole(_FURTHER * smallest)]
        order = np.argsort(self._costs, kind="stable")
        rows = np.cumsum(self._scans.size[order])
        costs = np.minimum(self._costs, self._costs[order[np.searchsorted(rows, _CUT * rows[-1])]])
        if smallest is None:
            return [_whole(share * costs) for share in (_PATIENT_SHARES if self._is_slow else _SHARES)]
        return [_whole(_FURTHER * smallest), _whole(_BOTH[0] * smallest + _BOTH[1] * costs)]

    def _chosen(self, pilot: LongArray) -> tuple[LongArray, float] | None:
        """Return the best prices, and the mean steps of a search."""
        if self._smallest is None:
            least = self._terms(np.zeros(self._scans.m, np.int64), pilot, silent)[0].mean()
        else:
            least = self._smallest[pilot].mean()
        best = None
        for prices in self.prices():
            terms, steps = self._terms(prices, pilot, silent)
            # Terms are concave in the prices: where some are no better than lower ones, no higher ones are.
            if terms.mean() <= least if self._is_slow else steps > _LONG:
                break
            if terms.mean() > least:
                best, least = (prices, steps), terms.mean()
        return best

    def _terms(self, prices: LongArray, drawn: LongArray, tick: Share) -> tuple[FloatArray, float]:
        """Return q - v of the rows drawn, and the mean steps of a search."""
        scans = self._scans
        is_drawn = np.zeros(scans.m, dtype=bool)
        is_drawn[drawn] = True
        ones = scans.order[is_drawn[scans.order]]
        if self._is_slow:
            found, taken, _ = scans.patient_excess(ones, prices, _PATIENT_FOR_ONE, tick)
        else:
            found, taken = scans.excess(ones, prices, _FOR_ONE, tick)
        terms = np.zeros(scans.m)
        terms[ones] = prices[ones] + (-found) // scans.k
        if self._most is not None:
            terms = np.minimum(terms, self._most)
        return terms[drawn], float(taken.mean())


def costs_in_classes(fixed: FixedColumns, size: LongArray, classes: npt.NDArray[np.integer]) -> FloatArray:
    """Return what a row of each tuple loses in its class, in steps; the mean where rows are in several.

    Parameters
    ----------
    fixed : FixedColumns
        Of the tuples.
    size : ndarray of int64
        How many rows have each; rows are in the order of tuples.
    classes : ndarray of shape (n_rows,), int
        The class of each row; -1 for none, which counts as a class without loss.
    """
    tuple_of_row = np.repeat(np.arange(len(size)), size)
    order = np.argsort(classes, kind="stable")
    begins = np.flatnonzero(np.diff(classes[order], prepend=np.iinfo(np.int64).min))
    cost = np.zeros(len(begins), np.int64)
    for position, span in zip(fixed.position, fixed.span, strict=True):
        inside = position[tuple_of_row][order].astype(np.int64)
        wide = np.maximum.reduceat(inside, begins) - np.minimum.reduceat(inside, begins)
        cost += np.minimum(wide, span)
    for tree in range(len(fixed.leaf)):
        inside = fixed.leaf[tree][tuple_of_row][order]
        first, last = np.minimum.reduceat(inside, begins), np.maximum.reduceat(inside, begins)
        cost += _node_costs(fixed.trees, tree, first, last)
    cost[classes[order[begins]] < 0] = 0
    by_row = np.zeros(len(order))
    by_row[order] = np.repeat(cost, np.diff(np.append(begins, len(order))))
    costs: FloatArray = np.bincount(tuple_of_row, by_row) / size
    return costs


def _node_costs(trees: Any, tree: int, first: IntArray, last: IntArray) -> LongArray:
    """Return the cost of the lowest node over all leaves from one to another."""
    begin = trees.node_at[tree]
    node = trees.leaf_node[trees.leaf_at[tree] + first]
    while (is_below := trees.last_leaf[begin + node] < last).any():
        node = np.where(is_below, trees.parent[begin + node], node)
    costs: LongArray = trees.height[begin + node].astype(np.int64)
    return costs


def _whole(prices: npt.NDArray[Any]) -> LongArray:
    """Cut off fractions."""
    return prices.astype(np.int64)
