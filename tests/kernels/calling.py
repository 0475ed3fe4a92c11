"""Parts of kernels as entries, so that tests can call them.

Each is compiled with all it calls. What tests of local search call is one entry, because that takes a tenth
of the time.
"""

from functools import cache

import numpy as np

from shoal.kernels.compiling import Entry, entry
from shoal.kernels.local_search.block import (
    begin_step,
    change,
    end_step,
    join_class,
    move,
    refresh,
    set_block,
    take_back,
    total_loss,
    unite_all,
)
from shoal.kernels.local_search.block_search import (
    all_good,
    costlier,
    has_changed,
    pass_over_all,
    settle,
)
from shoal.kernels.local_search.cuts import cut_greedily, cut_with_rollouts
from shoal.kernels.local_search.growth import grow_classes
from shoal.kernels.local_search.passes import join_all
from shoal.kernels.local_search.steps import create, dissolve, recreate, refill, shed

SHED, CREATE, RECREATE, DISSOLVE = range(4)
SET, SETTLE, TAKE_BACK, END, MOVE, REFRESH, PASS, LOSS, CHANGE, HAS_CHANGED, ALL_GOOD, REFILL = range(4, 16)
JOIN, JOIN_ALL, UNITE_ALL = range(16, 19)
GREEDY, ROLLOUTS, GROW = range(3)
NOTHING = np.zeros(0, np.int64)


@cache
def called(part):
    """A part as an entry."""
    return Entry(part.py_func)


def is_empty(tally):
    """Whether nobody is counted; its scratch may hold anything."""
    return tally is None or not any(array.any() for name, array in tally._asdict().items() if name != "room")


def search(what, cell, block, rooms, state, row=0, c=0, temperature=0.0, labels=NOTHING):
    """Do one thing with a block."""
    return do_in_block(what, cell, block, rooms, state, row, c, temperature, labels)


@entry
def do_in_block(what, cell, block, rooms, state, row, c, temperature, labels):
    """Do one thing with a block; return a number, 0 where there is nothing to say."""
    if what <= DISSOLVE:
        begin_step(block)
        chosen = costlier(block, state)
        if what == SHED:
            return np.int64(shed(cell, block, chosen, state, rooms.near, rooms.step))
        if what == CREATE:
            return np.int64(create(cell, block, state, rooms.step))
        if what == RECREATE:
            cut, cuts, inner = rooms.cut, rooms.cuts, rooms.inner
            return np.int64(recreate(cell, block, chosen, state, cuts, inner, cut, rooms.step))
        return np.int64(dissolve(cell, block, chosen, rooms.near, rooms.step))
    if what == SET:
        set_block(cell, block, labels, c)
    elif what == SETTLE:
        settle(cell, block, temperature, rooms.near, rooms.step)
    elif what == TAKE_BACK:
        take_back(cell, block)
    elif what == END:
        end_step(block)
    elif what == MOVE:
        move(cell, block, row, c)
    elif what == REFRESH:
        refresh(cell, block, c)
    elif what == PASS:
        return pass_over_all(cell, block, np.int64(c), rooms.near, rooms.step)
    elif what == LOSS:
        return total_loss(block)
    elif what == CHANGE:
        return change(block)
    elif what == HAS_CHANGED:
        return np.int64(has_changed(block))
    elif what == ALL_GOOD:
        return np.int64(all_good(cell, block))
    elif what == REFILL:
        begin_step(block)
        return np.int64(refill(cell, block, np.int64(c), rooms.step))
    elif what == JOIN:
        return join_class(cell, block, c, row)
    elif what == JOIN_ALL:
        join_all(cell, block, row, rooms.near)
    elif what == UNITE_ALL:
        unite_all(cell, block, block.low, block.high, c, rooms.step.united)
    return np.int64(0)


@entry
def part_rows(way, cell, rows, first, tried, noise, state, ends, cuts, inner, work, labels, grown, helpful):
    """Part all rows of a cell; return the number of classes and the loss."""
    n = rows.shape[0]
    if way == GREEDY:
        far = np.int64(1) << 62
        loss = cut_greedily(cell, rows, np.int64(1), noise, state, far, ends, cuts, work.stack, work)
        return ends[0], loss
    if way == ROLLOUTS:
        loss = cut_with_rollouts(cell, rows, np.int64(0), n, tried, 3 * cell.k, ends, cuts, inner, work)
        return ends[0], loss
    low, high, size = grown.low, grown.high, grown.size
    return grow_classes(cell, grown.waiting, rows, n, first, labels, low, high, size, helpful)
