"""Publish each class of a tree column as one node, or as the set of its values."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.recode.bounds import each_pair
from shoal.table import forms
from shoal.table.columns import IntArray, TreeColumn


def node_texts(column: TreeColumn, labels: IntArray, low: IntArray, high: IntArray) -> pl.Series:
    """Return the published text of each class: the lowest node over its values, or their set."""
    if not column.is_flat:
        nodes = column.tree.lca(low, high)
        return each_pair(nodes, nodes, lambda node, _: node_text(column, node))
    plain = each_pair(low, high, lambda a, b: _flat_text(column, a, b))
    return _with_sets(column, labels, low, high, plain)


def node_text(column: TreeColumn, node: int) -> str | None:
    """Write a node: a leaf as a value, the root as everything lost, missing as nothing."""
    tree = column.tree
    if column.has_missing and node == tree.leaf_nodes[column.missing]:
        return None
    label = tree.labels[node]
    if tree.height[node] == 0:
        return forms.value_text(label)
    if node == 0:
        return forms.LOST
    # A node's own label may be a range, as those of interval trees are; only what would be read as
    # something else is marked.
    return "\\" + label if label in ("", forms.LOST) or label.startswith("\\") else label


def _flat_text(column: TreeColumn, low: int, high: int) -> str | None:
    if low == high:
        return None if low == column.missing else forms.value_text(column.tree.leaf_labels[low])
    return forms.LOST


def _with_sets(
    column: TreeColumn, labels: IntArray, low: IntArray, high: IntArray, plain: pl.Series
) -> pl.Series:
    """Write the set of its values for each cluster that has several, none of them missing."""
    mixed = (low < high) & (high != column.missing)
    in_mixed = (labels >= 0) & mixed[labels]
    pairs = np.unique(labels[in_mixed].astype(np.int64) << 32 | column.codes[in_mixed])
    clusters, begins = np.unique(pairs >> 32, return_index=True)
    leaves = column.tree.leaf_labels
    codes = np.split(pairs & 0xFFFFFFFF, begins[1:]) if len(pairs) else []
    sets = [forms.set_text([leaves[code] for code in members]) for members in codes]
    if not sets:
        return plain
    return plain.scatter(clusters, sets)
