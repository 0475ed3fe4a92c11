"""Rows that are equal in every quasi column, where a class has very many of them: most need no search.

Equal rows lose nothing among themselves, so many of them are a class that cannot be bettered. What the search
needs of them is enough for classes nearby that lack rows. With thousands of them in one class, every step
beside that class would take as long as the class is large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import IntArray
from shoal.cluster.local_search.partition import Partition

_SEARCHED = 64  # times k: so many of equal rows in a class take part in the search


def set_apart(cell: Any, partition: Partition, tuple_of_row: IntArray) -> tuple[Partition, Partition]:
    """Take what a class has of equal rows beyond `_SEARCHED` times k, if these are a class by themselves.

    Returns the partition of the rows left, every class of which still has k rows, and that of the rows taken,
    which loses nothing. With goals nothing is taken, because what is left of a class could fail one.
    """
    from shoal.kernels.local_search.partition import partition_loss

    searched, sizes = _SEARCHED * cell.k, np.diff(partition.ends, prepend=0)
    class_of = np.repeat(np.arange(partition.n_classes), sizes)
    places = np.flatnonzero(sizes[class_of] >= searched + cell.k)
    # By class, then by tuple, then by row.
    keys = (partition.rows[places], tuple_of_row[partition.rows[places]], class_of[places])
    places = places[np.lexsort(keys)]
    numbers, tuples = class_of[places], tuple_of_row[partition.rows[places]]
    begins = np.flatnonzero(np.diff(numbers, prepend=-1) | np.diff(tuples, prepend=-1))
    equal = np.diff(np.append(begins, len(places)))
    surplus = np.where(equal >= searched + cell.k, equal - searched, 0)
    if cell.goals is not None or not surplus.any():
        return partition, Partition(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    taken = places[np.arange(len(places)) - np.repeat(begins, equal) < np.repeat(surplus, equal)]
    stays = np.ones(len(class_of), dtype=bool)
    stays[taken] = False
    rows, ends = partition.rows[stays], np.cumsum(np.bincount(class_of[stays]))
    left = Partition(rows, ends, int(partition_loss(cell, rows, ends)))
    return left, Partition(partition.rows[taken], np.cumsum(surplus[surplus > 0]), 0)


def joined(partition: Partition, other: Partition) -> Partition:
    """Return all classes of two partitions of different rows."""
    rows = np.append(partition.rows, other.rows)
    ends = np.append(partition.ends, other.ends + len(partition.rows))
    return Partition(rows, ends, partition.loss + other.loss)
