"""The greatest excess of any box over each row, for given prices: calls to `kernels.excess`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.table.fixed import FixedColumns


class Separation:
    """The distinct quasi tuples of a table, ready for passes over all boxes.

    Parameters
    ----------
    fixed : FixedColumns
        Of the tuples.
    size : ndarray of int64
        How many rows have each.
    k : int
    """

    def __init__(self, fixed: FixedColumns, size: LongArray, k: int) -> None:
        from shoal.kernels.excess import LOWEST, empty_walk

        self.k, self.m, self.lowest = k, len(size), LOWEST
        self.priced = priced_tuples(fixed, size)
        self._trees = fixed.trees
        self._walk = empty_walk(self.priced)
        last = self.priced.code[-1]
        self.by_value = np.argsort(last, kind="stable").astype(np.int32)

    @property
    def n_boxes(self) -> int:
        """How many boxes a pass may have to look at, those apart that differ in the last column only."""
        levels: list[int] = np.diff(self.priced.level_at).tolist()
        values: list[int] = np.diff(self.priced.position_at).tolist()[:-1]
        return prod(levels) * prod(n * (n + 1) // 2 for n in values)

    def excess(
        self, prices: LongArray, known: LongArray | None, steps: int, margin: int = 0
    ) -> tuple[LongArray, IntArray, int] | None:
        """Return k times the greatest excess of a box over each tuple, those boxes, and the steps taken.

        None if it takes too long. `known` is any excess that some box has, k times; with a `margin`, the
        greatest is no more than that above the result.
        """
        from shoal.kernels.excess import STEPS_LEFT, greatest_excess

        walk = self._walk
        walk.price[:] = prices
        walk.by_price[0] = np.argsort(-prices, kind="stable")
        walk.by_value[0] = self.by_value
        walk.begin[0], walk.end[0] = 0, self.m
        walk.state[STEPS_LEFT] = steps
        excess = np.full(self.m, self.lowest) if known is None else known.copy()
        box = np.full((self.m, 2 * len(self.priced.code)), -1, np.int32)
        if not greatest_excess(self.priced, self.k, margin, 0, 1, walk, excess, box):
            return None
        return excess, box, steps - int(walk.state[STEPS_LEFT])

    def corners(self, boxes: IntArray) -> tuple[IntArray, IntArray, LongArray]:
        """Return the least and the greatest code inside each box in each column, and what it costs."""
        priced, n = self.priced, len(self.priced.code)
        n_tree = len(priced.level_at) - 1
        low, high = boxes[:, :n].copy(), boxes[:, n:].copy()
        cost = np.zeros(len(boxes), np.int64)
        for col in range(n_tree):
            node = boxes[:, col]
            low[:, col], high[:, col] = self._trees.first_leaf[node], self._trees.last_leaf[node]
            cost += priced.height[node]
        for col in range(n_tree, n):
            at = priced.position_at[col - n_tree]
            wide = priced.position[at + high[:, col]].astype(np.int64) - priced.position[at + low[:, col]]
            cost += np.minimum(wide, priced.span[col - n_tree])
        return np.ascontiguousarray(low), np.ascontiguousarray(high), cost


def priced_tuples(fixed: FixedColumns, size: LongArray) -> Any:
    """Return tuples as `kernels.excess` takes them: trees by their nodes, then ranges by their values."""
    from shoal.kernels.excess import Priced

    trees = fixed.trees
    begins = np.append(trees.node_at, len(trees.height))
    leaf_begins = np.append(trees.leaf_at, len(trees.leaf_node))
    codes: list[Any] = []
    nodes: list[IntArray] = []
    n_levels: list[int] = []
    for at in np.argsort(np.diff(begins), kind="stable"):
        own = slice(begins[at], begins[at + 1])
        leaf_node = trees.leaf_node[leaf_begins[at] : leaf_begins[at + 1]]
        levels = _levels(trees.parent[own], trees.height[own], leaf_node)
        nodes += [level + begins[at] for level in levels]
        n_levels.append(len(levels))
        codes.append(fixed.leaf[at])
    values = [np.unique(column, return_inverse=True) for column in fixed.position]
    order = sorted(range(len(values)), key=lambda at: len(values[at][0]))
    codes += [values[at][1].ravel() for at in order]
    sizes = [len(values[at][0]) for at in order]
    return Priced(
        size=size,
        code=np.ascontiguousarray(codes, np.int32).reshape(len(codes), len(size)),
        level_at=np.cumsum([0, *n_levels], dtype=np.int64),
        node_at=np.cumsum([0, *map(len, nodes)], dtype=np.int64),
        node=np.concatenate([*nodes, np.zeros(0, np.int32)]).astype(np.int32),
        height=trees.height,
        position=np.concatenate([*(values[at][0] for at in order), np.zeros(0, np.int32)]).astype(np.int32),
        position_at=np.cumsum([0, *sizes], dtype=np.int64),
        span=fixed.span[order],
    )


def _levels(parent: IntArray, height: IntArray, leaf_node: IntArray) -> list[IntArray]:
    """Return the highest node over each leaf that is no higher than h, for each height h that occurs."""
    levels = []
    for limit in np.unique(height):
        node = leaf_node.copy()
        while True:
            above = parent[node]
            rises = (above >= 0) & (height[above] <= limit)
            if not rises.any():
                break
            node = np.where(rises, above, node).astype(np.int32)
        levels.append(node)
    return levels
