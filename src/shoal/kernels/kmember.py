"""The inner loops of k-member clustering, on fixed-point costs.

A *unit* is a set of rows that the algorithm cannot distinguish: one quasi tuple (with a class
label, one tuple and label). Units are in canonical order, their rows too, so "the lowest
position among equals" is the first unit with the best cost and that unit's first free row.

All costs are integers, so sums are exact in any order: columns can be brought up to date one at
a time, blocks can be scanned by any number of threads, and the labels stay the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange

from shoal.kernels.classes import width
from shoal.kernels.compiling import entry, inner, parallel
from shoal.kernels.goals import ROWS, add, asks, helps, is_good, mark_all_helpful, remove_rows
from shoal.kernels.sorting import first_least
from shoal.kernels.trees import lifted, reach_from

COMPACT_AT = 16  # compact once a sixteenth of the units are used up
# Of the cursor: classes grown; free rows; at the very beginning the unit from which "furthest" is measured,
# then -1; the unit that must open the next class, or -1; units used up since they were compacted.
GROWN, FREE, ORIGIN, OPENER, SPENT = range(5)
N_UNITS = 0  # of the state of a scan: the units that still have free rows, at the front
DEAD = 1 << 30  # the cost of a unit without free rows; above any true cost (table.fixed.TOTAL)


class Units(NamedTuple):
    """The units that still have free rows, moved to the front as others are used up. m units."""

    position: np.ndarray  # int32 (n_range, m): fixed-point positions; a missing value lies at 2 x span
    leaf: np.ndarray  # int32 (n_tree, m): leaf codes
    head: np.ndarray  # int64 (m): where in `rows` the unit's first free row is
    end: np.ndarray  # int64 (m): one past its last row
    tuple_id: np.ndarray  # int32 (m): units of one quasi tuple share a number
    label: np.ndarray  # int32 (m): class label code; all zero when labels play no part


class Box(NamedTuple):
    """The class that is being grown."""

    low: np.ndarray  # int32 (n_range)
    high: np.ndarray  # int32 (n_range)
    node: np.ndarray  # int32 (n_tree)
    reach: np.ndarray  # int32 (leaves): what the column costs once a leaf has joined the class
    change: np.ndarray  # int32 (leaves): how `reach` differs from what `cost` was made with


class Work(NamedTuple):
    """The class that is being grown as its goals see it."""

    tally: Any  # kernels.goals.Tally
    helpful: np.ndarray  # bool (V): values that the class needs
    taken: np.ndarray  # int64 (n): its rows; empty where no goals are asked for


class Settings(NamedTuple):
    """What does not change during a call."""

    k: int
    n_classes: int  # grown in this call
    from_first: int  # 1: "furthest" is measured from the first row of the last class; 0: from its last row
    penalty: int  # of a label outside the majority, 0 for none


class Scan(NamedTuple):
    """Costs of all units for the class that is being grown, and the best of each block."""

    cost: np.ndarray  # int32 (m)
    best: np.ndarray  # int32 (blocks)
    state: np.ndarray  # int64 (1): N_UNITS
    block: int  # units in a block: their costs should stay in the first-level cache
    parallel_from: int | None  # blocks; below this, waking a second thread costs more than it saves


@inner
def number_of_blocks(scan):
    """Count the blocks of the units at the front."""
    return (scan.state[N_UNITS] + scan.block - 1) // scan.block


@inner
def start_box(box, trees, positions, leaves, at):
    """Make the box hold one point. Writes `box`."""
    for col in range(positions.shape[0]):
        box.low[col] = box.high[col] = positions[col, at]
    for col in range(leaves.shape[0]):
        leaf = leaves[col, at]
        box.node[col] = trees.leaf_node[trees.leaf_at[col] + leaf]
        reach_from(trees, col, leaf, box.reach[trees.leaf_at[col] :])


@inner
def widen_node(box, trees, col, leaf):
    """Lift one column's node until it covers `leaf`; note in `box.change` what that adds to costs."""
    nodes, leaves = trees.node_at[col], trees.leaf_at[col]
    node = lifted(trees, col, box.node[col], leaf)
    box.node[col] = node
    # Below the new node every leaf now costs the node's height; outside it nothing changes, because
    # the lowest common ancestor with the old node already was the one with the new node.
    for at in range(leaves, leaves + box_leaves(trees, col)):
        box.change[at] = 0
    height = trees.height[nodes + node]
    for at in range(leaves + trees.first_leaf[nodes + node], leaves + trees.last_leaf[nodes + node] + 1):
        box.change[at] = height - box.reach[at]
        box.reach[at] = height


@inner
def box_leaves(trees, col):
    """Count the leaves of one column's tree."""
    return trees.last_leaf[trees.node_at[col]] + 1


@inner
def block_minimum(cost, begin, stop):
    """Return the least cost in a block."""
    least = np.int32(DEAD)
    for unit in range(begin, stop):
        least = min(least, cost[unit])
    return least


@inner
def fill_block(units, trees, box, span, cost, begin, stop):
    """Compute what the class costs with each unit of a block. Writes `cost`."""
    for unit in range(begin, stop):
        cost[unit] = 0
    for col in range(units.position.shape[0]):
        position, low, high, full = units.position[col], box.low[col], box.high[col], span[col]
        for unit in range(begin, stop):
            at = position[unit]
            cost[unit] += width(min(low, at), max(high, at), full)
    for col in range(units.leaf.shape[0]):
        leaf, reach = units.leaf[col], box.reach[trees.leaf_at[col] :]
        for unit in range(begin, stop):
            cost[unit] += reach[leaf[unit]]
    for unit in range(begin, stop):
        if units.head[unit] == units.end[unit]:
            cost[unit] = DEAD


@inner
def update_ranges(position, old_low, old_high, low, high, full, cost, begin, stop):
    """Bring a block's costs up to date after one range column grew. Writes `cost`."""
    for unit in range(begin, stop):
        at = position[unit]
        new = width(min(low, at), max(high, at), full)
        cost[unit] += new - width(min(old_low, at), max(old_high, at), full)


@inner
def update_nodes(leaf, change, cost, begin, stop):
    """Bring a block's costs up to date after one tree column grew. Writes `cost`."""
    for unit in range(begin, stop):
        cost[unit] += change[leaf[unit]]


@inner
def update_block(units, trees, box, old, span, changed, cost, begin, stop):
    """Bring a block's costs up to date in the columns that grew. Writes `cost`."""
    n_range = units.position.shape[0]
    for col in range(n_range):
        if changed[col]:
            update_ranges(
                units.position[col], old.low[col], old.high[col], box.low[col], box.high[col], span[col],
                cost, begin, stop,
            )  # fmt: skip
    for col in range(units.leaf.shape[0]):
        if changed[n_range + col]:
            update_nodes(units.leaf[col], box.change[trees.leaf_at[col] :], cost, begin, stop)


@inner
def scan_block(units, trees, box, old, span, changed, afresh, scan, block):
    """Compute one block's costs, afresh or by what changed, and note the least. Writes `scan`."""
    begin = block * scan.block
    stop = min(begin + scan.block, scan.state[N_UNITS])
    if afresh:
        fill_block(units, trees, box, span, scan.cost, begin, stop)
    else:
        update_block(units, trees, box, old, span, changed, scan.cost, begin, stop)
    scan.best[block] = block_minimum(scan.cost, begin, stop)


@parallel
def scan_parallel(units, trees, box, old, span, changed, afresh, scan, n_blocks):
    """Scan all blocks, each by whichever thread is free."""
    for block in prange(n_blocks):
        scan_block(units, trees, box, old, span, changed, afresh, scan, block)


@inner
def scan_all(units, trees, box, old, span, changed, afresh, scan):
    """Compute what the class costs with each unit. Writes `scan`."""
    scan_blocks(units, trees, box, old, span, changed, afresh, scan, scan.parallel_from)


@inner
def scan_blocks(units, trees, box, old, span, changed, afresh, scan, parallel_from):
    """Scan all blocks; by several threads from `parallel_from` blocks on, None for never."""
    n_blocks = number_of_blocks(scan)
    if parallel_from is not None and n_blocks >= parallel_from:
        scan_parallel(units, trees, box, old, span, changed, afresh, scan, n_blocks)
        return
    for block in range(n_blocks):
        scan_block(units, trees, box, old, span, changed, afresh, scan, block)


@inner
def earliest(units, rows, unit, n_units):
    """Among the units of one quasi tuple, return the one whose first free row comes first."""
    best = unit
    other = unit + 1
    while other < n_units and units.tuple_id[other] == units.tuple_id[unit]:
        if units.head[other] < units.end[other] and rows[units.head[other]] < rows[units.head[best]]:
            best = other
        other += 1
    return best


@inner
def furthest_unit(units, rows, scan):
    """Return the unit that costs most together with the box, the first one of equals."""
    greatest = np.int32(-1)
    for unit in range(scan.state[N_UNITS]):
        cost = scan.cost[unit]
        greatest = max(greatest, cost if cost < DEAD else np.int32(-1))
    unit = 0
    while scan.cost[unit] != greatest:
        unit += 1
    return earliest(units, rows, unit, scan.state[N_UNITS])


@inner
def cheapest_unit(units, rows, scan):
    """Return the unit that costs least together with the box, the first one of equals."""
    block = first_least(scan.best, number_of_blocks(scan))
    unit = block * scan.block
    while scan.cost[unit] != scan.best[block]:
        unit += 1
    return earliest(units, rows, unit, scan.state[N_UNITS])


@inner
def cheapest_with_penalty(units, rows, scan, size, counts, penalty):
    """Return the cheapest unit when a label outside the class's majority costs `penalty` more."""
    most = counts[0]
    for label in range(1, counts.shape[0]):
        most = max(most, counts[label])
    least, best = np.int64(1) << 62, -1
    for unit in range(scan.state[N_UNITS]):
        if scan.cost[unit] >= DEAD:
            continue
        value = (size + 1) * np.int64(scan.cost[unit])
        if counts[units.label[unit]] < most:
            value += penalty
        earlier = best < 0 or rows[units.head[unit]] < rows[units.head[best]]
        if value < least or (value == least and earlier):
            least, best = value, unit
    return best


@inner
def cheapest_helping(units, rows, scan, goals, work):
    """Return the cheapest unit whose next row brings the class nearer to its goals, -1 for none."""
    least, best = np.int32(DEAD), -1
    for unit in range(scan.state[N_UNITS]):
        cost = scan.cost[unit]
        if cost > least or cost >= DEAD:
            continue
        row = rows[units.head[unit]]
        earlier = cost < least or row < rows[units.head[best]]
        if earlier and helps(goals, work.tally, work.helpful, row):
            least, best = cost, unit
    return best


@inner
def take(units, rows, unit, scan, labels, number):
    """Give the unit's first free row to class `number`; return 1 if that was its last, else 0."""
    labels[rows[units.head[unit]]] = number
    units.head[unit] += 1
    return retire(units, unit, scan)


@inner
def retire(units, unit, scan):
    """Pass over a unit from now on if it has no free row; return 1 then, else 0. Writes `scan`."""
    if units.head[unit] < units.end[unit]:
        return 0
    scan.cost[unit] = DEAD
    block = unit // scan.block
    stop = min((block + 1) * scan.block, scan.state[N_UNITS])
    scan.best[block] = block_minimum(scan.cost, block * scan.block, stop)
    return 1


@inner
def widen(units, trees, box, unit, changed):
    """Make the box cover a unit; mark the columns that grew. Writes `box`, `changed`."""
    grew = False
    n_range = units.position.shape[0]
    for col in range(n_range):
        at = units.position[col, unit]
        changed[col] = at < box.low[col] or at > box.high[col]
        box.low[col] = min(box.low[col], at)
        box.high[col] = max(box.high[col], at)
        grew = grew or changed[col]
    for col in range(units.leaf.shape[0]):
        nodes, leaf = trees.node_at[col] + box.node[col], units.leaf[col, unit]
        outside = leaf < trees.first_leaf[nodes] or leaf > trees.last_leaf[nodes]
        changed[n_range + col] = outside
        if outside:
            widen_node(box, trees, col, leaf)
            grew = True
    return grew


@inner
def keep_range(box, old):
    """Note how wide the box is in its range columns. Writes `old`."""
    for col in range(box.low.shape[0]):
        old.low[col], old.high[col] = box.low[col], box.high[col]


@inner
def box_diversity(trees, box, span):
    """Return D of the box: what one row of the class costs."""
    total = np.int64(0)
    for col in range(span.shape[0]):
        total += width(box.low[col], box.high[col], span[col])
    for col in range(box.node.shape[0]):
        total += trees.height[trees.node_at[col] + box.node[col]]
    return total


@inner
def squeeze(values, n_units, kept):
    """Move the kept entries of one array to the front, in order. Writes `values`."""
    to = 0
    for at in range(n_units):
        if kept[at]:
            values[to] = values[at]
            to += 1


@inner
def compact(units, scan):
    """Move the units that have free rows to the front, in order. Writes `units`, `scan`.

    The costs are of no use any more, so they hold which units are kept.
    """
    n_units, n_kept, kept = scan.state[N_UNITS], np.int64(0), scan.cost
    for unit in range(n_units):
        kept[unit] = units.head[unit] < units.end[unit]
        n_kept += kept[unit]
    for col in range(units.position.shape[0]):
        squeeze(units.position[col], n_units, kept)
    for col in range(units.leaf.shape[0]):
        squeeze(units.leaf[col], n_units, kept)
    squeeze(units.head, n_units, kept)
    squeeze(units.end, n_units, kept)
    squeeze(units.tuple_id, n_units, kept)
    squeeze(units.label, n_units, kept)
    scan.state[N_UNITS] = n_kept


@inner
def note_row(goals, work, row):
    """Count a row that the class takes, where goals are asked for. Writes `work`."""
    if goals is not None:
        work.taken[work.tally.size[ROWS]] = row
        add(goals, work.tally, row)


@inner
def grow_class(
    units, scan, trees, box, old, span, changed, rows, labels, number, k, counts, penalty, goals, work
):
    """Grow one class from the unit that the caller has already put into the box and taken.

    Returns the last unit taken (-1 if none) and how many units were used up. Writes everything
    but `trees`, `span`, `rows` and `goals`.
    """
    unit, spent = -1, 0
    for size in range(1, k):
        if penalty > 0:
            unit = cheapest_with_penalty(units, rows, scan, size, counts, penalty)
            counts[units.label[unit]] += 1
        else:
            unit = cheapest_unit(units, rows, scan)
        keep_range(box, old)
        grew = widen(units, trees, box, unit, changed)
        note_row(goals, work, rows[units.head[unit]])
        spent += take(units, rows, unit, scan, labels, number)
        if grew and (size < k - 1 or asks(goals)):
            # `not grew` is False here; the literal would make Numba compile the scan twice.
            scan_all(units, trees, box, old, span, changed, not grew, scan)
    return unit, spent


@inner
def help_class(units, scan, trees, box, old, span, changed, rows, labels, number, goals, work):
    """Add the cheapest row that helps until the class is good or no row does; as `grow_class`."""
    last, spent = -1, 0
    if goals is not None:
        while not is_good(goals, work.tally):
            mark_all_helpful(goals, work.tally, work.helpful)
            unit = cheapest_helping(units, rows, scan, goals, work)
            if unit < 0:
                break
            keep_range(box, old)
            grew = widen(units, trees, box, unit, changed)
            note_row(goals, work, rows[units.head[unit]])
            spent += take(units, rows, unit, scan, labels, number)
            last = unit
            if grew:
                scan_all(units, trees, box, old, span, changed, not grew, scan)
    return last, spent


@inner
def forget_class(goals, work, k):
    """Empty the tally again; return how many rows the class has. Writes `work`."""
    if goals is None:
        return k
    size = work.tally.size[ROWS]
    remove_rows(goals, work.tally, work.taken, 0, size)
    return size


@inner
def record_class(classes, number, size, trees, box, span):
    """Keep a finished class's box for the rows left over. Writes `classes`."""
    for col in range(span.shape[0]):
        classes.low[col, number], classes.high[col, number] = box.low[col], box.high[col]
    for col in range(box.node.shape[0]):
        classes.node[col, number] = box.node[col]
    classes.size[number] = size
    classes.diversity[number] = box_diversity(trees, box, span)


@entry
def grow(
    units, trees, box, old, scan, span, rows, labels, classes, goals, work, cursor, settings, counts, changed
):
    """Grow the next classes, as many as `settings` allows for one call.

    counts: (labels), changed: (n_range + n_tree), both scratch. Between two classes the box holds the row
    from which "furthest" is measured. Writes everything but `trees`, `span`, `rows`, `goals` and `settings`.
    """
    k, penalty = settings.k, settings.penalty
    afresh = k > 0  # always; the literal would make Numba compile the scan twice
    if cursor[ORIGIN] >= 0:
        start_box(box, trees, units.position, units.leaf, cursor[ORIGIN])
        cursor[ORIGIN] = -1
    for _ in range(settings.n_classes):
        if cursor[FREE] < k:
            break
        unit = cursor[OPENER]
        if unit < 0:
            scan_all(units, trees, box, old, span, changed, afresh, scan)
            unit = furthest_unit(units, rows, scan)
        cursor[OPENER] = -1
        start_box(box, trees, units.position, units.leaf, unit)
        scan_all(units, trees, box, old, span, changed, afresh, scan)
        for label in range(counts.shape[0]):
            counts[label] = 0
        counts[units.label[unit]] = 1
        note_row(goals, work, rows[units.head[unit]])
        spent = take(units, rows, unit, scan, labels, cursor[GROWN])
        last, more = grow_class(
            units, scan, trees, box, old, span, changed, rows, labels, cursor[GROWN], k, counts, penalty,
            goals, work,
        )  # fmt: skip
        helper, even_more = help_class(
            units, scan, trees, box, old, span, changed, rows, labels, cursor[GROWN], goals, work
        )
        last = helper if helper >= 0 else last
        size = forget_class(goals, work, k)
        record_class(classes, cursor[GROWN], size, trees, box, span)
        measured_from = last if settings.from_first == 0 and last >= 0 else unit
        start_box(box, trees, units.position, units.leaf, measured_from)
        cursor[GROWN] += 1
        cursor[FREE] -= size
        cursor[SPENT] += spent + more + even_more
        if cursor[SPENT] * COMPACT_AT > scan.state[N_UNITS]:
            compact(units, scan)
            cursor[SPENT] = 0
