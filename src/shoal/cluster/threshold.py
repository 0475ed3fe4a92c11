"""The threshold greedy clustering of [loukides2007]."""

from __future__ import annotations

from math import ceil

import numpy as np

from shoal.arrays import BoolArray, IntArray, LongArray
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.cluster.units import empty_box, empty_scan, tuple_units
from shoal.recipe.options import ThresholdOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded
from shoal.table.fixed import fixed_columns

_UNITS_PER_CALL = 20_000_000  # between two calls progress is shown and an interruption is seen


class Threshold(Clusterer[ThresholdOptions]):
    """Grow a class from a random row by the closest rows while it stays narrow; begin again.

    A class that ends up with fewer than k rows is deleted. Its rows are left out as far as that is
    allowed, and else join the class where the loss grows least. Time grows with the number of rows
    times the number of times that a class widens.

    Parameters: see `Clusterer`. The seed chooses the order of the rows that open classes. Option
    `threshold`: what one row of a class must cost less than, by default a quarter of the number of
    quasi columns.

    Notes
    -----
    After [loukides2007]_. Settled here: "closest" is the row with which the class stays narrowest;
    only the threshold closes a class; deleted classes are left out in the order in which they were
    opened, each one that still fits into `may_suppress`; where no class has k rows, all rows make
    one class.

    Every class has at least k rows, because smaller ones are deleted and the others only grow.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> Threshold(k=2).fit(encoded).labels
    array([1, 1, 0, 0, 0], dtype=int32)

    References
    ----------
    .. [loukides2007] Loukides, Shao. Capturing Data Usefulness and Privacy Protection in
       K-Anonymisation. SAC 2007. doi:10.1145/1244002.1244091
    """

    options_type = ThresholdOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        check_feasible(encoded.n_rows, self.k)
        order = draw(encoded.n_rows, self.seed)
        labels = self._grown(encoded, order, progress)
        sizes = np.bincount(labels)
        is_deleted = sizes[labels] < self.k
        suppressed = self._suppressed(labels, sizes)
        labels = _renumbered(labels, sizes >= self.k)
        rejoining = order[(is_deleted & ~suppressed)[order]]
        if (sizes >= self.k).any():
            _rejoin(encoded, labels, rejoining, int((sizes >= self.k).sum()))
        else:
            labels[rejoining] = 0
        remark = (
            f"threshold: {is_deleted.sum()} rows were in classes below k; {len(rejoining)} of them joined "
            f"another class, {suppressed.sum()} were left out"
        )
        return ClusterResult(labels, (remark,))

    def _grown(self, encoded: Encoded, order: LongArray, progress: Tick | None) -> IntArray:
        """Grow classes of any size until all rows are in one."""
        from shoal.kernels import threshold as kernel

        n = encoded.n_rows
        units, fixed = tuple_units(encoded)
        threshold = self.options.threshold
        width = len(encoded.columns) / 4 if threshold is None else threshold
        # A cost that never occurs stops every class: none can be wider than all weights together.
        limit = min(ceil(width * fixed.unit), (1 << 30) - 1)
        labels = np.full(n, -1, np.int32)
        cursor = np.zeros(3, np.int64)
        settings = kernel.Settings(limit, _UNITS_PER_CALL)
        box, old, scan = empty_box(fixed), empty_box(fixed), empty_scan(len(units.head))
        changed = np.zeros(len(fixed.span) + len(fixed.leaf), np.bool_)
        while cursor[kernel.DONE] < n:
            kernel.grow_all(
                units, fixed.trees, box, old, scan, fixed.span, np.arange(n), encoded.tuple_of_row, order,
                labels, cursor, settings, changed,
            )  # fmt: skip
            if progress is not None:
                progress(int(cursor[kernel.DONE]) / n)
        return labels

    def _suppressed(self, labels: IntArray, sizes: LongArray) -> BoolArray:
        """Mark the rows of deleted classes that are left out."""
        left, chosen = self.may_suppress, np.zeros(len(sizes), dtype=bool)
        for number in np.flatnonzero(sizes < self.k):
            if sizes[number] <= left:
                chosen[number] = True
                left -= int(sizes[number])
        if not (sizes >= self.k).any() and sizes[~chosen].sum() < self.k:
            chosen[:] = False  # nothing would be left to release
        return chosen[labels]


def draw(n_rows: int, seed: int) -> LongArray:
    """Draw the order in which rows open classes, and rejoin."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(n_rows)


def _renumbered(labels: IntArray, kept: BoolArray) -> IntArray:
    """Number the classes that remain without gaps; rows of the others get -1."""
    numbers = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    return numbers[labels]


def _rejoin(encoded: Encoded, labels: IntArray, rows: LongArray, n_classes: int) -> None:
    """Let rows join the class where the loss grows least. Writes `labels`."""
    from shoal.kernels.classes import box_rows, empty_classes, place_leftovers

    fixed = fixed_columns(encoded, np.arange(encoded.n_rows))
    classes = empty_classes(n_classes, len(fixed.span), len(fixed.leaf))
    box_rows(labels, fixed.position, fixed.leaf, classes, fixed.trees, fixed.span)
    position = np.ascontiguousarray(fixed.position[:, rows])
    leaf = np.ascontiguousarray(fixed.leaf[:, rows])
    place_leftovers(rows, position, leaf, classes, n_classes, fixed.trees, fixed.span, labels)
