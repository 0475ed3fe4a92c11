"""Parquet files that workers read without Spark: the same rows, and only where both read alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.engine.spark.scan import scan_of
from tests.engine.spark.made import by_local, by_spark, people, recipe, texts
from tests.profiles import slow

TYPES = {
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.float64(): "double",
    pa.date32(): "date",
}
ROWS = pa.table({"a.b": [1, 2, None, 4], "a": ["x", None, "", "é"], "`c`": [0.5, 1.5, -0.0, None]})


def in_spark(*files: Path, table: pa.Table = ROWS) -> Any:
    """What is asked of a frame of Spark's."""
    types = [TYPES.get(field.type, str(field.type)) for field in table.schema]
    fields = [SimpleNamespace(dataType=SimpleNamespace(simpleString=lambda of=of: of)) for of in types]
    uris = [file.absolute().as_uri() for file in files]
    return SimpleNamespace(columns=table.column_names, schema=fields, inputFiles=lambda: uris)


def written(file: Path, table: pa.Table = ROWS, **how: Any) -> Path:
    file.parent.mkdir(exist_ok=True)
    parquet.write_table(table, file, row_group_size=2, **how)
    return file


def test_all_row_groups_are_read_in_their_order(tmp_path: Path) -> None:
    files = [written(tmp_path / f"part {at}.parquet") for at in range(3)]
    scan = scan_of(in_spark(*files), ["a", "a.b"], 2)
    assert scan is not None
    assert (scan.groups, scan.parts) == (tuple((str(file), at) for file in files for at in (0, 1)), 4)


@pytest.mark.parametrize("other", ["days", "dictionary", "no such column", "twice", "folder", "one group"])
def test_other_files_are_left_to_spark(tmp_path: Path, other: str) -> None:
    files, table, columns = [written(tmp_path / "x.parquet")], ROWS, ["a", "a.b"]
    match other:
        case "days":
            table = pa.table({"a": [date(2001, 1, at) for at in range(1, 5)]})
            files, columns = [written(tmp_path / "y.parquet", table)], ["a"]
        case "dictionary":
            files.append(
                written(tmp_path / "y.parquet", ROWS.set_column(1, "a", ROWS["a"].dictionary_encode()))
            )
        case "no such column":
            files.append(written(tmp_path / "y.parquet", ROWS.rename_columns(["a.b", "A", "c"])))
        case "twice":
            files.append(written(tmp_path / "y.parquet", ROWS.rename_columns(["a.b", "a", "a"])))
        case "folder":
            files = [written(tmp_path / "a=1" / "x.parquet")]
        case "one group":
            parquet.write_table(ROWS, files[0])
    assert scan_of(in_spark(*files, table=table), columns, 2) is None
    far = SimpleNamespace(inputFiles=lambda: ["s3://bucket/x.parquet"])
    assert scan_of(far, columns, 1) is None


def test_workers_read_the_rows_that_spark_reads(spark: Any, tmp_path: Path) -> None:
    def as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    for at in range(2):
        written(tmp_path / "in.parquet" / f"part-{at}.parquet", ROWS.slice(at))
    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    names = ["a", "`c`", "a.b"]
    scan = scan_of(frame, names, 2)
    assert scan is not None
    found = scan.mapped(spark, as_they_are, "c0 string, c1 double, c2 bigint").collect()
    plain = frame.toDF("c2", "c0", "c1").select("c0", "c1", "c2").collect()
    assert texts(names, found) == texts(names, plain)


@slow
def test_a_table_that_workers_read_is_released_alike(spark: Any, tmp_path: Path) -> None:
    table = people(600, 8).with_columns(pl.col("day").cast(pl.String))  # days are left to Spark
    table.write_parquet(tmp_path / "in.parquet", row_group_size=100)
    asked = recipe(method={"name": "mondrian"})
    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    assert scan_of(frame, table.columns, 2) is not None
    assert by_spark(frame, asked, in_files=True) == by_local(table, asked)
