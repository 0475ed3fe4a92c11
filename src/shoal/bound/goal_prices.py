"""Prices with a privacy goal: a higher lower bound where the goal rules out classes.

Prices are feasible with a goal if the mean price of no class that meets it is above D of the class's box.
Their sum is a lower bound of the loss of releases that meet the goal, as without one (`bound.prices`).

Which classes meet a goal depends on whole numbers of rows by value. *Limits* (`privacy.limits`) say less:
each value has a share of the class's rows of at most its own, and all values together some more; and so many
values are different. Let a class C in a box B keep to them. Give each of its rows the weight k / |C|, which
is at most 1. These weights add up to k, and by values they keep to k times the limits. So the mean price of C
is at most 1 / k of the greatest sum of prices, times weights from 0 to 1 that add up to k and keep to the
limits, over all rows of B. With this in place of the k highest prices in B, every proof of `bound.prices` and
`bound.raising` holds as it is. The greatest sum is found by taking rows from the highest price on
(`kernels.allowance`). A box without such weights holds no class.

Rows with equal quasi values and different sensitive ones have prices of their own. Terms with drag are
feasible with any goal, so prices begin with them, as they do without one.

If no class of k rows can keep to the limits, k is as many rows as one needs. Limits compare with the release,
which is the table less the rows that may be left out: shares are the greatest that a value can have in it.
Several goals are taken one by one, and the highest bound counts. With a subject column, a class has fewer
people than rows, so only the number of different values is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.bound.prices import Plan, feasible_prices
from shoal.bound.progress import Share
from shoal.bound.scans import Scans
from shoal.bound.separation import Separation
from shoal.bound.terms import total_of_terms
from shoal.privacy.goalset import limits_of
from shoal.privacy.limits import Limits, Values
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.table.fixed import FixedColumns

_UNIT = 1_000  # parts of a row: limits are rounded up to them
_ROUNDING = 1e-6  # of a unit, by which a limit may be too low
_MAX_PRICED = 100_000  # distinct tuples with their values


@dataclass(frozen=True, repr=False)  # a repr would show values
class GoalLimits:
    """What a goal asks of every class, and the value of each row.

    Parameters
    ----------
    name : str
        The goal's type.
    limits : Limits
    codes : ndarray of shape (n_rows,), int32
        The value of each row, -1 for none.
    least_rows : int
        How many rows a class has at least.
    """

    name: str
    limits: Limits
    codes: IntArray
    least_rows: int


def goal_limits(encoded: Encoded, recipe: Recipe, may_suppress: int) -> list[GoalLimits]:
    """Return what the goals of a recipe ask of every class, those that rule out any.

    Parameters
    ----------
    encoded : Encoded
        A whole table, less the rows that are left out in any case.
    recipe : Recipe
    may_suppress : int
        How many of its rows may be left out.
    """
    found, k = [], recipe.privacy.k
    for goal, column in zip(recipe.privacy.column_goals, encoded.sensitive, strict=True):
        counts = np.bincount(column.codes[column.codes >= 0], minlength=column.n_values).astype(np.int64)
        values = Values(counts, may_suppress, bool((column.codes < 0).any()), column.tree)
        limits = limits_of(goal, values)
        least = limits.least_rows(k, values) if encoded.person is None else max(k, limits.needed)
        if encoded.person is not None:
            limits = Limits(np.ones(values.n), limits.needed)
        if not limits.are_idle:
            found.append(GoalLimits(goal.type, limits, column.codes, min(least, encoded.n_rows)))
    return found


def with_goal(
    scans: Scans,
    tuple_of_row: IntArray,
    start: LongArray | None,
    goal: GoalLimits,
    plan: Plan,
    may_suppress: int,
    slack: float,
    tick: Share,
) -> float | None:
    """Sum prices that are feasible with a goal; None where passes over all boxes take too long.

    Parameters
    ----------
    scans : Scans
        Of the distinct tuples.
    tuple_of_row : ndarray of shape (n_rows,), int32
    start : ndarray of int64, optional
        Feasible prices of the tuples, to begin with.
    goal : GoalLimits
    plan : Plan
    may_suppress : int
        How many rows may be left out.
    slack : float
        By how many steps a cost may be too high.
    tick : callable
    """
    order = np.lexsort((goal.codes, tuple_of_row))
    of_row, value = tuple_of_row[order], goal.codes[order]
    begins = np.flatnonzero((np.diff(of_row, prepend=-1) != 0) | (np.diff(value, prepend=-2) != 0))
    if len(begins) > _MAX_PRICED:
        return None
    size = np.diff(np.append(begins, len(order))).astype(np.int64)
    of_tuple, fixed = of_row[begins], _repeated(scans.fixed, of_row[begins])
    allowance = _allowance(goal.limits, value[begins], scans.k)
    separation = Separation(fixed, size, scans.k, allowance=allowance)
    prices = feasible_prices(separation, plan, tick, None if start is None else start[of_tuple])
    return None if prices is None else total_of_terms(fixed, size, prices, 1, may_suppress, slack)


def _repeated(fixed: FixedColumns, of_tuple: IntArray) -> FixedColumns:
    """Return the columns with each tuple as often as it has different values."""
    position = np.ascontiguousarray(fixed.position[:, of_tuple])
    return replace(fixed, position=position, leaf=np.ascontiguousarray(fixed.leaf[:, of_tuple]))


def _allowance(limits: Limits, value: IntArray, k: int) -> Any:
    """Return limits as `kernels.excess` takes them; the last value stands for the lack of one."""
    from shoal.kernels.allowance import Allowance

    n, whole, error = len(limits.own), k * _UNIT, k * _ROUNDING
    # A limit that is a whole number but for errors stays that one. What a class may thereby have beyond the
    # limits of single values is added to what it may have beyond all of them: none is ruled out.
    exact = limits.own * whole
    own = np.clip(np.ceil(exact - error), 0, whole)
    lost = np.where(own < whole, np.maximum(0.0, exact + error - own), 0.0).sum()
    return Allowance(
        value=np.where(value < 0, n, value).astype(np.int32),
        own=np.append(own, whole).astype(np.int64),
        beyond=min(whole, ceil(limits.beyond * whole + error + lost)),
        needed=limits.needed,
        counts=np.append(np.ones(n, np.int64), 0),
        unit=_UNIT,
        taken=np.zeros(n + 1, np.int64),
        state=np.zeros(2, np.int64),
    )
