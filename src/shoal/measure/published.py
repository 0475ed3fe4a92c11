"""What published values cost, read from their texts and the raw table's ranges alone."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.table.columns import Encoded, QuasiColumn, RangeColumn, TreeColumn
from shoal.table.forms import Lost, Range, Set, Value, parse
from shoal.table.frames import series
from shoal.table.readings import FloatArray, Reading, node_costs


def published_costs(encoded: Encoded, texts: pl.DataFrame, reading: Reading = "height") -> FloatArray:
    """Return what each published class loses in each column, between 0 and 1.

    Parameters
    ----------
    encoded : Encoded
        The raw table: its ranges and trees are the yardstick.
    texts : polars.DataFrame
        One row for each class, one text column for each quasi column, null where a value is missing;
        or two columns of bounds, null where everything is lost.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_columns), float64
    """
    costs = [
        _column_costs(column, series(texts, column.name), reading)
        if column.name in texts.columns
        else _bound_costs(column, texts)
        for column in encoded.columns
    ]
    return np.array(costs).T.reshape(texts.height, -1)


def _column_costs(column: QuasiColumn, texts: pl.Series, reading: Reading) -> FloatArray:
    """Cost each distinct text once."""
    distinct = texts.unique()
    if isinstance(column, RangeColumn):
        costs = [_range_cost(column, text) for text in distinct]
    elif column.is_flat:
        costs = [_flat_cost(column, text, reading) for text in distinct]
    else:
        by_label = _costs_by_label(column, reading)
        costs = [_node_cost(by_label, text) for text in distinct]
    spread: FloatArray = texts.replace_strict(distinct, costs, return_dtype=pl.Float64).to_numpy()
    return spread


def _bound_costs(column: QuasiColumn, texts: pl.DataFrame) -> FloatArray:
    """Cost bounds that are columns of their own: whoever reads nulls there has lost everything."""
    assert isinstance(column, RangeColumn)
    low, high = (texts[f"{column.name}_{end}"].cast(pl.String).to_list() for end in ("low", "high"))
    pairs = zip(low, high, strict=True)
    return np.array([1.0 if a is None or b is None else _width(column, a, b) for a, b in pairs])


def _width(column: RangeColumn, low: str, high: str) -> float:
    """Return the share of the table's range; bounds that reach beyond it cost no more than all."""
    return min(1.0, column.point(high) - column.point(low))


def _range_cost(column: RangeColumn, text: str | None) -> float:
    value = parse(text)
    if isinstance(value, Range):
        return _width(column, value.low, value.high)
    return 1.0 if isinstance(value, Lost) else 0.0


def _flat_cost(column: TreeColumn, text: str | None, reading: Reading) -> float:
    value = parse(text)
    if isinstance(value, Set) and len(value.members) > 1:
        if reading != "order":
            return 1.0  # under a single root any two values are as far apart as can be
        positions = [column.tree.leaf_labels.index(member) for member in value.members]
        domain = column.tree.n_leaves - int(column.has_missing)
        return (max(positions) - min(positions)) / (domain - 1)
    return 1.0 if isinstance(value, Lost) else 0.0


def _costs_by_label(column: TreeColumn, reading: Reading) -> dict[str, float]:
    """Return the cost of every node but the root by its label; a leaf costs nothing."""
    costs = node_costs(column, reading).tolist()
    tree = column.tree
    return {tree.labels[node]: costs[node] for node in range(tree.n_nodes - 1, 0, -1)}


def _node_cost(by_label: dict[str, float], text: str | None) -> float:
    value = parse(text)
    if isinstance(value, Lost):
        return 1.0
    # A node's label may itself look like a range, as those of interval trees do.
    label = value.text if isinstance(value, Value) else text
    return by_label.get(label, 0.0) if label is not None else 0.0
