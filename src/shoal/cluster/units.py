"""The arrays that the scanning kernels of k-member and threshold clustering share."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.table.columns import Encoded
from shoal.table.fixed import FixedColumns, fixed_columns

# A block of units that fits the first-level cache; tables of fewer blocks are scanned by one thread,
# because two threads that wait for each other after every scan lose more than they win.
BLOCK = 2048
PARALLEL_FROM = 32


def tuple_units(encoded: Encoded) -> tuple[Any, FixedColumns]:
    """Make a unit of each quasi tuple; return the units and their columns."""
    from shoal.kernels.kmember import Units

    tuples = encoded.tuple_of_row
    begins = np.flatnonzero(np.diff(tuples, prepend=-1))
    ends = np.append(begins[1:], encoded.n_rows)
    fixed = fixed_columns(encoded, begins)
    units = Units(fixed.position, fixed.leaf, begins, ends, tuples[begins], np.zeros(len(begins), np.int32))
    return units, fixed


def empty_box(fixed: FixedColumns) -> Any:
    """Make room for the box of the class that is being grown."""
    from shoal.kernels.kmember import Box

    n_range, n_tree, leaves = len(fixed.span), len(fixed.leaf), len(fixed.trees.leaf_node)
    return Box(
        np.zeros(n_range, np.int32), np.zeros(n_range, np.int32), np.zeros(n_tree, np.int32),
        np.zeros(leaves, np.int32), np.zeros(leaves, np.int32),
    )  # fmt: skip


def empty_scan(n_units: int, block: int = BLOCK, parallel_from: int = PARALLEL_FROM) -> Any:
    """Make room for the costs of all units."""
    from shoal.kernels.kmember import N_UNITS, Scan

    n_blocks = -(-n_units // block)
    cost, best, state = np.zeros(n_units, np.int32), np.zeros(n_blocks, np.int32), np.zeros(1, np.int64)
    state[N_UNITS] = n_units
    # Without threads nothing is compiled for them.
    return Scan(cost, best, state, block, parallel_from if n_blocks >= parallel_from else None)
