"""Centroids of classes, and how far rows are from them.

A class's distance to a row is its size times D({row, centroid}). With the sum of the positions in
place of their mean, size x |x - mean| = |size x x - sum| is a whole number: nothing is rounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.trees import lifted

# The sum of a class with some members missing and some present: so far from every position that
# the distance is that of everything lost.
MIXED = -(1 << 60)


class Centroids(NamedTuple):
    """The centroids of classes: sums of positions, lowest common nodes."""

    sum: np.ndarray  # int64 (n_range, n_classes); MIXED where some members are missing
    node: np.ndarray  # int32 (n_tree, n_classes)
    size: np.ndarray  # int64 (n_classes)


def empty_centroids(n_classes: int, n_range: int, n_tree: int) -> Centroids:
    """Make room for classes without rows."""
    return Centroids(
        np.zeros((n_range, n_classes), np.int64), np.zeros((n_tree, n_classes), np.int32),
        np.zeros(n_classes, np.int64),
    )  # fmt: skip


@inner
def range_distance(total, size, at, span):
    """Return size x distance between a position and the mean of positions with this sum."""
    return min(abs(size * at - total), size * span)


@inner
def joined_sum(total, size, at, span):
    """Return the sum after one more position has joined: a mix of missing and present has none."""
    missing = 2 * np.int64(span)
    if size == 0:
        return np.int64(at)
    if total == MIXED or (total == size * missing) != (at == missing):
        return np.int64(MIXED) if span > 0 else np.int64(0)
    return total + at


@inner
def add_row(centroids, c, trees, span, position, leaf, row):
    """Bring a centroid up to date for one more row. Writes `centroids`."""
    size = centroids.size[c]
    for col in range(span.shape[0]):
        centroids.sum[col, c] = joined_sum(centroids.sum[col, c], size, position[col, row], span[col])
    for col in range(leaf.shape[0]):
        at = leaf[col, row]
        node = centroids.node[col, c] if size > 0 else trees.leaf_node[trees.leaf_at[col] + at]
        centroids.node[col, c] = lifted(trees, col, node, at)
    centroids.size[c] += 1


@inner
def distance(centroids, c, trees, span, position, leaf, row):
    """Return size x D({row, centroid}) of one row and class."""
    size = centroids.size[c]
    total = np.int64(0)
    for col in range(span.shape[0]):
        total += range_distance(centroids.sum[col, c], size, position[col, row], span[col])
    for col in range(leaf.shape[0]):
        node = lifted(trees, col, centroids.node[col, c], leaf[col, row])
        total += size * trees.height[trees.node_at[col] + node]
    return total
