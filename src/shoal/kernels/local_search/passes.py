"""Passes over rows: each moves to another class, or changes places with a row there, if that loses less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.goals import add, asks, is_good, remove
from shoal.kernels.local_search.block import N_TOUCHED, move, put, refresh, take, touch
from shoal.kernels.local_search.space import joined_cost, tree_cost

FAR = np.int64(1) << 62
NONE = np.int64(-1)
OURS, THEIRS = np.int64(0), np.int64(1)  # the boxes of `PassWork.low`


class PassWork(NamedTuple):
    """Room for one row's search: m rows, d columns."""

    cost: np.ndarray  # int32 (c): D of each class with the row
    low: np.ndarray  # int32 (2, d): a class without a row
    high: np.ndarray
    rows: np.ndarray  # int64 (m)


def pass_work(n_rows, n_classes, n_columns):
    """Make room for the search."""
    return PassWork(
        np.zeros(n_classes, np.int32),
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
        if cell.is_joined[tree]:
            begin = np.uint64(
                cell.join_at[tree] + code * cell.n_nodes[tree]
            )  # unsigned: no index is negative
            for c in range(n_classes):
                work.cost[c] += cell.join[begin + block.node[tree, c]]
            continue
        for c in range(n_classes):
            if block.size[c] > 0:
                low, high = block.low[c, n_range + tree], block.high[c, n_range + tree]
                work.cost[c] += tree_cost(cell, tree, min(low, code), max(high, code))


@inner
def cheapest_class(block, own, work, after, after_class):
    """Return the class, `own` apart, whose loss grows least when the row joins, and by how much; -1 for none.

    Classes come in the order of what they grow by, then of their numbers: the first one behind `after`
    and `after_class` is returned.
    """
    least, best = FAR, NONE
    for c in range(block.size.shape[0]):
        size, joined = block.size[c], np.int64(work.cost[c])
        value = size * (joined - block.cost[c]) + joined
        is_behind = value > after or (value == after and c > after_class)
        if value < least and size > 0 and c != own and is_behind:
            least, best = value, c
    return least, best


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
    """Return whether a class meets the goals after one row has left and another joined, -1 for none."""
    if not asks(cell.goals):
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
def try_moves(cell, block, row, work):
    """Move a row to the class where that loses least, of those that stay good; return what is saved."""
    c = block.home[row]
    size = block.size[c]
    saves = size * block.cost[c] - (size - 1) * block.without[row]
    value, to = cheapest_class(block, c, work, -FAR, NONE)
    if value >= saves or not stays_good(cell, block, c, row, NONE):
        return np.int64(0)
    while value < saves:
        if stays_good(cell, block, to, NONE, row):
            move(cell, block, row, to)
            return saves - value
        value, to = cheapest_class(block, c, work, value, to)
    return np.int64(0)


@inner
def best_swap(cell, block, row, other, least, work):
    """Find the row of another class with which to change places, if that changes the loss by less.

    Returns the change, `least` if none is below it, and the row. What one saves by leaving a set it saves
    at most by leaving a larger one, which rules most rows out without computing boxes.
    """
    c, joined = block.home[row], np.int64(work.cost[other])
    size, size2 = block.size[c], block.size[other]
    cost, cost2 = block.cost[c], block.cost[other]
    ours = size * (block.without[row] - cost)
    best, found = least, NONE
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
def least_change(block, ours, other, work):
    """Return below what no swap with a row of a class can come, when ours saves `ours` by leaving."""
    return ours + block.size[other] * (work.cost[other] + block.least[other] - 2 * block.cost[other])


@inner
def try_swaps(cell, block, row, work):
    """Let a row change places with the row with which that saves most; return what is saved."""
    c = block.home[row]
    set_without(cell, block, c, row, work, OURS)
    ours = block.size[c] * (block.without[row] - block.cost[c])
    best, partner = np.int64(0), NONE
    for other in range(block.size.shape[0]):
        if other == c or block.size[other] == 0 or least_change(block, ours, other, work) >= best:
            continue
        refresh(cell, block, other)
        if least_change(block, ours, other, work) < best:
            best, theirs = best_swap(cell, block, row, other, best, work)
            partner = theirs if theirs >= 0 else partner
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
    join_all(cell, block, row, work)
    saved = np.int64(0)
    if may_leave:
        saved = try_moves(cell, block, row, work)
    if saved == 0 and shrinks:
        saved = try_swaps(cell, block, row, work)
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


@inner
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
