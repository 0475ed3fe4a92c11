"""The inner loops of Mondrian: groups of rows are cut in place until nothing can be cut.

A group is a stretch of `rows`; inside it rows are in canonical order. Groups that wait are kept
on a stack, low part on top, so that classes are numbered depth first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.goals import are_good, asks
from shoal.kernels.sorting import first_least, ranked, sort_front, sort_places
from shoal.kernels.trees import lifted
from shoal.kernels.waiting import BEGIN, CLASSES, END, SETTLED, WAITING

LEFT, RIGHT = range(2)  # the parts of a cut in two


class Settings(NamedTuple):
    """What does not change during a call."""

    k: int
    relaxed: int  # 0 or 1
    n_rows: int  # examined in one call, approximately


class Table(NamedTuple):
    """The columns, fixed-point, and in which order they were named."""

    position: np.ndarray  # int32 (n_range, n): a missing value lies at 2 x span
    leaf: np.ndarray  # int32 (n_tree, n)
    span: np.ndarray  # int32 (n_range)
    missing: np.ndarray  # int32 (n_tree): the leaf of missing values, or one that no row has
    is_tree: np.ndarray  # bool (n_columns)
    place: np.ndarray  # int64 (n_columns): which of the ranges, or of the trees


class Work(NamedTuple):
    """Scratch: where a cut is tried out before it is made."""

    part: np.ndarray  # int32 (n): the part of each row of the group
    sizes: np.ndarray  # int64 (n / k + 2): the rows of each part
    buffer: np.ndarray  # int64 (n)
    values: np.ndarray  # int32 (n)
    child_part: np.ndarray  # int32 (most nodes of a tree)
    child_rows: np.ndarray  # int64 (most nodes of a tree), all zero between cuts
    costs: np.ndarray  # int64 (n_columns): what the group costs, less than 0
    columns: np.ndarray  # int64 (n_columns): by cost
    ends: np.ndarray  # int64 (n / k + 2): where the parts end
    free: np.ndarray  # int64 (n / k + 2): where the next row of each part goes


@inner
def extremes(values, rows, begin, end):
    """Return the lowest and highest value of a group."""
    low, high = values[rows[begin]], values[rows[begin]]
    for at in range(begin, end):
        value = values[rows[at]]
        low, high = min(low, value), max(high, value)
    return low, high


@inner
def node_over(trees, col, low, high):
    """Return the lowest node over leaves `low` to `high`."""
    return lifted(trees, col, trees.leaf_node[trees.leaf_at[col] + low], high)


@inner
def order_columns(table, trees, rows, begin, end, work):
    """Sort the columns by what the group costs in them, the first of equals first. Writes `work.columns`."""
    for col in range(table.place.shape[0]):
        at = table.place[col]
        if table.is_tree[col]:
            low, high = extremes(table.leaf[at], rows, begin, end)
            work.costs[col] = -trees.height[trees.node_at[at] + node_over(trees, at, low, high)]
        else:
            low, high = extremes(table.position[at], rows, begin, end)
            work.costs[col] = -min(high - low, table.span[at])
        work.columns[col] = col
    sort_places(work.columns, table.place.shape[0], work.costs)


@inner
def split_at(values, rows, begin, end, limit, ties, work):
    """Put rows below `limit`, and the first `ties` of those at it, to the left. Returns 2 parts."""
    left = 0
    for at in range(end - begin):
        value = values[rows[begin + at]]
        goes_left = value < limit
        if value == limit and ties > 0:
            goes_left, ties = True, ties - 1
        work.part[at] = LEFT if goes_left else RIGHT
        left += goes_left
    work.sizes[LEFT], work.sizes[RIGHT] = left, end - begin - left
    return 2


@inner
def range_parts(values, span, rows, begin, end, relaxed, work):
    """Cut at the median, or missing from present. Returns the number of parts, 0 for no cut."""
    size = end - begin
    low, high = extremes(values, rows, begin, end)
    missing = 2 * span
    if high == missing and low < high and span > 0:
        return split_at(values, rows, begin, end, missing, np.int64(0), work)
    if high == missing and span > 0 and not relaxed:
        return 0
    for at in range(size):
        work.values[at] = values[rows[begin + at]]
    limit = ranked(work.values, size, size // 2 if relaxed else (size - 1) // 2)
    below = 0
    for at in range(size):
        below += work.values[at] < limit
    return split_at(values, rows, begin, end, limit, size // 2 - below if relaxed else size, work)


@inner
def child_over(trees, col, node, leaf):
    """Return the child of `node` that covers a leaf below it."""
    nodes = trees.node_at[col]
    child = trees.leaf_node[trees.leaf_at[col] + leaf]
    while trees.parent[nodes + child] != node:
        child = trees.parent[nodes + child]
    return child


@inner
def name_parts(n_children, k, work):
    """Give each child its part; small ones share a rest, which joins the smallest part if too small.

    The children are in `work.buffer`. Returns the number of parts. Writes `work.child_part`, `work.sizes`.
    """
    parts, rest = 0, 0
    for at in range(n_children):
        child = work.buffer[at]
        if work.child_rows[child] >= k:
            work.child_part[child] = parts
            work.sizes[parts] = work.child_rows[child]
            parts += 1
        else:
            rest += work.child_rows[child]
    if rest == 0:
        return parts
    home = parts
    if rest < k and parts > 0:
        home = first_least(work.sizes, parts)
        work.sizes[home] += rest
    else:
        work.sizes[parts] = rest
        parts += 1
    for at in range(n_children):
        child = work.buffer[at]
        if work.child_rows[child] < k:
            work.child_part[child] = home
    return parts


@inner
def tree_parts(leaves, missing, trees, col, rows, begin, end, k, work):
    """Cut into the children of the group's node, or missing from present. Returns the number of parts."""
    low, high = extremes(leaves, rows, begin, end)
    if high == missing and low < high:
        return split_at(leaves, rows, begin, end, missing, np.int64(0), work)
    if low == high:
        return 0
    node = node_over(trees, col, low, high)
    found = 0
    for at in range(end - begin):
        child = child_over(trees, col, node, leaves[rows[begin + at]])
        if work.child_rows[child] == 0:
            work.buffer[found] = child
            found += 1
        work.child_rows[child] += 1
        work.part[at] = child
    sort_front(work.buffer, found)  # nodes are numbered depth first
    parts = name_parts(found, k, work)
    for at in range(end - begin):
        work.part[at] = work.child_part[work.part[at]]
    for at in range(found):
        work.child_rows[work.buffer[at]] = 0
    return parts


@inner
def bring_together(rows, begin, end, parts, work):
    """List the rows of the group part by part, in order. Writes `work.buffer`, `work.ends`, `work.free`."""
    to = np.int64(0)
    for part in range(parts):
        work.free[part] = to
        to += work.sizes[part]
        work.ends[part] = to
    for at in range(end - begin):
        part = work.part[at]
        work.buffer[work.free[part]] = rows[begin + at]
        work.free[part] += 1


@inner
def is_allowed(rows, begin, end, parts, k, goals, tally, work):
    """Return whether every part has k rows and meets every goal."""
    if parts < 2:
        return False
    for part in range(parts):
        if work.sizes[part] < k:
            return False
    if asks(goals):
        bring_together(rows, begin, end, parts, work)
        first = np.int64(0)
        for part in range(parts):
            if not are_good(goals, tally, work.buffer, first, work.ends[part]):
                return False
            first = work.ends[part]
    return True


@inner
def find_cut(table, trees, rows, begin, end, k, relaxed, goals, tally, work):
    """Try the columns, widest first, until one can be cut. Returns the number of parts, 0 for none."""
    order_columns(table, trees, rows, begin, end, work)
    for place in range(table.place.shape[0]):
        col = work.columns[place]
        at = table.place[col]
        if table.is_tree[col]:
            parts = tree_parts(table.leaf[at], table.missing[at], trees, at, rows, begin, end, k, work)
        else:
            parts = range_parts(table.position[at], table.span[at], rows, begin, end, relaxed, work)
        if is_allowed(rows, begin, end, parts, k, goals, tally, work):
            return parts
    return 0


@entry
def cut_groups(table, trees, rows, labels, stack, goals, tally, cursor, settings, work):
    """Cut the groups that wait, for about as many rows as one call may look at.

    stack: (n / k + 2, 2). For `stack` and `cursor` see `kernels.waiting`. Writes everything but `table`,
    `trees`, `goals` and `settings`.
    """
    k, relaxed, budget = settings.k, settings.relaxed == 1, settings.n_rows
    while cursor[WAITING] > 0 and budget > 0:
        cursor[WAITING] -= 1
        begin, end = stack[cursor[WAITING], BEGIN], stack[cursor[WAITING], END]
        budget -= end - begin
        parts = 0
        if end - begin >= 2 * k:
            parts = find_cut(table, trees, rows, begin, end, k, relaxed, goals, tally, work)
        if parts == 0:
            for at in range(begin, end):
                labels[rows[at]] = cursor[CLASSES]
            cursor[CLASSES] += 1
            cursor[SETTLED] += end - begin
            continue
        bring_together(rows, begin, end, parts, work)
        for at in range(end - begin):
            rows[begin + at] = work.buffer[at]
        for part in range(parts - 1, -1, -1):
            stack[cursor[WAITING], BEGIN] = begin + (work.ends[part - 1] if part > 0 else 0)
            stack[cursor[WAITING], END] = begin + work.ends[part]
            cursor[WAITING] += 1
