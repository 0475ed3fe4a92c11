"""Classes that grow from a seed row as long as they stay narrow.

The units, their costs and the scans over them are those of k-member: a unit is the set of rows
with one quasi tuple, and its first free row stands for all of them.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.kmember import (
    COMPACT_AT,
    cheapest_unit,
    compact,
    keep_range,
    retire,
    scan_all,
    start_box,
    widen,
)


@inner
def skip_taken(units, unit, labels, scan):
    """Move a unit's head to its next free row; return 1 if there is none, else 0."""
    while units.head[unit] < units.end[unit] and labels[units.head[unit]] >= 0:
        units.head[unit] += 1
    return retire(units, unit, scan)


@inner
def grow_class(units, scan, trees, box, old, span, changed, rows, labels, number, limit):
    """Add the cheapest rows while the class stays below `limit`; return rows added and units used up."""
    size, spent = 0, 0
    while True:
        unit = cheapest_unit(units, rows, scan)
        if scan.cost[unit] >= limit:
            return size, spent
        keep_range(box, old)
        grew = widen(units, trees, box, unit, changed)
        labels[units.head[unit]] = number
        spent += skip_taken(units, unit, labels, scan)
        size += 1
        if grew:
            # `not grew` is False here; the literal would make Numba compile the scan twice.
            scan_all(units, trees, box, old, span, changed, not grew, scan)


@inner
def unit_of(units, n_units, number):
    """Return the first unit whose tuple has at least this number; they ascend."""
    low, high = np.int64(0), n_units
    while low < high:
        middle = (low + high) // 2
        if units.tuple_id[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@entry
def grow_all(units, trees, box, old, scan, span, rows, tuples, order, labels, cursor, settings, changed):
    """Open classes, each with the first free row in `order`, until a call has scanned enough.

    rows: 0 .. n - 1; the rows of a unit stand together. tuples: the tuple of each row. cursor: [rows
    of `order` done, classes, units used up]. settings: [D at which a class is full, rows in this call].
    changed: (n_range + n_tree), scratch. Writes everything but `trees`, `span`, `rows`, `tuples`, `order`
    and `settings`.
    """
    limit, budget = settings[0], settings[1]
    afresh = limit >= 0  # always; the literal would make Numba compile the scan twice
    while cursor[0] < order.shape[0] and budget > 0:
        row = order[cursor[0]]
        cursor[0] += 1
        if labels[row] >= 0:
            continue
        unit = unit_of(units, scan.n_units[0], tuples[row])
        start_box(box, trees, units.position, units.leaf, unit)
        labels[row] = cursor[1]
        scan_all(units, trees, box, old, span, changed, afresh, scan)
        spent = skip_taken(units, unit, labels, scan)
        size, more = grow_class(units, scan, trees, box, old, span, changed, rows, labels, cursor[1], limit)
        budget -= (size + 1) * scan.n_units[0]
        cursor[1] += 1
        cursor[2] += spent + more
        if cursor[2] * COMPACT_AT > scan.n_units[0]:
            compact(units, scan)
            cursor[2] = 0
