"""Finished classes as boxes, and the rows that join them afterwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.trees import lifted


class Classes(NamedTuple):
    """The boxes of all classes, their sizes, and what one row of each costs."""

    low: np.ndarray  # int32 (n_classes, n_range)
    high: np.ndarray  # int32 (n_classes, n_range)
    node: np.ndarray  # int32 (n_classes, n_tree)
    size: np.ndarray  # int64 (n_classes)
    diversity: np.ndarray  # int64 (n_classes)


@njit(cache=True)
def width(low, high, span):
    """Return the cost of a range; a range that reaches a missing value (at 2 x span) costs the span."""
    return min(high - low, span)


@njit(cache=True)
def joined_diversity(classes, number, trees, span, position, leaf):
    """Return D of a finished class after one more row has joined it."""
    total = np.int64(0)
    for col in range(span.shape[0]):
        low = min(classes.low[number, col], position[col])
        total += width(low, max(classes.high[number, col], position[col]), span[col])
    for col in range(leaf.shape[0]):
        node = lifted(trees, col, classes.node[number, col], leaf[col])
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
    """Widen a finished class for one more row. Writes `classes`."""
    for col in range(span.shape[0]):
        classes.low[number, col] = min(classes.low[number, col], position[col])
        classes.high[number, col] = max(classes.high[number, col], position[col])
    for col in range(leaf.shape[0]):
        classes.node[number, col] = lifted(trees, col, classes.node[number, col], leaf[col])
    classes.size[number] += 1
    classes.diversity[number] = joined_diversity(classes, number, trees, span, position, leaf)


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
