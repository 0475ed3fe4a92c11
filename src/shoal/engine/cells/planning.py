"""Part a table into cells: cut large ones on a sample, count exactly, merge those that cannot stay alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from shoal.engine.cells.counts import CellCount, Feasible
from shoal.engine.cells.sample import FEWEST_TUPLES, SAMPLE_TUPLES, CutSample
from shoal.engine.cells.tree import LEAF, Leaf, Partition, is_alike, replaced, without


class Rows(Protocol):
    """A table that can be counted and sampled, wherever its rows are."""

    def count(self, partition: Partition) -> list[CellCount]:
        """Count every cell exactly, in the order of their numbers."""

    def cut(
        self, partition: Partition, rows: Mapping[int, int], shares: Mapping[int, float], cell_rows: int
    ) -> dict[int, CutSample]:
        """Draw a share of each cell listed, with so many rows, and cut it; none for an empty sample."""


@dataclass(frozen=True)
class Plan:
    """The cells of a table, with their counts."""

    partition: Partition
    counts: list[CellCount]

    @property
    def largest(self) -> int:
        """Rows of the largest cell that is clustered; equal rows need no clustering."""
        cells = zip(self.partition.paths, self.counts, strict=True)
        return max((cell.rows for path, cell in cells if not is_alike(path)), default=0)


def plan_cells(rows: Rows, feasible: Feasible, cell_rows: int) -> Plan:
    """Part a table into cells of at most `cell_rows` rows, each of which can be clustered by itself.

    A cell stays larger where no cut leaves two cells that meet the goals.
    """
    cut = _cut_large(rows, Plan(Partition(), rows.count(Partition())), cell_rows)
    return _merge_failing(rows, cut, feasible)


def _cut_large(rows: Rows, plan: Plan, cell_rows: int) -> Plan:
    """Cut cells that are too large, round by round, until none is left that can be cut."""
    uncut: frozenset[str] = frozenset()
    while True:
        partition = plan.partition
        large = {
            number: plan.counts[number].rows
            for number, path in enumerate(partition.paths)
            if plan.counts[number].rows > cell_rows and path not in uncut and not is_alike(path)
        }
        if not large:
            return plan
        partition, given_up = _with_cuts(partition, _samples(rows, partition, large, cell_rows))
        uncut |= given_up
        if partition != plan.partition:
            plan = Plan(partition, rows.count(partition))


def _samples(
    rows: Rows, partition: Partition, large: Mapping[int, int], cell_rows: int
) -> dict[int, CutSample]:
    """Sample and cut every large cell; again with a larger share where equal rows left too few."""
    shares = {number: min(1.0, SAMPLE_TUPLES / size) for number, size in large.items()}
    found: dict[int, CutSample] = {}
    while shares:
        drawn = rows.cut(partition, {number: large[number] for number in shares}, shares, cell_rows)
        again = {}
        for number, share in shares.items():
            sample = drawn.get(number)
            tuples = 0 if sample is None else sample.tuples
            if tuples < FEWEST_TUPLES and share < 1.0:
                again[number] = min(1.0, share * max(4.0, SAMPLE_TUPLES / max(1, tuples)))
            elif sample is not None:
                found[number] = sample
        shares = again
    return found


def _with_cuts(partition: Partition, found: Mapping[int, CutSample]) -> tuple[Partition, frozenset[str]]:
    """Return the partition with the cuts found, and the cells for which there is none."""
    numbered = dict(enumerate(partition.paths))
    cuts = {numbered[number]: sample.cuts for number, sample in found.items()}
    uncut = {numbered[number]: sample for number, sample in found.items() if isinstance(sample.cuts, Leaf)}
    # Where most rows are equal, no cut helps: they are a cell of their own, and the others are cut again.
    alike = {path: sample.codes for path, sample in uncut.items() if 2 * sample.share > 1}
    tree = replaced(partition.cuts, lambda path: cuts.get(path, LEAF))
    groups = tuple(dict.fromkeys((*partition.alike, *alike.values())))
    return Partition(tree, groups), frozenset(path for path in uncut if path not in alike)


def _merge_failing(rows: Rows, plan: Plan, feasible: Feasible) -> Plan:
    """Undo cuts until every cell can be clustered; one cell of all rows is left to the clusterer."""
    while True:
        cells = zip(plan.partition.paths, plan.counts, strict=True)
        failing = frozenset(path for path, cell in cells if not feasible(cell))
        partition = _without(plan.partition, failing)
        if partition == plan.partition:
            return plan
        plan = Plan(partition, rows.count(partition))


def _without(partition: Partition, failing: frozenset[str]) -> Partition:
    """Return the partition without what made failing cells."""
    kept = tuple(
        group for path, group in zip(partition.paths, partition.alike, strict=False) if path not in failing
    )
    if len(kept) < len(partition.alike):
        return replace(partition, alike=kept)
    if isinstance(partition.cuts, Leaf):
        return Partition() if "" in failing else partition
    return replace(partition, cuts=without(partition.cuts, failing))
