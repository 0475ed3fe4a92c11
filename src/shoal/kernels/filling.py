"""Rows that classes above k give up, and the classes that want them, where privacy goals are asked for.

OKA and systematic clustering even out the sizes of their classes. With goals a class that is good
keeps the rows without which it would not be, and rows go first to classes that they help.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.goals import add, add_rows, is_good, mark_helpful, remove


class Wants(NamedTuple):
    """What the classes of a partition have, and which values would bring them nearer to their goals."""

    active: bool  # False: no class is preferred
    counts: np.ndarray  # int64 (n_classes, V)
    pairs: np.ndarray  # int64 (n_classes, G)
    helpful: np.ndarray  # bool (n_classes, V)


def empty_wants(n_classes: int, n_values: int, n_goals: int, *, active: bool) -> Wants:
    """Make room for so many classes; none where no class is preferred."""
    n = n_classes if active else 0
    return Wants(
        active, np.zeros((n, n_values), np.int64), np.zeros((n, n_goals), np.int64),
        np.zeros((n, n_values), np.bool_),
    )  # fmt: skip


@njit(cache=True)
def renew_wants(goals, wants, c):
    """Mark anew what a class wants. Writes `wants`."""
    for g in range(goals.kind.shape[0]):
        begin, end = goals.begin[g], goals.begin[g + 1]
        count, pairs = wants.counts[c, begin:end], wants.pairs[c, g]
        mark_helpful(goals, g, count, pairs, pairs, wants.helpful[c, begin:end])


@njit(cache=True)
def count_joined(goals, wants, c, row):
    """Count a row that has joined a class. Writes `wants`."""
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value >= 0:
            wants.counts[c, goals.begin[g] + value] += 1
            wants.pairs[c, g] += 1


@njit(cache=True)
def fill_wants(goals, wants, labels):
    """Count all rows with a label, and mark what each class wants. Writes `wants`, which must be empty."""
    for row in range(labels.shape[0]):
        if labels[row] >= 0:
            count_joined(goals, wants, labels[row], row)
    for c in range(wants.counts.shape[0]):
        renew_wants(goals, wants, c)


@njit(cache=True)
def is_wanted(goals, wants, c, row):
    """Tell whether a row would bring a class nearer to its goals."""
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value >= 0 and wants.helpful[c, goals.begin[g] + value]:
            return True
    return False


@njit(cache=True)
def cheapest_wanting(goals, wants, cost, number, n_open, row):
    """Return the cheapest of the open classes that want a row, the first of equals; -1 for none."""
    least, best = np.int64(1) << 62, -1
    for c in range(n_open):
        if cost[c] < least and is_wanted(goals, wants, number[c], row):
            least, best = cost[c], c
    return best


@njit(cache=True)
def spared(goals, tally, rows, begins, k):
    """Mark the rows that classes give up, down to k rows; a good class stays good.

    rows: class by class, in the order in which they are given up. begins: (n_classes + 1) where the
    classes begin. `tally` is empty before and after.
    """
    given_up = np.zeros(rows.shape[0], np.bool_)
    for c in range(begins.shape[0] - 1):
        members = rows[begins[c] : begins[c + 1]]
        left = members.shape[0]
        if left <= k:
            continue
        add_rows(goals, tally, members)
        stays_good = is_good(goals, tally)
        for at in range(members.shape[0]):
            if left == k:
                break
            remove(goals, tally, members[at])
            if stays_good and not is_good(goals, tally):
                add(goals, tally, members[at])
                continue
            given_up[begins[c] + at] = True
            left -= 1
        for at in range(members.shape[0]):
            if not given_up[begins[c] + at]:
                remove(goals, tally, members[at])
    return given_up
