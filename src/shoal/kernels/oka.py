"""Rows that join, one at a time, the class with the nearest centroid, and what filling a class costs."""

from __future__ import annotations

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.kernels.centroids import Centroids, add_row, distance
from shoal.kernels.classes import Classes, join, joined_diversity
from shoal.kernels.compiling import entry
from shoal.kernels.joining import join_open
from shoal.kernels.sorting import ranked
from shoal.kernels.trees import Trees


@entry
def gather(labels, position, leaf, centroids, trees, span, found):
    """Compute the centroids of labelled rows, and how far each row is from its own.

    Writes `centroids`, which must be empty, and `found`: size x D({row, centroid}).
    """
    for row in range(labels.shape[0]):
        if labels[row] >= 0:
            add_row(centroids, labels[row], trees, span, position, leaf, row)
    for row in range(labels.shape[0]):
        if labels[row] >= 0:
            found[row] = distance(centroids, labels[row], trees, span, position, leaf, row)


@entry
def join_nearest(rows, position, leaf, centroids, costs, trees, span, labels, goals, wants, cursor, settings):
    """Let rows join, in the order given, the nearest open class; see `join_open`."""
    join_open(
        rows, position, leaf, None, centroids, costs, trees, span, labels, goals, wants, cursor, settings
    )


@entry
def cost_of_filling(c, given_up, home, k, position, leaf, centroids, classes, trees, span, far, room):
    """Return what it costs to fill a small class with the rows given up that are nearest to it.

    That is the loss of the filled class, less what these rows would add at home, each one alone.
    `classes` holds the boxes of those that stayed. Class `classes.size - 1` is scratch, and so are `far` and
    `room`, as long as `given_up`.
    """
    n = given_up.shape[0]
    for at in range(n):
        far[at] = distance(centroids, c, trees, span, position, leaf, given_up[at])
        room[at] = far[at]
    missing = k - centroids.size[c]
    limit = ranked(room, n, missing - 1)
    ties = missing
    for at in range(n):
        ties -= far[at] < limit
    scratch = classes.size.shape[0] - 1
    for col in range(span.shape[0]):
        classes.low[col, scratch], classes.high[col, scratch] = classes.low[col, c], classes.high[col, c]
    for col in range(leaf.shape[0]):
        classes.node[col, scratch] = classes.node[col, c]
    classes.size[scratch] = classes.size[c]
    saved = np.int64(0)
    for at in range(n):
        if far[at] > limit or (far[at] == limit and ties == 0):
            continue
        ties -= far[at] == limit
        row, other = given_up[at], home[at]
        size = classes.size[other]
        joined = joined_diversity(classes, other, trees, span, position, leaf, row)
        saved += (size + 1) * joined - size * classes.diversity[other]
        join(classes, scratch, trees, span, position, leaf, row)
    return classes.size[scratch] * classes.diversity[scratch] - saved


def filling_cost(
    c: int,
    given_up: LongArray,
    home: IntArray,
    k: int,
    position: IntArray,
    leaf: IntArray,
    centroids: Centroids,
    classes: Classes,
    trees: Trees,
    span: IntArray,
) -> int:
    """Return what it costs to fill a small class; see `cost_of_filling`."""
    far, room = np.zeros(len(given_up), np.int64), np.zeros(len(given_up), np.int64)
    args = (given_up, home, k, position, leaf, centroids, classes, trees, span, far, room)
    return int(cost_of_filling(c, *args))
