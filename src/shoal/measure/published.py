"""What published values cost, read from their texts and the raw table's ranges alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.table.columns import Encoded, QuasiColumn, RangeColumn, TreeColumn
from shoal.table.forms import Lost, Range, Set, Value, parse
from shoal.table.frames import series


def published_costs(encoded: Encoded, texts: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Return what each published class loses in each column, between 0 and 1.

    Parameters
    ----------
    encoded : Encoded
        The raw table: its ranges and trees are the yardstick.
    texts : polars.DataFrame
        One row for each class, one text column for each quasi column; null where a value is missing.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_columns), float64
    """
    costs = [_column_costs(column, series(texts, column.name)) for column in encoded.columns]
    return np.array(costs).T.reshape(texts.height, -1)


def _column_costs(column: QuasiColumn, texts: pl.Series) -> npt.NDArray[np.float64]:
    """Cost each distinct text once."""
    distinct = texts.unique()
    if isinstance(column, RangeColumn):
        costs = [_range_cost(column, text) for text in distinct]
    elif column.is_flat:
        costs = [_flat_cost(text) for text in distinct]
    else:
        heights = _node_costs(column)
        costs = [_node_cost(heights, text) for text in distinct]
    spread: npt.NDArray[np.float64] = texts.replace_strict(
        distinct, costs, return_dtype=pl.Float64
    ).to_numpy()
    return spread


def _range_cost(column: RangeColumn, text: str | None) -> float:
    value = parse(text)
    if isinstance(value, Range):
        return column.point(value.high) - column.point(value.low)
    return 1.0 if isinstance(value, Lost) else 0.0


def _flat_cost(text: str | None) -> float:
    value = parse(text)
    several = isinstance(value, Set) and len(value.members) > 1
    return 1.0 if several or isinstance(value, Lost) else 0.0


def _node_costs(column: TreeColumn) -> dict[str, float]:
    """Return the cost of every node but the root by its label; a leaf costs nothing."""
    tree = column.tree
    top = max(1, tree.total_height)
    return {tree.labels[node]: int(tree.height[node]) / top for node in range(tree.n_nodes - 1, 0, -1)}


def _node_cost(heights: dict[str, float], text: str | None) -> float:
    value = parse(text)
    if isinstance(value, Lost):
        return 1.0
    # A node's label may itself look like a range, as those of interval trees do.
    label = value.text if isinstance(value, Value) else text
    return heights.get(label, 0.0) if label is not None else 0.0
