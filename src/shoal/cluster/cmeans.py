"""Weighted-feature C-means [chiu2007]."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.recipe.options import CMeansOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded
from shoal.table.fixed import FixedColumns, fixed_columns

_STRETCH = 512  # tuples that one thread assigns before it takes the next ones
_STEPS = 1024  # feature weights are rounded to multiples of 1 / 1024


class CMeans(Clusterer[CMeansOptions]):
    """Assign rows to the nearest of n / k centres, weigh the columns by how well they fit, repeat.

    A column in which rows lie close to their centres weighs more in the next round. When nothing
    changes any more, classes below k merge with the class where the loss grows least. Time grows
    with the square of the number of rows over k, times the number of rounds.

    Parameters: see `Clusterer`. The seed chooses the rows that are the first centres. Option
    `rounds`: their greatest number.

    Notes
    -----
    After descriptions of [chiu2007]_, whose formulas we have not seen. Weights: w_j = 1 / sum_t (D_j /
    D_t), where D_j is the distance in column j of all rows to their centres; a column without any has
    weight 0. This is the formula of W-k-means [huang2005]_ with beta = 2. But rows are assigned by w_j,
    not by its square, and distances are absolute, not squared: the rounds lower the product of all D_j,
    apart from what rounding and means (rather than medians) add. The original is for numeric columns
    only: here a centre has the most frequent value of a categorical column, and distances go through
    its tree. Settled here: weights start alike; they are rounded to 1/1024 and means to the fixed-point
    grid, so that equal costs are equal; the smallest class merges first, as a whole. The weights may
    alternate for ever: a column that fits exactly gets weight 0, fits no more, and so on; `rounds` ends
    it.

    Every class has at least k rows, because smaller ones are merged.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> CMeans(k=2, seed=1).fit(encoded).labels
    array([1, 1, 0, 0, 0], dtype=int32)

    References
    ----------
    .. [chiu2007] Chiu, Tsai. A k-Anonymity Clustering Method for Effective Data Privacy
       Preservation. ADMA 2007. doi:10.1007/978-3-540-73871-8_10
    .. [huang2005] Huang, Ng, Rong, Li. Automated Variable Weighting in k-Means Type Clustering. IEEE
       Transactions on Pattern Analysis and Machine Intelligence 27(5), 2005. doi:10.1109/TPAMI.2005.95
    """

    options_type = CMeansOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        check_feasible(encoded.n_rows, self.k)
        seeds = draw(encoded.n_rows, self.k, self.seed)
        of_tuple = _Rounds(encoded, seeds).run(self.options.rounds, progress)
        labels = of_tuple[encoded.tuple_of_row]
        return ClusterResult(_merged(encoded, labels, len(seeds), self.k))


def draw(n_rows: int, k: int, seed: int) -> LongArray:
    """Draw the rows that are the first centres."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(n_rows)[: n_rows // k]


class _Rounds:
    """The distinct tuples, the centres and the feature weights."""

    def __init__(self, encoded: Encoded, seeds: LongArray) -> None:
        from shoal.kernels.cmeans import Centres

        heads = np.flatnonzero(np.diff(encoded.tuple_of_row, prepend=-1))
        # Columns with few values vary slowest, so that neighbours differ in few columns: less to look at.
        by_values = sorted(encoded.columns, key=lambda column: -len(np.unique(column.codes[heads])))
        self.order = np.lexsort([column.codes[heads] for column in by_values])
        self.sizes = np.bincount(encoded.tuple_of_row)[self.order]
        self.fixed = fixed_columns(encoded, heads[self.order])
        first = fixed_columns(encoded, seeds)
        self.centres = Centres(first.position, first.leaf)
        n_columns = len(encoded.columns)
        self.weights = np.full(n_columns, round(Fraction(_STEPS, n_columns)), np.int64)

    def run(self, rounds: int, progress: Tick | None) -> IntArray:
        """Return the class of each tuple, once nothing changes or the rounds are over."""
        labels = self._assigned()
        for number in range(1, rounds + 1):
            if progress is not None:
                progress(number / rounds)
            if number == rounds:
                break
            self._move(labels)
            before, labels = labels, self._assigned()
            if np.array_equal(before, labels):
                break
        of_tuple = np.empty_like(labels)
        of_tuple[self.order] = labels
        return of_tuple

    def _assigned(self) -> IntArray:
        from shoal.kernels import cmeans as kernel

        fixed = self.fixed
        labels = np.zeros(len(self.sizes), np.int32)
        kernel.assign(
            fixed.position, fixed.leaf, self.centres, self.weights, fixed.trees, fixed.span, _STRETCH, labels
        )
        return labels

    def _move(self, labels: IntArray) -> None:
        """Move the centres, then weigh the columns again."""
        from shoal.kernels import cmeans as kernel

        fixed = self.fixed
        members = np.argsort(labels, kind="stable")
        begins = np.searchsorted(labels[members], np.arange(self.centres.mean.shape[1] + 1))
        count = np.zeros(len(fixed.trees.leaf_node), np.int64)
        totals = np.zeros(len(self.weights), np.int64)
        kernel.move_centres(
            fixed.position, fixed.leaf, self.sizes, labels, members, begins, self.centres, fixed.trees,
            fixed.span, count, totals,
        )  # fmt: skip
        if totals.any():
            self.weights = _feature_weights(totals.tolist())


def _feature_weights(totals: list[int]) -> LongArray:
    """Return w_j = 1 / sum_t (D_j / D_t) in steps of 1 / 1024, rounded half to even."""
    inverse = sum(Fraction(1, total) for total in totals if total)
    return np.array([round(_STEPS / (total * inverse)) if total else 0 for total in totals], np.int64)


def _merged(encoded: Encoded, labels: IntArray, n_classes: int, k: int) -> IntArray:
    """Merge classes below k, and number the classes without gaps."""
    from shoal.kernels import cmeans as kernel

    fixed = fixed_columns(encoded, np.arange(encoded.n_rows))
    target = np.arange(n_classes)
    kernel.merge_small(_boxes(fixed, labels, n_classes), k, target, fixed.trees, fixed.span)
    _, numbered = np.unique(target[labels], return_inverse=True)
    return numbered.astype(np.int32)


def _boxes(fixed: FixedColumns, labels: IntArray, n_classes: int) -> Any:
    from shoal.kernels.classes import box_rows, empty_classes

    classes = empty_classes(n_classes, len(fixed.span), len(fixed.leaf))
    box_rows(labels, fixed.position, fixed.leaf, classes, fixed.trees, fixed.span)
    return classes
