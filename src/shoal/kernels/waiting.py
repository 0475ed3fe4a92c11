"""Groups of rows that wait on a stack to be cut, and the progress of the work."""

from __future__ import annotations

import numpy as np

from shoal.arrays import LongArray

BEGIN, END = range(2)  # the columns of the stack
WAITING, CLASSES, SETTLED = range(3)  # of the cursor: groups on the stack, classes made, rows in these


def all_waiting(n_rows: int, most_groups: int) -> tuple[LongArray, LongArray]:
    """Return a stack with one group of all rows on it, and its cursor."""
    stack, cursor = np.zeros((most_groups, 2), np.int64), np.zeros(3, np.int64)
    stack[0, BEGIN], stack[0, END] = 0, n_rows
    cursor[WAITING] = 1
    return stack, cursor
