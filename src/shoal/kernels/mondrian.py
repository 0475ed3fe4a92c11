"""The inner loops of Mondrian: groups of rows are cut in place until nothing can be cut.

A group is a stretch of `rows`; inside it rows stand in canonical order. Groups that wait are kept
on a stack, low part on top, so that classes are numbered depth first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.goals import are_good
from shoal.kernels.trees import lifted


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


@njit(cache=True)
def extremes(values, group):
    """Return the lowest and highest value of a group."""
    low, high = values[group[0]], values[group[0]]
    for row in group:
        low, high = min(low, values[row]), max(high, values[row])
    return low, high


@njit(cache=True)
def node_over(trees, col, low, high):
    """Return the lowest node over leaves `low` to `high`."""
    return lifted(trees, col, trees.leaf_node[trees.leaf_at[col] + low], high)


@njit(cache=True)
def widest_first(table, trees, group):
    """Return the columns by what the group costs in them, the first of equals first."""
    costs = np.zeros(table.place.shape[0], np.int64)
    for col in range(costs.shape[0]):
        at = table.place[col]
        if table.is_tree[col]:
            low, high = extremes(table.leaf[at], group)
            costs[col] = -trees.height[trees.node_at[at] + node_over(trees, at, low, high)]
        else:
            low, high = extremes(table.position[at], group)
            costs[col] = -min(high - low, table.span[at])
    return np.argsort(costs, kind="mergesort")


@njit(cache=True)
def split_at(values, group, limit, ties, work):
    """Put rows below `limit`, and the first `ties` of those at it, to the left. Returns 2 parts."""
    left = 0
    for at in range(group.shape[0]):
        value = values[group[at]]
        goes_left = value < limit
        if value == limit and ties > 0:
            goes_left, ties = True, ties - 1
        work.part[at] = 0 if goes_left else 1
        left += goes_left
    work.sizes[0], work.sizes[1] = left, group.shape[0] - left
    return 2


@njit(cache=True)
def range_parts(values, span, group, relaxed, work):
    """Cut at the median, or missing from present. Returns the number of parts, 0 for no cut."""
    size = group.shape[0]
    low, high = extremes(values, group)
    missing = 2 * span
    if high == missing and low < high and span > 0:
        return split_at(values, group, missing, 0, work)
    if high == missing and span > 0 and not relaxed:
        return 0
    for at in range(size):
        work.values[at] = values[group[at]]
    middle = size // 2 if relaxed else (size - 1) // 2
    limit = np.partition(work.values[:size], middle)[middle]
    below = 0
    for at in range(size):
        below += work.values[at] < limit
    return split_at(values, group, limit, size // 2 - below if relaxed else size, work)


@njit(cache=True)
def child_over(trees, col, node, leaf):
    """Return the child of `node` that covers a leaf below it."""
    nodes = trees.node_at[col]
    child = trees.leaf_node[trees.leaf_at[col] + leaf]
    while trees.parent[nodes + child] != node:
        child = trees.parent[nodes + child]
    return child


@njit(cache=True)
def name_parts(children, k, work):
    """Give each child its part; small ones share a rest, which joins the smallest part if too small.

    Returns the number of parts. Writes `work.child_part`, `work.sizes`.
    """
    parts, rest = 0, 0
    for child in children:
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
        home = int(np.argmin(work.sizes[:parts]))
        work.sizes[home] += rest
    else:
        work.sizes[parts] = rest
        parts += 1
    for child in children:
        if work.child_rows[child] < k:
            work.child_part[child] = home
    return parts


@njit(cache=True)
def tree_parts(leaves, missing, trees, col, group, k, work):
    """Cut into the children of the group's node, or missing from present. Returns the number of parts."""
    low, high = extremes(leaves, group)
    if high == missing and low < high:
        return split_at(leaves, group, missing, 0, work)
    if low == high:
        return 0
    node = node_over(trees, col, low, high)
    found = 0
    for at in range(group.shape[0]):
        child = child_over(trees, col, node, leaves[group[at]])
        if work.child_rows[child] == 0:
            work.buffer[found] = child
            found += 1
        work.child_rows[child] += 1
        work.part[at] = child
    children = np.sort(work.buffer[:found])  # nodes are numbered depth first
    parts = name_parts(children, k, work)
    for at in range(group.shape[0]):
        work.part[at] = work.child_part[work.part[at]]
    for child in children:
        work.child_rows[child] = 0
    return parts


@njit(cache=True)
def bring_together(group, parts, work):
    """List the rows of the group part by part, in order; return where parts end. Writes `work.buffer`."""
    ends = np.cumsum(work.sizes[:parts])
    at_part = ends - work.sizes[:parts]
    for at in range(group.shape[0]):
        part = work.part[at]
        work.buffer[at_part[part]] = group[at]
        at_part[part] += 1
    return ends


@njit(cache=True)
def is_allowed(group, parts, k, goals, tally, work):
    """Tell whether every part has k rows and meets every goal."""
    if parts < 2 or work.sizes[:parts].min() < k:
        return False
    if not goals.active:
        return True
    begin = 0
    for end in bring_together(group, parts, work):
        if not are_good(goals, tally, work.buffer[begin:end]):
            return False
        begin = end
    return True


@njit(cache=True)
def find_cut(table, trees, group, k, relaxed, goals, tally, work):
    """Try the columns, widest first, until one can be cut. Returns the number of parts, 0 for none."""
    for col in widest_first(table, trees, group):
        at = table.place[col]
        if table.is_tree[col]:
            parts = tree_parts(table.leaf[at], table.missing[at], trees, at, group, k, work)
        else:
            parts = range_parts(table.position[at], table.span[at], group, relaxed, work)
        if is_allowed(group, parts, k, goals, tally, work):
            return parts
    return 0


@njit(cache=True)
def cut_groups(table, trees, rows, labels, stack, goals, tally, cursor, settings, work):
    """Cut the groups that wait, for about as many rows as one call may look at.

    stack: (n / k + 2, 2) begin and end of each group. cursor: [groups waiting, classes made, rows
    settled]. settings: [k, relaxed (0/1), rows in this call]. Writes everything but `table`,
    `trees`, `goals` and `settings`.
    """
    k, relaxed, budget = settings[0], settings[1] == 1, settings[2]
    while cursor[0] > 0 and budget > 0:
        cursor[0] -= 1
        begin, end = stack[cursor[0], 0], stack[cursor[0], 1]
        group = rows[begin:end]
        budget -= end - begin
        parts = 0
        if end - begin >= 2 * k:
            parts = find_cut(table, trees, group, k, relaxed, goals, tally, work)
        if parts == 0:
            for row in group:
                labels[row] = cursor[1]
            cursor[1] += 1
            cursor[2] += end - begin
            continue
        ends = bring_together(group, parts, work)
        group[:] = work.buffer[: end - begin]
        for part in range(parts - 1, -1, -1):
            stack[cursor[0], 0] = begin + (ends[part - 1] if part > 0 else 0)
            stack[cursor[0], 1] = begin + ends[part]
            cursor[0] += 1
