"""Classes that grow from a seed row as long as they stay narrow.

The units, their costs and the scans over them are those of k-member: a unit is the set of rows
with one quasi tuple, and its first free row represents all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.kmember import (
    COMPACT_AT,
    N_UNITS,
    cheapest_unit,
    compact,
    keep_range,
    retire,
    scan_all,
    start_box,
    widen,
)

DONE, GROWN, SPENT = range(3)  # of the cursor: rows of `order` done, classes grown, units used up


class Settings(NamedTuple):
    """What does not change during a call."""

    limit: int  # D at which a class is full
    n_units: int  # examined in one call, approximately


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

    rows: 0 .. n - 1; the rows of a unit are adjacent. tuples: the tuple of each row. changed:
    (n_range + n_tree), scratch. Writes everything but `trees`, `span`, `rows`, `tuples`, `order` and
    `settings`.
    """
    limit, budget = settings.limit, settings.n_units
    afresh = limit >= 0  # always; the literal would make Numba compile the scan twice
    while cursor[DONE] < order.shape[0] and budget > 0:
        row = order[cursor[DONE]]
        cursor[DONE] += 1
        if labels[row] >= 0:
            continue
        unit = unit_of(units, scan.state[N_UNITS], tuples[row])
        start_box(box, trees, units.position, units.leaf, unit)
        labels[row] = cursor[GROWN]
        scan_all(units, trees, box, old, span, changed, afresh, scan)
        spent = skip_taken(units, unit, labels, scan)
        size, more = grow_class(
            units, scan, trees, box, old, span, changed, rows, labels, cursor[GROWN], limit
        )
        budget -= (size + 1) * scan.state[N_UNITS]
        cursor[GROWN] += 1
        cursor[SPENT] += spent + more
        if cursor[SPENT] * COMPACT_AT > scan.state[N_UNITS]:
            compact(units, scan)
            cursor[SPENT] = 0
