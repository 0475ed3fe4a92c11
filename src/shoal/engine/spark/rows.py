"""The rows of a Spark table, for planning its cells: Spark counts and samples, workers cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import count
from operator import and_
from typing import Any

import numpy as np

from shoal.arrays import LongArray
from shoal.engine.cells.counts import CellCount
from shoal.engine.cells.sample import CutSample, Space, key_limit
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
        return with_cells(self.frame, partition, len(self.codebook.quasi))

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


def with_cells(frame: Any, partition: Partition, n_columns: int) -> Any:
    """Return rows with the number of their cell.

    The cuts are a table in which each row walks from the root to a leaf, one column of Spark's for each step.
    A single expression of all cuts would be as long as there are cells, and soon too long to be compiled.
    """
    from pyspark.sql import functions as f

    steps, depth = _steps(partition.cuts)
    column, low, high, inside, outside = (f.array(*map(f.lit, numbers)) for numbers in steps)
    codes = f.array(*(f.col(f"x{at}") for at in range(n_columns)))
    walking = frame.withColumns({"codes": codes, "at": f.lit(0 if depth else -1)})
    for _ in range(depth):
        at = f.col("at")
        code = f.get("codes", f.get(column, at))
        is_inside = (code >= f.get(low, at)) & (code <= f.get(high, at))
        chosen = f.when(is_inside, f.get(inside, at)).otherwise(f.get(outside, at))
        walking = walking.withColumn("at", f.when(at < 0, at).otherwise(chosen))
    cell = len(partition.alike) - 1 - f.col("at")
    for number, group in reversed(list(enumerate(partition.alike))):
        equal = reduce(and_, (f.col(f"x{at}") == code for at, code in enumerate(group)))
        cell = f.when(equal, f.lit(number)).otherwise(cell)
    return walking.withColumn("cell", cell.cast("int")).drop("codes", "at")


def _steps(root: Node) -> tuple[list[list[int]], int]:
    """Return the cuts of a tree as lists, and its depth.

    The lists are the columns, the lows, the highs, and where one goes inside and outside: to another cut, or
    to a leaf, whose number n is written -1 - n.
    """
    cuts: list[list[int]] = []
    leaves = count()

    def add(node: Node) -> tuple[int, int]:
        if isinstance(node, Leaf):
            return -1 - next(leaves), 0
        at = len(cuts)
        cuts.append([node.column, node.low, node.high])
        inside, outside = add(node.inside), add(node.outside)
        cuts[at] += [inside[0], outside[0]]
        return at, 1 + max(inside[1], outside[1])

    _, depth = add(root)
    return [list(numbers) for numbers in zip(*cuts, strict=True)] or [[0]] * 5, depth
