"""The diameter of classes: the largest distance between two of their rows."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from shoal.kernels.trees import lifted


@njit(cache=True)
def distance(position, leaf, span, trees, one, other):
    """Return the fixed-point distance between two rows."""
    total = np.int64(0)
    for col in range(position.shape[0]):
        total += min(abs(position[col, one] - position[col, other]), span[col])
    for col in range(leaf.shape[0]):
        node = trees.leaf_node[trees.leaf_at[col] + leaf[col, one]]
        total += trees.height[trees.node_at[col] + lifted(trees, col, node, leaf[col, other])]
    return total


@njit(cache=True, parallel=True)
def diameters(position, leaf, span, trees, begins):
    """Return the diameter of each class; class c has the rows begins[c] to begins[c + 1]."""
    widest = np.zeros(begins.shape[0] - 1, np.int64)
    for number in prange(widest.shape[0]):
        for one in range(begins[number], begins[number + 1]):
            for other in range(one + 1, begins[number + 1]):
                between = distance(position, leaf, span, trees, one, other)
                widest[number] = max(widest[number], between)
    return widest
