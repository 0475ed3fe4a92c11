"""The search inside one block: a pass, then steps that are accepted or taken back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import LongArray
from shoal.kernels.compiling import entry, inner
from shoal.kernels.goals import Tally
from shoal.kernels.local_search.block import (
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
from shoal.kernels.local_search.cuts import ZERO, Cuts, CutWork, cut_work, no_cuts
from shoal.kernels.local_search.draws import below, share
from shoal.kernels.local_search.passes import (
    IS_WIDE,
    PassWork,
    begin_list,
    improve_class,
    list_class,
    pass_over_touched,
    pass_work,
)
from shoal.kernels.local_search.space import Cell, local_cell
from shoal.kernels.local_search.steps import (
    MOST_FOUND,
    StepWork,
    create,
    dissolve,
    find_close,
    is_good_class,
    recreate,
    shed,
    step_work,
)

# Shares of the steps, each on top of those before: what is left over dissolves.
SHED, CREATE, RECREATE = 0.80, 0.85, 0.97
PASSES = 4  # over the classes that a step has changed
SETTLING = np.int64(2)  # of these classes, around which rows settle
CLOSE = np.int64(6)  # classes around each of them


class Searched(NamedTuple):
    """What a search among some classes has found."""

    rows: LongArray  # class by class
    ends: LongArray  # where each class ends
    before: int  # the loss
    after: int


class Rooms(NamedTuple):
    """Room for everything that a search does."""

    near: PassWork
    step: StepWork
    cut: CutWork
    cuts: Cuts
    inner: Cuts


@inner
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
    """Make a random step with a class that loses much; return whether it was completed."""
    c, kind = costlier(block, state), share(state)
    if kind < SHED:
        return shed(cell, block, c, state, rooms.near, rooms.step)
    if kind < CREATE:
        return create(cell, block, state, rooms.step)
    if kind < RECREATE:
        return recreate(cell, block, c, state, rooms.cuts, rooms.inner, rooms.cut, rooms.step)
    return dissolve(cell, block, c, rooms.near, rooms.step)


@inner
def list_close(cell, block, c, most, near, work):
    """List the classes nearest to one. Writes `near`, `work`."""
    for at in range(find_close(cell, block, c, most, ZERO, work)):
        list_class(near, work.close[at])


@inner
def pass_over_all(cell, block, most, near, work):
    """Improve every row once, among the `most` classes nearest to its own; return what is saved.

    Small classes are many: there rows move and swap among all of the block.
    """
    saved = ZERO
    for c in range(block.size.shape[0]):
        if block.size[c] > 0:
            if near.state[IS_WIDE] == 0:
                begin_list(near)
                list_close(cell, block, c, most, near, work)
            saved += improve_class(cell, block, c, near)
    return saved


@inner
def list_settling(cell, block, near, work):
    """List the classes that a step has changed, and those nearest to the first ones. Writes both."""
    begin_list(near)
    n_touched, around = block.state[N_TOUCHED], ZERO
    for at in range(n_touched):
        list_class(near, block.touched[at])
    for at in range(n_touched):
        if block.size[block.touched[at]] > 0 and around < SETTLING:
            list_close(cell, block, block.touched[at], CLOSE, near, work)
            around += 1


@inner
def settle(cell, block, temperature, near, work):
    """Improve the classes that a step has changed, until nothing changes or there is no hope.

    Rows move and swap among these classes and a few near ones: looking at all classes of the block would
    take most of the time, and rarely find more. Small classes, which are many, are all looked at.
    """
    if near.state[IS_WIDE] == 0:
        list_settling(cell, block, near, work)
    since = ZERO
    for _ in range(PASSES):
        now = block.state[CLOCK]
        saved = pass_over_touched(cell, block, since, near)
        since = now
        if saved == 0 or change(block) > 2 * saved + 5.0 * temperature:
            break


@inner
def has_changed(block):
    """Return whether a class that a step has saved has been separated, or has other rows too."""
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


@inner
def all_good(cell, block):
    """Return whether all classes that a step has changed are good, if they have rows at all."""
    for at in range(block.state[N_TOUCHED]):
        c = block.touched[at]
        if block.size[c] > 0 and not is_good_class(cell, block, c):
            return False
    return True


def rows_of(rows: LongArray, ends: LongArray, classes: LongArray) -> tuple[LongArray, LongArray]:
    """Return the rows of some classes, and a label for each: the place of its class among these."""
    begins = np.where(classes > 0, ends[classes - 1], 0)
    sizes = ends[classes] - begins
    labels = np.repeat(np.arange(len(classes)), sizes)
    places = np.arange(len(labels)) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
    return rows[places], labels


@inner
def write_classes(block, ids, rows, ends):
    """Write the rows class by class, and where each class ends; return how many classes there are."""
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
    return n_classes


def search_block(
    cell: Cell,
    rows: LongArray,
    ends: LongArray,
    classes: LongArray,
    n_steps: int,
    temperature: float,
    patience: float,
    is_wide: bool,
    is_first: bool,
    is_last: bool,
    seed: np.uint64,
    tally: Tally | None,
) -> Searched:
    """Search among some classes of a partition; where `is_wide`, rows settle among all of them."""
    ids, labels = rows_of(rows, ends, classes)
    local = local_cell(cell, ids, tally)
    m, n_classes = ids.shape[0], classes.shape[0]
    room = n_classes + n_classes // 4 + 4
    block = empty_block(local, m, room)
    rooms = Rooms(
        pass_work(m, room, local.codes.shape[1], is_wide), step_work(local, m, room), cut_work(local, m),
        no_cuts(), no_cuts(),
    )  # fmt: skip
    state = np.array([seed], np.uint64)
    new_rows, new_ends = np.empty(m, np.int64), np.empty(room, np.int64)
    before, after, found = search(
        local, block, rooms, labels, n_classes, n_steps, temperature, patience, is_first, is_last,
        state, new_rows, new_ends,
    )  # fmt: skip
    return Searched(new_rows, new_ends[:found].copy(), before, after)


@entry
def search(
    cell,
    block,
    rooms,
    labels,
    n_classes,
    n_steps,
    temperature,
    patience,
    is_first,
    is_last,
    state,
    rows,
    ends,
):
    """Search a block whose classes are given by labels.

    Returns the loss before and after, and the number of classes. Writes `rows` class by class, and `ends`.
    """
    set_block(cell, block, labels, n_classes)
    before = total_loss(block)
    make_steps(cell, block, rooms, n_steps, temperature, patience, is_first, is_last, state)
    return before, total_loss(block), write_classes(block, cell.ids, rows, ends)


@inner
def make_steps(cell, block, rooms, n_steps, temperature, patience, is_first, is_last, state):
    """Make steps; in the first round pass over all rows before them, in the last one after them.

    Steps that raise the loss by less than a draw from an exponential distribution with the mean
    `temperature` are accepted; those that at first raise it by more than `patience` are given up at once.
    Writes `block`, `rooms`, `state`.
    """
    if is_first:
        pass_over_all(cell, block, np.int64(MOST_FOUND), rooms.near, rooms.step)
    for _ in range(n_steps):
        begin_step(block)
        accepted = make_step(cell, block, rooms, state) and has_changed(block) and change(block) <= patience
        if accepted:
            settle(cell, block, temperature, rooms.near, rooms.step)
            grows = change(block)
            accepted = grows <= 0 or grows < -temperature * np.log(1.0 - share(state))
            accepted = accepted and all_good(cell, block)
        if accepted:
            end_step(block)
        else:
            take_back(cell, block)
    if is_last:
        pass_over_all(cell, block, np.int64(MOST_FOUND), rooms.near, rooms.step)
