"""Growth from single rows, as k-member does it, among the rows of one cell."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.goals import add, asks, helps, is_good, mark_all_helpful, remove
from shoal.kernels.local_search.space import (
    FAR,
    box_cost,
    copy_box,
    joined_below,
    joined_cost,
    set_box,
    widen_box,
)

GROWING = np.int64(0)  # the box of the class that grows; those that are grown follow
NONE = np.int64(-1)


@inner
def cheapest_row(cell, rows, begin, end, low, high):
    """Return the place of the row that widens the box least, the first one of equals."""
    least, best, now = FAR, begin, box_cost(cell, low, high, GROWING)
    for at in range(begin, end):
        cost = joined_below(cell, low, high, GROWING, now, rows[at], least)
        if cost < least:
            least, best = cost, at
    return best


@inner
def first_inside(cell, rows, begin, end, low, high):
    """Return the place of the first row that makes the box no wider, `end` for none."""
    now = box_cost(cell, low, high, GROWING)
    for at in range(begin, end):
        if joined_below(cell, low, high, GROWING, now, rows[at], now + 1) == now:
            return at
    return end


@inner
def furthest_row(cell, rows, begin, end, low, high):
    """Return the place of the row that widens the box most, the first one of equals."""
    most, best = np.int64(-1), begin
    for at in range(begin, end):
        cost = joined_cost(cell, low, high, GROWING, rows[at])
        if cost > most:
            most, best = cost, at
    return best


@inner
def cheapest_helping(cell, rows, begin, end, low, high, helpful):
    """Return the place of the cheapest row that brings the class counted nearer to its goals, -1 for none."""
    least, best, now = FAR, NONE, box_cost(cell, low, high, GROWING)
    for at in range(begin, end):
        cost = joined_below(cell, low, high, GROWING, now, rows[at], least)
        if cost < least and helps(cell.goals, cell.tally, helpful, cell.ids[rows[at]]):
            least, best = cost, at
    return best


@inner
def add_row(cell, rows, at, best, low, high):
    """Make a row the next of the class that grows. Writes `rows`, the box and the tally."""
    rows[at], rows[best] = rows[best], rows[at]
    widen_box(cell, low, high, GROWING, rows[at])
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
def grow_class(cell, rows, begin, end, low, high, helpful):
    """Grow a class from the row at `begin`: to k rows, then by rows that help to meet the goals.

    The next row is the cheapest one, the first of equals. None is cheaper than one that is inside the box, so
    all rows are looked at only as often as the box gets wider, not k times.

    Returns where it ends, `begin` if it never meets them. Writes `rows` and the first box.
    """
    set_box(cell, low, high, GROWING, rows[begin])
    add_row(cell, rows, begin, begin, low, high)
    at, place = begin + 1, begin + 1  # rows before the place make the box wider
    while at < begin + cell.k:
        place = first_inside(cell, rows, max(at, place), end, low, high)
        if place < end:
            add_row(cell, rows, at, place, low, high)
        else:
            add_row(cell, rows, at, cheapest_row(cell, rows, at, end, low, high), low, high)
            place = at
        at += 1
    if not asks(cell.goals):
        return at
    while not is_good(cell.goals, cell.tally):
        mark_all_helpful(cell.goals, cell.tally, helpful)
        best = cheapest_helping(cell, rows, at, end, low, high, helpful)
        if best < 0:
            break
        add_row(cell, rows, at, best, low, high)
        at += 1
    return end_of_class(cell, rows, begin, at)


@inner
def grow_classes(cell, rows, begin, end, first, labels, low, high, size, helpful):
    """Grow classes, the first around place `first`, each next one around the row furthest from the last.

    Rows too few for a class join where they cost least. Returns the number of classes, 0
    if not even one could be grown, and the loss. Writes `labels`, by row; and `rows`; and the boxes
    `low`, `high` and sizes of the classes from their second places on.
    """
    n_classes, at = np.int64(0), begin
    while end - at >= cell.k:
        rows[at], rows[first] = rows[first], rows[at]
        grown = grow_class(cell, rows, at, end, low, high, helpful)
        if grown == at:
            break
        n_classes += 1
        copy_box(low, high, n_classes, low, high, GROWING)
        size[n_classes] = grown - at
        for place in range(at, grown):
            labels[rows[place]] = n_classes - 1
        set_box(cell, low, high, GROWING, rows[grown - 1])
        at = grown
        first = furthest_row(cell, rows, at, end, low, high)
    return with_leftovers(cell, rows, begin, at, end, n_classes, labels, low, high, size)


@inner
def stays_good(cell, rows, begin, place, number, labels):
    """Return whether a class of the rows from `begin` on stays good when the row at `place` joins it."""
    if not asks(cell.goals):
        return True
    add(cell.goals, cell.tally, cell.ids[rows[place]])
    for at in range(begin, place):
        if labels[rows[at]] == number:
            add(cell.goals, cell.tally, cell.ids[rows[at]])
    good = is_good(cell.goals, cell.tally)
    remove(cell.goals, cell.tally, cell.ids[rows[place]])
    for at in range(begin, place):
        if labels[rows[at]] == number:
            remove(cell.goals, cell.tally, cell.ids[rows[at]])
    return good


@inner
def join_cheapest(cell, rows, begin, place, n_classes, labels, low, high, size):
    """Let a row join the class whose loss grows least, of those that stay good; return whether one does."""
    row = rows[place]
    least, best = FAR, NONE
    for number in range(1, n_classes + 1):
        joined = joined_cost(cell, low, high, number, row)
        grows = (size[number] + 1) * joined - size[number] * box_cost(cell, low, high, number)
        if grows < least and stays_good(cell, rows, begin, place, number - 1, labels):
            least, best = grows, number
    if best < 0:
        return False
    widen_box(cell, low, high, best, row)
    size[best] += 1
    labels[row] = best - 1
    return True


@inner
def with_leftovers(cell, rows, begin, at, end, n_classes, labels, low, high, size):
    """Let the rows from `at` on join classes; return the number of classes, 0 if one can't, and the loss."""
    if n_classes == 0:
        return 0, FAR
    for place in range(at, end):
        if not join_cheapest(cell, rows, begin, place, n_classes, labels, low, high, size):
            return 0, FAR
    loss = np.int64(0)
    for number in range(1, n_classes + 1):
        loss += size[number] * box_cost(cell, low, high, number)
    return n_classes, loss
