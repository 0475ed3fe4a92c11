"""The whole table as the kernels of the search take it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.table.fixed import FixedColumns

_SMALL = 256  # leaves up to which a tree's costs are looked up by pairs
_MOST_JOINS = 1 << 21  # pairs of nodes of a tree up to which what they cost together is looked up
_TOGETHER = 1 << 16  # pairs of nodes up to which this is done for several trees at once


def whole_cell(fixed: FixedColumns, k: int, goals: Any, tally: Any) -> Any:
    """Return a `kernels.space.Cell` of all rows."""
    from shoal.kernels.local_search.space import Cell

    trees = fixed.trees
    n_leaves = _lengths(trees.leaf_at, len(trees.leaf_node))
    n_nodes = _lengths(trees.node_at, len(trees.parent))
    nodes = [slice(at, at + size) for at, size in zip(trees.node_at, n_nodes, strict=True)]
    over = [
        _pairs(trees, place, size) if size <= _SMALL else _neighbours(trees, place, size)
        for place, size in zip(nodes, n_leaves, strict=True)
    ]
    groups = _groups(n_nodes)
    is_joined = np.array([n_nodes[group[0]] ** 2 <= _MOST_JOINS for group in groups], np.bool_)
    joined = [group if looked_up else [] for group, looked_up in zip(groups, is_joined, strict=True)]
    join = [_added(_joins(trees, nodes[tree], n_leaves[tree]) for tree in group) for group in joined]
    meet = [_added(_meets(trees, nodes[tree]) for tree in group) for group in joined]
    codes = np.ascontiguousarray(np.concatenate([fixed.position, fixed.leaf]).T)
    return Cell(
        span=fixed.span,
        over=_joined(over),
        over_at=_begins(over),
        n_leaves=n_leaves,
        is_small=n_leaves <= _SMALL,
        log=_logarithms(int(n_leaves.max(initial=1))),
        parent=trees.parent,
        first_leaf=trees.first_leaf,
        last_leaf=trees.last_leaf,
        leaf_node=trees.leaf_node,
        node_at=trees.node_at,
        leaf_at=trees.leaf_at,
        join=_joined(join),
        meet=_joined(meet),
        meet_at=_begins(meet),
        is_joined=is_joined,
        group_at=_begins([*groups, []]),
        joins=_first_joins(fixed.leaf, joined, n_leaves, n_nodes, _begins(join)),
        group_nodes=np.array([n_nodes[group].prod() for group in groups], np.int64),
        n_nodes=n_nodes,
        codes=codes,
        ids=np.arange(len(codes)),
        k=k,
        goals=goals,
        tally=tally,
    )


def highest_costs(cell: Any) -> FloatArray:
    """Return what a row costs in each column where that is as wide as can be."""
    ends = np.append(cell.over_at, len(cell.over))[1:]
    trees = [cell.over[begin:end].max() for begin, end in zip(cell.over_at, ends, strict=True)]
    return np.array([*cell.span, *trees], np.float64)


def _groups(n_nodes: LongArray) -> list[list[int]]:
    """Put trees next to each other into groups, as long as all nodes of a group have few pairs."""
    groups: list[list[int]] = []
    for tree, size in enumerate(n_nodes):
        if groups and (size * n_nodes[groups[-1]].prod()) ** 2 <= _TOGETHER:
            groups[-1].append(tree)
        else:
            groups.append([tree])
    return groups


def _first_joins(
    leaf: IntArray, groups: list[list[int]], n_leaves: LongArray, n_nodes: LongArray, begins: LongArray
) -> IntArray:
    """Return where the joins of each row's leaves begin, in each group of trees that has joins."""
    first = np.zeros((leaf.shape[1], len(groups)), np.int32)
    for number, group in enumerate(groups):
        leaves = np.zeros(leaf.shape[1], np.int64)
        for tree in group:
            leaves = leaves * n_leaves[tree] + leaf[tree]
        first[:, number] = begins[number] + leaves * n_nodes[group].prod()
    return first


def _added(tables: Iterable[IntArray]) -> IntArray:
    """Return what several trees cost together; of rows and columns, those of the last tree come fastest."""
    total = np.zeros((1, 1), np.int32)
    for table in tables:
        every = total[:, None, :, None] + table[None, :, None, :]
        total = every.reshape(len(total) * len(table), -1)
    return total.ravel()


def _extents(trees: Any, nodes: slice) -> list[tuple[int, int, int, int]]:
    """Return parent, first leaf, last leaf and cost of each node of a tree, parents before children."""
    columns = (trees.parent, trees.first_leaf, trees.last_leaf, trees.height)
    return list(zip(*(column[nodes].tolist() for column in columns), strict=True))


def _pairs(trees: Any, nodes: slice, n_leaves: int) -> IntArray:
    """Return what the lowest nodes over all pairs of leaves cost."""
    over = np.zeros((n_leaves, n_leaves), np.int32)
    for _, low, high, cost in _extents(trees, nodes):
        over[low : high + 1, low : high + 1] = cost
    return over.ravel()


def _joins(trees: Any, nodes: slice, n_leaves: int) -> IntArray:
    """Return what the lowest nodes over each leaf and each node cost: the node's own, or as its parent's."""
    extents = _extents(trees, nodes)
    join = np.zeros((n_leaves, len(extents)), np.int32)
    for node, (parent, low, high, cost) in enumerate(extents):
        join[:, node] = join[:, parent]
        join[low : high + 1, node] = cost
    return join


def _meets(trees: Any, nodes: slice) -> IntArray:
    """Return what the lowest nodes over any two nodes cost: as with the first one's parent, or its own."""
    first, last = trees.first_leaf[nodes], trees.last_leaf[nodes]
    meet = np.zeros((len(first), len(first)), np.int32)
    for node, (parent, low, high, cost) in enumerate(_extents(trees, nodes)):
        meet[node] = meet[parent]
        meet[node, node:][(first[node:] >= low) & (last[node:] <= high)] = cost  # the nodes below it
    return meet


def _neighbours(trees: Any, nodes: slice, n_leaves: int) -> IntArray:
    """Return the maxima over 1, 2, 4, ... neighbours of what the lowest nodes over two of them cost."""
    level = np.zeros(n_leaves, np.int32)
    for _, low, high, cost in _extents(trees, nodes):
        level[low:high] = cost
    levels, step = [level], 1
    while 2 * step < n_leaves:
        level = level.copy()
        level[:-step] = np.maximum(level[:-step], level[step:])
        levels.append(level)
        step *= 2
    return np.concatenate(levels)


def _logarithms(highest: int) -> LongArray:
    """Return the whole part of the logarithm to base 2 of each number, 0 for 0."""
    _, exponent = np.frexp(np.maximum(1, np.arange(highest + 1)).astype(np.float64))
    return exponent.astype(np.int64) - 1


def _lengths(begins: LongArray, end: int) -> LongArray:
    return np.diff(np.append(begins, end))


def _begins(arrays: Sequence[Sized]) -> LongArray:
    return np.cumsum([0, *(len(array) for array in arrays)], dtype=np.int64)[:-1]


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate([*arrays, np.zeros(0, np.int32)]).astype(np.int32)
