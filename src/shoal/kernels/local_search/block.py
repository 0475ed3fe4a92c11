"""Classes of one block while they are searched: who is in them, their extremes, and a way back.

For each class and column the two lowest and the two highest codes are kept, equal ones counted twice.
So what a class costs without one of its rows, with another or with both follows from these alone. Where
there are goals, and every row of the block is a person of its own, values are counted for each class too.
Before a class is changed within a step it is saved, so that the step can be taken back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.local_search.space import box_cost, column_cost, n_values, tree_cost

NOBODY = np.int64(-1)
NEVER = np.int64(-1) << 61  # less than any loss: no row joins a class that has none
UP, DOWN = np.int32(2**31 - 1), np.int32(-(2**31))  # extremes of nothing
N_TOUCHED, N_SAVED, TURN, SAVES, CLOCK = range(5)  # of the state
LOW, LOW2, HIGH, HIGH2 = range(4)  # of the saved boxes


class Block(NamedTuple):
    """m rows in at most c classes, some of them without rows."""

    home: np.ndarray  # int64 (m): the class of each row
    next: np.ndarray  # int64 (m): the next row of the same class
    before: np.ndarray  # int64 (m): the one before
    head: np.ndarray  # int64 (c): the first row of a class
    size: np.ndarray  # int64 (c)
    cost: np.ndarray  # int64 (c): D
    low: np.ndarray  # int32 (c, d)
    low2: np.ndarray
    high: np.ndarray
    high2: np.ndarray
    range_low: np.ndarray  # int32 (R, c): the extremes once more, column by column
    range_high: np.ndarray  # int32 (R, c)
    node: np.ndarray  # uint32 (G, c): the lowest nodes in each group of trees whose joins are looked up
    without: np.ndarray  # int64 (m): D of its class without the row
    least: np.ndarray  # int64 (c): the least of these, 0 where they are not right
    fresh: np.ndarray  # bool (c): whether they are right
    loss: np.ndarray  # int64 (c): size x D
    spare: np.ndarray  # int64 (c): the same, and what the best of its rows would save by leaving
    alone_col: np.ndarray  # int64 (2 d): columns in which one row alone has an extreme of the class looked at
    alone_code: np.ndarray  # int32 (2 d): that extreme
    alone_saves: np.ndarray  # int64 (2 d): what the class costs less without this row
    touched: np.ndarray  # int64 (c): the classes saved in this step
    touched_in: np.ndarray  # int64 (c): the step in which a class was saved last
    saved_row: np.ndarray  # int64 (m): their rows, class by class
    saved_size: np.ndarray  # int64 (c)
    saved_cost: np.ndarray  # int64 (c)
    saved_box: np.ndarray  # int32 (4, c, d)
    changed: np.ndarray  # int64 (c): when a class was changed last
    value: np.ndarray  # int64 (G, m): of each row, counted over all goals, -1 for none
    counts: np.ndarray  # int64 (c, V): rows of a class with each value
    pairs: np.ndarray  # int64 (c, G): rows of a class with any value of a goal
    state: np.ndarray  # int64 (5): classes saved, rows saved, step, whether to save, changes so far


def empty_block(cell, n_rows, n_classes):
    """Make room for rows and classes."""
    n_columns, n_range = cell.codes.shape[1], cell.span.shape[0]
    value = counted_values(cell)
    return Block(
        np.full(n_rows, NOBODY), np.full(n_rows, NOBODY), np.full(n_rows, NOBODY),
        np.full(n_classes, NOBODY), np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64),
        np.full((n_classes, n_columns), UP), np.full((n_classes, n_columns), UP),
        np.full((n_classes, n_columns), DOWN), np.full((n_classes, n_columns), DOWN),
        np.zeros((n_range, n_classes), np.int32), np.zeros((n_range, n_classes), np.int32),
        np.zeros((len(cell.is_joined), n_classes), np.uint32),
        np.zeros(n_rows, np.int64), np.zeros(n_classes, np.int64), np.zeros(n_classes, np.bool_),
        np.full(n_classes, NEVER), np.full(n_classes, NEVER),
        np.zeros(2 * n_columns, np.int64), np.zeros(2 * n_columns, np.int32),
        np.zeros(2 * n_columns, np.int64),
        np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64),
        np.zeros(n_rows, np.int64), np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64),
        np.zeros((4, n_classes, n_columns), np.int32), np.zeros(n_classes, np.int64),
        value, np.zeros((n_classes, n_values(cell) if len(value) else 0), np.int64),
        np.zeros((n_classes, len(value)), np.int64), np.zeros(5, np.int64),
    )  # fmt: skip


def counted_values(cell):
    """Return the values of the rows of a cell if they are to be counted, for no goals otherwise.

    A person with several of the rows counts once: then only a tally shows what a class is without one.
    """
    goals = cell.goals
    if goals is None or len(np.unique(goals.person[cell.ids])) < len(cell.ids):
        return np.zeros((0, len(cell.ids)), np.int64)
    code = goals.code[:, cell.ids].astype(np.int64)
    return np.ascontiguousarray(np.where(code < 0, NOBODY, code + goals.begin[:-1, None]))


@inner
def link(block, row, c):
    """Put a row at the head of a class's list."""
    block.home[row] = c
    block.before[row] = NOBODY
    block.next[row] = block.head[c]
    if block.head[c] >= 0:
        block.before[block.head[c]] = row
    block.head[c] = row
    count(block, c, row, np.int64(1))


@inner
def unlink(block, row):
    """Take a row out of its class's list."""
    c, behind, before = block.home[row], block.next[row], block.before[row]
    if before >= 0:
        block.next[before] = behind
    else:
        block.head[c] = behind
    if behind >= 0:
        block.before[behind] = before
    count(block, c, row, np.int64(-1))


@inner
def count(block, c, row, times):
    """Count the values of a row in a class, or with -1 no longer. Writes `block`."""
    for g in range(block.value.shape[0]):
        value = block.value[g, row]
        if value >= 0:
            block.counts[c, value] += times
            block.pairs[c, g] += times


@inner
def empty(block, c):
    """Take all rows out of a class; they are nowhere then. Writes `block`."""
    block.head[c], block.size[c] = NOBODY, 0
    for value in range(block.counts.shape[1]):
        block.counts[c, value] = 0
    for g in range(block.pairs.shape[1]):
        block.pairs[c, g] = 0


@inner
def note_extremes(cell, block, c, row):
    """Bring the extremes of a class up to date with one more row."""
    for col in range(cell.codes.shape[1]):
        code = cell.codes[row, col]
        if code < block.low2[c, col]:
            if code < block.low[c, col]:
                block.low2[c, col] = block.low[c, col]
                block.low[c, col] = code
            else:
                block.low2[c, col] = code
        if code > block.high2[c, col]:
            if code > block.high[c, col]:
                block.high2[c, col] = block.high[c, col]
                block.high[c, col] = code
            else:
                block.high2[c, col] = code


@inner
def lowest_node(cell, tree, low, high):
    """Return the lowest node over two leaves, the first not behind the second."""
    nodes = cell.node_at[tree]
    node = cell.leaf_node[cell.leaf_at[tree] + low]
    while cell.last_leaf[nodes + node] < high:
        node = cell.parent[nodes + node]
    return node


@inner
def lowest_nodes(cell, low, high, at, group):
    """Return the number of a box's lowest nodes in the trees of a group, among all their combinations."""
    number, n_range = np.int64(0), cell.span.shape[0]
    for tree in range(cell.group_at[group], cell.group_at[group + 1]):
        node = lowest_node(cell, tree, low[at, n_range + tree], high[at, n_range + tree])
        number = number * cell.n_nodes[tree] + node
    return number


@inner
def unite_all(cell, block, low, high, at, united):
    """Compute what each class would cost together with a box, column by column. Writes `united`."""
    n_classes, n_range = block.size.shape[0], cell.span.shape[0]
    for c in range(n_classes):
        united[c] = 0
    for col in range(n_range):
        begin, end, span = low[at, col], high[at, col], cell.span[col]
        for c in range(n_classes):
            first, last = block.range_low[col, c], block.range_high[col, c]
            united[c] += min(max(end, last) - min(begin, first), span)
    for group in range(cell.is_joined.shape[0]):
        if cell.is_joined[group]:
            nodes = lowest_nodes(cell, low, high, at, group)
            meets = np.uint64(cell.meet_at[group] + nodes * cell.group_nodes[group])
            for c in range(n_classes):
                united[c] += cell.meet[meets + block.node[group, c]]
            continue
        tree = cell.group_at[group]
        begin, end = low[at, n_range + tree], high[at, n_range + tree]
        for c in range(n_classes):
            if block.size[c] > 0:
                first, last = block.low[c, n_range + tree], block.high[c, n_range + tree]
                united[c] += tree_cost(cell, tree, min(begin, first), max(end, last))


@inner
def join_class(cell, block, c, row):
    """Return what a class would cost with one more row.

    Without asking in which columns the row is outside: that cannot be predicted, and a wrong guess of the
    processor takes longer than a few columns.
    """
    n_range, total = cell.span.shape[0], np.int64(0)
    for col in range(n_range):
        code = cell.codes[row, col]
        total += min(max(block.high[c, col], code) - min(block.low[c, col], code), cell.span[col])
    for group in range(cell.is_joined.shape[0]):
        if cell.is_joined[group]:
            total += cell.join[cell.joins[row, group] + block.node[group, c]]
        else:
            tree = cell.group_at[group]
            col = n_range + tree
            code = cell.codes[row, col]
            low, high = min(block.low[c, col], code), max(block.high[c, col], code)
            total += tree_cost(cell, tree, low, high)
    return total


@inner
def note_least(block, c, least):
    """Note what a class costs at least without one of its rows, 0 where that is not known. Writes `block`."""
    size, cost = block.size[c], block.cost[c]
    block.least[c] = least
    block.loss[c] = size * cost if size > 0 else NEVER
    block.spare[c] = size * (2 * cost - least) if size > 0 else NEVER


@inner
def show(cell, block, c):
    """Bring what a class costs, and its extremes column by column, up to date. Writes `block`."""
    block.fresh[c] = False
    block.state[CLOCK] += 1
    block.changed[c] = block.state[CLOCK]
    block.cost[c] = box_cost(cell, block.low, block.high, c) if block.size[c] > 0 else 0
    note_least(block, c, 0)
    if block.size[c] == 0:
        return
    n_range = cell.span.shape[0]
    for col in range(n_range):
        block.range_low[col, c], block.range_high[col, c] = block.low[c, col], block.high[c, col]
    for group in range(cell.is_joined.shape[0]):
        if cell.is_joined[group]:
            block.node[group, c] = lowest_nodes(cell, block.low, block.high, c, group)


@inner
def recount(cell, block, c):
    """Find the extremes of a class from its rows. Writes `block`."""
    for col in range(cell.codes.shape[1]):
        block.low[c, col], block.low2[c, col] = UP, UP
        block.high[c, col], block.high2[c, col] = DOWN, DOWN
    row = block.head[c]
    while row >= 0:
        note_extremes(cell, block, c, row)
        row = block.next[row]
    show(cell, block, c)


@inner
def recount_column(cell, block, c, col):
    """Find the extremes of a class in one column from its rows. Writes `block`."""
    low, low2, high, high2 = UP, UP, DOWN, DOWN
    row = block.head[c]
    while row >= 0:
        code = cell.codes[row, col]
        low, low2 = min(low, code), min(low2, max(low, code))
        high, high2 = max(high, code), max(high2, min(high, code))
        row = block.next[row]
    block.low[c, col], block.low2[c, col] = low, low2
    block.high[c, col], block.high2[c, col] = high, high2


@inner
def put(cell, block, row, c):
    """Put a row that is nowhere into a class. Writes `block`."""
    touch(block, c)
    link(block, row, c)
    block.size[c] += 1
    note_extremes(cell, block, c, row)
    show(cell, block, c)


@inner
def take(cell, block, row):
    """Take a row out of its class; it is nowhere then. Writes `block`."""
    c = block.home[row]
    touch(block, c)
    unlink(block, row)
    block.size[c] -= 1
    block.fresh[c], is_other = False, False
    for col in range(cell.codes.shape[1]):
        code = cell.codes[row, col]
        is_alike = block.low[c, col] == block.high[c, col] and block.size[c] > 1
        if not is_alike and (code <= block.low2[c, col] or code >= block.high2[c, col]):
            recount_column(cell, block, c, col)
            is_other = True
    if is_other:
        show(cell, block, c)
    else:
        note_least(block, c, 0)


@inner
def take_all(cell, block, c, rows, n):
    """Take the first `n` rows listed out of their class; they are nowhere then. Writes `block`."""
    touch(block, c)
    for at in range(n):
        unlink(block, rows[at])
    block.size[c] -= n
    recount(cell, block, c)


@inner
def move(cell, block, row, c):
    """Move a row to another class. Writes `block`."""
    take(cell, block, row)
    put(cell, block, row, c)


@inner
def refresh(cell, block, c):
    """Compute what a class costs without each of its rows, where that is not known. Writes `block`."""
    if block.fresh[c]:
        return
    block.fresh[c], least, n = True, block.cost[c], find_alone(cell, block, c)
    row = block.head[c]
    while row >= 0:
        cost = block.cost[c]
        for at in range(n):
            if cell.codes[row, block.alone_col[at]] == block.alone_code[at]:
                cost -= block.alone_saves[at]
        block.without[row] = cost
        least = min(least, cost)
        row = block.next[row]
    note_least(block, c, least)


@inner
def find_alone(cell, block, c):
    """Find the extremes of a class that only one row has, and what it saves by leaving; return how many.

    Writes `block`.
    """
    n = 0
    for col in range(cell.codes.shape[1]):
        low, low2, high, high2 = (
            block.low[c, col], block.low2[c, col], block.high[c, col], block.high2[c, col]
        )  # fmt: skip
        if low == high:
            continue
        now = column_cost(cell, col, low, high)
        if low < low2:
            note_alone(block, n, col, low, now - column_cost(cell, col, low2, high))
            n += block.alone_saves[n] > 0
        if high2 < high:
            note_alone(block, n, col, high, now - column_cost(cell, col, low, high2))
            n += block.alone_saves[n] > 0
    return n


@inner
def note_alone(block, at, col, code, saves):
    """Write down an extreme that only one row has."""
    block.alone_col[at], block.alone_code[at], block.alone_saves[at] = col, code, saves


@inner
def begin_step(block):
    """From here on changes can be taken back. Writes `block`."""
    block.state[TURN] += 1
    block.state[N_TOUCHED], block.state[N_SAVED], block.state[SAVES] = 0, 0, 1


@inner
def end_step(block):
    """Accept the changes of a step. Writes `block`."""
    block.state[SAVES] = 0


@inner
def touch(block, c):
    """Save a class before its first change in a step. Writes `block`."""
    if block.state[SAVES] == 0 or block.touched_in[c] == block.state[TURN]:
        return
    block.touched_in[c] = block.state[TURN]
    at = block.state[N_TOUCHED]
    block.touched[at] = c
    block.state[N_TOUCHED] += 1
    block.saved_size[at], block.saved_cost[at] = block.size[c], block.cost[c]
    box = block.saved_box
    for col in range(block.low.shape[1]):
        box[LOW, at, col], box[LOW2, at, col] = block.low[c, col], block.low2[c, col]
        box[HIGH, at, col], box[HIGH2, at, col] = block.high[c, col], block.high2[c, col]
    row, saved = block.head[c], block.state[N_SAVED]
    while row >= 0:
        block.saved_row[saved] = row
        saved += 1
        row = block.next[row]
    block.state[N_SAVED] = saved


@inner
def take_back(cell, block):
    """Make every class what it was at the beginning of the step. Writes `block`."""
    saved, box = 0, block.saved_box
    for at in range(block.state[N_TOUCHED]):
        c = block.touched[at]
        empty(block, c)
        block.size[c] = block.saved_size[at]
        for col in range(block.low.shape[1]):
            block.low[c, col], block.low2[c, col] = box[LOW, at, col], box[LOW2, at, col]
            block.high[c, col], block.high2[c, col] = box[HIGH, at, col], box[HIGH2, at, col]
        for place in range(saved, saved + block.saved_size[at]):
            link(block, block.saved_row[place], c)
        saved += block.saved_size[at]
        show(cell, block, c)
    block.state[SAVES] = 0


@inner
def change(block):
    """Return by how much the loss has grown since the step began."""
    total = np.int64(0)
    for at in range(block.state[N_TOUCHED]):
        c = block.touched[at]
        total += block.size[c] * block.cost[c] - block.saved_size[at] * block.saved_cost[at]
    return total


@inner
def set_block(cell, block, labels, n_classes):
    """Put the rows into their classes. Writes `block`, which must be empty."""
    for row in range(labels.shape[0] - 1, -1, -1):
        link(block, row, labels[row])
        block.size[labels[row]] += 1
    for c in range(n_classes):
        recount(cell, block, c)


@inner
def total_loss(block):
    """Return the sum of size x D."""
    total = np.int64(0)
    for c in range(block.size.shape[0]):
        total += block.size[c] * block.cost[c]
    return total
