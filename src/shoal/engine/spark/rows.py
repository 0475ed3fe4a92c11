"""The rows of a Spark table, for planning its cells: Spark counts and samples, workers cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.arrays import LongArray
from shoal.engine.cells.counts import CellCount
from shoal.engine.cells.sample import OPEN_HIGH, OPEN_LOW, CutSample, Space, key_limit
from shoal.engine.cells.tree import Leaf, Node, Partition, from_lists
from shoal.engine.spark import tasks
from shoal.table.codebook import Codebook
from shoal.table.columns import SensitiveColumn


@dataclass(frozen=True)
class SparkRows:
    """Encoded rows in Spark.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With the columns that `tasks` describes.
    codebook : Codebook
    """

    frame: Any
    codebook: Codebook

    @cached_property
    def space(self) -> Space:
        """The quasi columns as cuts see them."""
        fixed = self.codebook.fixed()
        return Space(fixed.unit, fixed.span, fixed.trees)

    @cached_property
    def root(self) -> CellCount:
        """The counts of the whole table."""
        return self._counted(Partition())[0]

    @cached_property
    def whole(self) -> tuple[LongArray, ...]:
        """For each goal, how many people of the table have each value."""
        return self.root.values

    @cached_property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        """What the goals count, with the counts of the whole table."""
        counted = zip(self.codebook.sensitive, self.whole, strict=True)
        return tuple(replace(book.empty, whole=whole) for book, whole in counted)

    def in_cells(self, partition: Partition) -> Any:
        """Return the rows with the number of their cell."""
        return self.frame.withColumn("cell", cell_column(partition))

    def count(self, partition: Partition) -> list[CellCount]:
        """Count every cell exactly."""
        return [self.root] if partition == Partition() else self._counted(partition)

    def _counted(self, partition: Partition) -> list[CellCount]:
        from pyspark.sql import functions as f

        cells, with_people = self.in_cells(partition), self.codebook.recipe.subject is not None
        goals = range(len(self.codebook.sensitive))
        totals = [f.count(f.lit(1)).alias("rows")]
        if with_people:
            totals.append(f.count_distinct("person").alias("people"))
            holders = [f.count_distinct(f.when(f.col(f"g{g}") >= 0, f.col("person"))) for g in goals]
        else:
            holders = [f.count(f.when(f.col(f"g{g}") >= 0, 1)) for g in goals]
        totals += [column.alias(f"h{g}") for g, column in enumerate(holders)]
        found = {row.cell: row.asDict() for row in cells.groupBy("cell").agg(*totals).collect()}
        values = [self._values(cells, g, with_people, len(partition.paths)) for g in goals]
        return [_cell_count(found.get(cell), cell, values) for cell in range(len(partition.paths))]

    def _values(self, cells: Any, goal: int, with_people: bool, n_cells: int) -> LongArray:
        """Count the people with each value, by cell."""
        from pyspark.sql import functions as f

        known = cells.where(f.col(f"g{goal}") >= 0).groupBy("cell", f"g{goal}")
        people = f.count_distinct("person") if with_people else f.count(f.lit(1))
        counts = np.zeros((n_cells, self.codebook.sensitive[goal].empty.n_values), np.int64)
        for row in known.agg(people.alias("n")).collect():
            counts[row.cell, row[f"g{goal}"]] = row.n
        return counts

    def cut(
        self, partition: Partition, rows: Mapping[int, int], shares: Mapping[int, float], cell_rows: int
    ) -> dict[int, CutSample]:
        """Sample and cut the cells listed, on the workers."""
        from pyspark.sql import functions as f

        limits = {cell: key_limit(share) >> 1 for cell, share in shares.items()}
        chosen = f.lit(False)
        for cell, limit in limits.items():
            chosen = chosen | ((f.col("cell") == cell) & (f.col("key") <= limit))
        codes = [name for name in self.frame.columns if name[0] in "xg"]
        sample = (
            self.in_cells(partition).where(chosen).groupBy("cell", *codes).agg(f.count(f.lit(1)).alias("n"))
        )
        task = tasks.CutCells(self.space, self.sensitive, self.codebook.recipe, cell_rows, dict(rows))
        found = sample.groupBy("cell").applyInArrow(tasks.by_group(task), "cell int, found string").collect()
        return {row.cell: _cut_sample(json.loads(row.found)) for row in found}


def _cell_count(row: dict[str, int] | None, cell: int, values: list[LongArray]) -> CellCount:
    if row is None:
        return CellCount(0, 0, tuple(counts[cell] for counts in values), (0,) * len(values))
    holders = tuple(row[f"h{g}"] for g in range(len(values)))
    people = row.get("people", row["rows"])
    return CellCount(row["rows"], people, tuple(counts[cell] for counts in values), holders)


def _cut_sample(found: dict[str, Any]) -> CutSample:
    return CutSample(from_lists(found["cuts"]), found["tuples"], tuple(found["codes"]), found["share"])


def cell_column(partition: Partition) -> Any:
    """Return the number of a row's cell as an expression of Spark's."""
    from pyspark.sql import functions as f

    column = _cut_column(partition.cuts, len(partition.alike))[0]
    for number, group in reversed(list(enumerate(partition.alike))):
        equal = f.lit(True)
        for at, code in enumerate(group):
            equal = equal & (f.col(f"x{at}") == code)
        column = f.when(equal, f.lit(number)).otherwise(column)
    return column.cast("int")


def _cut_column(node: Node, number: int) -> tuple[Any, int]:
    """Return the expression of a tree whose cells are numbered from `number` on, and the next number."""
    from pyspark.sql import functions as f

    if isinstance(node, Leaf):
        return f.lit(number), number + 1
    inside, number = _cut_column(node.inside, number)
    outside, number = _cut_column(node.outside, number)
    code, chosen = f.col(f"x{node.column}"), f.lit(True)
    if node.low != OPEN_LOW:
        chosen = chosen & (code >= node.low)
    if node.high != OPEN_HIGH:
        chosen = chosen & (code <= node.high)
    return f.when(chosen, inside).otherwise(outside), number
