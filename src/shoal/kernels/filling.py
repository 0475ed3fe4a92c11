"""Rows that classes above k give up, and the classes that want them, where privacy goals are asked for.

OKA and systematic clustering even out the sizes of their classes. With goals a class that is good
keeps the rows without which it would not be, and rows go first to classes that they help.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import BoolArray, LongArray
from shoal.kernels.compiling import entry, inner
from shoal.kernels.goals import Goals, Tally, add, add_rows, is_good, mark_helpful, remove


class Wants(NamedTuple):
    """What the classes of a partition have, and which values would bring them nearer to their goals."""

    counts: np.ndarray  # int64 (n_classes, V)
    pairs: np.ndarray  # int64 (n_classes, G)
    helpful: np.ndarray  # bool (n_classes, V)
    room: np.ndarray  # int64: scratch, as that of a tally


def empty_wants(n_classes: int, n_values: int, n_goals: int, room: np.ndarray) -> Wants:
    """Make room for the wants of classes."""
    return Wants(
        np.zeros((n_classes, n_values), np.int64), np.zeros((n_classes, n_goals), np.int64),
        np.zeros((n_classes, n_values), np.bool_), room,
    )  # fmt: skip


@inner
def renew_wants(goals, wants, c):
    """Mark again what a class wants. Writes `wants`."""
    for g in range(goals.kind.shape[0]):
        pairs = wants.pairs[c, g]
        mark_helpful(goals, g, wants.counts[c], pairs, pairs, wants.helpful[c], wants.room)


@inner
def count_joined(goals, wants, c, row):
    """Count a row that has joined a class. Writes `wants`."""
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value >= 0:
            wants.counts[c, goals.begin[g] + value] += 1
            wants.pairs[c, g] += 1


@entry
def fill_wants(goals, wants, labels):
    """Count all rows with a label, and mark what each class wants. Writes `wants`, which must be empty."""
    for row in range(labels.shape[0]):
        if labels[row] >= 0:
            count_joined(goals, wants, labels[row], row)
    for c in range(wants.counts.shape[0]):
        renew_wants(goals, wants, c)


@inner
def is_wanted(goals, wants, c, row):
    """Return whether a row would bring a class nearer to its goals."""
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value >= 0 and wants.helpful[c, goals.begin[g] + value]:
            return True
    return False


@inner
def cheapest_wanting(goals, wants, cost, number, n_open, row):
    """Return the cheapest of the open classes that want a row, the first of equals; -1 for none."""
    least, best = np.int64(1) << 62, -1
    if wants is not None:
        for c in range(n_open):
            if cost[c] < least and is_wanted(goals, wants, number[c], row):
                least, best = cost[c], c
    return best


@inner
def note_joined(goals, wants, c, row):
    """Count a row that has joined a class, and mark again what that wants. Writes `wants`."""
    if wants is not None:
        count_joined(goals, wants, c, row)
        renew_wants(goals, wants, c)


@entry
def mark_spared(goals, tally, rows, begins, k, given_up):
    """Mark the rows that classes give up, down to k rows; a good class stays good. Writes `given_up`.

    rows: class by class, in the order in which they are given up. begins: (n_classes + 1) where the
    classes begin. `tally` is empty before and after.
    """
    for c in range(begins.shape[0] - 1):
        begin, end = begins[c], begins[c + 1]
        left = end - begin
        if left <= k:
            continue
        add_rows(goals, tally, rows, begin, end)
        stays_good = is_good(goals, tally)
        for at in range(begin, end):
            if left == k:
                break
            remove(goals, tally, rows[at])
            if stays_good and not is_good(goals, tally):
                add(goals, tally, rows[at])
                continue
            given_up[at] = True
            left -= 1
        for at in range(begin, end):
            if not given_up[at]:
                remove(goals, tally, rows[at])


def spared(goals: Goals, tally: Tally, rows: LongArray, begins: LongArray, k: int) -> BoolArray:
    """Return which rows classes give up; see `mark_spared`."""
    given_up = np.zeros(len(rows), np.bool_)
    mark_spared(goals, tally, rows, begins, k, given_up)
    return given_up
