"""A tree for every column, for the methods that work on hierarchies alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.arrays import IntArray
from shoal.hierarchy import build
from shoal.hierarchy.tree import Tree
from shoal.table.columns import Encoded, QuasiColumn, TreeColumn


def with_trees(encoded: Encoded) -> Encoded:
    """Give the default interval tree to each numeric, ordinal or date column without a hierarchy."""
    return replace(encoded, columns=tuple(with_tree(column) for column in encoded.columns))


def with_tree(column: QuasiColumn) -> TreeColumn:
    """Give one column its default interval tree, unless it has a tree."""
    if isinstance(column, TreeColumn):
        return column
    tree = build.default_intervals(column.numbers.tolist(), column.name)
    is_missing = column.codes == column.missing
    has_missing = bool(is_missing.any())
    if has_missing:
        tree = tree.with_missing()
    # Distinct values are numbered by size, and so are the leaves.
    codes = np.where(is_missing, tree.n_leaves - 1, column.codes).astype(np.int32)
    return TreeColumn(column.name, column.kind, column.weight, codes, tree, has_missing, is_flat=False)


def nodes_at_level(tree: Tree, level: int) -> IntArray:
    """Return for each leaf its highest ancestor, or itself, of height `level` or less."""
    nodes: IntArray = tree.leaf_nodes.copy()
    while True:
        above = np.where(nodes > 0, tree.parent[nodes], 0)
        climbs = (nodes > 0) & (tree.height[above] <= level)
        if not climbs.any():
            return nodes
        nodes[climbs] = above[climbs]
