"""Encoded columns as fixed-point integers, so that sums of costs are exact in any order.

One unit of weight is `unit` steps. The sum of all weights stays below `TOTAL`, so that a cost fits
into 32 bits. Where possible, `unit` is a multiple of 720720 = lcm(1..16), so that ranges and tree
heights up to 16 are not rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.table.columns import Encoded, QuasiColumn, RangeColumn, TreeColumn
from shoal.table.readings import Reading, node_costs

TOTAL = 1 << 29
_COMPOSITE = 720720


@dataclass(frozen=True)
class FixedColumns:
    """The columns of an encoded table, ranges first, in the form that the kernels take."""

    unit: int
    span: npt.NDArray[np.int32]  # (n_range): the cost of a whole range
    position: npt.NDArray[np.int32]  # (n_range, n): a missing value is at 2 x span
    leaf: npt.NDArray[np.int32]  # (n_tree, n)
    trees: Any  # kernels.trees.Trees

    @property
    def whole(self) -> int:
        """The cost of a row that is generalized completely."""
        return int(self.span.sum()) + int(self.trees.height[self.trees.node_at].sum())


def fixed_columns(
    encoded: Encoded, rows: npt.NDArray[np.int64], reading: Reading | Mapping[str, Reading] = "height"
) -> FixedColumns:
    """Convert the columns for the listed rows; `reading` gives the node costs of all columns or of each.

    With the reading "order", trees are ranges too: of positions in the order of their leaves.
    """
    unit = int(TOTAL / encoded.weights.sum())
    unit -= unit % _COMPOSITE if unit >= _COMPOSITE else 0
    trees = [c for c in encoded.columns if isinstance(c, TreeColumn) and reading != "order"]
    ranges = [c for c in encoded.columns if isinstance(c, RangeColumn) or reading == "order"]
    spans = [round(column.weight * unit) for column in ranges]
    return FixedColumns(
        unit=unit,
        span=np.array(spans, np.int32),
        position=_stacked([_positions(c, s, rows) for c, s in zip(ranges, spans, strict=True)], len(rows)),
        leaf=_stacked([column.codes[rows] for column in trees], len(rows)),
        trees=_joined_trees(trees, [_heights(column, unit, reading) for column in trees]),
    )


def _heights(
    column: TreeColumn, unit: int, reading: Reading | Mapping[str, Reading]
) -> npt.NDArray[np.int32]:
    reading = reading[column.name] if isinstance(reading, Mapping) else reading
    return np.rint(node_costs(column, reading) * round(column.weight * unit)).astype(np.int32)


def _joined_trees(columns: list[TreeColumn], heights: list[npt.NDArray[np.int32]]) -> Any:
    from shoal.kernels.trees import Trees

    return Trees(
        parent=_joined([column.tree.parent for column in columns]),
        height=_joined(heights),
        first_leaf=_joined([column.tree.first_leaf for column in columns]),
        last_leaf=_joined([column.tree.last_leaf for column in columns]),
        leaf_node=_joined([column.tree.leaf_nodes for column in columns]),
        node_at=_offsets([column.tree.n_nodes for column in columns]),
        leaf_at=_offsets([column.tree.n_leaves for column in columns]),
    )


def _positions(column: QuasiColumn, span: int, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    if isinstance(column, RangeColumn):
        points = column.points
    else:
        n_values = column.tree.n_leaves - int(column.has_missing)
        points = np.arange(n_values) / max(1, n_values - 1)
    at = np.append(np.rint(points * span), 2 * span).astype(np.int32)
    return at[column.codes[rows]]


def _stacked(rows: list[npt.NDArray[np.int32]], n: int) -> npt.NDArray[np.int32]:
    return np.ascontiguousarray(rows, dtype=np.int32).reshape(len(rows), n)


def _joined(arrays: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    return np.concatenate([*arrays, np.zeros(0, np.int32)]).astype(np.int32)


def _offsets(sizes: list[int]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)[:-1]
