"""Rows that join, one at a time, the class with the nearest centroid.

A class's distance to a row is its size times D({row, centroid}). With the sum of the positions in
place of their mean, size x |x - mean| = |size x x - sum| is a whole number: nothing is rounded.

The rows come in canonical order, so that one row differs from the one before it in few columns:
distances are kept by column, and only the columns that differ are looked at again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.kernels.classes import Classes, join, joined_diversity
from shoal.kernels.compiling import entry, inner
from shoal.kernels.filling import cheapest_wanting, note_joined
from shoal.kernels.sorting import first_least, ranked
from shoal.kernels.systematic import drop
from shoal.kernels.trees import Trees, heights_over, lifted

# The sum of a class with some members missing and some present: so far from every position that
# the distance is that of everything lost.
MIXED = -(1 << 60)


class Centroids(NamedTuple):
    """The centroids of classes: sums of positions, lowest common nodes."""

    sum: np.ndarray  # int64 (n_range, n_classes); MIXED where some members are missing
    node: np.ndarray  # int32 (n_tree, n_classes)
    size: np.ndarray  # int64 (n_classes)


class Distances(NamedTuple):
    """How far the row at hand is from each open class."""

    share: np.ndarray  # int64 (n_range + n_tree, n_classes): by column, ranges first
    total: np.ndarray  # int64 (n_classes)
    value: np.ndarray  # int32 (n_range + n_tree): the row's values, -1 before the first row
    over: np.ndarray  # int32 (most nodes of a tree): scratch
    number: np.ndarray  # int32 (n_classes): the label of each open class, ascending


def empty_centroids(n_classes: int, n_range: int, n_tree: int) -> Centroids:
    """Make room for so many classes, all of them without rows."""
    return Centroids(
        np.zeros((n_range, n_classes), np.int64), np.zeros((n_tree, n_classes), np.int32),
        np.zeros(n_classes, np.int64),
    )  # fmt: skip


def distances_of(numbers: np.ndarray, n_columns: int, most_nodes: int) -> Distances:
    """Make the scratch for so many open classes."""
    n_classes = len(numbers)
    return Distances(
        np.zeros((n_columns, n_classes), np.int64), np.zeros(n_classes, np.int64),
        np.full(n_columns, -1, np.int32), np.zeros(most_nodes, np.int32), numbers.astype(np.int32),
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


@inner
def measure_ranges(total, size, at, span, share, sums, n_open):
    """Renew one range column for all open classes. Writes `share`, `sums`."""
    for c in range(n_open):
        new = range_distance(total[c], size[c], at, span)
        sums[c] += new - share[c]
        share[c] = new


@inner
def measure_nodes(node, size, over, share, sums, n_open):
    """Renew one tree column for all open classes. Writes `share`, `sums`."""
    for c in range(n_open):
        new = size[c] * over[node[c]]
        sums[c] += new - share[c]
        share[c] = new


@inner
def renew(distances, centroids, trees, span, position, leaf, row, n_open):
    """Bring the distances up to date for a row, in the columns where it differs. Writes `distances`."""
    n_range = span.shape[0]
    for col in range(n_range):
        at = position[col, row]
        if at != distances.value[col]:
            distances.value[col] = at
            measure_ranges(
                centroids.sum[col], centroids.size, np.int64(at), np.int64(span[col]), distances.share[col],
                distances.total, n_open,
            )  # fmt: skip
    for col in range(leaf.shape[0]):
        at = leaf[col, row]
        if at != distances.value[n_range + col]:
            distances.value[n_range + col] = at
            heights_over(trees, col, at, distances.over)
            measure_nodes(
                centroids.node[col], centroids.size, distances.over, distances.share[n_range + col],
                distances.total, n_open,
            )  # fmt: skip


@inner
def renew_one(distances, centroids, trees, span, position, leaf, row, c):
    """Bring one class up to date after the row at hand has joined it. Writes `distances`."""
    n_range, size = span.shape[0], centroids.size[c]
    distances.total[c] = 0
    for col in range(n_range):
        at = np.int64(position[col, row])
        new = range_distance(centroids.sum[col, c], size, at, np.int64(span[col]))
        distances.share[col, c] = new
        distances.total[c] += new
    for col in range(leaf.shape[0]):
        new = size * trees.height[trees.node_at[col] + centroids.node[col, c]]  # it covers the row
        distances.share[n_range + col, c] = new
        distances.total[c] += new


@inner
def close_class(distances, centroids, at, n_open):
    """Take a class out of the open ones; the others keep their order. Writes both."""
    for col in range(centroids.sum.shape[0]):
        drop(centroids.sum[col], at, n_open)
    for col in range(centroids.node.shape[0]):
        drop(centroids.node[col], at, n_open)
    drop(centroids.size, at, n_open)
    for col in range(distances.share.shape[0]):
        drop(distances.share[col], at, n_open)
    drop(distances.total, at, n_open)
    drop(distances.number, at, n_open)


@entry
def join_nearest(
    rows, position, leaf, centroids, distances, trees, span, labels, goals, wants, cursor, settings
):
    """Let rows join, in the order given, the nearest open class, the first one of equals.

    Where classes want rows, one that wants the row goes before one that does not. cursor: [rows done,
    open classes]. settings: [rows at which a class is closed, rows in this call]. Ends early when no
    class is open. Writes `centroids`, `distances`, `labels`, `wants`, `cursor`.
    """
    stop = min(rows.shape[0], cursor[0] + settings[1])
    while cursor[0] < stop and cursor[1] > 0:
        row, n_open = rows[cursor[0]], cursor[1]
        renew(distances, centroids, trees, span, position, leaf, row, n_open)
        c = cheapest_wanting(goals, wants, distances.total, distances.number, n_open, row)
        if c < 0:
            c = first_least(distances.total, n_open)
        labels[row] = distances.number[c]
        add_row(centroids, c, trees, span, position, leaf, row)
        renew_one(distances, centroids, trees, span, position, leaf, row, c)
        note_joined(goals, wants, distances.number[c], row)
        if centroids.size[c] >= settings[0]:
            close_class(distances, centroids, c, n_open)
            cursor[1] -= 1
        cursor[0] += 1


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
