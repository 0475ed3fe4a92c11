"""The search inside one block: a pass, then steps that are accepted or taken back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.block import (
    CLOCK,
    N_TOUCHED,
    begin_step,
    change,
    empty_block,
    end_step,
    set_block,
    take_back,
)
from shoal.kernels.cuts import Cuts, CutWork, cut_work, no_cuts
from shoal.kernels.draws import below, share
from shoal.kernels.passes import PassWork, pass_over_all, pass_over_touched, pass_work
from shoal.kernels.space import local_cell
from shoal.kernels.steps import StepWork, create, dissolve, is_good_class, recreate, shed, step_work
from shoal.kernels.unmanaged import inner, unmanaged

# Shares of the steps, each on top of those before: what is left over dissolves.
SHED, CREATE, RECREATE = 0.80, 0.85, 0.97
PASSES = 4  # over the classes that a step has changed


class Rooms(NamedTuple):
    """Room for everything that a search does."""

    near: PassWork
    step: StepWork
    cut: CutWork
    cuts: Cuts
    inner: Cuts


@unmanaged
def costlier(block, state):
    """Return the one of two random classes that loses more."""
    best = -1
    for _ in range(2):
        c = below(state, block.size.shape[0])
        while block.size[c] == 0:
            c = below(state, block.size.shape[0])
        if best < 0 or block.size[c] * block.cost[c] > block.size[best] * block.cost[best]:
            best = c
    return best


@inner
def make_step(cell, block, rooms, state):
    """Make a random step with a class that loses much; tell whether it came to an end."""
    c, kind = costlier(block, state), share(state)
    if kind < SHED:
        return shed(cell, block, c, state, rooms.near, rooms.step)
    if kind < CREATE:
        return create(cell, block, state, rooms.step)
    if kind < RECREATE:
        return recreate(cell, block, c, state, rooms.cuts, rooms.inner, rooms.cut, rooms.step)
    return dissolve(cell, block, c, rooms.near, rooms.step)


@unmanaged
def settle(cell, block, temperature, near):
    """Improve the classes that a step has changed, until nothing changes or there is no hope."""
    since = np.int64(0)
    for _ in range(PASSES):
        now = block.state[CLOCK]
        saved = pass_over_touched(cell, block, since, near)
        since = now
        if saved == 0 or change(block) > 2 * saved + 5.0 * temperature:
            break


@unmanaged
def has_changed(block):
    """Tell whether some rows of a class that a step has saved are apart now, or have others among them."""
    at = 0
    for saved in range(block.state[N_TOUCHED]):
        size = block.saved_size[saved]
        if size == 0:
            continue  # rows that are here now have left others
        home = block.home[block.saved_row[at]]
        if block.size[home] != size:
            return True
        for _ in range(size):
            if block.home[block.saved_row[at]] != home:
                return True
            at += 1
    return False


@unmanaged
def all_good(cell, block):
    """Tell whether all classes that a step has changed are good, if they have rows at all."""
    for at in range(block.state[N_TOUCHED]):
        c = block.touched[at]
        if block.size[c] > 0 and not is_good_class(cell, block, c):
            return False
    return True


@njit(cache=True, nogil=True)
def rows_of(rows, ends, classes):
    """Return the rows of some classes, and a label for each: the place of its class among these."""
    m = 0
    for c in classes:
        m += ends[c] - (ends[c - 1] if c > 0 else 0)
    ids, labels, to = np.empty(m, np.int64), np.empty(m, np.int64), 0
    for place in range(classes.shape[0]):
        c = classes[place]
        for at in range(ends[c - 1] if c > 0 else 0, ends[c]):
            ids[to], labels[to] = rows[at], place
            to += 1
    return ids, labels


@njit(cache=True, nogil=True)
def by_class(block, ids):
    """Return the rows class by class, and where each class ends."""
    rows, ends = np.empty(ids.shape[0], np.int64), np.empty(block.size.shape[0], np.int64)
    to, n_classes = 0, 0
    for c in range(block.size.shape[0]):
        if block.size[c] == 0:
            continue
        row = block.head[c]
        while row >= 0:
            rows[to] = ids[row]
            to += 1
            row = block.next[row]
        ends[n_classes] = to
        n_classes += 1
    return rows, ends[:n_classes].copy()


@njit(cache=True, nogil=True)
def open_block(cell, rows, ends, classes, tally):
    """Make a cell and a block of some classes of a partition, and room to search in."""
    ids, labels = rows_of(rows, ends, classes)
    local = local_cell(cell, ids, tally)
    m, n_classes = ids.shape[0], classes.shape[0]
    room = n_classes + n_classes // 4 + 4
    block = empty_block(local, m, room)
    set_block(local, block, labels, n_classes)
    rooms = Rooms(
        pass_work(m, room, local.codes.shape[1]),
        step_work(local, m),
        cut_work(local, m),
        no_cuts(),
        no_cuts(),
    )
    return local, block, rooms


@unmanaged
def search(cell, block, rooms, n_steps, temperature, patience, is_last, state):
    """Pass over all rows, then make steps; pass once more if no other round follows.

    Steps that raise the loss by less than a draw from an exponential distribution with the mean
    `temperature` stand; those that at first raise it by more than `patience` are given up at once. Writes
    `block`, `rooms`, `state`.
    """
    pass_over_all(cell, block, rooms.near)
    for _ in range(n_steps):
        begin_step(block)
        stands = make_step(cell, block, rooms, state) and has_changed(block) and change(block) <= patience
        if stands:
            settle(cell, block, temperature, rooms.near)
            grows = change(block)
            stands = grows <= 0 or grows < -temperature * np.log(1.0 - share(state))
            stands = stands and all_good(cell, block)
        if stands:
            end_step(block)
        else:
            take_back(cell, block)
    if is_last:
        pass_over_all(cell, block, rooms.near)
