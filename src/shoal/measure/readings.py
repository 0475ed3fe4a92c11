"""The loss of classes that are published as narrowly as possible, under each reading of NCP."""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.table.columns import Encoded, RangeColumn, TreeColumn, class_extremes
from shoal.table.readings import Reading, node_costs


def tight_costs(encoded: Encoded, labels: IntArray, reading: Reading = "height") -> FloatArray:
    """Return the loss of each class in each column when it is published as narrowly as possible.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_columns), float64
        Between 0 and 1, before weights.
    """
    n_classes = int(labels.max(initial=-1)) + 1
    costs = []
    for column in encoded.columns:
        low, high = class_extremes(column, labels, n_classes)
        if isinstance(column, RangeColumn):
            costs.append(column.cost(low, high))
        elif reading == "order":
            costs.append(order_costs(column, low, high))
        else:
            costs.append(node_costs(column, reading)[column.tree.lca(low, high)])
    return np.array(costs).T.reshape(n_classes, -1)


def order_costs(column: TreeColumn, low: IntArray, high: IntArray) -> FloatArray:
    """Return the cost of ranges of positions in leaf order; a mix of missing and present costs 1."""
    domain = column.tree.n_leaves - int(column.has_missing)
    costs = (high - low) / max(1, domain - 1)
    return np.where((high == column.missing) & (low < high), 1.0, costs)
