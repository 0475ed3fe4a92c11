"""The diameter of classes: the largest distance between two of their rows."""

from __future__ import annotations

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.kernels.compiling import entry, inner
from shoal.kernels.threads import share_out
from shoal.kernels.trees import Trees, lifted

_CLASSES = 64  # that one thread measures before it takes the next ones


@inner
def distance(position, leaf, span, trees, one, other):
    """Return the fixed-point distance between two rows."""
    total = np.int64(0)
    for col in range(position.shape[0]):
        total += min(abs(position[col, one] - position[col, other]), span[col])
    for col in range(leaf.shape[0]):
        node = trees.leaf_node[trees.leaf_at[col] + leaf[col, one]]
        total += trees.height[trees.node_at[col] + lifted(trees, col, node, leaf[col, other])]
    return total


@entry
def measure_classes(position, leaf, span, trees, begins, first, last, widest):
    """Compute the diameter of the classes from `first` to `last`. Writes `widest`."""
    for number in range(first, last):
        for one in range(begins[number], begins[number + 1]):
            for other in range(one + 1, begins[number + 1]):
                between = distance(position, leaf, span, trees, one, other)
                widest[number] = max(widest[number], between)


def diameters(
    position: IntArray, leaf: IntArray, span: IntArray, trees: Trees, begins: LongArray
) -> LongArray:
    """Return the diameter of each class; class c has the rows begins[c] to begins[c + 1]."""
    widest = np.zeros(len(begins) - 1, np.int64)

    def measure(first: int, last: int) -> None:
        measure_classes(position, leaf, span, trees, begins, first, last, widest)

    share_out(measure, len(widest), _CLASSES)
    return widest
