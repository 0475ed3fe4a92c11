"""The rows of one part of a table that are nearest to some rows; those of all parts give the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.bound.scans import tuples_of


def least_distances(
    ones: IntArray, values: IntArray, sizes: LongArray, span: IntArray, trees: Any, k: int
) -> list[IntArray]:
    """Return the k least distances from each row listed to rows of a part, in order; all if it has fewer.

    Parameters
    ----------
    ones : ndarray of shape (n_columns, n_ones), int32
        Fixed-point positions, then leaves, of rows that need not be in this part.
    values : ndarray of shape (n_columns, n_tuples), int32
        The same of the different rows of the part.
    sizes : ndarray of shape (n_tuples,), int64
        How many rows of the part have each.
    span, trees
        Of `FixedColumns`.
    """
    from shoal.kernels.nearest import N_KEPT, empty_scan, scan_tuples

    n_ones, n_tuples = ones.shape[1], len(sizes)
    needed = min(k, int(sizes.sum()))
    if needed == 0:
        return [np.zeros(0, np.int32)] * n_ones
    # The kernel compares tuples of one table: the rows listed join it, without counting as rows of it.
    tuples = tuples_of(np.hstack([values, ones]), np.append(sizes, np.zeros(n_ones, np.int64)), span)
    scan = empty_scan(tuples, len(trees.leaf_node), needed)
    # The kernel expects a row in every tuple when it fills its keys; here some have none.
    scan = scan._replace(key=np.zeros(len(scan.key) + n_ones, np.int64))
    no_bound, found = np.zeros(n_tuples + n_ones, np.int32), np.zeros(1, np.int64)
    nearest = []
    for one in range(n_tuples, n_tuples + n_ones):
        scan_tuples(tuples, trees, needed, no_bound, np.array([one]), scan, found, False)
        keys = scan.key[: scan.state[N_KEPT]]
        rows = np.minimum(tuples.size[keys & 0xFFFFFFFF], needed)
        nearest.append(np.repeat(keys >> 32, rows)[:needed].astype(np.int32))
    return nearest
