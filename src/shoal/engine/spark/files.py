"""Write released rows as a folder of files, in canonical order within and across them.

Classes are parted into files by Spark; each file is sorted and written by one task, with the code that writes
a release on one machine. Which rows a file has depends on the release alone: boundaries are published
classes, from a sample chosen by hashes, and in a class that is larger than a file they are places in the
order of its rows. So neither names nor sizes reveal how the input was stored, and the
same release has the same files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shoal.engine.spark.schema import ROWS, SIZE, rows_of
from shoal.engine.spark.tasks import limit_threads
from shoal.errors import OutputError
from shoal.failures import guarded

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

FILE_ROWS = 250_000
FILE, TIMES = "file", "times"
_SAMPLED = 64  # classes for each boundary


@dataclass(frozen=True)
class Layout:
    """How released rows are written.

    Parameters
    ----------
    keys : tuple of str
        The published quasi columns, in the order by which rows are sorted.
    others : tuple of str
        The columns that rows of one class are sorted by.
    columns : tuple of (str, str)
        Each column in the order of the table, with its real name.
    """

    keys: tuple[str, ...]
    others: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


def in_files(pieces: Any, layout: Layout, rows: int, classes: int) -> Any:
    """Return published classes with the number of their file, those of one file together.

    A class that is larger than a file is cut too, where its other columns say, and then has several lines.
    """
    from pyspark.sql import functions as f

    bounds, starts, number = _boundaries(pieces, layout.keys, max(1, ceil(rows / FILE_ROWS)), classes)
    file = _file_of(layout.keys, bounds, starts).cast("int").alias(FILE)
    numbered = pieces.select(*layout.keys, ROWS, file)
    if number > len(bounds) + 1:
        numbered = _with_large_cut(numbered, layout)
    return numbered.repartitionById(number, f.col(FILE)) if number > 1 else numbered.coalesce(1)


def _boundaries(
    pieces: Any, keys: Sequence[str], number: int, classes: int
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]], int]:
    """Return where files begin, at about equal numbers of rows.

    That is the first class of each stretch of files but the first; for each stretch its first file, and how
    many files its first class has alone; and the number of all files.
    """
    from pyspark.sql import functions as f

    if number < 2:
        return [], [(0, 0)], 1
    of_classes = pieces.groupBy(*keys).agg(f.sum(SIZE).alias("count"))
    share = max(1, classes // (number * _SAMPLED))
    is_large = f.col("count") > FILE_ROWS
    sample = of_classes.where(is_large | (f.pmod(f.xxhash64(*keys), f.lit(share)) == 0))
    found = sample.orderBy(*(f.col(name).asc_nulls_last() for name in keys)).collect()
    large = [row["count"] for row in found if row["count"] > FILE_ROWS]
    total, seen, made = sum(row["count"] for row in found) - sum(large), 0, 0
    number = max(1, number - sum(large) // FILE_ROWS)
    bounds: list[tuple[Any, ...]] = []
    starts = [(0, 0)]
    for row in found:
        is_alone = row["count"] > FILE_ROWS
        if is_alone or (made < number - 1 and seen * number >= total * (made + 1)):
            bounds.append(tuple(row[name] for name in keys))
            alone = ceil(row["count"] / FILE_ROWS) if is_alone else 0
            starts.append((sum(starts[-1]) + 1, alone))
            made += not is_alone
        seen += 0 if is_alone else row["count"]
    return bounds, starts, sum(starts[-1]) + 1


def _file_of(
    keys: Sequence[str],
    bounds: Sequence[tuple[Any, ...]],
    starts: Sequence[tuple[int, int]],
    begin: tuple[Any, ...] = (),
) -> Any:
    """Return the number of a class's file, found by halving; of a large one the first, as -1 - number."""
    from pyspark.sql import functions as f

    if not bounds:
        first, alone = starts[0]
        if not alone:
            return f.lit(first)
        same = reduce(and_, (f.col(key).eqNullSafe(f.lit(end)) for key, end in zip(keys, begin, strict=True)))
        return f.when(same, f.lit(-1 - first)).otherwise(f.lit(first + alone))
    middle = len(bounds) // 2
    before = _file_of(keys, bounds[:middle], starts[: middle + 1], begin)
    return f.when(_is_before(keys, bounds[middle]), before).otherwise(
        _file_of(keys, bounds[middle + 1 :], starts[middle + 1 :], bounds[middle])
    )


def _with_large_cut(numbered: Any, layout: Layout) -> Any:
    """Cut large classes into files of equal numbers of rows, in the order of their rows.

    Equal rows are counted and sorted once, so that a class in which most rows are equal is little work; these
    may be parted at any place.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    keys, others = layout.keys, layout.others
    kept = f.transform(ROWS, lambda row: _row_of({name: row[name] for name in others}))
    small = numbered.where(f"{FILE} >= 0").select(*keys, kept.alias(ROWS), f.lit(1).alias(TIMES), FILE)
    rows = numbered.where(f"{FILE} < 0").select(*keys, FILE, f.explode(ROWS).alias("row"))
    rows = rows.select(*keys, FILE, *(f.col(f"row.{name}") for name in others))
    counted = rows.groupBy(FILE, *(f.col(name).cast("string").alias(f"{name}_") for name in others))
    firsts = [f.first(name).alias(name) for name in (*keys, *others)]  # 0.0 and -0.0 are different texts
    different = counted.agg(*firsts, f.count(f.lit(1)).alias("n"))
    order = [f.col(name).asc_nulls_last() for name in others] + [f.col(f"{name}_") for name in others]
    above = Window.partitionBy(FILE).orderBy(*(order or [f.lit(0)])).rowsBetween(Window.unboundedPreceding, 0)
    end = f.sum("n").over(above)
    placed = different.withColumn("end", end).withColumn("begin", f.col("end") - f.col("n"))
    parts = f.sequence(f.expr(f"begin DIV {FILE_ROWS}"), f.expr(f"(end - 1) DIV {FILE_ROWS}"))
    parted = placed.withColumn("part", f.explode(parts))
    first, last = f.col("part") * FILE_ROWS, (f.col("part") + 1) * FILE_ROWS
    times = f.least(f.col("end"), last) - f.greatest(f.col("begin"), first)
    large = parted.select(
        *keys,
        f.array(_row_of({name: f.col(name) for name in others})).alias(ROWS),
        times.cast("int").alias(TIMES),
        (-1 - f.col(FILE) + f.col("part")).cast("int").alias(FILE),
    )
    return small.unionByName(large)


def _row_of(cells: Mapping[str, Any]) -> Any:
    """Return the other columns of a row; where there are none, something in their place."""
    from pyspark.sql import functions as f

    return f.struct(
        *(cell.alias(name) for name, cell in cells.items()) if cells else [f.lit(0).alias("none")]
    )


def _is_before(keys: Sequence[str], bound: tuple[Any, ...]) -> Any:
    """Compare a row with a boundary, column by column; a missing value comes after all others."""
    from pyspark.sql import functions as f

    before = f.lit(False)
    for name, end in reversed(list(zip(keys, bound, strict=True))):
        column = f.col(name)
        if end is None:
            before = column.isNotNull() | before
        else:
            less, equal = column < f.lit(end), column == f.lit(end)
            before = column.isNotNull() & (less | (equal & before))
    return before


def write_files(pieces: Any, layout: Layout, folder: Path, *, spreadsheet_safe: bool) -> list[Path]:
    """Write the classes that `in_files` returns into a folder; return the files in order.

    Spark may run a task several times, also at the same time. Each attempt writes files of its own, and only
    those are returned whose attempt Spark has chosen.
    """
    import polars as pl

    task = WriteFiles(layout, str(folder.absolute()), folder.suffix, spreadsheet_safe)
    found = pieces.mapInArrow(guarded(task), "file int, name string, fault string").collect()
    faults = sorted(row.fault for row in found if row.fault is not None)
    if faults:
        hint = "the output has to be a path that the driver and all workers share, with room for the release"
        raise OutputError("output.unwritable", faults[0], hint)
    if not found:  # no row is released
        none = rows_of(pieces).select(*layout.keys, *layout.others).limit(0).toArrow()
        return [folder / task.write(pl.DataFrame(pl.from_arrow(none)))]
    return [folder / row.name for row in sorted(found, key=lambda row: int(row.file))]


@dataclass(frozen=True)
class WriteFiles:
    """Sort the rows of a file and write it, in the format and dialect of a release on one machine."""

    layout: Layout
    folder: str
    ending: str
    spreadsheet_safe: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the files of a part, one as a rule; return their names, or why they cannot be written."""
        limit_threads()
        import polars as pl
        import pyarrow as pa

        waiting = [batch for batch in batches if batch.num_rows]
        if not waiting:
            return
        pieces = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(waiting)))
        for number in pieces[FILE].unique().sort():
            name = fault = None
            try:
                name = self.write(self._sorted(pieces.filter(pl.col(FILE) == number)))
            except OutputError as error:  # Spark would wrap it into a text of its own
                fault = error.message
            columns = [pa.array([number], pa.int32()), *(pa.array([t], pa.string()) for t in (name, fault))]
            yield pa.RecordBatch.from_arrays(columns, names=["file", "name", "fault"])

    def write(self, rows: pl.DataFrame) -> str:
        """Write rows under a name that no other attempt has; return it. The folder has to be there."""
        import polars as pl

        from shoal.table.write import write_table

        if not Path(self.folder).is_dir():
            place = Path(self.folder).parents[1]
            raise OutputError("output.unwritable", f"A worker does not find the output's folder {place}.")
        named = pl.DataFrame({real: rows[plain] for plain, real in self.layout.columns})
        made = Path(self.folder, f"{uuid4().hex}{self.ending}")
        write_table(named, made, spreadsheet_safe=self.spreadsheet_safe)
        return made.name

    def _sorted(self, pieces: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of classes in canonical order; what several cells have of a class is joined."""
        import numpy as np
        import polars as pl

        keys, others = list(self.layout.keys), list(self.layout.others)
        ordered = pieces.sort(keys, nulls_last=True)
        at = ordered.select(pl.struct(keys).rle_id()).to_series().to_numpy()
        classes = ordered.select(keys)[np.flatnonzero(np.diff(at, prepend=-1))]
        sizes = ordered[ROWS].list.len().to_numpy()
        cells = ordered[ROWS].explode().struct.unnest()
        rows = pl.DataFrame({"at": np.repeat(at, sizes), **{name: cells[name] for name in others}})
        if TIMES in ordered.columns:
            times = np.repeat(ordered[TIMES].to_numpy(), sizes)
            rows = rows[np.repeat(np.arange(rows.height), times)]
        rows = rows.sort("at", *others, nulls_last=True)
        return classes[rows["at"]].with_columns(rows[name] for name in others)
