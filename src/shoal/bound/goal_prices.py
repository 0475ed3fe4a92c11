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

Rows with equal quasi values and different sensitive ones have prices of their own. Prices that are feasible
without a goal are feasible with any, and so are terms with drag. The ascent begins with the latter: good
prices without the goal are far from good ones with it, and few can be raised alone. Where a goal costs
little, one pass that begins with good prices without it leads to higher ones.

If no class of k rows can keep to the limits, k is as many rows as one needs. Limits compare with the release,
which is the table less the rows that may be left out: shares are the greatest that a value can have in it.
Of several goals, the one with the highest sum after one pass counts. If somebody has several rows, shares
of people are not shares of rows, so only the number of different values is used. A goal that not even the
whole table can meet is left to what says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.bound.prices import Plan, feasible_prices
from shoal.bound.progress import Share, part
from shoal.bound.scans import Scans
from shoal.bound.separation import FEW, MAX_BOXES, Separation
from shoal.bound.sums import total_of
from shoal.bound.terms import total_of_terms
from shoal.privacy.goalset import limits_of
from shoal.privacy.limits import Limits, Values
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.table.fixed import FixedColumns

_UNIT = 1_000  # parts of a row: limits are rounded up to them
_ROUNDING = 1e-6  # of a unit, for each of k rows, by which a limit may be too low
_MAX_PRICED = 100_000  # distinct tuples with their values
_MOST_NEEDED = 10_000  # rows, if a class needs more than k: the bound takes the longer, the more they are
_SLOWER = 2  # times as long as without a goal a step of a pass may take


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
    found, k, n_people = [], recipe.privacy.k, encoded.n_rows
    if encoded.person is not None:
        n_people = len(np.unique(encoded.person))
    for goal, column in zip(recipe.privacy.column_goals, encoded.sensitive, strict=True):
        counts = np.bincount(column.codes[column.codes >= 0], minlength=column.n_values).astype(np.int64)
        values = Values(counts, may_suppress, bool((column.codes < 0).any()), column.tree)
        limits = limits_of(goal, values)
        if n_people < encoded.n_rows:
            limits = Limits(np.ones(values.n), limits.needed)
        limits = replace(limits, own=np.where(counts > 0, limits.own, 1.0))  # values that no row has
        if not limits.are_idle:
            least = min(limits.least_rows(k, values), max(k, _MOST_NEEDED), encoded.n_rows)
            found.append(GoalLimits(goal.type, limits, column.codes, least))
    return found


@dataclass(frozen=True)
class Priced:
    """Prices that are feasible with a goal.

    Parameters
    ----------
    name : str
        The goal's type.
    total : float
        What they add up to, as a loss.
    """

    name: str
    total: float


def with_goals(
    scans: Scans,
    tuple_of_row: IntArray,
    start: LongArray,
    others: LongArray,
    goals: Sequence[GoalLimits],
    plan: Plan,
    may_suppress: int,
    slack: float,
    tick: Share,
) -> Priced | None:
    """Sum prices that are feasible with the goal for which they are highest.

    None without a goal that rules out classes, and where passes over all boxes take too long.

    Parameters
    ----------
    scans : Scans
        Of the distinct tuples.
    tuple_of_row : ndarray of shape (n_rows,), int32
    start : ndarray of int64
        Feasible prices of the tuples, to begin with.
    others : ndarray of int64
        The best feasible prices without a goal.
    goals : sequence of GoalLimits
    plan : Plan
    may_suppress : int
        How many rows may be left out.
    slack : float
        By how many steps a cost may be too high.
    tick : callable
    """
    plan = replace(plan, work=plan.work // _SLOWER)
    tried = [_PricedGoal(scans, tuple_of_row, goal) for goal in goals]
    goal = _costliest([goal for goal in tried if goal.is_worth_a_pass], start, plan, part(tick, 0.0, 0.3))
    if goal is None:
        return None
    raised = goal.prices(start, plan, part(tick, 0.3, 0.9))
    found = [raised, goal.prices(others, _one_pass(plan), part(tick, 0.9, 1.0))]
    given = may_suppress, slack
    totals = [total_of_terms(goal.fixed, goal.size, p, 1, *given) for p in found if p is not None]
    return Priced(goal.name, max(totals)) if totals else None


def _one_pass(plan: Plan) -> Plan:
    """Return a plan of one pass, in which a good part of the work may be done."""
    return replace(plan, passes=1, rounds=0)


def _costliest(goals: Sequence[_PricedGoal], start: LongArray, plan: Plan, tick: Share) -> _PricedGoal | None:
    """Return the goal whose prices are highest after one pass; None if all take too long."""
    if len(goals) < 2:
        return goals[0] if goals else None
    one = _one_pass(replace(plan, work=plan.work // len(goals)))
    best, most = None, -np.inf
    for number, goal in enumerate(goals):
        prices = goal.prices(start, one, part(tick, number / len(goals), (number + 1) / len(goals)))
        if prices is not None and total_of(prices, goal.size) > most:
            best, most = goal, total_of(prices, goal.size)
    return best


class _PricedGoal:
    """The tuples of a table with their values, ready for passes with a goal.

    An entry is a tuple with one of its values: `of_tuple`, `size` and `fixed` are of entries.
    """

    def __init__(self, scans: Scans, tuple_of_row: IntArray, goal: GoalLimits) -> None:
        order = np.lexsort((goal.codes, tuple_of_row))
        of_row, value = tuple_of_row[order], goal.codes[order]
        begins = np.flatnonzero((np.diff(of_row, prepend=-1) != 0) | (np.diff(value, prepend=-2) != 0))
        self.name, self.of_tuple = goal.name, of_row[begins]
        self.size: LongArray = np.diff(np.append(begins, len(order))).astype(np.int64)
        self.fixed = _repeated(scans.fixed, self.of_tuple)
        self._allowance = _allowance(goal.limits, value[begins], scans.k)
        self.separation = Separation(self.fixed, self.size, scans.k, allowance=self._allowance)

    @property
    def is_worth_a_pass(self) -> bool:
        """Whether there may be time for one, and a class of some box can keep to the limits."""
        given, n = self._allowance, len(self.size)
        has_time = n <= FEW or (n <= _MAX_PRICED and self.separation.n_boxes <= MAX_BOXES)
        units = given.unit * np.bincount(given.value, self.size, len(given.own)).astype(np.int64)
        beyond = min(given.beyond, int(np.maximum(0, units - given.own).sum()))
        n_units = int(np.minimum(units, given.own).sum()) + beyond
        n_values = int((units * given.is_value > 0).sum())
        return has_time and n_units >= self.separation.k * given.unit and n_values >= given.needed

    def prices(self, start: LongArray, plan: Plan, tick: Share) -> LongArray | None:
        """Return feasible prices that begin with those of the tuples; None where passes take too long."""
        return feasible_prices(self.separation, plan, tick, start[self.of_tuple])


def _repeated(fixed: FixedColumns, of_tuple: IntArray) -> FixedColumns:
    """Return the columns of entries, given the tuple of each."""
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
        is_value=np.append(np.ones(n, np.int64), 0),
        unit=_UNIT,
        taken=np.zeros(n + 1, np.int64),
        state=np.zeros(2, np.int64),
    )
