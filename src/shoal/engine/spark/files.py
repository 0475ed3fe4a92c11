"""Write released rows as a folder of files, in canonical order within and across them.

Which rows a file has depends on the release alone: boundaries are published classes, from a sample chosen by
hashes. So neither names nor sizes reveal how the input was stored, and the same release has the same files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engine.spark.schema import SIZE, rows_of
from shoal.engine.spark.tasks import limit_threads

if TYPE_CHECKING:
    import pyarrow as pa

FILE_ROWS = 250_000
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
    """Return the rows of published classes, parted into files and sorted in each."""
    from pyspark.sql import functions as f

    number = max(1, ceil(rows / FILE_ROWS))
    bounds = _boundaries(pieces, layout.keys, number, classes)
    by_class = [f.col(name).asc_nulls_last() for name in layout.keys]
    if not rows:
        parted = pieces.coalesce(1)
    elif not bounds:
        parted = pieces.coalesce(1).sortWithinPartitions(*by_class)
    else:
        files = pieces.repartitionById(len(bounds) + 1, _file_of(layout.keys, bounds))
        parted = files.sortWithinPartitions(*by_class)
    chosen = rows_of(parted).select(*layout.keys, *layout.others)
    # Nearly in order already: this sorts the rows of each class, and joins what several cells have of it.
    order = [*by_class, *(f.col(name).asc_nulls_last() for name in layout.others)]
    return chosen.sortWithinPartitions(*order)


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


def write_parquet(rows: Any, layout: Layout, folder: str) -> None:
    """Write Parquet, with the real names of the columns."""
    plain = rows.select(*(name for name, _ in layout.columns))
    plain.toDF(*(real for _, real in layout.columns)).write.mode("overwrite").parquet(folder)


def write_csv(rows: Any, layout: Layout, folder: str, *, spreadsheet_safe: bool) -> None:
    """Write CSV in the dialect of a release on one machine."""
    plain = rows.select(*(name for name, _ in layout.columns))
    task = CsvLines(tuple(real for _, real in layout.columns), spreadsheet_safe)
    plain.mapInArrow(task, "value string").write.mode("overwrite").text(folder)


def file_digests(spark: Any, folder: Path) -> dict[str, str]:
    """Return the digest of each file, by its name."""
    from pyspark.sql import functions as f

    files = spark.read.format("binaryFile").load(folder.absolute().as_uri())
    found = files.select("path", f.sha2("content", 256).alias("digest")).collect()
    return {Path(row.path).name: row.digest for row in sorted(found, key=lambda row: str(row.path))}


@dataclass(frozen=True)
class CsvLines:
    """Write rows as lines of CSV, the header first."""

    names: tuple[str, ...]
    spreadsheet_safe: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the lines of one file, in blocks."""
        limit_threads()
        import polars as pl
        import pyarrow as pa

        from shoal.engine.spark.arrow import chunks
        from shoal.table.spreadsheet import escaped

        header = True
        for table in chunks(batches):
            plain = pl.DataFrame(pl.from_arrow(table))
            frame = pl.DataFrame(
                {name: plain[at] for name, at in zip(self.names, plain.columns, strict=True)}
            )
            frame = escaped(frame) if self.spreadsheet_safe else frame
            text = frame.write_csv(include_header=header)
            header = False
            yield pa.RecordBatch.from_pydict({"value": [text.removesuffix("\n")]})
