"""Rows that join classes one at a time, as in OKA and in systematic clustering."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from shoal.arrays import LongArray
from shoal.cluster import evening
from shoal.stages import Tick
from shoal.table.columns import Encoded
from shoal.table.fixed import fixed_columns

ROWS_TIMES_CLASSES = 200_000_000  # between two calls progress is shown and an interruption is seen
_NO_LIMIT = 1 << 62


class Joining(ABC):
    """The labels of the rows that have joined a class, and the calls of the kernel.

    All rows join some class. Then classes above k give up rows, and these fill the classes below k.

    Without privacy goals every class has at least k rows in the end: as long as one has fewer, only such
    classes receive, and the rows given up suffice, because there are n >= k x floor(n / k) rows.

    With goals, a class that meets them keeps the rows without which it would not, and a row given up goes
    first to classes that it brings nearer to theirs. Then other classes may be left with fewer than k rows,
    to be repaired afterwards.

    Parameters
    ----------
    encoded : Encoded
    n_classes : int
    goals : kernels.goals.Goals or None
    progress : Tick or None
    n_expected : float
        How many times a row joins a class, about.
    per_call : int
        Rows times classes that one call of the kernel may look at.
    """

    boxes: bool  # classes are boxes, else centroids

    def __init__(
        self,
        encoded: Encoded,
        n_classes: int,
        goals: Any,
        progress: Tick | None,
        n_expected: float,
        per_call: int,
    ) -> None:
        self.encoded, self.n, self.goals = encoded, encoded.n_rows, goals
        self.fixed = fixed_columns(encoded, np.arange(self.n))
        self.labels = np.full(self.n, -1, np.int32)
        self.kept = np.ones(n_classes, dtype=bool)
        self.progress, self.n_expected, self.per_call = progress, n_expected, per_call
        self.done = 0

    @abstractmethod
    def classes(self) -> Any:
        """Return the boxes or the centroids of all classes."""

    @abstractmethod
    def kernel(self) -> Any:
        """Return the kernel that lets rows join."""

    def cluster(self, seeds: LongArray) -> None:
        """Open a class with each seed; every other row, in canonical order, joins one."""
        self.labels[:] = -1
        self.labels[seeds] = np.arange(len(seeds))
        self._join(np.delete(np.arange(self.n), seeds), _NO_LIMIT, prefers=False)

    def fill(self, rows: LongArray, k: int) -> None:
        """Let rows that were given up join the classes below k, and when there is none, any."""
        placed = self._join(rows, k)
        self._join(rows[placed:], _NO_LIMIT)

    def _join(self, rows: LongArray, limit: int, *, prefers: bool = True) -> int:
        """Let rows join classes that have fewer than `limit`; return how many could.

        With `prefers`, rows go first to classes that they bring nearer to the privacy goals.
        """
        from shoal.kernels.joining import DONE, OPEN, Settings, costs_of

        fixed, kernel, classes = self.fixed, self.kernel(), self.classes()
        is_open = np.flatnonzero((classes.size < limit) & self.kept)
        classes = type(classes)(*(np.ascontiguousarray(values[..., is_open]) for values in classes))
        n_columns, most_nodes = len(fixed.span) + len(fixed.leaf), len(fixed.trees.parent)
        costs = costs_of(is_open, n_columns, most_nodes, boxes=self.boxes)
        cursor = np.zeros(2, np.int64)
        cursor[OPEN] = len(is_open)
        settings = Settings(limit, max(1, self.per_call // max(1, len(is_open))))
        wants = evening.wants_of(self.goals, self.labels, len(self.kept), prefers=prefers)
        goals = None if wants is None else self.goals
        while cursor[DONE] < len(rows) and cursor[OPEN] > 0:
            kernel(
                rows, fixed.position, fixed.leaf, classes, costs, fixed.trees, fixed.span, self.labels,
                goals, wants, cursor, settings,
            )  # fmt: skip
            if self.progress is not None:
                self.progress(min(1.0, (self.done + int(cursor[DONE])) / self.n_expected))
        self.done += int(cursor[DONE])
        return int(cursor[DONE])
