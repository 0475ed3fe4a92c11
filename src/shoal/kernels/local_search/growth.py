"""Growth from single rows, as k-member does it, among the rows of one cell or of a few classes.

What the growing class would cost with each waiting row is kept, and updated column by column where the class
gets wider. The codes of a column lie next to each other, so that these loops run on several rows at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.goals import add, asks, helps, is_good, mark_all_helpful, remove
from shoal.kernels.local_search.space import (
    FAR,
    box_cost,
    copy_box,
    joined_cost,
    set_box,
    tree_cost,
    widen_box,
)

GROWING = np.int64(0)  # the box of the class that grows; those that are grown follow
NONE = np.int64(-1)


class Waiting(NamedTuple):
    """Rows that wait for a class, in the order of their places. m rows, d columns."""

    codes: np.ndarray  # int32 (d, m)
    cost: np.ndarray  # int32 (m): D of the class that grows, after the row has joined it


def waiting_rows(cell, n_rows):
    """Make room for so many rows."""
    return Waiting(np.zeros((cell.codes.shape[1], n_rows), np.int32), np.zeros(n_rows, np.int32))


@inner
def let_wait(cell, waiting, rows, n):
    """Let the first `n` of some rows wait, in their order. Writes `waiting`."""
    for place in range(n):
        for col in range(waiting.codes.shape[0]):
            waiting.codes[col, place] = cell.codes[rows[place], col]


@inner
def exchange(waiting, rows, place, other):
    """Let two rows change their places. Writes `waiting`, `rows`."""
    rows[place], rows[other] = rows[other], rows[place]
    waiting.cost[place], waiting.cost[other] = waiting.cost[other], waiting.cost[place]
    for col in range(waiting.codes.shape[0]):
        code = waiting.codes[col, place]
        waiting.codes[col, place] = waiting.codes[col, other]
        waiting.codes[col, other] = code


@inner
def add_range(codes, low, high, span, cost, begin, end):
    """Add what a range column costs with each row. Writes `cost`."""
    for at in range(begin, end):
        cost[at] += min(max(high, codes[at]) - min(low, codes[at]), span)


@inner
def update_range(codes, old_low, old_high, low, high, span, cost, begin, end):
    """Bring costs up to date after a range column got wider. Writes `cost`."""
    for at in range(begin, end):
        code = codes[at]
        new = min(max(high, code) - min(low, code), span)
        cost[at] += new - min(max(old_high, code) - min(old_low, code), span)


@inner
def add_tree(cell, tree, codes, low, high, cost, begin, end):
    """Add what a tree column costs with each row. Writes `cost`."""
    for at in range(begin, end):
        cost[at] += tree_cost(cell, tree, min(low, codes[at]), max(high, codes[at]))


@inner
def update_tree(cell, tree, codes, old_low, old_high, low, high, cost, begin, end):
    """Bring costs up to date after a tree column got wider. Writes `cost`."""
    for at in range(begin, end):
        code = codes[at]
        new = tree_cost(cell, tree, min(low, code), max(high, code))
        cost[at] += new - tree_cost(cell, tree, min(old_low, code), max(old_high, code))


@inner
def fill_costs(cell, waiting, begin, end, low, high):
    """Compute what the growing class costs with each row. Writes `waiting`."""
    for at in range(begin, end):
        waiting.cost[at] = 0
    n_range = cell.span.shape[0]
    for col in range(n_range):
        span = cell.span[col]
        add_range(waiting.codes[col], low[GROWING, col], high[GROWING, col], span, waiting.cost, begin, end)
    for tree in range(cell.n_leaves.shape[0]):
        col = n_range + tree
        add_tree(
            cell, tree, waiting.codes[col], low[GROWING, col], high[GROWING, col], waiting.cost, begin, end
        )


@inner
def widen(cell, waiting, place, end, low, high):
    """Widen the growing class for the row at a place, and update the costs behind it."""
    n_range = cell.span.shape[0]
    for col in range(waiting.codes.shape[0]):
        code, first, last = waiting.codes[col, place], low[GROWING, col], high[GROWING, col]
        if first <= code <= last:
            continue
        new_first, new_last = min(first, code), max(last, code)
        low[GROWING, col], high[GROWING, col] = new_first, new_last
        codes = waiting.codes[col]
        if col < n_range:
            update_range(
                codes, first, last, new_first, new_last, cell.span[col], waiting.cost, place + 1, end
            )
            continue
        tree = col - n_range
        if tree_cost(cell, tree, new_first, new_last) > tree_cost(cell, tree, first, last):  # another node
            update_tree(cell, tree, codes, first, last, new_first, new_last, waiting.cost, place + 1, end)


@inner
def cheapest(waiting, begin, end):
    """Return the place of the row that costs least, the first one of equals."""
    cost, least = waiting.cost, waiting.cost[begin]
    for at in range(begin, end):
        least = min(least, cost[at])
    at = begin
    while cost[at] != least:
        at += 1
    return at


@inner
def furthest(waiting, begin, end):
    """Return the place of the row that costs most, the first one of equals; `begin` if there is none."""
    cost, most = waiting.cost, np.int32(-1)
    for at in range(begin, end):
        most = max(most, cost[at])
    at = begin
    while at < end and cost[at] != most:
        at += 1
    return min(at, max(begin, end - 1))


@inner
def cheapest_helping(cell, waiting, rows, begin, end, helpful):
    """Return the place of the cheapest row that brings the class counted nearer to its goals, -1 for none."""
    least, best = FAR, NONE
    for at in range(begin, end):
        if waiting.cost[at] < least and helps(cell.goals, cell.tally, helpful, cell.ids[rows[at]]):
            least, best = np.int64(waiting.cost[at]), np.int64(at)
    return best


@inner
def join(cell, waiting, rows, at, best, end, low, high):
    """Make the row at `best` the next of the growing class. Writes all but `cell` and its tally."""
    exchange(waiting, rows, at, best)
    widen(cell, waiting, at, end, low, high)
    if asks(cell.goals):
        add(cell.goals, cell.tally, cell.ids[rows[at]])


@inner
def end_of_class(cell, rows, begin, at):
    """Return where a class ends that is counted, `begin` if it fails its goals. Empties the tally."""
    good = is_good(cell.goals, cell.tally)
    for place in range(begin, at):
        remove(cell.goals, cell.tally, cell.ids[rows[place]])
    return at if good else begin


@inner
def grow_class(cell, waiting, rows, begin, end, low, high, helpful):
    """Grow a class from the row at `begin`: to k rows, then by rows that help to meet the goals.

    The next row is the cheapest one, the first of equals. Returns where the class ends, `begin` if it never
    meets its goals. Writes `waiting`, `rows` and the first box.
    """
    set_box(cell, low, high, GROWING, rows[begin])
    fill_costs(cell, waiting, begin + 1, end, low, high)
    if asks(cell.goals):
        add(cell.goals, cell.tally, cell.ids[rows[begin]])
    at = begin + 1
    while at < begin + cell.k:
        join(cell, waiting, rows, at, cheapest(waiting, at, end), end, low, high)
        at += 1
    if not asks(cell.goals):
        return at
    while not is_good(cell.goals, cell.tally):
        mark_all_helpful(cell.goals, cell.tally, helpful)
        best = cheapest_helping(cell, waiting, rows, at, end, helpful)
        if best < 0:
            break
        join(cell, waiting, rows, at, best, end, low, high)
        at += 1
    return end_of_class(cell, rows, begin, at)


@inner
def grow_classes(cell, waiting, rows, n, first, labels, low, high, size, helpful):
    """Grow classes, the first around place `first`, each next one around the row furthest from the last.

    The first `n` rows are parted. Those too few for a class join where they cost least. Returns the number of
    classes, 0 if not even one could be grown, and the loss. Writes `labels`, by row; and `waiting`, `rows`;
    and the boxes `low`, `high` and sizes of the classes from their second places on.
    """
    n_classes, at = np.int64(0), np.int64(0)
    let_wait(cell, waiting, rows, n)
    while n - at >= cell.k:
        exchange(waiting, rows, at, first)
        grown = grow_class(cell, waiting, rows, at, n, low, high, helpful)
        if grown == at:
            break
        n_classes += 1
        copy_box(low, high, n_classes, low, high, GROWING)
        size[n_classes] = grown - at
        for place in range(at, grown):
            labels[rows[place]] = n_classes - 1
        set_box(cell, low, high, GROWING, rows[grown - 1])
        fill_costs(cell, waiting, grown, n, low, high)
        at = grown
        first = furthest(waiting, at, n)
    return with_leftovers(cell, rows, at, n, n_classes, labels, low, high, size)


@inner
def stays_good(cell, rows, place, number, labels):
    """Return whether a class of the first rows stays good when the row at `place` joins it."""
    if not asks(cell.goals):
        return True
    add(cell.goals, cell.tally, cell.ids[rows[place]])
    for at in range(place):
        if labels[rows[at]] == number:
            add(cell.goals, cell.tally, cell.ids[rows[at]])
    good = is_good(cell.goals, cell.tally)
    remove(cell.goals, cell.tally, cell.ids[rows[place]])
    for at in range(place):
        if labels[rows[at]] == number:
            remove(cell.goals, cell.tally, cell.ids[rows[at]])
    return good


@inner
def join_cheapest(cell, rows, place, n_classes, labels, low, high, size):
    """Let a row join the class whose loss grows least, of those that stay good; return whether one does."""
    row = rows[place]
    least, best = FAR, NONE
    for number in range(1, n_classes + 1):
        joined = joined_cost(cell, low, high, number, row)
        grows = (size[number] + 1) * joined - size[number] * box_cost(cell, low, high, number)
        if grows < least and stays_good(cell, rows, place, number - 1, labels):
            least, best = grows, number
    if best < 0:
        return False
    widen_box(cell, low, high, best, row)
    size[best] += 1
    labels[row] = best - 1
    return True


@inner
def with_leftovers(cell, rows, at, end, n_classes, labels, low, high, size):
    """Let the rows from `at` on join classes; return the number of classes, 0 if one can't, and the loss."""
    if n_classes == 0:
        return 0, FAR
    for place in range(at, end):
        if not join_cheapest(cell, rows, place, n_classes, labels, low, high, size):
            return 0, FAR
    loss = np.int64(0)
    for number in range(1, n_classes + 1):
        loss += size[number] * box_cost(cell, low, high, number)
    return n_classes, loss
