"""Systematic clustering [kabir2011], as [bhaladhare2016] restates it."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster import evening
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.cluster.joining import ROWS_TIMES_CLASSES as _ROWS_TIMES_CLASSES
from shoal.cluster.joining import Joining
from shoal.recipe.options import SystematicOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded


class Systematic(Clusterer[SystematicOptions]):
    """Open a class at every k-th row in sorted order; each other row joins where the loss grows least.

    Classes that end up with more than k rows then give up the rows that they got last, and these
    join again: first the classes that still have fewer than k, then any. Time grows with the
    square of the number of rows over k.

    Parameters: see `Clusterer`. The seed chooses the rows that open the classes. Option `seeds`:
    "systematic" draws one position for all runs of k rows, "random" one for each.

    Notes
    -----
    Follows tables 9 and 10 of [bhaladhare2016]_, which restate [kabir2011]_. Settled here: there are
    floor(n / k) runs of k rows, and the last n mod k rows open no class; no class is full while the
    rows join for the first time; all classes give up rows before any of these joins again, in the
    order of the classes and, within one, in the order in which it had got them. For why every class has
    k rows, and what privacy goals change, see `cluster.joining.Joining`.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> Systematic(k=2).fit(encoded).labels
    array([0, 0, 1, 1, 1], dtype=int32)

    References
    ----------
    .. [kabir2011] Kabir, Wang, Bertino. Efficient Systematic Clustering Method for k-Anonymization.
       Acta Informatica 48 (2011). doi:10.1007/s00236-010-0131-6
    .. [bhaladhare2016] Bhaladhare, Jinwala. Novel Approaches for Privacy Preserving Data Mining in
       k-Anonymity Model. Journal of Information Science and Engineering 32 (2016).
    """

    options_type = SystematicOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        n = encoded.n_rows
        check_feasible(n, self.k)
        seeds = draw(n, self.k, self.seed, self.options)
        goals, tally = self.goals_and_tally()
        # Rows may join twice: the first time is most of the work.
        joining = _Boxes(encoded, len(seeds), goals, progress, 1.2 * n, _ROWS_TIMES_CLASSES)
        joining.cluster(seeds)
        labels = joining.labels
        given_up = _last_added(labels, seeds, self.k)
        if goals is not None:
            given_up = _spared(labels, seeds, self.k, goals, tally)
        labels[given_up] = -1
        joining.fill(given_up, self.k)
        return ClusterResult(labels)


def draw(n_rows: int, k: int, seed: int, options: SystematicOptions) -> LongArray:
    """Draw the row that opens each class, one in each full run of k rows."""
    random = np.random.Generator(np.random.PCG64(seed))
    runs = np.arange(n_rows // k)
    return runs * k + random.integers(k, size=len(runs) if options.seeds == "random" else 1)


def _last_added(labels: IntArray, seeds: LongArray, k: int) -> LongArray:
    """List the rows that classes above k give up, by class and in the order in which they came."""
    # A class got its seed first and the others in canonical order.
    rows = np.delete(np.arange(len(labels)), seeds)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    begins = np.searchsorted(labels[rows], np.arange(len(seeds)))
    place = np.arange(len(rows)) - begins[labels[rows]]
    return rows[place >= k - 1]


def _spared(labels: IntArray, seeds: LongArray, k: int, goals: Any, tally: Any) -> LongArray:
    """List the same, except rows without which a class would no longer meet its goals."""
    latest = np.arange(len(labels), 0, -1)
    latest[seeds] = len(labels) + 1  # a class got its seed first and gives it up last
    rows = np.lexsort((latest, labels))
    rows = rows[evening.given_up(goals, tally, rows, labels, len(seeds), k)]
    return rows[np.lexsort((rows, labels[rows]))]


class _Boxes(Joining):
    """Classes as boxes."""

    boxes = True

    def classes(self) -> Any:
        """Return the boxes of all classes."""
        from shoal.kernels.classes import box_rows, empty_classes

        fixed = self.fixed
        classes = empty_classes(len(self.kept), len(fixed.span), len(fixed.leaf))
        box_rows(self.labels, fixed.position, fixed.leaf, classes, fixed.trees, fixed.span)
        return classes

    def kernel(self) -> Any:
        """Return the kernel that lets rows join."""
        from shoal.kernels.systematic import join_cheapest

        return join_cheapest
