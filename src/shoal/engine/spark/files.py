"""Write released rows as a folder of files, in canonical order within and across them.

Classes are parted into files by Spark; each file is sorted and written by one task, with the code that writes
a release on one machine. Which rows a file has depends on the release alone: boundaries are published
classes, from a sample chosen by hashes. So neither names nor sizes reveal how the input was stored, and the
same release has the same files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
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
FILE = "file"
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
    """Return published classes with the number of their file, those of one file together."""
    from pyspark.sql import functions as f

    bounds = _boundaries(pieces, layout.keys, max(1, ceil(rows / FILE_ROWS)), classes)
    numbered = pieces.select(*layout.keys, ROWS, _file_of(layout.keys, bounds).cast("int").alias(FILE))
    return numbered.repartitionById(len(bounds) + 1, f.col(FILE)) if bounds else numbered.coalesce(1)


def _boundaries(pieces: Any, keys: Sequence[str], number: int, classes: int) -> list[tuple[Any, ...]]:
    """Return the first class of each file but the first, at about equal numbers of rows."""
    from pyspark.sql import functions as f

    if number < 2:
        return []
    of_classes = pieces.groupBy(*keys).agg(f.sum(SIZE).alias("count"))
    share = max(1, classes // (number * _SAMPLED))
    sample = of_classes.where(f.pmod(f.xxhash64(*keys), f.lit(share)) == 0)
    found = sample.orderBy(*(f.col(name).asc_nulls_last() for name in keys)).collect()
    total, seen = sum(row["count"] for row in found), 0
    bounds: list[tuple[Any, ...]] = []
    for row in found:
        if seen * number >= total * (len(bounds) + 1):
            bounds.append(tuple(row[name] for name in keys))
        seen += row["count"]
    return bounds[: number - 1]


def _file_of(keys: Sequence[str], bounds: Sequence[tuple[Any, ...]], first: int = 0) -> Any:
    """Return the number of a row's file, found by halving the boundaries."""
    from pyspark.sql import functions as f

    if not bounds:
        return f.lit(first)
    middle = len(bounds) // 2
    before = _file_of(keys, bounds[:middle], first)
    return f.when(_is_before(keys, bounds[middle]), before).otherwise(
        _file_of(keys, bounds[middle + 1 :], first + middle + 1)
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
        of_row = np.repeat(at, ordered[ROWS].list.len().to_numpy())
        rows = ordered[ROWS].explode().struct.unnest().select(others)
        rows = rows.with_columns(pl.Series("at", of_row)).sort("at", *others, nulls_last=True)
        return classes[rows["at"]].with_columns(rows.select(others))
