"""Trees of several columns, one behind the other in flat arrays, as kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner


class Trees(NamedTuple):
    """The trees of all categorical columns."""

    parent: np.ndarray  # int32 (nodes)
    height: np.ndarray  # int32 (nodes): fixed-point cost of the node
    first_leaf: np.ndarray  # int32 (nodes)
    last_leaf: np.ndarray  # int32 (nodes)
    leaf_node: np.ndarray  # int32 (leaves): node of each leaf
    node_at: np.ndarray  # int64 (n_tree): where a tree's nodes begin
    leaf_at: np.ndarray  # int64 (n_tree): where a tree's leaves begin


@inner
def lifted(trees, col, node, leaf):
    """Return the lowest node at or above `node` that covers `leaf`."""
    nodes = trees.node_at[col]
    while leaf < trees.first_leaf[nodes + node] or leaf > trees.last_leaf[nodes + node]:
        node = trees.parent[nodes + node]
    return node


@inner
def reach_from(trees, col, leaf, reach):
    """Compute what the lowest node over `leaf` and each other leaf costs. Writes `reach`, by leaf."""
    nodes = trees.node_at[col]
    node = trees.leaf_node[trees.leaf_at[col] + leaf]
    first, last = leaf, leaf
    reach[first] = 0
    while trees.parent[nodes + node] >= 0:
        node = trees.parent[nodes + node]
        up_first, up_last = trees.first_leaf[nodes + node], trees.last_leaf[nodes + node]
        reach[up_first:first] = trees.height[nodes + node]
        reach[last + 1 : up_last + 1] = trees.height[nodes + node]
        first, last = up_first, up_last


@inner
def n_nodes(trees, col):
    """Count the nodes of one column's tree."""
    last = col + 1 == trees.node_at.shape[0]
    return (trees.parent.shape[0] if last else trees.node_at[col + 1]) - trees.node_at[col]


@inner
def heights_over(trees, col, leaf, over):
    """Compute what the lowest node over each node and `leaf` costs. Writes `over`, by node."""
    nodes = trees.node_at[col]
    for node in range(n_nodes(trees, col)):  # parents come before their children
        at = nodes + node
        covers = trees.first_leaf[at] <= leaf <= trees.last_leaf[at]
        over[node] = trees.height[at] if covers else over[trees.parent[at]]
