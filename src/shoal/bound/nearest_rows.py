"""How far some rows of a table are from their nearest rows: an estimate of the bound for every k at once."""

from __future__ import annotations

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.bound.scans import tuples_of_rows
from shoal.table.columns import Encoded
from shoal.table.fixed import fixed_columns

_BATCH = 8  # rows in one call of the kernel


def nearest_distances(encoded: Encoded, chosen: LongArray, most: int) -> IntArray:
    """Return the distances of some rows to their nearest rows, themselves included, in order.

    Parameters
    ----------
    encoded : Encoded
        All rows of the table, in any order.
    chosen : ndarray of int64
        The rows.
    most : int
        How many distances to return for each; at most the number of rows.

    Returns
    -------
    distances : ndarray of shape (n_chosen, most), int32
        The last of the first k is the least that the row can lose in a class of k rows: the term *nearest
        row* of `bound.lower_bound`.
    """
    from shoal.kernels.nearest import N_KEPT, empty_scan, scan_tuples
    from shoal.kernels.threads import share_out

    fixed = fixed_columns(encoded, np.arange(encoded.n_rows))
    tuples = tuples_of_rows(encoded, fixed)
    no_bound = np.zeros(encoded.n_rows, np.int32)
    distances = np.zeros((len(chosen), most), np.int32)

    def run(begin: int, end: int) -> None:
        scan, found = empty_scan(tuples, len(fixed.trees.leaf_node), most), np.zeros(1, np.int64)
        for at in range(begin, end):
            scan_tuples(tuples, fixed.trees, most, no_bound, chosen[at : at + 1], scan, found, False)
            distances[at] = (scan.key[: scan.state[N_KEPT]] >> 32)[:most]

    share_out(run, len(chosen), _BATCH)
    return distances
