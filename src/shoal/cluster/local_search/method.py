"""Local search, shoal's own method."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import IntArray
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.cluster.local_search.alike import joined, set_apart
from shoal.cluster.local_search.cell import highest_costs, whole_cell
from shoal.cluster.local_search.partition import Partition
from shoal.cluster.local_search.rounds import search
from shoal.cluster.local_search.schedule import Schedule
from shoal.cluster.local_search.splits import split_large
from shoal.cluster.local_search.start import cut_from_above
from shoal.cluster.local_search.workers import Workers
from shoal.recipe.options import LocalSearchOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded
from shoal.table.fixed import fixed_columns
from shoal.table.readings import Reading, Whd

_START = 0.1  # share of the bar that the start fills


class LocalSearch(Clusterer[LocalSearchOptions]):
    """Cut the table from above where that saves most; then change classes as long as that loses less.

    The start: each cut is the one whose rollout, greedy cuts on both sides down to the last, ends
    best; small cells are also grown from single rows where that loses less. The search: in every
    round the classes are put into new random blocks of near ones. In a block, rows move and swap
    where that loses less, and classes are narrowed, created, rebuilt or dissolved; a step that loses
    more is accepted only with a chance that falls to 0. The best partition seen is kept, so the search
    never makes the start worse. In the end classes of 2k rows or more are split, which never loses more.
    Blocks stay of one size, so a round takes as many of them as there are rows for.

    Parameters: see `Clusterer`. The seed chooses blocks and steps. Options: `effort`, `seconds`,
    `loss`, `beta`.

    Notes
    -----
    Labels depend on the table, the seed and the effort; not on the number of threads. With `seconds`
    they depend on the machine too. Every class has at least k rows and meets every further goal, if
    the whole table does: a cut, a move, a swap or a step that would leave a class without is not made.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> LocalSearch(k=2).fit(encoded).labels
    array([0, 0, 1, 1, 1], dtype=int32)
    """

    options_type = LocalSearchOptions
    keeps_goals = True

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        check_feasible(encoded.n_rows, self.k)
        run = _Run(self, encoded, progress)
        share = encoded.n_rows / (encoded.table_rows or encoded.n_rows)
        return run.result(cut_from_above(run.cell, run.workers, run.tick_start, share))

    def improve(self, encoded: Encoded, labels: IntArray, progress: Tick | None = None) -> ClusterResult:
        """Search from a partition that some other method made, of which every class is good."""
        run = _Run(self, encoded, progress)
        return run.result(run.partition_of(labels))

    def reading(self) -> Reading:
        """Return how nodes of trees are costed."""
        if self.options.loss == "whd":
            return Whd("height", self.options.beta)
        return "height" if self.options.loss == "il" else "leaves"


class _Run:
    """One run: the table as the kernels take it, threads, schedule and progress."""

    def __init__(self, method: LocalSearch, encoded: Encoded, progress: Tick | None) -> None:
        goals, tally = method.goals_and_tally()
        fixed = fixed_columns(encoded, np.arange(encoded.n_rows), method.reading())
        self.cell: Any = whole_cell(fixed, method.k, goals, tally)
        self.tuple_of_row = encoded.tuple_of_row
        self.unit, self.progress = fixed.unit, progress
        self.workers, self.schedule = (
            Workers(goals),
            Schedule(
                method.options, method.k, encoded.table_rows or encoded.n_rows, highest_costs(self.cell)
            ),
        )
        self.random = method.random()

    def partition_of(self, labels: IntArray) -> Partition:
        """Return a partition given by labels."""
        from shoal.kernels.local_search.partition import partition_loss

        rows = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels))
        return Partition(rows, ends, int(partition_loss(self.cell, rows, ends)))

    def tick_start(self, share: float) -> None:
        """Tell how far the start is."""
        if self.progress is not None:
            self.progress(_START * share)

    def tick(self, share: float, loss: int) -> None:
        """Tell how far the search is, and the loss so far."""
        if self.progress is not None:
            self.progress(_START + (1 - _START) * share, f"Total IL {loss / self.unit:,.0f}")

    def result(self, start: Partition) -> ClusterResult:
        """Search from a start on."""
        begun, apart = set_apart(self.cell, start, self.tuple_of_row)
        found = search(self.cell, begun, self.schedule, self.random, self.workers, self.tick)
        found = joined(split_large(self.cell, found, self.cell.tally), apart)
        remark = (
            f"local search, {self.schedule.summary}: "
            f"{1 - found.loss / start.loss if start.loss else 0:.1%} less loss than its start"
        )
        return ClusterResult(found.labels(), (remark,))
