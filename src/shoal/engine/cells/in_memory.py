"""A table in memory, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster.clusterer import ClusterResult
from shoal.cluster.registry import MethodInfo
from shoal.engine.cells.clustering import cell_view, cluster_cell, line_of, recipe_of_cells
from shoal.engine.cells.counts import CellCount, Feasible
from shoal.engine.cells.planning import Plan, plan_cells
from shoal.engine.cells.sample import CutSample, Sample, Space, cut_by, key_limit, sample_keys, sample_of
from shoal.engine.cells.tree import Partition
from shoal.engine.clustering import rows_with_values
from shoal.privacy.goalset import people_by_value
from shoal.recipe import Recipe
from shoal.stages import Tick
from shoal.table.columns import Encoded, RangeColumn
from shoal.table.fixed import fixed_columns


def cluster_cells(
    encoded: Encoded, recipe: Recipe, method: MethodInfo, cell_rows: int, progress: Tick | None = None
) -> ClusterResult:
    """Label all rows, cell by cell."""
    inside = rows_with_values(encoded, recipe, recipe.privacy.may_suppress(encoded.n_rows))
    part = encoded if inside.all() else encoded.take(inside)
    rows = RowsInMemory(part, recipe)
    plan = plan_cells(rows, Feasible(rows.sensitive, recipe), cell_rows)
    cell_recipe = recipe_of_cells(recipe, encoded.n_rows, int((~inside).sum()))
    labels = np.full(encoded.n_rows, -1, np.int32)
    labels[inside] = _label(rows, plan, cell_recipe, method, progress)
    return ClusterResult(labels, (cells_remark(plan, cell_rows),))


def cells_remark(plan: Plan, cell_rows: int) -> str:
    """Say into how many cells a table was parted."""
    number = len(plan.counts)
    cells = "1 cell" if number == 1 else f"{number:,} cells"
    return f"{cells} of up to {cell_rows:,} rows, each clustered by itself"


def _label(
    rows: RowsInMemory, plan: Plan, recipe: Recipe, method: MethodInfo, progress: Tick | None
) -> IntArray:
    labels = np.full(rows.encoded.n_rows, -1, np.int32)
    lines = {c.name: line_of(c) for c in rows.encoded.columns if isinstance(c, RangeColumn)}
    members = rows.members(plan.partition)
    classes = done = 0
    for path, chosen in zip(plan.partition.paths, members, strict=True):
        view = cell_view(rows.encoded, chosen, rows.sensitive, lines)
        found = cluster_cell(view, recipe, method, path)
        labels[chosen] = np.where(found.labels >= 0, found.labels + classes, -1)
        classes += found.n_classes
        done += len(chosen)
        if progress is not None:
            progress(done / len(labels))
    return labels


class RowsInMemory:
    """The rows of an encoded table, for planning its cells."""

    def __init__(self, encoded: Encoded, recipe: Recipe) -> None:
        self.encoded, self.recipe = encoded, recipe
        fixed = fixed_columns(encoded, np.arange(encoded.n_rows))
        self.space = Space(fixed.unit, fixed.span, fixed.trees)
        self.codes: IntArray = np.concatenate([fixed.position, fixed.leaf])
        self.person = np.arange(encoded.n_rows, dtype=np.int32) if encoded.person is None else encoded.person
        everyone = np.ones(encoded.n_rows, dtype=bool)
        self.sensitive = tuple(
            replace(column, whole=people_by_value(column, self.person, everyone))
            for column in encoded.sensitive
        )

    def members(self, partition: Partition) -> list[LongArray]:
        """Return the rows of each cell, in canonical order."""
        cells = partition.route(self.codes)
        sizes = np.bincount(cells, minlength=len(partition.paths))
        return np.split(np.argsort(cells, kind="stable"), np.cumsum(sizes)[:-1])

    def count(self, partition: Partition) -> list[CellCount]:
        """Count every cell."""
        return [self._count(rows) for rows in self.members(partition)]

    def _count(self, rows: LongArray) -> CellCount:
        person, everyone = self.person[rows], np.ones(len(rows), dtype=bool)
        columns = [replace(column, codes=column.codes[rows]) for column in self.sensitive]
        return CellCount(
            rows=len(rows),
            people=len(np.unique(person)),
            values=tuple(people_by_value(column, person, everyone) for column in columns),
            holders=tuple(len(np.unique(person[column.codes >= 0])) for column in columns),
        )

    def cut(
        self, partition: Partition, rows: Mapping[int, int], shares: Mapping[int, float], cell_rows: int
    ) -> dict[int, CutSample]:
        """Sample and cut the cells listed."""
        members, keys = self.members(partition), sample_keys(self.codes, self.recipe.method.seed)
        found = {}
        for number, size in rows.items():
            chosen = members[number][keys[members[number]] <= np.uint64(key_limit(shares[number]))]
            if len(chosen):
                sample = self._sample(chosen, size)
                found[number] = cut_by(self.space, sample, self.recipe, cell_rows)
        return found

    def _sample(self, rows: LongArray, size: int) -> Sample:
        goals = [column.codes[rows] for column in self.sensitive]
        keys = np.concatenate([self.codes[:, rows], np.array(goals, np.int32).reshape(len(goals), len(rows))])
        return sample_of(keys, np.ones(len(rows), np.int64), self.sensitive, size)
