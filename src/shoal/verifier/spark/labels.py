"""The form of published cells, findings at on the executors: different cells go in, tallies come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

from shoal.failures import guarded
from shoal.recipe import Recipe
from shoal.verifier.cells.published import CellFindings, looked_at, report_cells, tally_cells
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.spark.classes import Source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_TALLY = "place int, kind string, outcome string, cells bigint, n_rows bigint"


def check_labels(source: Source) -> CellFindings:
    """Look at every different cell of every quasi column; all columns by one query."""
    from pyspark.sql import functions as sql

    columns = looked_at(source.table, source.recipe)
    tallies: dict[str, dict[tuple[str, str], tuple[int, int]]] = {name: {} for name in columns}
    if columns:
        different = [_different(source, at, published) for at, published in enumerate(columns.values())]
        looks = _looking(source.recipe, list(columns.items()), marked=source.table.marked)
        tallied = reduce(lambda one, other: one.unionAll(other), different).mapInArrow(guarded(looks), _TALLY)
        summed = tallied.groupBy("place", "kind", "outcome").agg(sql.sum("cells"), sql.sum("n_rows"))
        for at, kind, outcome, cells, rows in summed.collect():
            tallies[list(columns)[at]][kind, outcome] = (int(cells), int(rows))
    return report_cells(source.recipe, columns, tallies)


def _different(source: Source, at: int, published: list[str]) -> DataFrame:
    """Return the different cells of a column, or pairs of ends, and how many rows have each."""
    from pyspark.sql import functions as sql

    columns = [source.table.column(name) for name in published]
    grouped = source.classes.groupBy(*columns).agg(sql.sum("n_rows").alias("n_rows"))
    return grouped.select(
        sql.lit(at).alias("place"),
        sql.col(columns[0]).alias("low"),
        sql.col(columns[-1]).alias("high"),
        "n_rows",
    )


def _looking(
    recipe: Recipe, columns: list[tuple[str, list[str]]], *, marked: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what tallies batches of cells, each with the place of its column in the list."""
    bare: Callable[[str], str] = plain if marked else str

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        types = pa.int32(), pa.string(), pa.string(), pa.int64(), pa.int64()
        for batch in batches:
            cells: dict[int, list[Any]] = {}
            for at, low, high, rows in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                ends = (low, high)[: len(columns[at][1])]
                texts = tuple(text if text is None else bare(text) for text in ends)
                cells.setdefault(at, []).append((texts, rows))
            found = [
                (at, *outcome, *numbers)
                for at, each in cells.items()
                for outcome, numbers in tally_cells(recipe, columns[at][0], each).items()
            ]
            lists = list(zip(*found, strict=True)) or [()] * len(types)
            arrays = [pa.array(values, of) for values, of in zip(lists, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=["place", "kind", "outcome", "cells", "n_rows"])

    return look
