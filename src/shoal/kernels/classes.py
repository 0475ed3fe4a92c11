"""Classes as boxes: their widths, and the rows that join them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.kernels.compiling import entry, inner
from shoal.kernels.trees import Trees, lifted


class Classes(NamedTuple):
    """The boxes of all classes, their sizes, and what one row of each costs."""

    low: np.ndarray  # int32 (n_range, n_classes)
    high: np.ndarray  # int32 (n_range, n_classes)
    node: np.ndarray  # int32 (n_tree, n_classes)
    size: np.ndarray  # int64 (n_classes)
    diversity: np.ndarray  # int64 (n_classes)


def empty_classes(n_classes: int, n_range: int, n_tree: int) -> Classes:
    """Make room for classes without rows."""
    return Classes(
        np.zeros((n_range, n_classes), np.int32), np.zeros((n_range, n_classes), np.int32),
        np.zeros((n_tree, n_classes), np.int32), np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
    )  # fmt: skip


@inner
def width(low, high, span):
    """Return the cost of a range; a range that reaches a missing value (at 2 x span) costs the span."""
    return min(high - low, span)


@inner
def joined_diversity(classes, number, trees, span, positions, leaves, row):
    """Return D of a class after one more row has joined it."""
    total = np.int64(0)
    for col in range(span.shape[0]):
        at = positions[col, row]
        low, high = min(classes.low[col, number], at), max(classes.high[col, number], at)
        total += width(low, high, span[col])
    for col in range(leaves.shape[0]):
        node = lifted(trees, col, classes.node[col, number], leaves[col, row])
        total += trees.height[trees.node_at[col] + node]
    return total


@inner
def union_diversity(classes, one, other, trees, span):
    """Return D of two classes together."""
    total = np.int64(0)
    for col in range(span.shape[0]):
        low = min(classes.low[col, one], classes.low[col, other])
        total += width(low, max(classes.high[col, one], classes.high[col, other]), span[col])
    for col in range(classes.node.shape[0]):
        node = node_over_both(classes, col, one, other, trees)
        total += trees.height[trees.node_at[col] + node]
    return total


@inner
def node_over_both(classes, col, one, other, trees):
    """Return the lowest node over those of two classes."""
    below = trees.node_at[col] + classes.node[col, other]
    node = lifted(trees, col, classes.node[col, one], trees.first_leaf[below])
    return lifted(trees, col, node, trees.last_leaf[below])


@inner
def best_class(classes, n_classes, trees, span, positions, leaves, row):
    """Return the class whose loss grows least when the row joins, the first one of equals."""
    least, best = np.int64(1) << 62, -1
    for number in range(n_classes):
        size = classes.size[number]
        joined = joined_diversity(classes, number, trees, span, positions, leaves, row)
        grows = (size + 1) * joined - size * classes.diversity[number]
        if grows < least:
            least, best = grows, number
    return best


@inner
def join(classes, number, trees, span, positions, leaves, row):
    """Widen a class for one more row; one without rows becomes that row. Writes `classes`."""
    first = classes.size[number] == 0
    for col in range(span.shape[0]):
        at = positions[col, row]
        classes.low[col, number] = at if first else min(classes.low[col, number], at)
        classes.high[col, number] = at if first else max(classes.high[col, number], at)
    for col in range(leaves.shape[0]):
        leaf = leaves[col, row]
        node = trees.leaf_node[trees.leaf_at[col] + leaf] if first else classes.node[col, number]
        classes.node[col, number] = lifted(trees, col, node, leaf)
    classes.size[number] += 1
    classes.diversity[number] = joined_diversity(classes, number, trees, span, positions, leaves, row)


@entry
def place_rows(rows, positions, leaves, classes, n_classes, trees, span, labels):
    """Let each row, in the order given, join the class of its label, or if it has none the cheapest.

    Without classes to choose from, rows without a label join none. `positions` (n_range, n) and `leaves`
    (n_tree, n) are in the order of `rows`. Writes `labels`, `classes`.
    """
    for at in range(rows.shape[0]):
        number = labels[rows[at]]
        if number < 0 and n_classes > 0:
            number = best_class(classes, n_classes, trees, span, positions, leaves, at)
            labels[rows[at]] = number
        if number >= 0:
            join(classes, number, trees, span, positions, leaves, at)


def box_rows(
    labels: IntArray, positions: IntArray, leaves: IntArray, classes: Classes, trees: Trees, span: IntArray
) -> None:
    """Put every row with a label into the box of its class. Writes `classes`, which must be empty."""
    place_rows(np.arange(len(labels)), positions, leaves, classes, 0, trees, span, labels)


def place_leftovers(
    leftovers: LongArray,
    positions: IntArray,
    leaves: IntArray,
    classes: Classes,
    n_classes: int,
    trees: Trees,
    span: IntArray,
    labels: IntArray,
) -> None:
    """Let each row left over, in the order given, join the class that it costs least.

    `positions` and `leaves` are those of the leftovers, in the same order. Writes `labels`, `classes`.
    """
    place_rows(leftovers, positions, leaves, classes, n_classes, trees, span, labels)
