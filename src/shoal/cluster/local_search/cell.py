"""The whole table as the kernels of the search take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.table.fixed import FixedColumns

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_SMALL = 256  # leaves up to which a tree's costs are looked up by pairs


def whole_cell(fixed: FixedColumns, k: int, goals: Any, tally: Any) -> Any:
    """Return a `kernels.space.Cell` of all rows."""
    from shoal.kernels.space import Cell

    trees = fixed.trees
    n_leaves = _lengths(trees.leaf_at, len(trees.leaf_node))
    n_nodes = _lengths(trees.node_at, len(trees.parent))
    nodes = [slice(at, at + size) for at, size in zip(trees.node_at, n_nodes, strict=True)]
    tables = [
        _pairs(trees, place, size) if size <= _SMALL else _neighbours(trees, place, size)
        for place, size in zip(nodes, n_leaves, strict=True)
    ]
    over, node_of, join = zip(*tables, strict=True) if tables else ((), (), ())
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
        node_of=_joined(node_of),
        join=_joined(join),
        join_at=_begins(join),
        n_nodes=n_nodes,
        codes=codes,
        ids=np.arange(len(codes)),
        k=k,
        goals=goals,
        tally=tally,
    )


def _pairs(trees: Any, nodes: slice, n_leaves: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return for a small tree: costs of all pairs of leaves, their lowest nodes, costs by leaf and node."""
    first, last = trees.first_leaf[nodes], trees.last_leaf[nodes]
    node_of = np.zeros((n_leaves, n_leaves), np.int32)
    for node, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        node_of[low : high + 1, low : high + 1] = node  # parents come before their children
    leaf = np.arange(n_leaves)[:, None]
    over = trees.height[nodes][node_of]
    join = over[np.minimum(leaf, first), np.maximum(leaf, last)]
    return over.ravel(), node_of.ravel(), join.ravel()


def _neighbours(trees: Any, nodes: slice, n_leaves: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return for a large tree the maxima over 1, 2, 4, ... neighbours; no pairs."""
    level = np.zeros(n_leaves, np.int32)
    extents = zip(
        trees.first_leaf[nodes].tolist(), trees.last_leaf[nodes].tolist(), trees.height[nodes], strict=True
    )
    for low, high, height in extents:
        level[low:high] = height
    levels, step = [level], 1
    while 2 * step < n_leaves:
        level = level.copy()
        level[:-step] = np.maximum(level[:-step], level[step:])
        levels.append(level)
        step *= 2
    over = np.concatenate(levels)
    return over, np.zeros(len(over), np.int32), np.zeros(0, np.int32)


def _logarithms(highest: int) -> LongArray:
    """Return the whole part of the logarithm to base 2 of each number, 0 for 0."""
    return np.array([max(1, number).bit_length() - 1 for number in range(highest + 1)], np.int64)


def _lengths(begins: LongArray, end: int) -> LongArray:
    return np.diff(np.append(begins, end))


def _begins(arrays: Sequence[IntArray]) -> LongArray:
    return np.cumsum([0, *(len(array) for array in arrays)], dtype=np.int64)[:-1]


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate([*arrays, np.zeros(0, np.int32)]).astype(np.int32)
