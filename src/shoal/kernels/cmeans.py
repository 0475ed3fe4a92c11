"""The inner loops of weighted-feature C-means.

Rows of one quasi tuple go to the same class, so tuples are assigned. They come in canonical order,
so that one differs from the one before it in few columns: distances to all centres are kept by
column, and only the columns that differ are computed again. Stretches of tuples are independent
of each other and are shared out among threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.kernels.classes import node_over_both, union_diversity
from shoal.kernels.compiling import entry, inner
from shoal.kernels.sorting import first_least
from shoal.kernels.threads import share_out
from shoal.kernels.trees import Trees, heights_over, lifted


class Centres(NamedTuple):
    """The centres of the classes."""

    mean: np.ndarray  # int32 (n_range, n_classes): rounded to whole steps; 2 x span for missing
    leaf: np.ndarray  # int32 (n_tree, n_classes): the most frequent leaf


@inner
def renew_range(mean, at, span, weight, share, total):
    """Renew one range column for all centres. Writes `share`, `total`."""
    for c in range(mean.shape[0]):
        new = weight * min(abs(at - mean[c]), span)
        total[c] += new - share[c]
        share[c] = new


@inner
def renew_tree(leaf, over, weight, share, total):
    """Renew one tree column for all centres. Writes `share`, `total`."""
    for c in range(leaf.shape[0]):
        new = weight * over[leaf[c]]
        total[c] += new - share[c]
        share[c] = new


class Shares(NamedTuple):
    """How far the current tuple is from each centre, and scratch."""

    share: np.ndarray  # int64 (n_range + n_tree, n_classes): by column, ranges first
    total: np.ndarray  # int64 (n_classes)
    over: np.ndarray  # int32 (nodes of all trees)
    by_leaf: np.ndarray  # int32 (leaves of all trees)


@entry
def assign_stretch(position, leaf, centres, weights, trees, span, begin, end, shares, labels):
    """Give each tuple of a stretch to the nearest centre, the first of equals. Writes `labels`.

    `shares` is zero before.
    """
    n_range, n_tree = position.shape[0], leaf.shape[0]
    for at in range(begin, end):
        for col in range(n_range):
            value = position[col, at]
            if at == begin or value != position[col, at - 1]:
                renew_range(
                    centres.mean[col], np.int64(value), np.int64(span[col]), weights[col], shares.share[col],
                    shares.total,
                )  # fmt: skip
        for col in range(n_tree):
            value = leaf[col, at]
            if at == begin or value != leaf[col, at - 1]:
                heights_over(trees, col, value, shares.over)
                for other in range(trees.last_leaf[trees.node_at[col]] + 1):
                    shares.by_leaf[other] = shares.over[trees.leaf_node[trees.leaf_at[col] + other]]
                renew_tree(
                    centres.leaf[col], shares.by_leaf, weights[n_range + col], shares.share[n_range + col],
                    shares.total,
                )  # fmt: skip
        labels[at] = first_least(shares.total, shares.total.shape[0])


def assign(
    position: IntArray,
    leaf: IntArray,
    centres: Centres,
    weights: LongArray,
    trees: Trees,
    span: IntArray,
    stretch: int,
    labels: IntArray,
) -> None:
    """Give each tuple to the nearest centre. Writes `labels`."""
    n_columns, n_classes = len(weights), centres.mean.shape[1]

    def assign_some(begin: int, end: int) -> None:
        shares = Shares(
            np.zeros((n_columns, n_classes), np.int64), np.zeros(n_classes, np.int64),
            np.zeros(len(trees.parent), np.int32), np.zeros(len(trees.leaf_node), np.int32),
        )  # fmt: skip
        assign_stretch(position, leaf, centres, weights, trees, span, begin, end, shares, labels)

    share_out(assign_some, len(labels), stretch)


@inner
def move_ranges(values, sizes, members, begins, missing, mean):
    """Make the mean of the present values of each class its centre. Writes `mean`."""
    for c in range(mean.shape[0]):
        total, present = np.int64(0), np.int64(0)
        for at in range(begins[c], begins[c + 1]):
            if values[members[at]] != missing:
                total += np.int64(values[members[at]]) * sizes[members[at]]
                present += sizes[members[at]]
        if begins[c] < begins[c + 1]:
            mean[c] = (2 * total + present) // (2 * present) if present > 0 else missing


@inner
def move_leaves(leaves, sizes, members, begins, count, frequent):
    """Make the most frequent leaf of each class its centre. Writes `frequent`; `count` stays zero."""
    for c in range(frequent.shape[0]):
        most = 0
        for at in range(begins[c], begins[c + 1]):
            count[leaves[members[at]]] += sizes[members[at]]
        for at in range(begins[c], begins[c + 1]):
            leaf = leaves[members[at]]
            if count[leaf] > most or (count[leaf] == most and leaf < frequent[c]):
                most, frequent[c] = count[leaf], leaf
        for at in range(begins[c], begins[c + 1]):
            count[leaves[members[at]]] = 0


@inner
def add_totals(position, leaf, sizes, labels, centres, trees, span, totals):
    """Add up for each column the distance of all rows to their own centres. Writes `totals`."""
    n_range = position.shape[0]
    for col in range(n_range):
        for at in range(labels.shape[0]):
            far = min(abs(position[col, at] - centres.mean[col, labels[at]]), span[col])
            totals[col] += far * sizes[at]
    for col in range(leaf.shape[0]):
        for at in range(labels.shape[0]):
            node = trees.leaf_node[trees.leaf_at[col] + centres.leaf[col, labels[at]]]
            far = trees.height[trees.node_at[col] + lifted(trees, col, node, leaf[col, at])]
            totals[n_range + col] += far * sizes[at]


@entry
def move_centres(position, leaf, sizes, labels, members, begins, centres, trees, span, count, totals):
    """Move the centres of all classes that have rows, then measure how far their rows are from them.

    Writes `centres`, and for each column `totals`. `count` (leaves of all trees) is zero before and after.
    """
    for col in range(position.shape[0]):
        move_ranges(position[col], sizes, members, begins, 2 * span[col], centres.mean[col])
    for col in range(leaf.shape[0]):
        move_leaves(leaf[col], sizes, members, begins, count, centres.leaf[col])
    add_totals(position, leaf, sizes, labels, centres, trees, span, totals)


@inner
def cheapest_union(classes, one, trees, span):
    """Return the other class with which the loss grows least, the first one of equals."""
    least, best = np.int64(1) << 62, -1
    own = classes.size[one] * classes.diversity[one]
    for other in range(classes.size.shape[0]):
        if other == one or classes.size[other] == 0:
            continue
        joined = union_diversity(classes, one, other, trees, span) * (classes.size[one] + classes.size[other])
        grows = joined - own - classes.size[other] * classes.diversity[other]
        if grows < least:
            least, best = grows, other
    return best


@inner
def unite(classes, one, other, trees, span):
    """Merge class `one` into another. Writes `classes`."""
    classes.diversity[other] = union_diversity(classes, one, other, trees, span)
    for col in range(span.shape[0]):
        classes.low[col, other] = min(classes.low[col, one], classes.low[col, other])
        classes.high[col, other] = max(classes.high[col, one], classes.high[col, other])
    for col in range(classes.node.shape[0]):
        classes.node[col, other] = node_over_both(classes, col, one, other, trees)
    classes.size[other] += classes.size[one]
    classes.size[one] = 0


@entry
def merge_small(classes, k, target, trees, span):
    """Merge the smallest class below k into another, until all have k. Writes `classes`, `target`.

    `target` gives for each class the one that its rows are in now.
    """
    while True:
        smallest = -1
        for c in range(classes.size.shape[0]):
            size = classes.size[c]
            if 0 < size < k and (smallest < 0 or size < classes.size[smallest]):
                smallest = c
        if smallest < 0:
            return
        other = cheapest_union(classes, smallest, trees, span)
        unite(classes, smallest, other, trees, span)
        for c in range(target.shape[0]):
            if target[c] == smallest:
                target[c] = other
