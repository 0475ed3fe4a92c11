"""Mend a partition in which some classes fail a goal: exchange rows, merge, or leave rows out.

Two ways are tried and measured, and the one that loses less is taken. *Merging*: a class that fails
merges with the class that it costs least to merge with and be good, one of the nearest. *Dealing*: as
long as that is cheaper it first exchanges rows with near classes, one for one or one for none, each
time the cheapest exchange that brings it nearer to its goals and leaves the other good; then it
merges. Either way it is left out instead where that is cheaper still and `max_suppressed` allows it.

Every class is good in the end: merging goes on until it is, and one class of all rows is (that was
checked before any work). Leaving rows out changes what classes are compared with, so afterwards all
are judged again.

What is done here depends on sensitive values, and whoever knows the method can draw conclusions from
it (the minimality attack of [wong2007]_). So it comes last, and only for classes that fail.

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

_MOST_COUNTS = 50_000_000  # classes times values, above which classes are merged by cost alone
_REPAIRED_PER_CALL = 64  # classes; between two calls an interruption is seen
_REACH = 2000  # classes on either side among which one looks for others


@dataclass(frozen=True)
class Mended:
    """A partition of which every class is good, what it loses, and what was done."""

    labels: IntArray
    loss: float
    exchanged: int = 0
    merged: int = 0
    left_out: int = 0
    remarks: tuple[str, ...] = ()


def repair(encoded: Encoded, labels: IntArray, goals: GoalSet, may_suppress: int) -> Mended:
    """Return labels of which every class is good; those given if they already are."""
    failing = int((~goals.judge(labels).good).sum())
    if failing == 0:
        return Mended(labels, _Run(encoded, labels, goals, 0, deals=False).loss(labels))
    ways = {
        "dealing": _mended(encoded, labels, goals, may_suppress, deals=True),
        "merging": _mended(encoded, labels, goals, may_suppress, deals=False),
    }
    name, best = min(ways.items(), key=lambda way: way[1].loss)
    if isinf(best.loss):
        raise shared_people()
    done = [f"{best.exchanged} exchanges", f"{best.merged} mergers"]
    done += [f"{best.left_out} rows left out"] if best.left_out else []
    remark = (
        f"{failing} of {int(labels.max()) + 1} classes failed a goal and were mended by {name} "
        f"({', '.join(done)}): Total IL by "
        + ", ".join(f"{name} {told_loss(way.loss)}" for name, way in ways.items())
        + "; this step looks at sensitive values"
    )
    return replace(best, remarks=(remark,))


def told_loss(loss: float) -> str:
    """Write a loss with three digits: all of them would be a digest of the raw table."""
    if not loss or isinf(loss):
        return f"{loss:.0f}"
    digits = 2 - floor(log10(loss))
    return f"{round(loss, digits):,.{max(0, digits)}f}"


def _mended(encoded: Encoded, labels: IntArray, goals: GoalSet, may_suppress: int, *, deals: bool) -> Mended:
    """Mend again until nothing fails: rows that were left out change what classes are compared with."""
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
            # Only where classes share people can one class of all rows fail.
            loss = run.loss(labels) if is_good else inf
            return Mended(labels, loss, exchanged, merged, left_out)


def shared_people() -> InfeasibleError:
    """Say that even one class of all rows fails: only people with several values make that possible."""
    return InfeasibleError(
        "infeasible.goal",
        "No partition was found that meets all goals: some people have several values, and even in one "
        "class of all rows too many share one.",
        "loosen the goals, or keep one row for each person",
    )


class _Run:
    """One pass over the classes: the arrays, and the calls of the kernel."""

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
        # Boxes that are tried out: two classes without each of their rows.
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
        """Return Total IL; a row left out costs everything."""
        size, diversity = self.classes.size[: self.n_classes], self.classes.diversity[: self.n_classes]
        return float(size @ diversity + int((labels < 0).sum()) * self.whole) / self.fixed.unit


def _empty_counts(n_classes: int, tally: Any) -> Any:
    from shoal.kernels import repair as kernel

    n_values, n_goals = len(tally.counts), len(tally.pairs)
    n_values = n_values if n_classes * n_values <= _MOST_COUNTS else 0
    return kernel.Counts(
        np.zeros((n_classes, n_values), np.int64), np.zeros((n_classes, n_goals), np.int64),
        np.zeros((n_classes, n_goals), np.int64), np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.bool_),
    )  # fmt: skip
