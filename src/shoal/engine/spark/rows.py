"""The rows of a Spark table, for planning its cells: Spark counts and samples, workers cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.arrays import LongArray
from shoal.engine.cells.counts import CellCount
from shoal.engine.cells.sample import OPEN_HIGH, OPEN_LOW, CutSample, Space, key_limit
from shoal.engine.cells.tree import Leaf, Node, Partition, from_lists
from shoal.engine.spark import tasks
from shoal.engine.spark.schema import KEPT, STATE, UNKNOWN_VALUE
from shoal.engine.spark.settings import on_disks
from shoal.failures import guarded_group
from shoal.table.codebook import Codebook
from shoal.table.columns import SensitiveColumn

_WORTHWHILE = 3  # equal rows, on average, that are counted before cells are planned


@dataclass(frozen=True)
class SparkRows:
    """Encoded rows in Spark.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With the columns that `tasks` describes. It may have equal rows once, and in `n` how many they are.
    codebook : Codebook
    counted : CellCount, optional
        The counts of the whole table, where they are known.
    """

    frame: Any
    codebook: Codebook
    counted: CellCount | None = None

    @cached_property
    def space(self) -> Space:
        """The quasi columns as cuts see them."""
        fixed = self.codebook.fixed()
        return Space(fixed.unit, fixed.span, fixed.trees)

    @cached_property
    def root(self) -> CellCount:
        """The counts of the whole table."""
        return self.counted or self._counted(Partition())[0]

    def by_state(self) -> list[CellCount]:
        """Count the rows in each state as cells are counted: one reading for all of them."""
        from pyspark.sql import functions as f

        return self._counts(self.frame.withColumn("cell", f.col(STATE).cast("int")), UNKNOWN_VALUE + 1)

    def kept(self, counted: CellCount) -> SparkRows:
        """Return the rows that are kept, whose counts are known."""
        return SparkRows(self.frame.where(f"{STATE} = {KEPT}").drop(STATE), self.codebook, counted)

    def condensed(self, cell_rows: int) -> SparkRows:
        """Return the rows to plan cells with: equal ones once where that saves much, kept on disks too."""
        from pyspark.sql import functions as f

        with_people = self.codebook.recipe.subject is not None  # which are counted instead of rows
        if with_people or self.root.rows <= cell_rows:
            return self
        different = self.frame.agg(f.approx_count_distinct("key")).collect()[0][0]
        if different * _WORTHWHILE > self.root.rows:
            return self
        codes = [name for name in self.frame.columns if name[0] in "xg"]
        tuples = self.frame.groupBy("key", *codes).agg(f.count(f.lit(1)).alias("n"))
        return SparkRows(on_disks(tuples), self.codebook)

    @property
    def _number(self) -> Any:
        """How many rows one of the frame is."""
        from pyspark.sql import functions as f

        return f.col("n") if "n" in self.frame.columns else f.lit(1)

    @cached_property
    def whole(self) -> tuple[LongArray, ...]:
        """For each goal, how many people of the table have each value."""
        return self.root.values

    @cached_property
    def sensitive(self) -> tuple[SensitiveColumn, ...]:
        """What the goals count, with the counts of the whole table."""
        counted = zip(self.codebook.sensitive, self.whole, strict=True)
        return tuple(replace(book.empty, whole=whole) for book, whole in counted)

    def in_cells(self, partition: Partition, numbers: Sequence[int] | None = None) -> Any:
        """Return the rows with the number of their cell; with `numbers`, that in its place."""
        numbers = range(len(partition.paths)) if numbers is None else numbers
        return self.frame.withColumn("cell", cell_column(partition, numbers))

    def count(self, partition: Partition) -> list[CellCount]:
        """Count every cell exactly."""
        return [self.root] if partition == Partition() else self._counted(partition)

    def _counted(self, partition: Partition) -> list[CellCount]:
        return self._counts(self.in_cells(partition), len(partition.paths))

    def _counts(self, cells: Any, number: int) -> list[CellCount]:
        from pyspark.sql import functions as f

        with_people = self.codebook.recipe.subject is not None
        goals = range(len(self.codebook.sensitive))
        totals = [f.sum(self._number).alias("rows")]
        if with_people:
            totals.append(f.count_distinct("person").alias("people"))
            holders = [f.count_distinct(f.when(f.col(f"g{g}") >= 0, f.col("person"))) for g in goals]
        else:
            holders = [f.sum(f.when(f.col(f"g{g}") >= 0, self._number).otherwise(0)) for g in goals]
        totals += [column.alias(f"h{g}") for g, column in enumerate(holders)]
        found = {row.cell: row.asDict() for row in cells.groupBy("cell").agg(*totals).collect()}
        values = [self._values(cells, g, with_people, number) for g in goals]
        return [_cell_count(found.get(cell), cell, values) for cell in range(number)]

    def _values(self, cells: Any, goal: int, with_people: bool, n_cells: int) -> LongArray:
        """Count the people with each value, by cell."""
        from pyspark.sql import functions as f

        known = cells.where(f.col(f"g{goal}") >= 0).groupBy("cell", f"g{goal}")
        people = f.count_distinct("person") if with_people else f.sum(self._number)
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
            self.in_cells(partition).where(chosen).groupBy("cell", *codes).agg(f.sum(self._number).alias("n"))
        )
        task = tasks.CutCells(self.space, self.sensitive, self.codebook.recipe, cell_rows, dict(rows))
        found = sample.groupBy("cell").applyInArrow(guarded_group(task), "cell int, found string").collect()
        return {row.cell: _cut_sample(json.loads(row.found)) for row in found}


def _cell_count(row: dict[str, int] | None, cell: int, values: list[LongArray]) -> CellCount:
    if row is None:
        return CellCount(0, 0, tuple(counts[cell] for counts in values), (0,) * len(values))
    holders = tuple(row[f"h{g}"] for g in range(len(values)))
    people = row.get("people", row["rows"])
    return CellCount(row["rows"], people, tuple(counts[cell] for counts in values), holders)


def _cut_sample(found: dict[str, Any]) -> CutSample:
    return CutSample(from_lists(found["cuts"]), found["tuples"], tuple(found["codes"]), found["share"])


def cell_column(partition: Partition, numbers: Sequence[int]) -> Any:
    """Return the number of a row's cell as an expression of Spark's."""
    from pyspark.sql import functions as f

    column = _cut_column(partition.cuts, iter(numbers[len(partition.alike) :]))
    for number, group in reversed(list(zip(numbers, partition.alike, strict=False))):
        equal = f.lit(True)
        for at, code in enumerate(group):
            equal = equal & (f.col(f"x{at}") == code)
        column = f.when(equal, f.lit(number)).otherwise(column)
    return column.cast("int")


def _cut_column(node: Node, numbers: Iterator[int]) -> Any:
    """Return the expression of a tree whose cells take their numbers in turn."""
    from pyspark.sql import functions as f

    if isinstance(node, Leaf):
        return f.lit(next(numbers))
    inside, outside = _cut_column(node.inside, numbers), _cut_column(node.outside, numbers)
    code, chosen = f.col(f"x{node.column}"), f.lit(True)
    if node.low != OPEN_LOW:
        chosen = chosen & (code >= node.low)
    if node.high != OPEN_HIGH:
        chosen = chosen & (code <= node.high)
    return f.when(chosen, inside).otherwise(outside)
