"""The greatest excess of any box over each row, for given prices: calls to `kernels.excess`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.bound.bunches import bunches
from shoal.table.fixed import FixedColumns

MAX_BOXES = 10_000_000  # of a pass: one over more boxes would be given up,
FEW = 200  # unless there are so few distinct tuples


class Separation:
    """The distinct quasi tuples of a table, ready for passes over all boxes.

    Parameters
    ----------
    fixed : FixedColumns
        Of the tuples.
    size : ndarray of int64
        How many rows have each.
    k : int
    together : float, default 0
        Neighbouring values of a range that are no further apart than this share of it are taken together,
        except in one range. Boxes then cost too little, and excess is too high: never too low.
    allowance : Allowance, optional
        What a privacy goal allows in a class.
    """

    def __init__(
        self,
        fixed: FixedColumns,
        size: LongArray,
        k: int,
        together: float = 0.0,
        allowance: Any = None,
    ) -> None:
        from shoal.kernels.box_walk import HIGHEST, LOWEST, empty_walk

        self.k, self.m, self.lowest, self.highest = k, len(size), LOWEST, HIGHEST
        self.priced = priced_tuples(fixed, size, together)
        self.whole = fixed.whole
        self.allowance = allowance
        self._trees = fixed.trees
        self._walk = empty_walk(self.priced)
        last = self.priced.code[-1]
        self.by_value = np.argsort(last, kind="stable").astype(np.int32)

    @property
    def n_boxes(self) -> int:
        """How many boxes a pass may have to look at, if those that differ in the last column only are one.

        That fits the work where all values of that column are swept at once, so not with an allowance.
        """
        levels: list[int] = np.diff(self.priced.level_at).tolist()
        values: list[int] = np.diff(self.priced.position_at).tolist()[:-1]
        return prod(levels) * prod(n * (n + 1) // 2 for n in values)

    def excess(
        self,
        prices: LongArray,
        known: LongArray | None,
        steps: int,
        margin: int = 0,
        enough: int | None = None,
    ) -> tuple[LongArray, IntArray, int] | None:
        """Return k times the greatest excess of a box over each tuple, those boxes, and the steps taken.

        None if it takes too long. `known` is any excess that some box has, k times; with a `margin`, the
        greatest is no more than that above the result. Tuples with more than `enough` get `highest`.
        """
        from shoal.kernels.box_walk import ENOUGH, STEPS_LEFT
        from shoal.kernels.excess import greatest_excess

        walk = self._walk
        walk.price[:] = prices
        walk.by_price[0] = np.argsort(-prices, kind="stable")
        walk.by_value[0] = self.by_value
        walk.begin[0], walk.end[0] = 0, self.m
        walk.state[STEPS_LEFT] = steps
        walk.state[ENOUGH] = self.highest if enough is None else enough
        excess = np.full(self.m, self.lowest) if known is None else known.copy()
        box = np.full((self.m, 2 * len(self.priced.code)), -1, np.int32)
        if not greatest_excess(self.priced, self.allowance, self.k, margin, 0, 1, walk, excess, box):
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
            wide = priced.position[at + high[:, col]].astype(np.int64) - priced.position_to[at + low[:, col]]
            cost += np.clip(wide, 0, priced.span[col - n_tree])
        return np.ascontiguousarray(low), np.ascontiguousarray(high), cost


def priced_tuples(fixed: FixedColumns, size: LongArray, together: float = 0.0) -> Any:
    """Return tuples as `kernels.excess` takes them: trees by their nodes, then ranges by their values."""
    from shoal.kernels.box_walk import Priced

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
    ranges = _ranges(fixed, size, together)
    return Priced(
        size=size,
        code=np.ascontiguousarray([*codes, *(part.code for part in ranges)], np.int32).reshape(-1, len(size)),
        level_at=np.cumsum([0, *n_levels], dtype=np.int64),
        node_at=np.cumsum([0, *map(len, nodes)], dtype=np.int64),
        node=_joined(nodes),
        height=trees.height,
        position=_joined([part.first for part in ranges]),
        position_to=_joined([part.last for part in ranges]),
        position_at=np.cumsum([0, *(len(part.first) for part in ranges)], dtype=np.int64),
        span=np.array([part.span for part in ranges], np.int32),
    )


@dataclass(frozen=True)
class _Range:
    """One range: the number of each tuple's value, and the positions that values taken together have."""

    span: int
    code: LongArray
    first: IntArray
    last: IntArray


def _ranges(fixed: FixedColumns, size: LongArray, together: float) -> list[_Range]:
    """Number the values of each range, in the order in which ranges are settled.

    All values of the last one are swept at once, so it is the one that has most, and they stay apart.
    """
    spans: list[int] = fixed.span.tolist()
    found = [_range(fixed.position[at], size, span, together) for at, span in enumerate(spans)]
    order = sorted(range(len(found)), key=lambda at: len(found[at].first))
    for last in order[-1:]:
        found[last] = _range(fixed.position[last], size, spans[last], 0.0)
    return [found[at] for at in order]


def _range(position: IntArray, size: LongArray, span: int, together: float) -> _Range:
    values, code = np.unique(position, return_inverse=True)
    code = code.ravel()
    if not together:
        return _Range(span, code, values, values)
    rows = np.bincount(code, size).astype(np.int64)
    begins = bunches(values, rows, span, together)
    number = np.searchsorted(begins, np.arange(len(values)), side="right") - 1
    ends = np.append(begins[1:], len(values)) - 1
    return _Range(span, number[code], values[begins], values[ends])


def _joined(arrays: list[Any]) -> IntArray:
    return np.concatenate([*arrays, np.zeros(0, np.int32)]).astype(np.int32)


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
