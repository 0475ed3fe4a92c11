"""Classes that grow from a seed row as long as they stay narrow.

The units, their costs and the scans over them are those of k-member: a unit is the set of rows
with one quasi tuple, and its first free row stands for all of them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.kmember import (
    COMPACT_AT,
    cheapest_unit,
    compact,
    front,
    retire,
    scan_all,
    start_box,
    widen,
)


@njit(cache=True)
def skip_taken(units, unit, labels, scan):
    """Move a unit's head to its next free row; return 1 if there is none, else 0."""
    while units.head[unit] < units.end[unit] and labels[units.head[unit]] >= 0:
        units.head[unit] += 1
    return retire(units, unit, scan)


@njit(cache=True)
def grow_class(units, scan, trees, box, old, span, changed, rows, labels, number, limit):
    """Add the cheapest rows while the class stays below `limit`; return rows added and units used up."""
    size, spent = 0, 0
    while True:
        unit = cheapest_unit(units, rows, scan)
        if scan.cost[unit] >= limit:
            return size, spent
        old.low[:], old.high[:] = box.low, box.high
        grew = widen(units, trees, box, unit, changed)
        labels[units.head[unit]] = number
        spent += skip_taken(units, unit, labels, scan)
        size += 1
        if grew:
            # `not grew` is False here; the literal would make Numba compile the scan twice.
            scan_all(units, trees, box, old, span, changed, not grew, scan)


@njit(cache=True)
def grow_all(units, trees, box, old, scan, span, rows, tuples, order, labels, cursor, settings):
    """Open classes, each with the first free row in `order`, until a call has scanned enough.

    rows: 0 .. n - 1; the rows of a unit stand together. tuples: the tuple of each row. cursor: [rows
    of `order` done, units, classes, units used up]. settings: [D at which a class is full, rows in
    this call]. Writes everything but `trees`, `span`, `rows`, `tuples`, `order` and `settings`.
    """
    limit, budget = settings[0], settings[1]
    changed = np.zeros(span.shape[0] + box.node.shape[0], np.bool_)
    afresh = limit >= 0  # always; the literal would make Numba compile the scan twice
    while cursor[0] < order.shape[0] and budget > 0:
        row = order[cursor[0]]
        cursor[0] += 1
        if labels[row] >= 0:
            continue
        view = front(scan, cursor[1])
        unit = int(np.searchsorted(units.tuple_id[: cursor[1]], tuples[row]))
        start_box(box, trees, units.position[:, unit], units.leaf[:, unit])
        labels[row] = cursor[2]
        scan_all(units, trees, box, old, span, changed, afresh, view)
        spent = skip_taken(units, unit, labels, view)
        size, more = grow_class(units, view, trees, box, old, span, changed, rows, labels, cursor[2], limit)
        budget -= (size + 1) * cursor[1]
        cursor[2] += 1
        cursor[3] += spent + more
        if cursor[3] * COMPACT_AT > cursor[1]:
            cursor[1], cursor[3] = compact(units, cursor[1]), 0
