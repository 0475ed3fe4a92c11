"""Read Parquet files on the workers, straight into Arrow: through the JVM, every cell is converted twice.

Only files of plain types that Spark and Arrow read alike; all others are read by Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from shoal.engine.spark.tasks import limit_threads
from shoal.failures import guarded

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterable["pa.RecordBatch"]
_ALIKE = {
    "tinyint": {"int8"},
    "smallint": {"int16"},
    "int": {"int32"},
    "bigint": {"int64"},
    "float": {"float"},
    "double": {"double"},
    "boolean": {"bool"},
    "string": {"string", "large_string"},
}  # types of Spark, and those of Arrow that hold the same values
_MAX_FILES = 2_000  # whose footers are read by the driver
_PART_BYTES = 128 << 20  # of a part, as Spark parts files


@dataclass(frozen=True)
class Scan:
    """Row groups of files that hold a table.

    Parameters
    ----------
    groups : tuple of (str, int)
        Paths, and the numbers of row groups.
    columns : tuple of str
        Those that the table has, in its order.
    parts : int
        Partitions in which they are read.
    """

    groups: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    parts: int

    def mapped(self, spark: Any, task: Callable[[Batches], Batches], schema: Any) -> Any:
        """Return what a task makes of the rows of each part."""
        from pyspark.sql import functions as f

        ends = [ceil(part * len(self.groups) / self.parts) for part in range(self.parts + 1)]
        rows = [
            (part, path, group)
            for part, (begin, end) in enumerate(pairwise(ends))
            for path, group in self.groups[begin:end]
        ]
        listed = spark.createDataFrame(rows, "part int, path string, number int")
        parted = listed.repartitionById(self.parts, f.col("part"))
        return parted.mapInArrow(guarded(ReadGroups(self.columns, task)), schema)


def scan_of(frame: Any, columns: Sequence[str], tasks: int) -> Scan | None:
    """Return how workers can read the files of a frame that is all there is in them.

    None where Spark has to: the files are not on a path that all machines share, have other types, are
    parted by folders, or cannot be read by `tasks` tasks side by side.
    """
    files = [_path(uri) for uri in sorted(frame.inputFiles())]
    if not 0 < len(files) <= _MAX_FILES or None in files:
        return None
    types = dict(zip(frame.columns, (field.dataType.simpleString() for field in frame.schema), strict=True))
    groups: list[tuple[str, int]] = []
    for file in map(str, files):
        number = _groups(file, {name: types[name] for name in columns})
        if number is None:
            return None
        groups += ((file, at) for at in range(number))
    if len(groups) < tasks:
        return None
    wanted = ceil(sum(Path(str(file)).stat().st_size for file in files) / _PART_BYTES)
    return Scan(tuple(groups), tuple(columns), min(len(groups), max(2 * tasks, wanted)))


def _path(uri: str) -> str | None:
    """Return the path of a file that is not in an object store, nor in a folder that says a value."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    return path if parts.scheme == "file" and not any("=" in name for name in Path(path).parts[:-1]) else None


def _groups(file: str, types: dict[str, str]) -> int | None:
    """Return how many row groups a file has; None if it has other columns."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file) as opened:
            number, schema = opened.num_row_groups, opened.schema_arrow
    except (OSError, pa.ArrowException):
        return None
    if any(schema.names.count(name) != 1 for name in types):
        return None
    if any(str(schema.field(name).type) not in _ALIKE.get(of, set()) for name, of in types.items()):
        return None
    return int(number)


@dataclass(frozen=True)
class ReadGroups:
    """Run a task on the rows of the row groups listed."""

    columns: tuple[str, ...]
    task: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return what the task returns."""
        limit_threads()
        yield from self.task(self._read(batches))

    def _read(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import parquet

        from shoal.engine.spark.arrow import ROWS

        for listed in batches:
            for path, number in zip(listed["path"].to_pylist(), listed["number"].to_pylist(), strict=True):
                with parquet.ParquetFile(path) as file:
                    names = list(self.columns)
                    for batch in file.iter_batches(ROWS, [number], names, use_threads=False):
                        columns = [batch.column(batch.schema.names.index(name)) for name in names]
                        plain = [f"c{at}" for at in range(len(names))]
                        yield pa.RecordBatch.from_arrays(columns, names=plain)
