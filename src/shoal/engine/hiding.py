"""Suppress single cells, as a last resort: publish them as `*` in rows that would otherwise cost more.

Two kinds of rows are published without some of their cells, at most `suppress_cells` of all rows:

- Rows that a method leaves out because too few look alike at the levels it chose. They are released after
  all, without the fewest cells that make at least k of them look alike.
- Rows that are far from the rest of their class in one column, so that the whole class publishes a wide range
  (`recode/odd_cells.py`). They form classes of their own without that column, if that lowers the loss.

Rows look alike only if their labels are equal: `*` is a label like any other, so every class has k rows as
ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray, LongArray
from shoal.cluster.mondrian import Mondrian
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.recode.levels import level_texts
from shoal.recode.odd_cells import odd_rows
from shoal.recode.view_columns import narrowed
from shoal.table.columns import Encoded, class_extremes

_MOST_CHOICES = 200  # of columns whose cells are suppressed together


@dataclass(frozen=True, repr=False)
class Hiding:
    """Classes, and the columns that each of them publishes as `*`.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int32
        The class of each row, -1 for a row that is left out.
    hidden : ndarray of shape (n_classes, n_columns), bool
        The hidden columns of each class.
    """

    labels: IntArray
    hidden: npt.NDArray[np.bool_]

    def with_classes(self, rows: LongArray, groups: IntArray, columns: Sequence[int]) -> Hiding:
        """Return the classes with new ones for some rows, which hide some columns."""
        labels, start = self.labels.copy(), len(self.hidden)
        labels[rows] = start + groups
        added = np.zeros((int(groups.max(initial=-1)) + 1, self.hidden.shape[1]), np.bool_)
        added[:, list(columns)] = True
        return Hiding(labels, np.concatenate([self.hidden, added]))


def hide_cells(
    encoded: Encoded, labels: IntArray, recipe: Recipe, levels: Sequence[int] | None = None
) -> Hiding:
    """Choose the rows that are published without some of their cells."""
    goals = GoalSet.of(encoded, recipe)
    hiding = Hiding(labels, np.zeros((int(labels.max(initial=-1)) + 1, len(encoded.columns)), np.bool_))
    most = recipe.privacy.may_lack_cells(encoded.n_rows)
    released = _with_left_out(encoded, hiding, recipe, levels, most, goals)
    most -= int((released.labels >= 0).sum() - (labels >= 0).sum())
    # At levels of trees, classes are as wide as their level, even if rows leave them.
    return released if levels is not None else _without_odd(encoded, released, recipe, most, goals)


def _holds(hiding: Hiding, goals: GoalSet | None) -> bool:
    return goals is None or bool(goals.judge(hiding.labels).good.all())


def _with_left_out(
    encoded: Encoded,
    hiding: Hiding,
    recipe: Recipe,
    levels: Sequence[int] | None,
    most: int,
    goals: GoalSet | None,
) -> Hiding:
    """Release rows that were left out, without the fewest columns that distinguish them."""
    k, n_columns = recipe.privacy.k, len(encoded.columns)
    left = np.flatnonzero(hiding.labels < 0)
    if recipe.privacy.missing == "suppress":
        left = left[~encoded.missing_rows()[left]]
    cells = np.column_stack([_cells(encoded, left, at, levels) for at in range(n_columns)])
    n_choices = 0
    for size in range(1, n_columns + 1):
        for columns in combinations(range(n_columns), size):
            n_choices += 1
            if len(left) < k or most < k or n_choices > _MOST_CHOICES:
                return hiding
            shown = [at for at in range(n_columns) if at not in columns]
            chosen, groups = _alike(cells[:, shown], k, most)
            tried = hiding.with_classes(left[chosen], groups, columns)
            if len(chosen) and _holds(tried, goals):
                hiding, most = tried, most - len(chosen)
                left, cells = np.delete(left, chosen), np.delete(cells, chosen, axis=0)
    return hiding


def _cells(encoded: Encoded, rows: LongArray, at: int, levels: Sequence[int] | None) -> LongArray:
    """Number what each row would publish in a column: its value, or the node at the column's level."""
    column = encoded.columns[at]
    if levels is None:
        return column.codes[rows].astype(np.int64)
    texts = level_texts(column, column.codes[rows], levels[at])
    return (texts.rank("dense").cast(int) - 1).fill_null(-1).to_numpy()


def _alike(cells: LongArray, k: int, most: int) -> tuple[LongArray, IntArray]:
    """Return the rows that at least k - 1 others are equal to, and the group of each; `most` rows at most."""
    if cells.shape[1]:
        _, group, sizes = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    else:
        group, sizes = np.zeros(len(cells), np.int64), np.array([len(cells)])
    group = group.reshape(-1)
    is_large = sizes >= k
    is_large &= np.cumsum(np.where(is_large, sizes, 0)) <= most
    number = np.cumsum(is_large) - 1
    chosen = np.flatnonzero(is_large[group])
    return chosen, number[group[chosen]].astype(np.int32)


def _without_odd(
    encoded: Encoded, hiding: Hiding, recipe: Recipe, most: int, goals: GoalSet | None
) -> Hiding:
    """Let rows that are odd in one column form classes that hide it, column by column.

    A column is taken only if it lowers the loss and every goal still holds.
    """
    k, il = recipe.privacy.k, _loss(encoded, hiding)
    odd = odd_rows(encoded, hiding.labels, k, most)
    for column in range(len(encoded.columns)):
        rows = np.sort(odd.rows[odd.columns == column])
        if len(rows) < k:
            continue
        tried = hiding.with_classes(rows, _similar(encoded, rows, column, k), [column])
        _show_agreed(encoded, tried, column)
        lost = _loss(encoded, tried)
        if lost < il and _holds(tried, goals):
            hiding, il = tried, lost
    return hiding


def _show_agreed(encoded: Encoded, hiding: Hiding, at: int) -> None:
    """Let classes show a column that they hide although all their rows agree in it."""
    column = encoded.columns[at]
    low, high = class_extremes(column, hiding.labels, len(hiding.hidden))
    hiding.hidden[:, at] &= low != high


def _similar(encoded: Encoded, rows: LongArray, column: int, k: int) -> IntArray:
    """Group rows by all columns but one."""
    others = [each.name for at, each in enumerate(encoded.columns) if at != column]
    groups = np.zeros(len(rows), np.int32)
    if others:
        part = narrowed(encoded, others).take(rows)
        order = np.lexsort([each.codes for each in reversed(part.columns)])  # equal rows must be adjacent
        groups[order] = Mondrian(k=k).fit(part.take(order)).labels
    return groups


def _loss(encoded: Encoded, hiding: Hiding) -> float:
    """Return Total IL of the released rows, with 1 for each hidden cell."""
    n_classes = len(hiding.hidden)
    sizes = np.bincount(hiding.labels[hiding.labels >= 0], minlength=n_classes)
    total = 0.0
    for at, column in enumerate(encoded.columns):
        costs = column.cost(*class_extremes(column, hiding.labels, n_classes))
        total += column.weight * float(sizes @ np.where(hiding.hidden[:, at], 1.0, costs))
    return total
