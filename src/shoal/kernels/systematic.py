"""Rows that join, one at a time, the class whose loss grows least.

The rows come in canonical order, so that one row differs from the one before it in few columns:
what each class would cost with the row is kept by column, and only the columns that differ are
looked at again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.classes import join, width
from shoal.kernels.compiling import entry, inner
from shoal.kernels.filling import cheapest_wanting, note_joined
from shoal.kernels.sorting import first_least
from shoal.kernels.trees import heights_over


class Offers(NamedTuple):
    """What each open class costs once the row at hand has joined it."""

    share: np.ndarray  # int32 (n_range + n_tree, n_classes): by column, ranges first
    total: np.ndarray  # int32 (n_classes)
    grows: np.ndarray  # int64 (n_classes): by how much the loss would grow
    value: np.ndarray  # int32 (n_range + n_tree): the row's values, -1 before the first row
    over: np.ndarray  # int32 (most nodes of a tree): scratch
    number: np.ndarray  # int32 (n_classes): the label of each open class, ascending


def offers_of(numbers: np.ndarray, n_columns: int, most_nodes: int) -> Offers:
    """Make the scratch for so many open classes."""
    n_classes = len(numbers)
    return Offers(
        np.zeros((n_columns, n_classes), np.int32), np.zeros(n_classes, np.int32),
        np.zeros(n_classes, np.int64), np.full(n_columns, -1, np.int32), np.zeros(most_nodes, np.int32),
        numbers.astype(np.int32),
    )  # fmt: skip


@inner
def offer_ranges(low, high, at, span, share, total, n_open):
    """Renew one range column for all open classes. Writes `share`, `total`."""
    for c in range(n_open):
        new = width(min(low[c], at), max(high[c], at), span)
        total[c] += new - share[c]
        share[c] = new


@inner
def offer_nodes(node, over, share, total, n_open):
    """Renew one tree column for all open classes. Writes `share`, `total`."""
    for c in range(n_open):
        new = over[node[c]]
        total[c] += new - share[c]
        share[c] = new


@inner
def renew(offers, classes, trees, span, position, leaf, row, n_open):
    """Bring the offers up to date for a row, in the columns where it differs. Writes `offers`."""
    n_range = span.shape[0]
    for col in range(n_range):
        at = position[col, row]
        if at != offers.value[col]:
            offers.value[col] = at
            offer_ranges(
                classes.low[col], classes.high[col], at, span[col], offers.share[col], offers.total, n_open
            )
    for col in range(leaf.shape[0]):
        at = leaf[col, row]
        if at != offers.value[n_range + col]:
            offers.value[n_range + col] = at
            heights_over(trees, col, at, offers.over)
            offer_nodes(classes.node[col], offers.over, offers.share[n_range + col], offers.total, n_open)


@inner
def renew_one(offers, classes, trees, span, c):
    """Bring one class's offer up to date after the row at hand has joined it. Writes `offers`."""
    n_range = span.shape[0]
    total = np.int32(0)
    for col in range(n_range):
        offers.share[col, c] = width(classes.low[col, c], classes.high[col, c], span[col])
        total += offers.share[col, c]
    for col in range(classes.node.shape[0]):
        offers.share[n_range + col, c] = trees.height[trees.node_at[col] + classes.node[col, c]]
        total += offers.share[n_range + col, c]
    offers.total[c] = total


@inner
def find_growth(size, diversity, total, grows, n_open):
    """Compute by how much the loss of each open class would grow. Writes `grows`."""
    for c in range(n_open):
        grows[c] = size[c] * (np.int64(total[c]) - diversity[c]) + total[c]


@inner
def drop(values, at, n_open):
    """Close the gap that entry `at` of the first `n_open` leaves. Writes `values`."""
    for c in range(at, n_open - 1):
        values[c] = values[c + 1]


@inner
def close_class(offers, classes, at, n_open):
    """Take a class out of the open ones; the others keep their order. Writes both."""
    for col in range(classes.low.shape[0]):
        drop(classes.low[col], at, n_open)
        drop(classes.high[col], at, n_open)
    for col in range(classes.node.shape[0]):
        drop(classes.node[col], at, n_open)
    drop(classes.size, at, n_open)
    drop(classes.diversity, at, n_open)
    for col in range(offers.share.shape[0]):
        drop(offers.share[col], at, n_open)
    drop(offers.total, at, n_open)
    drop(offers.number, at, n_open)


@entry
def join_cheapest(rows, position, leaf, classes, offers, trees, span, labels, goals, wants, cursor, settings):
    """Let rows join, in the order given, the open class whose loss grows least, the first of equals.

    Where classes want rows, one that wants the row goes before one that does not. cursor: [rows done,
    open classes]. settings: [rows at which a class is closed, rows in this call]. Ends early when no
    class is open. Writes `classes`, `offers`, `labels`, `wants`, `cursor`.
    """
    stop = min(rows.shape[0], cursor[0] + settings[1])
    while cursor[0] < stop and cursor[1] > 0:
        row, n_open = rows[cursor[0]], cursor[1]
        renew(offers, classes, trees, span, position, leaf, row, n_open)
        find_growth(classes.size, classes.diversity, offers.total, offers.grows, n_open)
        c = cheapest_wanting(goals, wants, offers.grows, offers.number, n_open, row)
        if c < 0:
            c = first_least(offers.grows, n_open)
        labels[row] = offers.number[c]
        join(classes, c, trees, span, position, leaf, row)
        renew_one(offers, classes, trees, span, c)
        note_joined(goals, wants, offers.number[c], row)
        if classes.size[c] >= settings[0]:
            close_class(offers, classes, c, n_open)
            cursor[1] -= 1
        cursor[0] += 1
