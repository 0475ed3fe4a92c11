"""Exact counts of cells, and whether a cell can be clustered by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray, LongArray
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, SensitiveColumn


@dataclass(frozen=True)
class CellCount:
    """What is counted in a cell.

    Parameters
    ----------
    rows, people : int
    values : tuple of ndarray of int64
        For each goal, how many people have each value.
    holders : tuple of int
        For each goal, how many people have any value.
    """

    rows: int
    people: int
    values: tuple[LongArray, ...] = ()
    holders: tuple[int, ...] = ()


class Feasible:
    """Decides whether a cell could be one class: if not, no partition of it meets the goals.

    Parameters
    ----------
    sensitive : tuple of SensitiveColumn
        What the goals count, with the counts of the whole table.
    recipe : Recipe
    """

    def __init__(self, sensitive: tuple[SensitiveColumn, ...], recipe: Recipe) -> None:
        self.k = recipe.privacy.k
        nobody = tuple(replace(column, codes=np.zeros(0, np.int32)) for column in sensitive)
        rows = Encoded((), np.zeros(0, np.int64), sensitive=nobody)
        self._goals = GoalSet(rows, recipe.privacy.column_goals, self.k) if sensitive else None

    def __call__(self, cell: CellCount) -> bool:
        """Return whether a cell has enough people and meets every goal."""
        return cell.people >= self.k and (self._goals is None or bool(self._judged(cell)[0].all()))

    def achieved(self, cell: CellCount) -> FloatArray:
        """Return what a cell achieves of each goal as one class."""
        return self._judged(cell)[1]

    def _judged(self, cell: CellCount) -> tuple[BoolArray, FloatArray]:
        from shoal.kernels import goals as kernel

        assert self._goals is not None
        tally: Any = kernel.empty_tally(self._goals.kernel)._replace(
            counts=np.concatenate(cell.values),
            pairs=np.array([values.sum() for values in cell.values], np.int64),
            holders=np.array(cell.holders, np.int64),
        )
        n_goals, nobody, ends = len(cell.values), np.zeros(0, np.int64), np.zeros(1, np.int64)
        holds, achieved = np.zeros((1, n_goals), np.bool_), np.zeros((1, n_goals))
        kernel.judge_classes(
            self._goals.kernel, tally, nobody, ends, False, holds, achieved, np.zeros(1, np.int64)
        )
        return holds[0], achieved[0]
