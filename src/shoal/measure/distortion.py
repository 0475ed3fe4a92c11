"""Distortion and modification rate [li2006], and the cost that k-member minimises [byun2007]."""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.table.columns import Encoded, RangeColumn
from shoal.table.fixed import fixed_columns


def distortion(encoded: Encoded, labels: IntArray, costs: FloatArray) -> float | None:
    """Return the sum over rows and columns of the distance from leaf to published level.

    `costs` are weighted hierarchical distances; a suppressed row counts as published at the roots.
    None when a column has no tree.
    """
    if any(isinstance(column, RangeColumn) for column in encoded.columns):
        return None
    sizes = np.bincount(labels[labels >= 0], minlength=len(costs))
    suppressed = encoded.n_rows - int(sizes.sum())
    return float(sizes @ costs.sum(axis=1)) + suppressed * _columns_with_levels(encoded)


def distortion_ratio(encoded: Encoded, labels: IntArray, costs: FloatArray) -> float | None:
    """Return the distortion relative to a table with everything at the root."""
    found = distortion(encoded, labels, costs)
    most = encoded.n_rows * _columns_with_levels(encoded)
    if found is None:
        return None
    return found / most if most else 0.0


def _columns_with_levels(encoded: Encoded) -> int:
    """Count the columns in which anything can be lost."""
    trees = [column for column in encoded.columns if not isinstance(column, RangeColumn)]
    return sum(column.tree.total_height > 0 for column in trees)


def modification_rate(encoded: Encoded, labels: IntArray, costs: FloatArray) -> float:
    """Return the share of quasi cells that were changed, including those of suppressed rows."""
    sizes = np.bincount(labels[labels >= 0], minlength=len(costs))
    changed = float(sizes @ (costs > 0).sum(axis=1))
    suppressed = encoded.n_rows - int(sizes.sum())
    return (changed + suppressed * len(encoded.columns)) / (encoded.n_rows * len(encoded.columns))


def kmember_cost(encoded: Encoded, labels: IntArray) -> float:
    """Return the sum over classes of size times diameter, definition 1 of [byun2007].

    The diameter is the largest distance between two rows of the class. Quadratic in the number of
    distinct tuples of a class.
    """
    from shoal.kernels import diameter

    inside = np.flatnonzero(labels >= 0)
    by_class = inside[np.argsort(labels[inside], kind="stable")]
    sizes = np.bincount(labels[inside])
    # Equal tuples are at distance 0: one row of each is enough.
    tuples = encoded.tuple_of_row[by_class]
    first = np.ones(len(by_class), dtype=bool)
    first[1:] = (np.diff(tuples) != 0) | (np.diff(labels[by_class]) != 0)
    rows = by_class[first]
    begins = np.searchsorted(labels[rows], np.arange(len(sizes) + 1))
    fixed = fixed_columns(encoded, rows)
    widest = diameter.diameters(fixed.position, fixed.leaf, fixed.span, fixed.trees, begins)
    return float(sizes @ widest) / fixed.unit
