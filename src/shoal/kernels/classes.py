"""Classes as boxes: their widths, and the rows that join them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.trees import lifted


class Classes(NamedTuple):
    """The boxes of all classes, their sizes, and what one row of each costs."""

    low: np.ndarray  # int32 (n_range, n_classes)
    high: np.ndarray  # int32 (n_range, n_classes)
    node: np.ndarray  # int32 (n_tree, n_classes)
    size: np.ndarray  # int64 (n_classes)
    diversity: np.ndarray  # int64 (n_classes)


def empty_classes(n_classes: int, n_range: int, n_tree: int) -> Classes:
    """Make room for so many classes, all of them without rows."""
    return Classes(
        np.zeros((n_range, n_classes), np.int32), np.zeros((n_range, n_classes), np.int32),
        np.zeros((n_tree, n_classes), np.int32), np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
    )  # fmt: skip


@njit(cache=True)
def width(low, high, span):
    """Return the cost of a range; a range that reaches a missing value (at 2 x span) costs the span."""
    return min(high - low, span)


@njit(cache=True)
def joined_diversity(classes, number, trees, span, position, leaf):
    """Return D of a class after one more row has joined it."""
    total = np.int64(0)
    for col in range(span.shape[0]):
        low = min(classes.low[col, number], position[col])
        total += width(low, max(classes.high[col, number], position[col]), span[col])
    for col in range(leaf.shape[0]):
        node = lifted(trees, col, classes.node[col, number], leaf[col])
        total += trees.height[trees.node_at[col] + node]
    return total


@njit(cache=True)
def best_class(classes, n_classes, trees, span, position, leaf):
    """Return the class whose loss grows least when the row joins, the first one of equals."""
    least, best = np.int64(1) << 62, -1
    for number in range(n_classes):
        size = classes.size[number]
        joined = joined_diversity(classes, number, trees, span, position, leaf)
        grows = (size + 1) * joined - size * classes.diversity[number]
        if grows < least:
            least, best = grows, number
    return best


@njit(cache=True)
def join(classes, number, trees, span, position, leaf):
    """Widen a class for one more row; one without rows becomes that row. Writes `classes`."""
    first = classes.size[number] == 0
    for col in range(span.shape[0]):
        at = position[col]
        classes.low[col, number] = at if first else min(classes.low[col, number], at)
        classes.high[col, number] = at if first else max(classes.high[col, number], at)
    for col in range(leaf.shape[0]):
        node = trees.leaf_node[trees.leaf_at[col] + leaf[col]] if first else classes.node[col, number]
        classes.node[col, number] = lifted(trees, col, node, leaf[col])
    classes.size[number] += 1
    classes.diversity[number] = joined_diversity(classes, number, trees, span, position, leaf)


@njit(cache=True)
def box_rows(labels, positions, leaves, classes, trees, span):
    """Put every row with a label into the box of its class. Writes `classes`, which must be empty."""
    for row in range(labels.shape[0]):
        if labels[row] >= 0:
            join(classes, labels[row], trees, span, positions[:, row], leaves[:, row])


@njit(cache=True)
def place_leftovers(leftovers, positions, leaves, classes, n_classes, trees, span, labels):
    """Let each row left over, in the order given, join the class that it costs least.

    `positions` (n_range, n) and `leaves` (n_tree, n) are those of the leftovers, in the same
    order. Writes `labels`, `classes`.
    """
    for at in range(leftovers.shape[0]):
        position, leaf = positions[:, at], leaves[:, at]
        number = best_class(classes, n_classes, trees, span, position, leaf)
        labels[leftovers[at]] = number
        join(classes, number, trees, span, position, leaf)
