"""All goals of a recipe on the rows of one table: what clusterers keep and the release claims."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import BoolArray, FloatArray, IntArray, LongArray
from shoal.privacy import alpha, disclosure, ldiversity, likeness, tcloseness, value_range
from shoal.privacy.goal import Measure, Obstacle
from shoal.privacy.limits import Limits, Values
from shoal.recipe import Recipe
from shoal.recipe.goals import AlphaK, BetaLikeness, DeltaDisclosure, Goal, LDiversity, TCloseness, ValueRange
from shoal.table.columns import Encoded, SensitiveColumn

_FILES: dict[type[Goal], ModuleType] = {
    LDiversity: ldiversity,
    TCloseness: tcloseness,
    AlphaK: alpha,
    BetaLikeness: likeness,
    DeltaDisclosure: disclosure,
    ValueRange: value_range,
}


@dataclass(frozen=True)
class Judgement:
    """How the classes of a partition score on the goals.

    Parameters
    ----------
    good : ndarray of shape (n_classes,), bool
        Whether the class has k people and meets every goal.
    people : int
        The number in the class with the fewest.
    achieved : tuple of float
        For each goal, the number of the worst class: the lowest for l-diversity, otherwise the highest.
    holds : tuple of bool
        For each goal, whether every class meets it.
    by_class : ndarray of shape (n_classes, n_goals), float64
        What each class achieves.
    """

    good: BoolArray
    people: int
    achieved: tuple[float, ...]
    holds: tuple[bool, ...]
    by_class: FloatArray


class GoalSet:
    """The goals of a recipe, including k, for the rows of an encoded table.

    Parameters
    ----------
    encoded : Encoded
        With the values that each goal counts, and the people where there is a subject column.
    goals : sequence of Goal
    k : int
        How many people a class needs.
    """

    def __init__(self, encoded: Encoded, goals: list[Goal], k: int) -> None:
        from shoal.kernels import goals as kernel

        self.asked, self.k, self.n_rows = goals, k, encoded.n_rows
        self.sensitive = encoded.sensitive
        self.person = np.arange(encoded.n_rows, dtype=np.int32) if encoded.person is None else encoded.person
        self.counts_people = encoded.person is not None
        self.kernel: Any = _kernel_goals(encoded.sensitive, [measure_of(g) for g in goals], k, self.person)
        self.tally: Any = kernel.empty_tally(self.kernel)
        self.set_released(np.ones(encoded.n_rows, dtype=bool))

    @classmethod
    def of(cls, encoded: Encoded, recipe: Recipe) -> GoalSet | None:
        """Return what the recipe asks for beyond k rows, or None."""
        if not recipe.privacy.column_goals and encoded.person is None:
            return None
        return cls(encoded, recipe.privacy.column_goals, recipe.privacy.k)

    def set_released(self, released: BoolArray) -> None:
        """Make these rows the release that classes are compared with; of a cell, always the whole table."""
        begin = self.kernel.begin
        for g, column in enumerate(self.sensitive):
            counts = column.whole
            if counts is None:
                counts = people_by_value(column, self.person, released)
            self.kernel.whole[begin[g] : begin[g + 1]] = counts

    def could_hold(self, released: BoolArray) -> bool:
        """Return whether these rows meet every goal as one class; if not, no partition of them does."""
        whole = np.where(released, 0, -1).astype(np.int32)
        return bool(released.any()) and bool(self.judge(whole).good.all())

    def is_good(self, rows: LongArray) -> bool:
        """Return whether these rows, in ascending order, have k people and meet every goal as one class.

        They are compared with the rows that `set_released` was given last.
        """
        from shoal.kernels import goals as kernel

        return kernel.all_good(self.kernel, self.tally, rows, np.array([len(rows)]))

    def judge(self, labels: IntArray) -> Judgement:
        """Judge a partition against the rows that it releases, those with a label."""
        from shoal.kernels import goals as kernel

        self.set_released(labels >= 0)
        rows, ends = by_class(labels)
        holds = np.zeros((len(ends), len(self.asked)), dtype=bool)
        achieved, people = np.zeros((len(ends), len(self.asked))), np.zeros(len(ends), np.int64)
        kernel.judge_classes(self.kernel, self.tally, rows, ends, False, holds, achieved, people)
        worst = [
            float(achieved[:, g].min() if goal.more_is_better else achieved[:, g].max())
            for g, goal in enumerate(self.asked)
        ]
        good = (people >= self.k) & holds.all(axis=1)
        every = [bool(holds[:, g].all()) for g in range(len(self.asked))]
        return Judgement(good, int(people.min()), tuple(worst), tuple(every), achieved)


def measure_of(goal: Goal) -> Measure:
    """Return a goal as the kernels take it."""
    found: Measure = _FILES[type(goal)].measure(goal)
    return found


def limits_of(goal: Goal, values: Values) -> Limits:
    """Return what the values of every class keep to that meets a goal."""
    found: Limits = _FILES[type(goal)].limits(goal, values)
    return found


def obstacle_of(goal: Goal, name: str, counts: LongArray) -> Obstacle:
    """Return why a table with these counts of values fails a goal that does not compare."""
    found: Obstacle = _FILES[type(goal)].obstacle(goal, name, counts)
    return found


def holds_on(goal: Goal, counts: list[int]) -> bool:
    """Return whether values with these counts meet a goal that asks for nothing but counts."""
    from shoal.kernels import goals as kernel

    asked, found = measure_of(goal), np.array(counts, np.int64)
    total, nothing, empty = np.array([sum(counts)]), np.zeros(0, np.int64), np.zeros((1, 0), np.int32)
    goals = kernel.Goals(
        k=0, kind=np.array([asked.kind]), bound=np.array([asked.bound]), second=np.array([asked.second]),
        begin=np.array([0, len(found)]), code=empty, person=empty[0], pair=empty, whole=found,
        number=np.zeros(len(found)),
        parent=empty[0], height=nothing, node_at=np.zeros(2, np.int64),
        leaf_node=np.zeros(len(found), np.int32),
    )  # fmt: skip
    tally = kernel.empty_tally(goals)._replace(counts=found, pairs=total, holders=total)
    return bool(kernel.goals_met(goals, tally)[0])


def by_class(labels: IntArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows class by class, ascending within each, and where each class ends."""
    rows = np.flatnonzero(labels >= 0)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    return rows, np.cumsum(np.bincount(labels[rows]))


def people_by_value(column: SensitiveColumn, person: IntArray, inside: BoolArray) -> npt.NDArray[np.int64]:
    """Count the people who have each value, among the rows marked."""
    marked = inside & (column.codes >= 0)
    pairs = np.unique(person[marked].astype(np.int64) * max(1, column.n_values) + column.codes[marked])
    return np.bincount(pairs % max(1, column.n_values), minlength=column.n_values).astype(np.int64)


def _kernel_goals(
    columns: tuple[SensitiveColumn, ...], measures: list[Measure], k: int, person: IntArray
) -> Any:
    from shoal.kernels import goals as kernel

    n = len(person)
    begin = np.cumsum([0, *(column.n_values for column in columns)], dtype=np.int64)
    trees = [column.tree for column in columns]
    parents = [np.zeros(0, np.int32) if tree is None else tree.parent for tree in trees]
    heights = [np.zeros(0, np.int32) if tree is None else tree.height for tree in trees]
    leaves = [
        np.zeros(column.n_values, np.int32) if column.tree is None else column.tree.leaf_nodes
        for column in columns
    ]
    return kernel.Goals(
        k=k,
        kind=np.array([measure.kind for measure in measures], np.int64),
        bound=np.array([measure.bound for measure in measures], np.float64),
        second=np.array(
            [
                column.units if column.numbers is not None else measure.second
                for column, measure in zip(columns, measures, strict=True)
            ],
            np.float64,
        ),
        begin=begin,
        code=_stacked([column.codes for column in columns], n),
        person=person.astype(np.int32),
        pair=_stacked([_pairs(column, person) for column in columns], n),
        whole=np.zeros(int(begin[-1]), np.int64),
        number=np.concatenate([*map(_numbers, columns), np.zeros(0)]),
        parent=np.concatenate([*parents, np.zeros(0)]).astype(np.int32),
        height=np.concatenate([*heights, np.zeros(0)]).astype(np.int64),
        node_at=np.cumsum([0, *(len(parent) for parent in parents)], dtype=np.int64),
        leaf_node=np.concatenate([*leaves, np.zeros(0)]).astype(np.int32),
    )


def _numbers(column: SensitiveColumn) -> FloatArray:
    return np.zeros(column.n_values) if column.numbers is None else column.numbers


def _pairs(column: SensitiveColumn, person: IntArray) -> IntArray:
    """Number the pairs of a person and a value; -1 for rows without a value."""
    pairs = np.full(len(person), -1, np.int32)
    inside = column.codes >= 0
    keys = person[inside].astype(np.int64) * max(1, column.n_values) + column.codes[inside]
    pairs[inside] = np.unique(keys, return_inverse=True)[1]
    return pairs


def _stacked(rows: list[IntArray], n: int) -> IntArray:
    return np.ascontiguousarray(rows, dtype=np.int32).reshape(len(rows), n)
