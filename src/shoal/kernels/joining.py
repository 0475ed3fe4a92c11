"""Rows that join, one at a time, the open class that costs least: the loop of OKA and systematic clustering.

The rows come in canonical order, so that one row differs from the one before it in few columns: what
each class costs with the row is kept by column, and only the columns that differ are computed again.

Classes are either boxes or centroids; the other parameter is None. Numba leaves out what is done only
`if boxes is not None` where it is, but would compile an `else`: so each is asked for. A box costs what one
row of the class costs once the current row has joined, a centroid its distance from the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.centroids import add_row, range_distance
from shoal.kernels.classes import join, width
from shoal.kernels.compiling import inner
from shoal.kernels.filling import cheapest_wanting, note_joined
from shoal.kernels.sorting import first_least
from shoal.kernels.trees import heights_over

DONE, OPEN = range(2)  # of the cursor: rows done, open classes


class Settings(NamedTuple):
    """What does not change during a call."""

    limit: int  # rows at which a class is closed
    n_rows: int  # in this call


class Costs(NamedTuple):
    """What each open class costs with the current row. int32 for boxes, int64 for centroids."""

    share: np.ndarray  # (n_range + n_tree, n_classes): by column, ranges first
    total: np.ndarray  # (n_classes)
    grows: np.ndarray  # int64 (n_classes): by how much the loss of a box grows; the total of a centroid
    value: np.ndarray  # int32 (n_range + n_tree): the row's values, -1 before the first row
    over: np.ndarray  # int32 (most nodes of a tree): scratch
    number: np.ndarray  # int32 (n_classes): the label of each open class, ascending


def costs_of(numbers: np.ndarray, n_columns: int, most_nodes: int, *, boxes: bool) -> Costs:
    """Make the scratch for open classes."""
    n_classes, kind = len(numbers), np.int32 if boxes else np.int64
    total = np.zeros(n_classes, kind)
    return Costs(
        np.zeros((n_columns, n_classes), kind), total, np.zeros(n_classes, np.int64) if boxes else total,
        np.full(n_columns, -1, np.int32), np.zeros(most_nodes, np.int32), numbers.astype(np.int32),
    )  # fmt: skip


@inner
def range_cost(boxes, centroids, col, c, at, span):
    """Return what a class costs in a range column with a position."""
    cost = np.int64(0)
    if boxes is not None:
        cost = width(min(boxes.low[col, c], at), max(boxes.high[col, c], at), span)
    if centroids is not None:
        cost = range_distance(centroids.sum[col, c], centroids.size[c], np.int64(at), np.int64(span))
    return cost


@inner
def node_cost(boxes, centroids, col, c, over):
    """Return what a class costs in a tree column; `over` has the costs by the class's node."""
    cost = np.int64(0)
    if boxes is not None:
        cost = np.int64(over[boxes.node[col, c]])
    if centroids is not None:
        cost = centroids.size[c] * over[centroids.node[col, c]]
    return cost


@inner
def renew_range(costs, boxes, centroids, col, at, span, n_open):
    """Renew one range column for all open classes. Writes `costs`."""
    share, total = costs.share[col], costs.total
    for c in range(n_open):
        new = range_cost(boxes, centroids, col, c, at, span)
        total[c] += new - share[c]
        share[c] = new


@inner
def renew_tree(costs, boxes, centroids, col, share, n_open):
    """Renew one tree column for all open classes. Writes `share`, `costs`."""
    over, total = costs.over, costs.total
    for c in range(n_open):
        new = node_cost(boxes, centroids, col, c, over)
        total[c] += new - share[c]
        share[c] = new


@inner
def renew(costs, boxes, centroids, trees, span, position, leaf, row, n_open):
    """Bring the costs up to date for a row, in the columns where it differs. Writes `costs`."""
    n_range = span.shape[0]
    for col in range(n_range):
        at = position[col, row]
        if at != costs.value[col]:
            costs.value[col] = at
            renew_range(costs, boxes, centroids, col, at, span[col], n_open)
    for col in range(leaf.shape[0]):
        at = leaf[col, row]
        if at != costs.value[n_range + col]:
            costs.value[n_range + col] = at
            heights_over(trees, col, at, costs.over)
            renew_tree(costs, boxes, centroids, col, costs.share[n_range + col], n_open)


@inner
def renew_class(costs, boxes, centroids, trees, span, position, leaf, row, c):
    """Bring one class up to date after the current row has joined it. Writes `costs`."""
    n_range = span.shape[0]
    costs.total[c] = 0
    for col in range(n_range):
        new = range_cost(boxes, centroids, col, c, position[col, row], span[col])
        costs.share[col, c] = new
        costs.total[c] += new
    for col in range(leaf.shape[0]):
        new = node_cost(boxes, centroids, col, c, trees.height[trees.node_at[col] :])  # it covers the row
        costs.share[n_range + col, c] = new
        costs.total[c] += new


@inner
def find_growth(costs, boxes, n_open):
    """Compute by how much the loss of each open box would grow. Writes `costs`."""
    if boxes is not None:
        for c in range(n_open):
            total = np.int64(costs.total[c])
            costs.grows[c] = boxes.size[c] * (total - boxes.diversity[c]) + total


@inner
def add_to_class(boxes, centroids, c, trees, span, position, leaf, row):
    """Let a row join a class; return how many rows it has then. Writes `boxes` or `centroids`."""
    size = np.int64(0)
    if boxes is not None:
        join(boxes, c, trees, span, position, leaf, row)
        size = boxes.size[c]
    if centroids is not None:
        add_row(centroids, c, trees, span, position, leaf, row)
        size = centroids.size[c]
    return size


@inner
def drop(values, at, n_open):
    """Close the gap that entry `at` of the first `n_open` leaves. Writes `values`."""
    for c in range(at, n_open - 1):
        values[c] = values[c + 1]


@inner
def drop_columns(values, at, n_open):
    """Do the same in each row of a table. Writes `values`."""
    for col in range(values.shape[0]):
        drop(values[col], at, n_open)


@inner
def drop_box(boxes, at, n_open):
    """Take out a box. Writes `boxes`."""
    drop_columns(boxes.low, at, n_open)
    drop_columns(boxes.high, at, n_open)
    drop_columns(boxes.node, at, n_open)
    drop(boxes.size, at, n_open)
    drop(boxes.diversity, at, n_open)


@inner
def drop_centroid(centroids, at, n_open):
    """Take out a centroid. Writes `centroids`."""
    drop_columns(centroids.sum, at, n_open)
    drop_columns(centroids.node, at, n_open)
    drop(centroids.size, at, n_open)


@inner
def close_class(costs, boxes, centroids, at, n_open):
    """Take a class out of the open ones; the others keep their order. Writes all."""
    if boxes is not None:
        drop_box(boxes, at, n_open)
    if centroids is not None:
        drop_centroid(centroids, at, n_open)
    drop_columns(costs.share, at, n_open)
    drop(costs.total, at, n_open)
    drop(costs.number, at, n_open)


@inner
def join_open(
    rows, position, leaf, boxes, centroids, costs, trees, span, labels, goals, wants, cursor, settings
):
    """Let rows join, in the order given, the open class that costs least, the first one of equals.

    Where classes want rows, one that wants the row goes before one that does not. Ends early when no
    class is open. Writes `boxes` or `centroids`, `costs`, `labels`, `wants`, `cursor`.
    """
    stop = min(rows.shape[0], cursor[DONE] + settings.n_rows)
    while cursor[DONE] < stop and cursor[OPEN] > 0:
        row, n_open = rows[cursor[DONE]], cursor[OPEN]
        renew(costs, boxes, centroids, trees, span, position, leaf, row, n_open)
        find_growth(costs, boxes, n_open)
        c = cheapest_wanting(goals, wants, costs.grows, costs.number, n_open, row)
        if c < 0:
            c = first_least(costs.grows, n_open)
        labels[row] = costs.number[c]
        size = add_to_class(boxes, centroids, c, trees, span, position, leaf, row)
        renew_class(costs, boxes, centroids, trees, span, position, leaf, row, c)
        note_joined(goals, wants, costs.number[c], row)
        if size >= settings.limit:
            close_class(costs, boxes, centroids, c, n_open)
            cursor[OPEN] -= 1
        cursor[DONE] += 1
