"""A tree for every column, for methods that work only on hierarchies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.arrays import IntArray
from shoal.hierarchy import build
from shoal.hierarchy.tree import Tree
from shoal.table.columns import Encoded, QuasiColumn, TreeColumn


def with_trees(encoded: Encoded) -> Encoded:
    """Add the default interval tree to each numeric, ordinal or date column without a hierarchy."""
    return replace(encoded, columns=tuple(with_tree(column) for column in encoded.columns))


def with_tree(column: QuasiColumn) -> TreeColumn:
    """Add the default interval tree to a column, unless it already has a tree."""
    if isinstance(column, TreeColumn):
        return column
    whole = column.line is None or column.line.whole
    tree = build.default_intervals(column.numbers.tolist(), column.name, ends=column.ends, whole=whole)
    is_missing = column.codes == column.missing
    has_missing = bool(is_missing.any())
    if has_missing:
        tree = tree.with_missing()
    # Distinct values and leaves are both numbered in ascending order.
    codes = np.where(is_missing, tree.n_leaves - 1, column.codes).astype(np.int32)
    return TreeColumn(column.name, column.kind, column.weight, codes, tree, has_missing, is_flat=False)


def nodes_at_level(tree: Tree, level: int) -> IntArray:
    """Return for each leaf its highest ancestor (or itself) with height at most `level`."""
    nodes: IntArray = tree.leaf_nodes.copy()
    while True:
        above = np.where(nodes > 0, tree.parent[nodes], 0)
        climbs = (nodes > 0) & (tree.height[above] <= level)
        if not climbs.any():
            return nodes
        nodes[climbs] = above[climbs]
