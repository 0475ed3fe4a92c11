"""Mondrian: cut the table at medians, the widest column first."""

from __future__ import annotations

import numpy as np

from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.recipe.options import MondrianOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded, RangeColumn, TreeColumn
from shoal.table.fixed import FixedColumns, fixed_columns

_ROWS_PER_CALL = 20_000_000  # between two calls progress is shown and an interruption is seen


class Mondrian(Clusterer[MondrianOptions]):
    """Cut groups of rows in two or more until no cut leaves every part with k rows.

    A group is cut in the column where it is widest: numbers at the median, trees into the children
    of the group's node, missing from present values. When that cut is not allowed, in the next
    widest. Time grows a little faster than the number of rows.

    Parameters: see `Clusterer`. Option `mode`: "strict" keeps equal values together, "relaxed"
    deals them out to balance the parts. Mondrian draws nothing, but the canonical order of equal
    rows, by which "relaxed" deals them out, depends on the seed.

    Notes
    -----
    After [lefevre2006]_. Settled here: the median is the lower of two middle values, and it is the
    only cut of a column that is tried; children of a node with fewer than k rows are put together,
    and if they have fewer than k even so they join the smallest other part; ties between columns go
    to the first. Every class has at least k rows and meets every further privacy goal, because a cut
    is made only when all its parts do.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> Mondrian(k=2).fit(encoded).labels
    array([0, 0, 0, 1, 1], dtype=int32)

    References
    ----------
    .. [lefevre2006] LeFevre, DeWitt, Ramakrishnan. Mondrian Multidimensional K-Anonymity. ICDE 2006.
       doi:10.1109/ICDE.2006.101
    """

    options_type = MondrianOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        from shoal.kernels import mondrian as kernel
        from shoal.kernels.waiting import SETTLED, WAITING, all_waiting

        n = encoded.n_rows
        check_feasible(n, self.k)
        fixed = fixed_columns(encoded, np.arange(n))
        most_nodes = max([c.tree.n_nodes for c in encoded.columns if isinstance(c, TreeColumn)], default=1)
        parts = n // self.k + 2
        work = kernel.Work(
            np.zeros(n, np.int32), np.zeros(parts, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int32),
            np.zeros(most_nodes, np.int32), np.zeros(most_nodes, np.int64),
            np.zeros(len(encoded.columns), np.int64), np.zeros(len(encoded.columns), np.int64),
            np.zeros(parts, np.int64), np.zeros(parts, np.int64),
        )  # fmt: skip
        stack, cursor = all_waiting(n, parts)
        settings = kernel.Settings(self.k, self.options.mode == "relaxed", _ROWS_PER_CALL)
        rows, labels = np.arange(n), np.full(n, -1, np.int32)
        table = _table(encoded, fixed)
        goals, tally = self.goals_and_tally()
        while cursor[WAITING] > 0:
            kernel.cut_groups(table, fixed.trees, rows, labels, stack, goals, tally, cursor, settings, work)
            if progress is not None:
                progress(int(cursor[SETTLED]) / n)
        return ClusterResult(labels)


def _table(encoded: Encoded, fixed: FixedColumns):  # type: ignore[no-untyped-def]  # a Numba tuple
    from shoal.kernels import mondrian as kernel

    is_tree = np.array([not isinstance(column, RangeColumn) for column in encoded.columns])
    place = np.where(is_tree, np.cumsum(is_tree) - 1, np.cumsum(~is_tree) - 1)
    missing = [column.missing for column in encoded.columns if isinstance(column, TreeColumn)]
    return kernel.Table(
        fixed.position, fixed.leaf, fixed.span, np.array(missing, np.int32), is_tree, place.astype(np.int64)
    )
