"""Rows that widen their classes: few rows far from the rest in one column, because of which all lose.

If they leave, the class becomes narrower, and they can be published without that one cell.

A `*` says less than any range, so the rows that leave lose more; those that stay lose less. And the odd
value, which would be an end of a published range, is not shown at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.table.columns import Encoded, QuasiColumn

_MOST_LEAVING = 10  # rows of one class


class Odd(NamedTuple):
    """Rows that should leave their classes, and the column in which each of them is odd."""

    rows: LongArray
    columns: LongArray


class _Best(NamedTuple):
    """For each class: what is saved if some rows at an end of a column leave, and where and how many."""

    saved: FloatArray
    column: LongArray
    at_high: npt.NDArray[np.bool_]
    leaving: LongArray


def odd_rows(encoded: Encoded, labels: IntArray, k: int, most: int) -> Odd:
    """Choose at most `most` rows that save most, counted for each row; no class falls below k."""
    n_classes = int(labels.max(initial=-1)) + 1
    best = _best(encoded, labels, n_classes, k)
    classes = np.flatnonzero(best.saved > 0)
    classes = classes[np.argsort(-best.saved[classes] / best.leaving[classes], kind="stable")]
    classes = classes[np.cumsum(best.leaving[classes]) <= most]
    rows: list[LongArray] = [np.zeros(0, np.int64)]
    columns: list[LongArray] = [np.zeros(0, np.int64)]
    for at, column in enumerate(encoded.columns):
        order, starts, ends = _sorted(column, labels, n_classes)
        for each in classes[best.column[classes] == at]:
            n = best.leaving[each]
            end = (
                slice(ends[each] - n, ends[each])
                if best.at_high[each]
                else slice(starts[each], starts[each] + n)
            )
            rows.append(order[end])
            columns.append(np.full(n, at, np.int64))
    return Odd(np.concatenate(rows), np.concatenate(columns))


def _best(encoded: Encoded, labels: IntArray, n_classes: int, k: int) -> _Best:
    """Find the best choice of each class; of equally good ones, the first column and the fewest rows."""
    best = _Best(
        np.zeros(n_classes),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.bool_),
        np.zeros(n_classes, np.int64),
    )
    for at, column in enumerate(encoded.columns):
        for at_high, leaving, saved in _savings(column, labels, n_classes, k):
            better = saved > best.saved + 1e-12
            best.saved[better], best.column[better] = saved[better], at
            best.at_high[better], best.leaving[better] = at_high, leaving
    return best


def _savings(
    column: QuasiColumn, labels: IntArray, n_classes: int, k: int
) -> Iterator[tuple[bool, int, FloatArray]]:
    """Yield an end, a number of rows at that end, and what each class saves in this column if they leave.

    Leaves are numbered depth first, so the node over a class is the one over its lowest and highest leaf.
    """
    order, starts, ends = _sorted(column, labels, n_classes)
    codes, sizes = column.codes[order], ends - starts
    for at_high in (False, True):
        for leaving in range(1, _MOST_LEAVING + 1):
            can = np.flatnonzero(sizes - leaving >= k)
            first, last = starts[can], ends[can] - 1
            low, high = (first, last - leaving) if at_high else (first + leaving, last)
            before = sizes[can] * column.cost(codes[first], codes[last])
            after = (sizes[can] - leaving) * column.cost(codes[low], codes[high]) + leaving
            saved = np.zeros(n_classes)
            saved[can] = column.weight * (before - after)
            yield at_high, leaving, saved


def _sorted(column: QuasiColumn, labels: IntArray, n_classes: int) -> tuple[LongArray, LongArray, LongArray]:
    """Sort the rows of each class by a column; return the order, and where each class starts and ends."""
    order = np.lexsort((column.codes, labels))
    order = order[np.searchsorted(labels[order], 0) :]
    classes = np.arange(n_classes)
    found = labels[order]
    return order, np.searchsorted(found, classes), np.searchsorted(found, classes, side="right")
