"""Greedy k-member clustering [byun2007]."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.cluster.units import BLOCK as _BLOCK
from shoal.cluster.units import PARALLEL_FROM as _PARALLEL_FROM
from shoal.cluster.units import empty_box, empty_scan
from shoal.errors import RecipeError
from shoal.recipe.options import KMemberOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded
from shoal.table.fixed import FixedColumns, fixed_columns

# Between two calls of the kernel progress is shown and an interruption is seen; a call scans
# about this many units, a few tenths of a second.
_SCANS_PER_CALL = 20_000_000


class KMember(Clusterer[KMemberOptions]):
    """Grow classes one row at a time, always taking the row that widens the class least.

    Start far from the last class, add the row that costs least until there are `k`, begin again.
    The fewer than `k` rows left over at the end join the class where the loss grows least. Time
    grows with the square of the number of rows.

    Parameters: see `Clusterer`. The seed chooses the first row and the order of the rows left over.
    Options: `opens`, `anchor`, `label`, `class_penalty`.

    Notes
    -----
    Follows figure 5 of [byun2007]_. Where its text and its pseudo-code differ, the pseudo-code is
    the default: the first class is opened by the row furthest from the random one, and later ones
    by the row furthest from the last row added; `opens="start"` and `anchor="first"` give the
    text. Figure 5 returns a table of fewer than k rows as it is; here that is an error. The class
    penalty of section 3.4 is switched on by a `label` column; a row that matches any of several
    tied majority labels is not penalised, and rows left over are placed without it.

    Costs are fixed-point integers (`table.fixed`). Ties go to the lowest position in canonical
    order, so threads do not change the result.

    Every class has at least k rows: a class is opened only while k rows are free, and rows left
    over only add. It has at most 2k - 1, because fewer than k rows are left over.

    With further privacy goals, a class of k rows that fails one takes on more: always the row that
    costs least of those that bring it nearer to its goals, until it meets them or no free row helps.
    Such a class may have more than 2k - 1 rows.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> result = KMember(k=2, seed=0).fit(encoded)
    >>> result.n_classes, result.sizes.tolist()
    (2, [2, 3])

    References
    ----------
    .. [byun2007] Byun, Kamra, Bertino, Li. Efficient k-Anonymization Using Clustering Techniques.
       DASFAA 2007. doi:10.1007/978-3-540-71703-4_18
    """

    options_type = KMemberOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        check_feasible(encoded.n_rows, self.k)
        start, priority = draw(encoded.n_rows, self.seed)
        uses_label = self.options.label is not None
        if uses_label and encoded.label is None:
            raise RecipeError(
                "recipe.option", "The class penalty needs a label column.", "name one in `label`"
            )
        label = encoded.label if uses_label else None
        growth = _Growth(encoded, self.k, self.options, start, label, self.goals_and_tally())
        growth.run(progress)
        growth.place_leftovers(priority)
        return ClusterResult(growth.labels)


def draw(n_rows: int, seed: int) -> tuple[int, LongArray]:
    """Draw the first row and the order in which rows left over are placed."""
    random = np.random.Generator(np.random.PCG64(seed))
    return int(random.integers(n_rows)), random.permutation(n_rows)


class _Growth:
    """The arrays of one run, and the calls of the kernel."""

    def __init__(
        self,
        encoded: Encoded,
        k: int,
        options: KMemberOptions,
        start: int,
        label: IntArray | None,
        goals_and_tally: tuple[Any, Any],
    ) -> None:
        from shoal.kernels import kmember as kernel

        n = encoded.n_rows
        self.encoded, self.k, self.n = encoded, k, n
        self.labels = np.full(n, -1, np.int32)
        self.goals, tally = goals_and_tally
        n_values = 0 if tally is None else len(tally.counts)
        taken = np.zeros(0 if self.goals is None else n, np.int64)
        self.work = kernel.Work(tally, np.zeros(n_values, np.bool_), taken)
        self.rows, begins = _units(encoded, _kinds(encoded, label, self.goals))
        heads = self.rows[begins]
        fixed = fixed_columns(encoded, heads)
        self.fixed = fixed
        place = int(np.flatnonzero(self.rows == start)[0])
        first = int(np.searchsorted(begins, place, side="right")) - 1
        opens = options.opens == "start"
        if opens:
            self._put_first(place, int(begins[first]))
        self.cursor = np.zeros(5, np.int64)
        self.cursor[kernel.FREE], self.cursor[kernel.ORIGIN] = n, first
        self.cursor[kernel.OPENER] = first if opens else -1
        penalty = 0 if label is None else round(options.class_penalty * fixed.unit)
        n_labels = 1 if label is None else int(label.max()) + 1
        self.settings = kernel.Settings(k, 1, options.anchor == "first", penalty)
        self.counts = np.zeros(n_labels, np.int64)
        self._allocate(fixed, begins, encoded.tuple_of_row[heads], label, heads)

    def _put_first(self, place: int, begin: int) -> None:
        """Move the row that opens the first class to the front of its unit."""
        self.rows[begin : place + 1] = np.roll(self.rows[begin : place + 1], 1)

    def _allocate(
        self,
        fixed: FixedColumns,
        begins: LongArray,
        tuple_ids: IntArray,
        label: IntArray | None,
        heads: LongArray,
    ) -> None:
        from shoal.kernels import kmember as kernel
        from shoal.kernels.classes import empty_classes

        m = len(begins)
        ends = np.append(begins[1:], self.n)
        unit_labels = np.zeros(m, np.int32) if label is None else label[heads]
        self.units = kernel.Units(fixed.position, fixed.leaf, begins.copy(), ends, tuple_ids, unit_labels)
        self.trees = fixed.trees
        self.box, self.old = empty_box(fixed), empty_box(fixed)
        self.scan = empty_scan(m, _BLOCK, _PARALLEL_FROM)
        n_classes, n_range, n_tree = self.n // self.k, len(fixed.span), len(fixed.leaf)
        self.classes = empty_classes(n_classes, n_range, n_tree)
        self.changed = np.zeros(n_range + n_tree, np.bool_)

    def run(self, progress: Tick | None) -> None:
        """Grow classes until fewer than k rows are free."""
        from shoal.kernels import kmember as kernel

        while self.cursor[kernel.FREE] >= self.k:
            of_class = int(self.scan.state[kernel.N_UNITS]) * (self.k + 1)
            self.settings = self.settings._replace(n_classes=max(1, _SCANS_PER_CALL // of_class))
            kernel.grow(
                self.units, self.trees, self.box, self.old, self.scan, self.fixed.span, self.rows,
                self.labels, self.classes, self.goals, self.work, self.cursor, self.settings, self.counts,
                self.changed,
            )  # fmt: skip
            if progress is not None:
                # Each class is cheaper than the one before: the work left goes with the square.
                progress(1 - (int(self.cursor[kernel.FREE]) / self.n) ** 2)

    def place_leftovers(self, priority: LongArray) -> None:
        """Give the rows left over, in random order, to the classes that they cost least."""
        from shoal.kernels.classes import place_leftovers
        from shoal.kernels.kmember import GROWN

        left = np.flatnonzero(self.labels < 0)
        left = left[np.argsort(priority[left])]
        if len(left) == 0:
            return
        points = fixed_columns(self.encoded, left)
        place_leftovers(
            left, points.position, points.leaf, self.classes, int(self.cursor[GROWN]), self.trees,
            self.fixed.span, self.labels,
        )  # fmt: skip


def _kinds(encoded: Encoded, label: IntArray | None, goals: Any) -> LongArray:
    """Number the rows that a class can distinguish although their quasi values are equal."""
    distinguished = [] if label is None else [label]
    if goals is not None:
        distinguished += [*goals.code, *([] if encoded.person is None else [goals.person])]
    kinds = np.zeros(encoded.n_rows, np.int64)
    for codes in distinguished:
        keys = kinds * (int(codes.max()) + 2) + codes + 1  # -1 is a missing value
        kinds = np.unique(keys, return_inverse=True)[1]
    return kinds


def _units(encoded: Encoded, kinds: LongArray) -> tuple[LongArray, LongArray]:
    """Group the rows that the algorithm cannot distinguish.

    Returns the rows, unit by unit and ascending within a unit, and where each unit begins.
    """
    keys = encoded.tuple_of_row.astype(np.int64) * (int(kinds.max()) + 1) + kinds
    rows = np.argsort(keys, kind="stable")
    changes = np.flatnonzero(np.diff(keys[rows])) + 1
    return rows, np.concatenate([[0], changes])
