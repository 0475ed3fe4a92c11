"""The search inside one block: passes, then steps that are accepted or taken back, then a pass."""

from __future__ import annotations

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
    total_loss,
)
from shoal.kernels.cuts import cut_work, no_cuts
from shoal.kernels.draws import below, share
from shoal.kernels.passes import pass_over_all, pass_over_touched, pass_work
from shoal.kernels.space import local_cell
from shoal.kernels.steps import create, dissolve, is_good_class, recreate, shed, step_work
from shoal.kernels.unmanaged import unmanaged

SHED, CREATE, RECREATE, DISSOLVE = range(4)
PASSES = 4  # over the classes that a step has changed


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


@unmanaged
def make_step(cell, block, kind, c, state, near, cuts, inner, cut_room, work):
    """Make one step; tell whether it came to an end."""
    if kind == SHED:
        return shed(cell, block, c, state, near, work)
    if kind == CREATE:
        return create(cell, block, state, work)
    if kind == RECREATE:
        return recreate(cell, block, c, state, cuts, inner, cut_room, work)
    return dissolve(cell, block, c, near, work)


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
def all_good(cell, block):
    """Tell whether all classes that a step has changed are good, if they have rows at all."""
    for at in range(block.state[N_TOUCHED]):
        c = block.touched[at]
        if block.size[c] > 0 and not is_good_class(cell, block, c):
            return False
    return True


@unmanaged
def search(cell, block, n_steps, temperature, state, near, cuts, inner, cut_room, work):
    """Pass over all rows, make steps, pass again. Writes `block`."""
    pass_over_all(cell, block, near)
    for _ in range(int(n_steps)):
        c = costlier(block, state)
        u = share(state)
        kind = SHED if u < 0.63 else (CREATE if u < 0.72 else (RECREATE if u < 0.97 else DISSOLVE))
        begin_step(block)
        stands = make_step(cell, block, kind, c, state, near, cuts, inner, cut_room, work)
        if stands:
            settle(cell, block, temperature, near)
            grows = change(block)
            stands = grows <= 0 or grows < -temperature * np.log(1.0 - share(state))
            stands = stands and all_good(cell, block)
        if stands:
            end_step(block)
        else:
            take_back(cell, block)
    pass_over_all(cell, block, near)


@njit(cache=True, nogil=True)
def rows_of(rows, ends, classes):
    """Return the rows of some classes, and a label for each: the place of its class among these."""
    m = 0
    for c in classes:
        m += ends[c] - (ends[c - 1] if c > 0 else 0)
    ids, labels, to = np.empty(m, np.int64), np.empty(m, np.int32), 0
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
def search_block(cell, rows, ends, classes, steps_per_class, temperature, seed, tally):
    """Search among some classes of a partition.

    Returns their rows, class by class, where each class ends, and the loss before and after. Steps
    that raise the loss by less than a draw from an exponential distribution with the mean
    `temperature` stand.
    """
    ids, labels = rows_of(rows, ends, classes)
    local = local_cell(cell, ids, tally)
    m, n_classes = ids.shape[0], classes.shape[0]
    room = n_classes + n_classes // 4 + 4
    state = np.empty(1, np.uint64)
    state[0] = seed
    block = empty_block(local, m, room)
    set_block(local, block, labels, n_classes)
    before = total_loss(block)
    near = pass_work(m, room, local.codes.shape[1])
    work = step_work(local, m)
    cut_room, cuts, inner = cut_work(local, m), no_cuts(), no_cuts()
    n_steps = int(steps_per_class * n_classes)
    search(local, block, n_steps, temperature, state, near, cuts, inner, cut_room, work)
    found, found_ends = by_class(block, ids)
    return found, found_ends, before, total_loss(block)
