"""Repair a partition in which some classes fail a goal: exchange rows, merge, or leave rows out.

Two strategies are tried, and the one with the lower loss is taken. *Merging*: a failing class merges
with the nearby class that makes it good at the lowest cost. *Dealing*: as long as that is cheaper, it
first exchanges rows with nearby classes, one for one or one for none, each time by the cheapest exchange
that brings it closer to its goals and keeps the other class good; then it merges. With either strategy,
the class is left out instead where that is cheaper still and `max_suppressed` allows it.

Every class is good in the end: merging continues until it is, and one class of all rows is good (that
was checked before any work). Leaving rows out changes what classes are compared with, so all of them are
judged again afterwards.

What is done here depends on sensitive values, and an attacker who knows the method can draw conclusions
from it (the minimality attack of [wong2007]_). So it comes last, and only for classes that fail.

.. [wong2007] Wong, Fu, Wang, Pei. Minimality Attack in Privacy Preserving Data Publishing. VLDB 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, inf, isinf, log10
from typing import Any

import numpy as np

from shoal.arrays import IntArray
from shoal.errors import InfeasibleError
from shoal.privacy.goalset import GoalSet, by_class
from shoal.table.columns import Encoded, numbered
from shoal.table.fixed import fixed_columns

_MAX_COUNTS = 50_000_000  # classes times values, above which classes are merged by cost alone
_REPAIRED_PER_CALL = 64  # classes; interrupts are handled between calls
_REACH = 2000  # classes on either side that are searched for partners


@dataclass(frozen=True)
class Repaired:
    """A partition whose classes are all good, its loss, and what was done."""

    labels: IntArray
    loss: float
    exchanged: int = 0
    merged: int = 0
    left_out: int = 0
    remarks: tuple[str, ...] = ()


def repair(encoded: Encoded, labels: IntArray, goals: GoalSet, may_suppress: int) -> Repaired:
    """Return labels whose classes are all good: those given if they already are."""
    failing = int((~goals.judge(labels).good).sum())
    if failing == 0:
        return Repaired(labels, _Run(encoded, labels, goals, 0, deals=False).loss(labels))
    strategies = {
        "dealing": _repaired(encoded, labels, goals, may_suppress, deals=True),
        "merging": _repaired(encoded, labels, goals, may_suppress, deals=False),
    }
    name, best = min(strategies.items(), key=lambda strategy: strategy[1].loss)
    if isinf(best.loss):
        raise shared_people()
    done = [f"{best.exchanged} exchanges", f"{best.merged} mergers"]
    done += [f"{best.left_out} rows left out"] if best.left_out else []
    remark = (
        f"{failing} of {int(labels.max()) + 1} classes failed a goal and were repaired by {name} "
        f"({', '.join(done)}): Total IL by "
        + ", ".join(f"{name} {loss_text(repaired.loss)}" for name, repaired in strategies.items())
        + "; this step depends on sensitive values"
    )
    return replace(best, remarks=(remark,))


def loss_text(loss: float) -> str:
    """Format a loss to three digits: at full precision it would be a digest of the raw table."""
    if not loss or isinf(loss):
        return f"{loss:.0f}"
    digits = 2 - floor(log10(loss))
    return f"{round(loss, digits):,.{max(0, digits)}f}"


def _repaired(
    encoded: Encoded, labels: IntArray, goals: GoalSet, may_suppress: int, *, deals: bool
) -> Repaired:
    """Repair until nothing fails: leaving rows out changes what classes are compared with."""
    exchanged = merged = left_out = 0
    while True:
        goals.set_released(labels >= 0)
        before = int((labels < 0).sum())
        run = _Run(encoded, labels, goals, may_suppress, deals=deals)
        labels = run.labels()
        more = int((labels < 0).sum()) - before
        exchanged, merged = exchanged + run.exchanged, merged + run.merged
        left_out, may_suppress = left_out + more, may_suppress - more
        is_good = bool(goals.judge(labels).good.all())
        if more == 0 or is_good:
            # One class of all rows can fail only where classes share people.
            loss = run.loss(labels) if is_good else inf
            return Repaired(labels, loss, exchanged, merged, left_out)


def shared_people() -> InfeasibleError:
    """Return the error that even one class of all rows fails, which takes people with several values."""
    return InfeasibleError(
        "infeasible.goal",
        "No partition that meets all goals was found: some people have several values, and even in one "
        "class of all rows too many people share a value.",
        "relax the goals, or keep one row per person",
    )


class _Run:
    """One pass over the classes: the arrays, and the calls to the kernel."""

    def __init__(
        self, encoded: Encoded, labels: IntArray, goals: GoalSet, may_suppress: int, *, deals: bool
    ) -> None:
        from shoal.kernels import goals as goal_kernel
        from shoal.kernels import repair as kernel
        from shoal.kernels.classes import empty_classes

        fixed = fixed_columns(encoded, np.arange(encoded.n_rows))
        ordered = numbered(labels)
        rows, ends = by_class(ordered)
        n_classes = len(ends)
        self.fixed, self.n_classes = fixed, n_classes
        self.whole = sum(round(column.weight * fixed.unit) for column in encoded.columns)
        # Trial boxes: two classes without each of their rows.
        tried = 2 * (kernel.MOST_PAIRS + 2)
        self.classes: Any = empty_classes(n_classes + tried, len(fixed.span), len(fixed.leaf))
        lists = kernel.Rows(
            fixed.position, fixed.leaf, fixed.span, np.zeros(n_classes, np.int64),
            np.full(encoded.n_rows, -1, np.int64), np.arange(n_classes) - 1,
            np.append(np.arange(1, n_classes), -1), self.whole,
        )  # fmt: skip
        tally, other, all_rows = (goal_kernel.empty_tally(goals.kernel) for _ in range(3))
        cursor = np.zeros(4, np.int64)
        cursor[kernel.MAY_LEAVE_OUT], cursor[kernel.DONE] = may_suppress, -1
        settings = kernel.Settings(deals, _REACH, _REPAIRED_PER_CALL)
        self._labels = np.full(encoded.n_rows, -1, np.int32)
        counts, room = _empty_counts(n_classes, tally), kernel.empty_room(encoded.n_rows, n_classes, _REACH)
        while cursor[kernel.DONE] < n_classes:
            kernel.repair_classes(
                goals.kernel, tally, other, all_rows, counts, lists, self.classes, rows, ends, fixed.trees,
                cursor, settings, self._labels, room,
            )  # fmt: skip
        self.exchanged, self.merged = int(cursor[kernel.EXCHANGES]), int(cursor[kernel.MERGERS])

    def labels(self) -> IntArray:
        """Number the classes that remain by their first rows; rows left out get -1."""
        return numbered(self._labels)

    def loss(self, labels: IntArray) -> float:
        """Return Total IL; a row that is left out costs the sum of the weights."""
        size, diversity = self.classes.size[: self.n_classes], self.classes.diversity[: self.n_classes]
        return float(size @ diversity + int((labels < 0).sum()) * self.whole) / self.fixed.unit


def _empty_counts(n_classes: int, tally: Any) -> Any:
    from shoal.kernels import repair as kernel

    n_values, n_goals = len(tally.counts), len(tally.pairs)
    n_values = n_values if n_classes * n_values <= _MAX_COUNTS else 0
    return kernel.Counts(
        np.zeros((n_classes, n_values), np.int64), np.zeros((n_classes, n_goals), np.int64),
        np.zeros((n_classes, n_goals), np.int64), np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.bool_),
    )  # fmt: skip
