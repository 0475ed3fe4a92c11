"""Passes over rows: each moves to another class, or changes places with a row there, if that loses less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.block import N_TOUCHED, move, put, refresh, take, touch
from shoal.kernels.goals import add, is_good, remove
from shoal.kernels.space import joined_cost, tree_cost
from shoal.kernels.unmanaged import inner, unmanaged

NEAR = np.int64(16)  # classes with whose rows a row may change places, those where it costs least
FAR = np.int64(1) << 62
NONE = np.int64(-1)
OURS, THEIRS = np.int64(0), np.int64(1)  # the boxes of `PassWork.low`


class PassWork(NamedTuple):
    """Room for one row's search: m rows, d columns."""

    near: np.ndarray  # int64 (NEAR): classes where the row costs least
    value: np.ndarray  # int64 (NEAR): by how much their loss grows when it joins
    cost: np.ndarray  # int32 (c): D of each class with the row
    low: np.ndarray  # int32 (2, d): a class without a row
    high: np.ndarray
    rows: np.ndarray  # int64 (m)


@njit(cache=True, nogil=True)
def pass_work(n_rows, n_classes, n_columns):
    """Make room for the search."""
    return PassWork(
        np.zeros(NEAR, np.int64), np.zeros(NEAR, np.int64), np.zeros(n_classes, np.int32),
        np.zeros((2, n_columns), np.int32), np.zeros((2, n_columns), np.int32),
        np.zeros(n_rows, np.int64),
    )  # fmt: skip


@inner
def join_all(cell, block, row, work):
    """Compute what each class would cost with the row, column by column. Writes `work.cost`."""
    n_classes, n_range = block.size.shape[0], cell.span.shape[0]
    for c in range(n_classes):
        work.cost[c] = 0
    for col in range(n_range):
        code, span = cell.codes[row, col], cell.span[col]
        for c in range(n_classes):
            low, high = block.range_low[col, c], block.range_high[col, c]
            work.cost[c] += min(max(high, code) - min(low, code), span)
    for tree in range(cell.n_leaves.shape[0]):
        code = cell.codes[row, n_range + tree]
        if cell.is_small[tree]:
            begin = cell.join_at[tree] + code * cell.n_nodes[tree]
            for c in range(n_classes):
                work.cost[c] += cell.join[begin + block.node[tree, c]]
            continue
        for c in range(n_classes):
            if block.size[c] > 0:
                low, high = block.low[c, n_range + tree], block.high[c, n_range + tree]
                work.cost[c] += tree_cost(cell, tree, min(low, code), max(high, code))


@inner
def find_near(cell, block, row, most, work):
    """Find the classes, its own apart, whose loss grows least when the row joins; return how many.

    Writes `work`, the least first.
    """
    join_all(cell, block, row, work)
    own = block.home[row]
    found, limit = 0, FAR
    for c in range(block.size.shape[0]):
        size = block.size[c]
        if work.cost[c] >= limit or size == 0 or c == own:
            continue
        value = size * (work.cost[c] - block.cost[c]) + work.cost[c]
        if value >= limit:
            continue
        at = min(found, most - 1)
        while at > 0 and work.value[at - 1] > value:
            work.near[at], work.value[at] = work.near[at - 1], work.value[at - 1]
            at -= 1
        work.near[at], work.value[at] = c, value
        found = min(found + 1, most)
        if found == most:
            limit = work.value[most - 1]
    return found


@inner
def set_without(cell, block, c, row, work, at):
    """Make a box that of a class without one of its rows. Writes `work`."""
    for col in range(cell.codes.shape[1]):
        code = cell.codes[row, col]
        low, high = block.low[c, col], block.high[c, col]
        work.low[at, col] = block.low2[c, col] if code == low else low
        work.high[at, col] = block.high2[c, col] if code == high else high


@inner
def stays_good(cell, block, c, leaves, joins):
    """Tell whether a class meets the goals after one row has left and another joined, -1 for none."""
    if not cell.goals.active:
        return True
    goals, tally = cell.goals, cell.tally
    if joins >= 0:
        add(goals, tally, cell.ids[joins])
    row = block.head[c]
    while row >= 0:
        if row != leaves:
            add(goals, tally, cell.ids[row])
        row = block.next[row]
    good = is_good(goals, tally)
    row = block.head[c]
    while row >= 0:
        if row != leaves:
            remove(goals, tally, cell.ids[row])
        row = block.next[row]
    if joins >= 0:
        remove(goals, tally, cell.ids[joins])
    return good


@inner
def try_moves(cell, block, row, found, work):
    """Move a row to the first class where that loses less; return what is saved, 0 for nothing."""
    c = block.home[row]
    size = block.size[c]
    saves = size * block.cost[c] - (size - 1) * block.without[row]
    if work.value[0] >= saves or not stays_good(cell, block, c, row, NONE):
        return np.int64(0)
    for at in range(found):
        if work.value[at] >= saves:
            break
        if stays_good(cell, block, work.near[at], NONE, row):
            move(cell, block, row, work.near[at])
            return saves - work.value[at]
    return np.int64(0)


@inner
def best_swap(cell, block, row, other, joined, least, work):
    """Find the row of another class with which to change places, if that changes the loss by less.

    The class costs `joined` with the row added. Returns the change, `least` if none is below it, and
    the row. What one saves by leaving a set it saves at most by leaving a larger one, which rules
    most rows out without computing boxes.
    """
    c = block.home[row]
    size, size2 = block.size[c], block.size[other]
    cost, cost2 = block.cost[c], block.cost[other]
    ours = size * (block.without[row] - cost)
    refresh(cell, block, other)
    best, found = least, NONE
    if ours + size2 * (joined + block.least[other] - 2 * cost2) >= best:
        return best, found
    theirs = block.head[other]
    while theirs >= 0:
        shrinks = cost2 - block.without[theirs]
        if ours + size2 * (joined - shrinks - cost2) < best:
            mine = size * (joined_cost(cell, work.low, work.high, OURS, theirs) - cost)
            if mine + size2 * (joined - shrinks - cost2) < best:
                grown = joined
                if shrinks > 0:
                    set_without(cell, block, other, theirs, work, THEIRS)
                    grown = joined_cost(cell, work.low, work.high, THEIRS, row)
                total = mine + size2 * (grown - cost2)
                if (
                    total < best
                    and stays_good(cell, block, c, row, theirs)
                    and stays_good(cell, block, other, theirs, row)
                ):
                    best, found = total, theirs
        theirs = block.next[theirs]
    return best, found


@inner
def try_swaps(cell, block, row, found, work):
    """Let a row change places with the row with which that saves most; return what is saved."""
    c = block.home[row]
    set_without(cell, block, c, row, work, OURS)
    best, partner = np.int64(0), NONE
    for at in range(found):
        best, theirs = best_swap(
            cell, block, row, work.near[at], np.int64(work.cost[work.near[at]]), best, work
        )
        if theirs >= 0:
            partner = theirs
    if partner >= 0:
        other = block.home[partner]
        touch(block, c)
        touch(block, other)
        take(cell, block, row)
        move(cell, block, partner, c)
        put(cell, block, row, other)
    return -best


@inner
def improve_row(cell, block, row, work):
    """Move or swap a row where that loses less; return what is saved. Writes `block`, `work`."""
    c = block.home[row]
    refresh(cell, block, c)
    may_leave = block.size[c] > cell.k
    shrinks = block.without[row] < block.cost[c]
    if not shrinks and (not may_leave or block.cost[c] == 0):
        return np.int64(0)
    found = find_near(cell, block, row, NEAR, work)
    if found == 0:
        return np.int64(0)
    saved = np.int64(0)
    if may_leave:
        saved = try_moves(cell, block, row, found, work)
    if saved == 0 and shrinks:
        saved = try_swaps(cell, block, row, found, work)
    return saved


@inner
def improve_class(cell, block, c, work):
    """Improve each row of a class; return what is saved. Writes `block`, `work`."""
    n, row, saved = 0, block.head[c], np.int64(0)
    while row >= 0:
        work.rows[n] = row
        n += 1
        row = block.next[row]
    for at in range(n):
        if block.home[work.rows[at]] == c:
            saved += improve_row(cell, block, work.rows[at], work)
    return saved


@unmanaged
def pass_over_all(cell, block, work):
    """Improve every row of the block once; return what is saved. Writes `block`, `work`."""
    saved = np.int64(0)
    for c in range(block.size.shape[0]):
        if block.size[c] > 0:
            saved += improve_class(cell, block, c, work)
    return saved


@inner
def pass_over_touched(cell, block, since, work):
    """Improve every row of the classes that a step has changed after change `since`; return what is saved."""
    saved = np.int64(0)
    n_touched = block.state[N_TOUCHED]
    for at in range(n_touched):
        c = block.touched[at]
        if block.size[c] > 0 and block.changed[c] > since:
            saved += improve_class(cell, block, c, work)
    return saved
