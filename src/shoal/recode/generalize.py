"""Publish each class of a tree column as one node, or as the set of its values."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.recode.bounds import each_pair
from shoal.table import forms
from shoal.table.columns import TreeColumn


def node_texts(
    column: TreeColumn, labels: IntArray, low: IntArray, high: IntArray, max_set: int
) -> pl.Series:
    """Return the published text of each class: the lowest node above its values, or their set.

    A set of more than `max_set` values is published as lost: every row would repeat all of them, and
    the set would be of no use.
    """
    if not column.is_flat:
        nodes = column.tree.lca(low, high)
        return each_pair(nodes, nodes, lambda node, _: node_text(column, node))
    leaves = column.tree.leaf_labels

    def write(first: int, last: int) -> str | None:
        if first < last:
            return forms.LOST
        return None if first == column.missing else forms.value_text(leaves[first])

    return _with_sets(column, labels, low, high, each_pair(low, high, write), max_set)


def node_text(column: TreeColumn, node: int) -> str | None:
    """Format a node: a leaf as a value, the root as lost, a missing value as nothing."""
    tree = column.tree
    if column.has_missing and node == tree.leaf_nodes[column.missing]:
        return None
    label = tree.labels[node]
    if tree.height[node] == 0:
        return forms.value_text(label)
    if node == 0:
        return forms.LOST
    # A node's own label may be a range, as in interval trees; only what would be read as something
    # else is escaped.
    return "\\" + label if label in ("", forms.LOST) or label.startswith("\\") else label


def _with_sets(
    column: TreeColumn, labels: IntArray, low: IntArray, high: IntArray, plain: pl.Series, max_set: int
) -> pl.Series:
    """Put in the set of values for each cluster that has several, not too many and none of them missing."""
    mixed = (low < high) & (high != column.missing)
    in_mixed = (labels >= 0) & mixed[labels]
    pairs = np.unique(labels[in_mixed].astype(np.int64) << 32 | column.codes[in_mixed])
    clusters, sizes = np.unique(pairs >> 32, return_counts=True)
    small = sizes <= max_set
    if not small.any():
        return plain
    codes = pairs[np.repeat(small, sizes)] & 0xFFFFFFFF
    members = pl.Series(column.tree.leaf_labels, dtype=pl.String).gather(codes)
    return plain.scatter(clusters[small], forms.set_texts(members, sizes[small]))
