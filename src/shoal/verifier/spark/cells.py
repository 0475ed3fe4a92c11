"""Cells in Spark: as texts, in the form in which they are compared, and several as one key.

What Spark SQL cannot do, such as Unicode's normal forms, Python does on the executors, and only for
different cells, which are far fewer than all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shoal.failures import guarded
from shoal.verifier.reading.value import comparable_text, trimmed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

# As DuckDB names them: the rules for kinds and missing values go by these names.
_NAMES = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "VARCHAR", "date": "DATE", "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMP WITH TIME ZONE", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip
FLOATS = ("FLOAT", "DOUBLE")  # types that have a number for "no number"


def type_name(of: DataType) -> str:
    """Return the name that the other engine has for a type."""
    name = of.simpleString()
    return _NAMES.get(name, name.upper())


def as_text(cell: Column, of: DataType, zone: str = "") -> Column:
    """Write a cell as text; missing and empty are one, as in a text file."""
    from pyspark.sql import functions as sql

    name = type_name(of)
    if name == "TIMESTAMP WITH TIME ZONE" and zone:
        cell = sql.from_utc_timestamp(cell, zone)
    text = cell.cast("string")
    if name in FLOATS:
        text = sql.when(sql.isnan(cell), sql.lit("nan")).otherwise(text)
    return sql.nullif(text, sql.lit(""))


def key(cells: Sequence[Column]) -> Column:
    """Put several texts together so that no other texts give the same; missing is like nothing else."""
    from pyspark.sql import functions as sql

    parts = [
        sql.coalesce(sql.concat(sql.length(cell).cast("string"), sql.lit(":"), cell), sql.lit("-"))
        for cell in cells
    ]
    return sql.concat(*parts)


def with_values(
    cells: DataFrame, columns: Sequence[str], stored: Sequence[str], *, marked: bool
) -> DataFrame:
    """Add ``v0``, ``v1``, ... to the cells: the comparable form of each column; rows that lack one go."""
    for at, (column, of) in enumerate(zip(columns, stored, strict=True)):
        forms = value_forms(cells, column, of, marked=marked).withColumnsRenamed(
            {"raw": f"raw{at}", "value": f"v{at}"}
        )
        cells = cells.join(forms, cells[column] == forms[f"raw{at}"]).drop(f"raw{at}")
    return cells


def value_forms(cells: DataFrame, column: str, stored: str, *, marked: bool) -> DataFrame:
    """Return ``raw`` and ``value`` of the different cells of a column that are not missing."""
    missing = ["nan"] if stored in FLOATS else []

    def formed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for raws in _columns(batches):
            values = [comparable_text(raw, missing, marked=marked) for raw in raws[0]]
            yield _present("value", raws[0], values)

    return _different(cells, column).mapInArrow(guarded(formed), "raw string, value string")


def text_forms(cells: DataFrame, column: str, stored: str, *, marked: bool) -> DataFrame:
    """Return ``raw`` and ``text`` of the different cells: as written but for marks and blanks."""
    missing = {"", *(["nan"] if stored in FLOATS else [])}

    def formed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for raws in _columns(batches):
            texts = [trimmed(raw, marked=marked) for raw in raws[0]]
            yield _present("text", raws[0], [None if text in missing else text for text in texts])

    return _different(cells, column).mapInArrow(guarded(formed), "raw string, text string")


def _different(cells: DataFrame, column: str) -> DataFrame:
    return cells.select(cells[column].alias("raw")).where(cells[column].isNotNull()).distinct()


def _columns(batches: Iterator[pa.RecordBatch]) -> Iterator[list[list[Any]]]:
    for batch in batches:
        yield [column.to_pylist() for column in batch.columns]


def _present(name: str, raws: Iterable[str], found: Iterable[str | None]) -> pa.RecordBatch:
    import pyarrow as pa

    pairs = [(raw, value) for raw, value in zip(raws, found, strict=True) if value is not None]
    columns = [pa.array([pair[at] for pair in pairs], pa.string()) for at in (0, 1)]
    return pa.RecordBatch.from_arrays(columns, names=["raw", name])
