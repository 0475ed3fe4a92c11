"""Passes over rows: each moves to another class, or changes places with a row there, if that loses less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.goals import add, asks, is_good, is_good_count, remove
from shoal.kernels.local_search.block import (
    N_TOUCHED,
    count,
    join_class,
    move,
    put,
    refresh,
    take,
    touch,
    unite_all,
)
from shoal.kernels.local_search.space import FAR, joined_below, joined_cost, tree_cost

NONE = np.int64(-1)
N_AMONG, LIST, IS_WIDE, IS_UNITED = range(4)  # of the state of `PassWork`
OURS, THEIRS = np.int64(0), np.int64(1)  # the boxes of `PassWork.low`


class PassWork(NamedTuple):
    """Room for one row's search: m rows, d columns."""

    cost: np.ndarray  # int32 (c): D of each class with the row
    slack: np.ndarray  # int64 (c): below 0 where the row could move or swap, see `join_listed`
    joined: np.ndarray  # int64 (c): the same of the classes listed, FAR where it does not matter
    united: np.ndarray  # int32 (c): D of each class together with ours without the row, if IS_UNITED
    low: np.ndarray  # int32 (2, d): a class without a row
    high: np.ndarray
    rows: np.ndarray  # int64 (m)
    among: np.ndarray  # int64 (c): classes among which rows move and swap
    listed: np.ndarray  # int64 (c): the list on which a class was put last
    state: np.ndarray  # int64 (4): classes listed, number of the list, whether all are looked at, IS_UNITED


def pass_work(n_rows, n_classes, n_columns, is_wide):
    """Make room for the search, among all classes of the block where `is_wide`."""
    return PassWork(
        np.zeros(n_classes, np.int32), np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int32), np.zeros((2, n_columns), np.int32),
        np.zeros((2, n_columns), np.int32),
        np.zeros(n_rows, np.int64),
        np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64), np.array([0, 0, is_wide, 0]),
    )  # fmt: skip


@inner
def begin_list(work):
    """Begin a new list of classes. Writes `work`."""
    work.state[N_AMONG] = 0
    work.state[LIST] += 1


@inner
def list_class(work, c):
    """Put a class on the list, unless it is there. Writes `work`."""
    if work.listed[c] != work.state[LIST]:
        work.listed[c] = work.state[LIST]
        work.among[work.state[N_AMONG]] = c
        work.state[N_AMONG] += 1


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
    for group in range(cell.is_joined.shape[0]):
        if cell.is_joined[group]:
            begin = np.uint64(cell.joins[row, group])  # unsigned, so that the loop needs no sign
            for c in range(n_classes):
                work.cost[c] += cell.join[begin + block.node[group, c]]
            continue
        tree = cell.group_at[group]
        code = cell.codes[row, n_range + tree]
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
    if block.value.shape[0] == 0:
        return stays_good_by_rows(cell, block, c, leaves, joins)
    if leaves >= 0:
        count(block, c, leaves, np.int64(-1))
    if joins >= 0:
        count(block, c, joins, np.int64(1))
    size = block.size[c] - (leaves >= 0) + (joins >= 0)
    good = is_good_count(cell.goals, cell.tally, size, block.counts[c], block.pairs[c])
    if leaves >= 0:
        count(block, c, leaves, np.int64(1))
    if joins >= 0:
        count(block, c, joins, np.int64(-1))
    return good


@inner
def stays_good_by_rows(cell, block, c, leaves, joins):
    """Return the same where somebody may have several rows: row by row."""
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
def join_listed(cell, block, row, saves, gains, work):
    """Compute what the classes listed would cost with the row, where it could move or swap. Writes `work`.

    It moves only if a class grows by less than the row `saves` its own by leaving. It swaps only if one grows
    by less than its own `gains` and what the class can gain itself, see `least_change`.
    """
    own = block.home[row]
    for at in range(work.state[N_AMONG]):
        c = work.among[at]
        work.joined[c] = FAR
        if c != own and is_cheap(block, c, block.cost[c], saves, gains):
            joined = join_class(cell, block, c, row)
            if is_cheap(block, c, joined, saves, gains):
                work.joined[c] = joined


@inner
def is_cheap(block, c, joined, saves, gains):
    """Return whether a row could move or swap to a class that costs so much with it."""
    size = block.size[c]
    return (size + 1) * joined < saves + block.loss[c] or (
        gains > 0 and size * joined < gains + block.spare[c]
    )


@inner
def list_all(cell, block, row, saves, gains, work):
    """List the classes of the whole block where the row could move or swap, see `join_listed`. Writes `work`.

    Column by column for all classes at once: for many small classes faster than class by class.
    """
    own, n = block.home[row], 0
    join_all(cell, block, row, work)
    set_slack(block, saves, gains, work)
    for c in range(block.size.shape[0]):
        if work.slack[c] < 0 and c != own:
            work.among[n], work.joined[c] = c, work.cost[c]
            n += 1
    work.state[N_AMONG] = n


@inner
def set_slack(block, saves, gains, work):
    """Compute what each class would have to grow less by for the row to move or swap there. Writes `work`."""
    for c in range(block.size.shape[0]):
        joined = np.int64(work.cost[c])
        swapped = block.size[c] * joined
        work.slack[c] = min(swapped + joined - saves - block.loss[c], swapped - gains - block.spare[c])


@inner
def cheapest_listed(block, work, after, after_at):
    """Return by how much the class listed grows whose loss grows least when the row joins, and its place.

    Classes come in the order of what they grow by, then of the list: the first one behind `after` and
    `after_at` is returned, -1 for none.
    """
    least, best = FAR, NONE
    for at in range(work.state[N_AMONG]):
        c = work.among[at]
        joined = work.joined[c]
        if joined == FAR:
            continue
        value = block.size[c] * (joined - block.cost[c]) + joined
        is_behind = value > after or (value == after and at > after_at)
        if value < least and is_behind:
            least, best = value, at
    return least, best


@inner
def try_moves(cell, block, row, saves, work):
    """Move a row to the class where that loses least, of those that stay good; return what is saved."""
    c = block.home[row]
    value, at = cheapest_listed(block, work, -FAR, NONE)
    if value >= saves or not stays_good(cell, block, c, row, NONE):
        return np.int64(0)
    while value < saves:
        to = work.among[at]
        if stays_good(cell, block, to, NONE, row):
            move(cell, block, row, to)
            return saves - value
        value, at = cheapest_listed(block, work, value, at)
    return np.int64(0)


@inner
def best_swap(cell, block, row, other, least, work):
    """Find the row of another class with which to change places, if that changes the loss by less.

    Returns the change, `least` if none is below it, and the row. What one saves by leaving a set it saves
    at most by leaving a larger one, which rules most rows out without computing boxes.
    """
    c, joined = block.home[row], work.joined[other]
    size, size2 = block.size[c], block.size[other]
    cost, cost2 = block.cost[c], block.cost[other]
    rest = block.without[row]
    ours = least_change_of_ours(block, row, other, work)
    best, found = least, NONE
    theirs = block.head[other]
    while theirs >= 0:
        shrinks = cost2 - block.without[theirs]
        if ours + size2 * (joined - shrinks - cost2) < best:
            limit = cost + 1 + (best - size2 * (joined - shrinks - cost2)) // size
            own = joined_below(cell, work.low, work.high, OURS, rest, theirs, limit)
            mine = size * (own - cost)
            if own != FAR and mine + size2 * (joined - shrinks - cost2) < best:
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
def least_change_of_ours(block, row, other, work):
    """Return below what its own class cannot change when a row changes places with one of another class.

    Without the row and with one of theirs it costs at least what it costs with all of theirs, less what
    these cost: two sets that share a row cost no less than their union.
    """
    c, least = block.home[row], block.without[row]
    if work.state[IS_UNITED] > 0:
        least = max(least, np.int64(work.united[other]) - block.cost[other])
    return block.size[c] * (least - block.cost[c])


@inner
def least_change(block, row, other, work):
    """Return below what no swap with a row of a class can come."""
    theirs = block.size[other] * (work.joined[other] + block.least[other] - 2 * block.cost[other])
    return least_change_of_ours(block, row, other, work) + theirs


@inner
def try_swaps(cell, block, row, work):
    """Let a row change places with the row with which that saves most; return what is saved."""
    c = block.home[row]
    set_without(cell, block, c, row, work, OURS)
    # Where nothing is left that costs anything, as in classes of two, only this rules most classes out.
    work.state[IS_UNITED] = work.state[IS_WIDE] > 0 and block.without[row] == 0
    if work.state[IS_UNITED] > 0:
        unite_all(cell, block, work.low, work.high, OURS, work.united)
    best, partner = np.int64(0), NONE
    for at in range(work.state[N_AMONG]):
        other = work.among[at]
        if work.joined[other] == FAR or least_change(block, row, other, work) >= best:
            continue
        refresh(cell, block, other)
        if least_change(block, row, other, work) < best:
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
    saves = block.size[c] * block.cost[c] - (block.size[c] - 1) * block.without[row]
    gains = block.size[c] * (block.cost[c] - block.without[row])
    saves_by_moving = saves if may_leave else np.int64(0)
    if work.state[IS_WIDE] > 0:
        list_all(cell, block, row, saves_by_moving, gains, work)
    else:
        join_listed(cell, block, row, saves_by_moving, gains, work)
    saved = np.int64(0)
    if may_leave:
        saved = try_moves(cell, block, row, saves, work)
    if saved == 0 and shrinks:
        saved = try_swaps(cell, block, row, work)
    return saved


@inner
def improve_class(cell, block, c, work):
    """Improve each row of a class among the classes listed; return what is saved. Writes `block`, `work`."""
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
def pass_over_touched(cell, block, since, work):
    """Improve every row of the classes that a step has changed after change `since`; return what is saved."""
    saved = np.int64(0)
    n_touched = block.state[N_TOUCHED]
    for at in range(n_touched):
        c = block.touched[at]
        if block.size[c] > 0 and block.changed[c] > since:
            saved += improve_class(cell, block, c, work)
    return saved
