"""OKA, the one-pass k-means algorithm [lin2008]."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster import evening
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.cluster.joining import ROWS_TIMES_CLASSES as _ROWS_TIMES_CLASSES
from shoal.cluster.joining import Joining
from shoal.recipe.options import OKAOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded


class OKA(Clusterer[OKAOptions]):
    """Give each row to the nearest of n / k growing classes, then even out the sizes.

    The classes start with one random row each. A row's distance to a class is the class's size
    times what the row and the centroid would cost together; the centroid has means and lowest
    common nodes and follows each row. Afterwards classes above k give up the rows furthest from
    their centroids, and these fill the classes below k. Time grows with the square of the number
    of rows over k.

    Parameters: see `Clusterer`. The seed chooses the first rows and the order in which rows given
    up join again. Options: `iterations`, `suppress`, which leaves out up to `may_suppress` rows.

    Notes
    -----
    Follows figures 1 and 2 of [lin2008]_. Settled here: rows are given up by their distance to the
    centroid as it was when all rows had joined; it is then computed again from those that stay. A
    centroid with some members missing is as far from everything as can be. The two options are
    named in the paper's conclusion and not specified there: a further iteration starts from each
    class's row nearest to its centroid; a small class is suppressed when that costs less than
    filling it with the nearest rows given up, less what these would have added where they came
    from. Classes are examined in their order until `may_suppress` is used up.

    Why every class has k rows, and what privacy goals change: `cluster.joining.Joining`.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> OKA(k=2).fit(encoded).sizes
    array([2, 3])

    References
    ----------
    .. [lin2008] Lin, Wei. An Efficient Clustering Method for k-Anonymization. PAIS 2008.
       doi:10.1145/1379287.1379297
    """

    options_type = OKAOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        check_feasible(encoded.n_rows, self.k)
        seeds, priority = draw(encoded.n_rows, self.k, self.seed)
        goals, tally = self.goals_and_tally()
        n_expected = (self.options.iterations + 0.6) * encoded.n_rows
        passes = _Passes(encoded, len(seeds), goals, progress, n_expected, _ROWS_TIMES_CLASSES)
        passes.cluster(seeds)
        for _ in range(self.options.iterations - 1):
            passes.cluster(passes.nearest_rows())
        given_up, home = passes.give_up(self.k, tally)
        if self.options.suppress:
            passes.suppress(self.k, given_up, home, self.may_suppress)
        passes.fill(given_up[np.argsort(priority[given_up])], self.k)
        return ClusterResult(passes.final_labels())


def draw(n_rows: int, k: int, seed: int) -> tuple[LongArray, LongArray]:
    """Draw the first row of each class, and the order in which rows given up join again."""
    random = np.random.Generator(np.random.PCG64(seed))
    return random.permutation(n_rows)[: n_rows // k], random.permutation(n_rows)


class _Passes(Joining):
    """Classes as centroids, from pass to pass."""

    boxes = False

    def classes(self) -> Any:
        """Return the centroids of all classes."""
        centroids, _ = self._gathered()
        return centroids

    def kernel(self) -> Any:
        """Return the kernel that lets rows join."""
        from shoal.kernels.oka import join_nearest

        return join_nearest

    def nearest_rows(self) -> LongArray:
        """Return each class's row nearest to its centroid."""
        order = np.lexsort((self._own_distances(), self.labels))
        return order[np.searchsorted(self.labels[order], np.arange(len(self.kept)))]

    def give_up(self, k: int, tally: Any) -> tuple[LongArray, IntArray]:
        """Take the rows furthest from the centroids out of classes above k; return them and their homes."""
        order = np.lexsort((np.arange(self.n), -self._own_distances(), self.labels))
        begins = np.searchsorted(self.labels[order], np.arange(len(self.kept)))
        sizes = np.bincount(self.labels, minlength=len(self.kept))
        homes = self.labels[order]
        is_given_up = np.arange(self.n) - begins[homes] < (sizes - k)[homes]
        if self.goals is not None:
            is_given_up = evening.given_up(self.goals, tally, order, self.labels, len(self.kept), k)
        given_up, home = order[is_given_up], homes[is_given_up]
        self.labels[given_up] = -1
        by_row = np.argsort(given_up)
        return given_up[by_row], home[by_row]

    def suppress(self, k: int, given_up: LongArray, home: IntArray, may_suppress: int) -> None:
        """Leave out the small classes for which that costs less than filling them."""
        from shoal.kernels import oka as kernel
        from shoal.kernels.classes import box_rows, empty_classes

        fixed = self.fixed
        centroids = self.classes()
        classes = empty_classes(len(self.kept) + 1, len(fixed.span), len(fixed.leaf))
        box_rows(self.labels, fixed.position, fixed.leaf, classes, fixed.trees, fixed.span)
        whole = sum(round(column.weight * fixed.unit) for column in self.encoded.columns)
        for number in np.flatnonzero(centroids.size < k).tolist():
            size = int(centroids.size[number])
            if size > may_suppress:
                continue
            filling = kernel.filling_cost(
                number, given_up, home, k, fixed.position, fixed.leaf, centroids, classes, fixed.trees,
                fixed.span,
            )  # fmt: skip
            if size * whole < filling:
                self.kept[number] = False
                may_suppress -= size

    def final_labels(self) -> IntArray:
        """Number the classes that remain without gaps."""
        numbers = np.where(self.kept, np.cumsum(self.kept) - 1, -1).astype(np.int32)
        return numbers[self.labels]

    def _own_distances(self) -> LongArray:
        _, distances = self._gathered()
        return distances

    def _gathered(self) -> tuple[Any, LongArray]:
        """Return the centroids of all classes, and how far each row is from its own."""
        from shoal.kernels.centroids import empty_centroids
        from shoal.kernels.oka import gather

        fixed, found = self.fixed, np.zeros(self.n, np.int64)
        centroids = empty_centroids(len(self.kept), len(fixed.span), len(fixed.leaf))
        gather(self.labels, fixed.position, fixed.leaf, centroids, fixed.trees, fixed.span, found)
        return centroids, found
