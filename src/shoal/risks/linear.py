"""Linear programming by the simplex method, for a few dozen constraints."""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, LongArray

_TINY = 1e-9  # what counts as zero; rows are scaled so that their right sides are about 1
_PATIENCE = 500  # steps after which the rule that cannot cycle is used


def least(cost: FloatArray, rows: FloatArray, right: FloatArray) -> float | None:
    """Return the least cost @ x for x >= 0 with rows @ x == right, which is >= 0; None without such an x.

    In the first phase the basis is artificial, one variable for each row, and their sum is brought down to 0.
    """
    n_rows, n_columns = rows.shape
    table = np.hstack([rows, np.eye(n_rows), right[:, None]])
    basis = np.arange(n_columns, n_columns + n_rows)
    first = np.concatenate([np.zeros(n_columns), np.ones(n_rows)])
    _descend(table, basis, first, n_columns + n_rows)
    if float(first[basis] @ table[:, -1]) > 1e-7:
        return None
    _drive_out(table, basis, n_columns)
    second = np.concatenate([cost, np.zeros(n_rows)])
    _descend(table, basis, second, n_columns)
    return float(second[basis] @ table[:, -1])


def _descend(table: FloatArray, basis: LongArray, cost: FloatArray, n_usable: int) -> None:
    """Exchange variables of the basis until no exchange lowers the cost. Writes `table` and `basis`."""
    steps = 0
    while True:
        reduced = cost[:n_usable] - cost[basis] @ table[:, :n_usable]
        falling = np.flatnonzero(reduced < -_TINY)
        if not len(falling):
            return
        # The steepest is quick; the first of all (Bland's rule) cannot go round in circles.
        column = int(falling[0] if steps > _PATIENCE else np.argmin(reduced))
        steep = table[:, column] > _TINY
        if not steep.any():
            return  # the cost has no least value, which a sum of people prevents
        ratios = np.where(steep, table[:, -1] / np.where(steep, table[:, column], 1), np.inf)
        ties = np.flatnonzero(ratios <= ratios.min() + 1e-15)
        _exchange(table, basis, int(ties[np.argmin(basis[ties])]), column)
        steps += 1


def _exchange(table: FloatArray, basis: LongArray, row: int, column: int) -> None:
    table[row] /= table[row, column]
    others = np.arange(len(table)) != row
    table[others] -= np.outer(table[others, column], table[row])
    basis[row] = column


def _drive_out(table: FloatArray, basis: LongArray, n_columns: int) -> None:
    """Replace artificial variables that are still in the basis, all of them 0, where that is possible."""
    for row in np.flatnonzero(basis >= n_columns).tolist():
        usable = np.flatnonzero(np.abs(table[row, :n_columns]) > _TINY)
        if len(usable):
            _exchange(table, basis, row, int(usable[0]))
