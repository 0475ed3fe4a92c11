"""OKA, the one-pass k-means algorithm [lin2008]."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster import evening
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.recipe.options import OKAOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded
from shoal.table.fixed import fixed_columns

_ROWS_TIMES_CLASSES = 200_000_000  # between two calls progress is shown and an interruption is seen
_NO_LIMIT = 1 << 62


class OKA(Clusterer[OKAOptions]):
    """Give each row to the nearest of n / k growing classes, then mend the sizes.

    The classes start with one random row each. A row's distance to a class is the class's size
    times what the row and the centroid would cost together; the centroid has means and lowest
    common nodes and follows each row. Afterwards classes above k give up the rows furthest from
    their centroids, and these fill the classes below k. Time grows with the square of the number
    of rows over k.

    Parameters
    ----------
    k : int
        Smallest class size allowed, at least 2.
    seed : int, optional
        Chooses the first rows and the order in which rows given up join again.
    options : OKAOptions, optional
        `iterations`, `suppress`.
    may_suppress : int, optional
        How many rows `suppress` may leave out.

    Notes
    -----
    Follows figures 1 and 2 of [lin2008]_. Settled here: rows are given up by their distance to the
    centroid as it stood when all rows had joined; it is then computed anew from those that stay. A
    centroid with some members missing is as far from everything as can be. The two options are
    named in the paper's conclusion and not specified there: a further iteration starts from each
    class's row nearest to its centroid; a small class is suppressed when that costs less than
    filling it with the nearest rows given up, less what these would have added where they came
    from. Classes are looked at in their order until `may_suppress` is used up.

    With further privacy goals, a class that meets them keeps the rows without which it would not, and a
    row given up goes first to classes that it brings nearer to theirs. Then other classes may be left
    with fewer than k rows, to be mended afterwards.

    Without goals every class has at least k rows: as long as one has fewer, only such classes receive,
    and the rows given up suffice, because there are n >= k x floor(n / k) rows.

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
        passes = _Passes(encoded, len(seeds), self.options.iterations, self.goals_and_tally(), progress)
        passes.cluster(seeds)
        for _ in range(self.options.iterations - 1):
            passes.cluster(passes.nearest_rows())
        given_up, home = passes.give_up(self.k)
        if self.options.suppress:
            passes.suppress(self.k, given_up, home, self.may_suppress)
        passes.fill(given_up[np.argsort(priority[given_up])], self.k)
        return ClusterResult(passes.final_labels())


def draw(n_rows: int, k: int, seed: int) -> tuple[LongArray, LongArray]:
    """Draw the first row of each class, and the order in which rows given up join again."""
    random = np.random.Generator(np.random.PCG64(seed))
    return random.permutation(n_rows)[: n_rows // k], random.permutation(n_rows)


class _Passes:
    """The labels as they change from pass to pass, and the calls of the kernel."""

    def __init__(
        self,
        encoded: Encoded,
        n_classes: int,
        iterations: int,
        goals_and_tally: tuple[Any, Any],
        progress: Tick | None,
    ) -> None:
        self.encoded, self.n = encoded, encoded.n_rows
        self.fixed = fixed_columns(encoded, np.arange(self.n))
        self.labels = np.full(self.n, -1, np.int32)
        self.goals, self.tally = goals_and_tally
        self.kept = np.ones(n_classes, dtype=bool)
        self.progress, self.done, self.work = progress, 0, (iterations + 0.6) * self.n

    def cluster(self, seeds: LongArray) -> None:
        """Figure 1: each row, in canonical order, to the nearest class."""
        self.labels[:] = -1
        self.labels[seeds] = np.arange(len(seeds))
        self._join(np.delete(np.arange(self.n), seeds), _NO_LIMIT, prefers=False)

    def nearest_rows(self) -> LongArray:
        """Return each class's row nearest to its centroid."""
        order = np.lexsort((self._own_distances(), self.labels))
        return order[np.searchsorted(self.labels[order], np.arange(len(self.kept)))]

    def give_up(self, k: int) -> tuple[LongArray, IntArray]:
        """Take the rows furthest from the centroids out of classes above k; return them and their homes."""
        order = np.lexsort((np.arange(self.n), -self._own_distances(), self.labels))
        begins = np.searchsorted(self.labels[order], np.arange(len(self.kept)))
        sizes = np.bincount(self.labels, minlength=len(self.kept))
        homes = self.labels[order]
        is_given_up = np.arange(self.n) - begins[homes] < (sizes - k)[homes]
        if self.goals is not None:
            is_given_up = evening.given_up(self.goals, self.tally, order, self.labels, len(self.kept), k)
        given_up, home = order[is_given_up], homes[is_given_up]
        self.labels[given_up] = -1
        by_row = np.argsort(given_up)
        return given_up[by_row], home[by_row]

    def suppress(self, k: int, given_up: LongArray, home: IntArray, may_suppress: int) -> None:
        """Leave out the small classes for which that costs less than filling them."""
        from shoal.kernels import oka as kernel
        from shoal.kernels.classes import box_rows, empty_classes

        fixed = self.fixed
        centroids = self._centroids()
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

    def fill(self, rows: LongArray, k: int) -> None:
        """Figure 2: rows given up go to the nearest class below k, and when there is none, to any."""
        placed = self._join(rows, k)
        self._join(rows[placed:], _NO_LIMIT)

    def final_labels(self) -> IntArray:
        """Number the classes that remain without gaps."""
        numbers = np.where(self.kept, np.cumsum(self.kept) - 1, -1).astype(np.int32)
        return numbers[self.labels]

    def _centroids(self) -> Any:
        return self._gathered()[0]

    def _own_distances(self) -> LongArray:
        return self._gathered()[1]

    def _gathered(self) -> tuple[Any, LongArray]:
        """Return the centroids of all classes, and how far each row is from its own."""
        from shoal.kernels import oka as kernel

        fixed, found = self.fixed, np.zeros(self.n, np.int64)
        centroids = kernel.empty_centroids(len(self.kept), len(fixed.span), len(fixed.leaf))
        kernel.gather(self.labels, fixed.position, fixed.leaf, centroids, fixed.trees, fixed.span, found)
        return centroids, found

    def _join(self, rows: LongArray, limit: int, *, prefers: bool = True) -> int:
        """Let rows join classes that have fewer than `limit`; return how many could.

        With `prefers`, rows go first to classes that they bring nearer to the privacy goals.
        """
        from shoal.kernels import oka as kernel

        fixed = self.fixed
        centroids = self._centroids()
        is_open = np.flatnonzero((centroids.size < limit) & self.kept)
        centroids = kernel.Centroids(*(np.ascontiguousarray(values[..., is_open]) for values in centroids))
        distances = kernel.distances_of(is_open, len(fixed.span) + len(fixed.leaf), len(fixed.trees.parent))
        cursor = np.array([0, len(is_open)], np.int64)
        settings = np.array([limit, max(1, _ROWS_TIMES_CLASSES // max(1, len(is_open)))], np.int64)
        wants = evening.wants_of(self.goals, self.labels, len(self.kept), prefers=prefers)
        goals = None if wants is None else self.goals
        while cursor[0] < len(rows) and cursor[1] > 0:
            kernel.join_nearest(
                rows, fixed.position, fixed.leaf, centroids, distances, fixed.trees, fixed.span, self.labels,
                goals, wants, cursor, settings,
            )  # fmt: skip
            if self.progress is not None:
                self.progress(min(1.0, (self.done + int(cursor[0])) / self.work))
        self.done += int(cursor[0])
        return int(cursor[0])
