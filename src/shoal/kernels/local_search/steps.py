"""Steps that rebuild a class or a few: shed, create, recreate, dissolve. Each may make things worse.

A step only changes `block`, with every class saved before. Whether it is accepted is decided afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.goals import add, asks, helps, mark_all_helpful, remove
from shoal.kernels.local_search.block import (
    empty,
    join_class,
    link,
    move,
    put,
    recount,
    refresh,
    take_all,
    touch,
    unite_all,
)
from shoal.kernels.local_search.cuts import N_ENDS, ONE, TRIED, ZERO, cut_greedily, cut_with_rollouts
from shoal.kernels.local_search.draws import below, share
from shoal.kernels.local_search.growth import Waiting, grow_classes, waiting_rows
from shoal.kernels.local_search.passes import NONE, cheapest_class, join_all, stays_good
from shoal.kernels.local_search.space import FAR, joined_below, n_values
from shoal.kernels.sorting import sort_front
from shoal.kernels.waiting import BEGIN, END

ASKED = 16  # classes that a row is offered
LENDERS = np.int64(12)  # classes from which rows are borrowed, the nearest
MOST_FOUND = 24  # classes near to one that are ever asked for
MOST_POOLED = 3  # classes with which one is pooled
NOISE = 0.5  # by how much a gain may be overrated when a pool is cut


class StepWork(NamedTuple):
    """Room for the steps: m rows, c classes, d columns."""

    united: np.ndarray  # int32 (c): D of each class together with one
    close: np.ndarray  # int64 (MOST_FOUND): classes near to one
    far: np.ndarray  # int64 (MOST_FOUND): D of each together with it
    pool: np.ndarray  # int64 (m): rows
    labels: np.ndarray  # int64 (m): new classes of pooled rows
    ends: np.ndarray  # int64 (c + 2): where the parts of a pool end
    waiting: Waiting
    low: np.ndarray  # int32 (c + 2, d): boxes that grow
    high: np.ndarray
    size: np.ndarray  # int64 (c + 2)
    helpful: np.ndarray  # bool (V): values of which a class needs more
    reach: np.ndarray  # int64 (m): what the class that borrows costs at least with each row
    least_loan: np.ndarray  # int64 (MOST_FOUND): no loan of a lender costs less, -FAR if unknown
    loan_row: np.ndarray  # int64 (MOST_FOUND): the row that costs just that, -1 if none is known
    loan_cost: np.ndarray  # int64 (MOST_FOUND): D of the class that borrows, when these were found


def step_work(cell, n_rows, n_classes):
    """Make room for the steps."""
    n_columns = cell.codes.shape[1]
    return StepWork(
        np.zeros(n_classes, np.int32),
        np.zeros(MOST_FOUND, np.int64), np.zeros(MOST_FOUND, np.int64), np.zeros(n_rows, np.int64),
        np.zeros(n_rows, np.int64), np.zeros(n_rows // cell.k + 2, np.int64), waiting_rows(cell, n_rows),
        np.zeros((n_rows // cell.k + 2, n_columns), np.int32),
        np.zeros((n_rows // cell.k + 2, n_columns), np.int32),
        np.zeros(n_rows // cell.k + 2, np.int64), np.zeros(n_values(cell), np.bool_),
        np.zeros(n_rows, np.int64), np.zeros(MOST_FOUND, np.int64), np.zeros(MOST_FOUND, np.int64),
        np.zeros(MOST_FOUND, np.int64),
    )  # fmt: skip


@inner
def find_close(cell, block, c, most, above, work):
    """Find the classes that cost least together with one; return how many. Writes `work`, the least first.

    Only classes of more than `above` rows are considered.
    """
    unite_all(cell, block, block.low, block.high, c, work.united)
    found, limit = 0, FAR
    for other in range(block.size.shape[0]):
        cost = np.int64(work.united[other])
        if cost >= limit or other == c or block.size[other] <= above:
            continue
        at = min(found, most - 1)
        while at > 0 and work.far[at - 1] > cost:
            work.close[at], work.far[at] = work.close[at - 1], work.far[at - 1]
            at -= 1
        work.close[at], work.far[at] = other, cost
        found = min(found + 1, most)
        limit = work.far[most - 1] if found == most else FAR
    return found


@inner
def is_good_class(cell, block, c):
    """Return whether a class has k rows and meets the goals."""
    return block.size[c] >= cell.k and stays_good(cell, block, c, NONE, NONE)


@inner
def give_away(cell, block, row, near):
    """Give a row that is nowhere to the class where it costs least; return whether there is one.

    Its last class does not get it back. Where goals forbid it, the next `ASKED` classes are asked.
    """
    join_all(cell, block, row, near)
    last, value, to = block.home[row], -FAR, NONE
    for _ in range(ASKED):
        value, to = cheapest_class(block, last, near, value, to)
        if to < 0:
            return False
        if stays_good(cell, block, to, NONE, row):
            put(cell, block, row, to)
            return True
    return False


@inner
def note_helpful(cell, block, c, work):
    """Count a class's rows, and mark the values of which it needs more. Writes the tally, `work`."""
    row = block.head[c]
    while row >= 0:
        add(cell.goals, cell.tally, cell.ids[row])
        row = block.next[row]
    mark_all_helpful(cell.goals, cell.tally, work.helpful)


@inner
def forget(cell, block, c):
    """Take a class's rows out of the tally again."""
    row = block.head[c]
    while row >= 0:
        remove(cell.goals, cell.tally, cell.ids[row])
        row = block.next[row]


@inner
def expect_nothing(block, found, work):
    """Forget what loans cost, before a class begins to borrow. Writes `work`."""
    for at in range(found):
        work.least_loan[at] = -FAR
        row = block.head[work.close[at]]
        while row >= 0:
            work.reach[row] = 0
            row = block.next[row]


@inner
def scan_lender(cell, block, c, at, needs_help, least, best, work):
    """Look for a cheaper loan among the rows of one lender; return what it costs, and the row.

    A class that borrows only gets wider, so what it cost with a row it costs at least with it later. That
    rules most rows out without looking at their columns. Writes `work`.
    """
    other, cost, weight = work.close[at], block.cost[c], max(cell.k, block.size[c] + 1)
    size = block.size[other]
    row = block.head[other]
    while row >= 0:
        saved = block.loss[other] - (size - 1) * block.without[row]
        grows = max(0, work.reach[row] - cost)  # at least
        if weight * grows - saved < least and (
            not needs_help or helps(cell.goals, cell.tally, work.helpful, cell.ids[row])
        ):
            work.reach[row] = join_class(cell, block, c, row)
            value = weight * (work.reach[row] - cost) - saved
            if value < least:
                least, best = value, row
        row = block.next[row]
    return least, best


@inner
def cheapest_loan(cell, block, c, found, work):
    """Return the place of the lender and the row which it costs least to borrow, -1 for none.

    Lenders are near classes that can spare a row. What the cheapest row of each costs is remembered: it holds
    as long as neither class changes, and falls by what the borrowing class has got wider at the most.
    """
    needs_help = asks(cell.goals) and block.size[c] >= cell.k
    if needs_help:
        note_helpful(cell, block, c, work)
    least, best, best_at, cost = FAR, NONE, NONE, block.cost[c]
    for at in range(found):
        other = work.close[at]
        size = block.size[other]
        if size <= cell.k:
            continue
        if not needs_help and work.least_loan[at] > -FAR:
            if work.least_loan[at] - cell.k * (cost - work.loan_cost[at]) >= least:
                continue
            if cost == work.loan_cost[at] and work.loan_row[at] >= 0:
                least, best, best_at = work.least_loan[at], work.loan_row[at], at
                continue
        refresh(cell, block, other)
        if (size - 1) * block.least[other] - size * block.cost[other] >= least:
            continue  # none of its rows saves so much
        before = best
        least, best = scan_lender(cell, block, c, at, needs_help, least, best, work)
        work.least_loan[at], work.loan_cost[at], work.loan_row[at] = least, cost, NONE
        if best != before:
            best_at, work.loan_row[at] = at, best
    if needs_help:
        forget(cell, block, c)
    return best_at, best


@inner
def can_be_filled(cell, block, c, found, work):
    """Return whether near classes can spare as many rows as a class lacks."""
    lacks = cell.k - block.size[c]
    for at in range(found):
        lacks -= block.size[work.close[at]] - cell.k
    return lacks <= 0


@inner
def borrow_inside(cell, block, c, lender):
    """Borrow the rows of a class that make another one no wider, while one lacks rows and one can spare."""
    row = block.head[lender]
    while row >= 0 and block.size[c] < cell.k and block.size[lender] > cell.k:
        behind, cost = block.next[row], block.cost[c]
        is_inside = joined_below(cell, block.low, block.high, c, cost, row, cost + 1) == cost
        if is_inside and stays_good(cell, block, lender, row, NONE):
            move(cell, block, row, c)
        row = behind


@inner
def refill(cell, block, c, work):
    """Borrow rows for a class until it is good; return whether there were enough.

    Each time the cheapest one. When its lender does not miss it, others of this lender come along that the
    class has room for: looking for each of them again would take most of the time.
    """
    found = find_close(cell, block, c, LENDERS, cell.k, work)
    if not can_be_filled(cell, block, c, found, work):
        return False
    expect_nothing(block, found, work)
    for _ in range(4 * cell.k):
        if is_good_class(cell, block, c):
            return True
        at, row = cheapest_loan(cell, block, c, found, work)
        if row < 0 or not stays_good(cell, block, block.home[row], row, NONE):
            return False
        lender = block.home[row]
        is_missed = block.without[row] < block.cost[lender]
        move(cell, block, row, c)
        work.least_loan[at] = -FAR  # this lender has changed
        if not is_missed:
            borrow_inside(cell, block, c, lender)
    return False


@inner
def wide_column(block, c, state):
    """Return a random column in which the rows of a class differ, -1 for none."""
    chosen, seen = -1, 0
    for col in range(block.low.shape[1]):
        if block.low[c, col] < block.high[c, col]:
            seen += 1
            if below(state, seen) == 0:
                chosen = col
    return chosen


@inner
def random_row(block, c, state):
    """Return a random row of a class."""
    row = block.head[c]
    for _ in range(below(state, block.size[c])):
        row = block.next[row]
    return row


@inner
def kept_range(cell, block, c, col, state):
    """Choose which codes of a class stay: on one side of a value, or under one ancestor."""
    code = cell.codes[random_row(block, c, state), col]
    tree = col - cell.span.shape[0]
    if tree < 0:
        if share(state) < 0.5:
            return max(code, block.low[c, col] + 1), block.high[c, col]
        return block.low[c, col], min(code, block.high[c, col] - 1)
    nodes = cell.node_at[tree]
    node = cell.leaf_node[cell.leaf_at[tree] + code]
    first, last = code, code
    while True:
        above = cell.parent[nodes + node]
        below_above = cell.first_leaf[nodes + above]
        if below_above <= block.low[c, col] and cell.last_leaf[nodes + above] >= block.high[c, col]:
            break
        if share(state) < 0.3:
            break
        node = above
        first, last = below_above, cell.last_leaf[nodes + node]
    return first, last


@inner
def shed(cell, block, c, state, near, work):
    """Narrow a class in one column: give the rows outside to others, borrow others for them."""
    col = wide_column(block, c, state)
    if col < 0:
        return False
    first, last = kept_range(cell, block, c, col, state)
    n, row = 0, block.head[c]
    while row >= 0:
        if cell.codes[row, col] < first or cell.codes[row, col] > last:
            work.pool[n] = row
            n += 1
        row = block.next[row]
    if n == 0 or 10 * (block.size[c] - n) < 7 * cell.k:
        return False
    take_all(cell, block, c, work.pool, n)
    for at in range(n):
        if not give_away(cell, block, work.pool[at], near):
            return False
    return refill(cell, block, c, work)


@inner
def free_class(block):
    """Return the number of a class without rows, -1 for none."""
    for c in range(block.size.shape[0] - 1, -1, -1):
        if block.size[c] == 0:
            return c
    return NONE


@inner
def create(cell, block, state, work):
    """Make a new class around a random row that its own can spare, of rows that others can spare."""
    c = free_class(block)
    if c < 0:
        return False
    for _ in range(8):
        row = below(state, block.home.shape[0])
        if block.size[block.home[row]] > cell.k:
            if not stays_good(cell, block, block.home[row], row, NONE):
                return False
            move(cell, block, row, c)
            return refill(cell, block, c, work)
    return False


@inner
def pool_rows(cell, block, c, found, work):
    """Empty a class and those near to it; return how many rows they had. Writes `block`, `work`."""
    n = 0
    for at in range(-1, found):
        pooled = c if at < 0 else work.close[at]
        touch(block, pooled)
        row = block.head[pooled]
        while row >= 0:
            work.pool[n] = row
            n += 1
            row = block.next[row]
        empty(block, pooled)
        recount(cell, block, pooled)
    return n


@inner
def label_parts(n_parts, work):
    """Number the parts of a pool, whose ends are not in order. Writes `work`."""
    work.ends[N_ENDS] = 0  # from here on, where the first part begins
    sort_front(work.ends, n_parts + 1)
    begin = 0
    for part in range(n_parts):
        for at in range(begin, work.ends[part + 1]):
            work.labels[work.pool[at]] = part
        begin = work.ends[part + 1]


@inner
def rebuild(cell, n, state, cuts, inner, cut_room, work):
    """Part a pool again by noisy cuts, by rollouts or by growth; return the number of parts."""
    way = share(state)
    if way < 0.35:
        first = below(state, n)
        n_grown, _ = grow_classes(
            cell, work.waiting, work.pool, n, first, work.labels, work.low, work.high, work.size, work.helpful
        )
        return n_grown
    work.ends[N_ENDS] = 0
    if way < 0.75:
        stack = cut_room.stack
        stack[0, BEGIN], stack[0, END] = 0, n
        cut_greedily(cell, work.pool, ONE, NOISE, state, FAR, work.ends, cuts, stack, cut_room)
    else:
        cut_with_rollouts(cell, work.pool, ZERO, n, TRIED, 3 * cell.k, work.ends, cuts, inner, cut_room)
    n_parts = work.ends[N_ENDS]
    label_parts(n_parts, work)
    return n_parts


@inner
def recreate(cell, block, c, state, cuts, inner, cut_room, work):
    """Pool a class with some near ones and part them again."""
    found = find_close(cell, block, c, 1 + below(state, MOST_POOLED), ZERO, work)
    n = pool_rows(cell, block, c, found, work)
    n_parts = rebuild(cell, n, state, cuts, inner, cut_room, work)
    if n_parts == 0:
        return False
    for part in range(n_parts):
        slot = c if part == 0 else (work.close[part - 1] if part <= found else free_class(block))
        if slot < 0:
            return False
        touch(block, slot)
        for at in range(n):
            row = work.pool[at]
            if work.labels[row] == part:
                link(block, row, slot)
                block.size[slot] += 1
        recount(cell, block, slot)
    return True


@inner
def dissolve(cell, block, c, near, work):
    """Give all rows of a class to others."""
    n, row = 0, block.head[c]
    while row >= 0:
        work.pool[n] = row
        n += 1
        row = block.next[row]
    take_all(cell, block, c, work.pool, n)
    given = True
    for at in range(n):
        given = given and give_away(cell, block, work.pool[at], near)
    return given
