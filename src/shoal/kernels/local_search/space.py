"""Rows as one code for each column, sets of rows as a lowest and a highest code, and what these cost.

Range columns come first, with fixed-point positions as codes. Then come tree columns, whose codes are
leaves in depth-first order: the lowest node over a set of leaves is the one over its first and last.
What that node costs is the largest cost of the nodes over any two neighbours in between, because costs
grow towards the root. So a table of such maxima over 1, 2, 4, ... neighbours answers in two look-ups,
for trees of any size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.goals import Goals, Tally

FAR = np.int64(1) << 62  # more than any loss


class Cell(NamedTuple):
    """The columns of a table, R ranges and T trees, and some m of its rows with what their classes need."""

    span: np.ndarray  # int32 (R): the cost of a whole range
    over: np.ndarray  # int32: for each tree the maxima over 1, 2, 4, ... neighbours
    over_at: np.ndarray  # int64 (T): where a tree's maxima begin
    n_leaves: np.ndarray  # int64 (T)
    is_small: np.ndarray  # bool (T): the costs of all pairs are there instead
    log: np.ndarray  # int64: the exponent of the largest power of two up to each number
    parent: np.ndarray  # int32 (nodes), one tree after the other
    first_leaf: np.ndarray  # int32 (nodes)
    last_leaf: np.ndarray  # int32 (nodes)
    leaf_node: np.ndarray  # int32 (leaves)
    node_at: np.ndarray  # int64 (T)
    leaf_at: np.ndarray  # int64 (T)
    # Trees in G groups: what the trees of a group cost together is looked up by the leaves and nodes of all.
    group_at: np.ndarray  # int64 (G + 1): the first tree of each group
    group_nodes: np.ndarray  # int64 (G): the number of combinations of nodes
    is_joined: np.ndarray  # bool (G): the costs are there; otherwise the group is one large tree
    join: np.ndarray  # int32: by group what the lowest nodes over some leaves and some nodes cost, by leaves
    joins: np.ndarray  # int32 (m, G): where those with a row's leaves begin
    meet: np.ndarray  # int32: the same over any two nodes of each tree
    meet_at: np.ndarray  # int64 (G)
    n_nodes: np.ndarray  # int64 (T)
    codes: np.ndarray  # int32 (m, R + T)
    ids: np.ndarray  # int64 (m): where each row is in the table
    k: int
    goals: Goals | None  # of the whole table; None: nothing is asked for but k rows
    tally: Tally | None  # empty


def n_values(cell):
    """Count the values of all goals."""
    return 0 if cell.goals is None else int(cell.goals.begin[-1])


def local_cell(cell, ids, tally):
    """Return a cell of the rows listed, with a tally of its own."""
    return cell._replace(
        codes=cell.codes[ids], joins=cell.joins[ids], ids=ids, tally=None if cell.goals is None else tally
    )


@inner
def tree_cost(cell, tree, low, high):
    """Return what the lowest node over two leaves, the first not behind the second, costs."""
    if cell.is_small[tree]:
        return cell.over[cell.over_at[tree] + low * cell.n_leaves[tree] + high]
    if low == high:
        return np.int32(0)
    log = cell.log[high - low]
    begin = cell.over_at[tree] + log * cell.n_leaves[tree]
    return max(cell.over[begin + low], cell.over[begin + high - (1 << log)])


@inner
def column_cost(cell, col, low, high):
    """Return what a set costs in one column."""
    n_range = cell.span.shape[0]
    if col < n_range:
        return min(high - low, cell.span[col])
    return tree_cost(cell, col - n_range, low, high)


@inner
def box_cost(cell, low, high, at):
    """Return D of the box in row `at` of two arrays: what one row of such a class costs."""
    n_range = cell.span.shape[0]
    total = np.int64(0)
    for col in range(n_range):
        total += min(high[at, col] - low[at, col], cell.span[col])
    for tree in range(cell.n_leaves.shape[0]):
        total += tree_cost(cell, tree, low[at, n_range + tree], high[at, n_range + tree])
    return total


@inner
def joined_cost(cell, low, high, at, row):
    """Return D of a box after one more row has joined it."""
    n_range = cell.span.shape[0]
    total = np.int64(0)
    for col in range(n_range):
        code = cell.codes[row, col]
        total += min(max(high[at, col], code) - min(low[at, col], code), cell.span[col])
    for tree in range(cell.n_leaves.shape[0]):
        col = n_range + tree
        code = cell.codes[row, col]
        total += tree_cost(cell, tree, min(low[at, col], code), max(high[at, col], code))
    return total


@inner
def joined_below(cell, low, high, at, cost, row, limit):
    """Return D of a box, `cost` now, after one more row has joined it; `FAR` if that is `limit` or more.

    In most columns the row is inside, and the first few in which it is not decide: faster than `joined_cost`.
    """
    for col in range(cell.codes.shape[1]):
        code, first, last = cell.codes[row, col], low[at, col], high[at, col]
        if code < first:
            cost += column_cost(cell, col, code, last) - column_cost(cell, col, first, last)
        elif code > last:
            cost += column_cost(cell, col, first, code) - column_cost(cell, col, first, last)
        else:
            continue
        if cost >= limit:
            return FAR
    return cost if cost < limit else FAR


@inner
def set_box(cell, low, high, at, row):
    """Make a box of one row."""
    for col in range(cell.codes.shape[1]):
        low[at, col] = cell.codes[row, col]
        high[at, col] = cell.codes[row, col]


@inner
def widen_box(cell, low, high, at, row):
    """Widen a box for one more row."""
    for col in range(cell.codes.shape[1]):
        code = cell.codes[row, col]
        low[at, col] = min(low[at, col], code)
        high[at, col] = max(high[at, col], code)


@inner
def unite(low, high, at, other_low, other_high, other):
    """Widen a box for another one."""
    for col in range(low.shape[1]):
        low[at, col] = min(low[at, col], other_low[other, col])
        high[at, col] = max(high[at, col], other_high[other, col])


@inner
def copy_box(low, high, at, other_low, other_high, other):
    """Make a box another one."""
    for col in range(low.shape[1]):
        low[at, col] = other_low[other, col]
        high[at, col] = other_high[other, col]
