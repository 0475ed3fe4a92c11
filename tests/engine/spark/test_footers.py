"""Folders of Parquet and ORC files whose columns are not all the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from shoal.engine.spark.input import read_input
from shoal.errors import DataError
from shoal.recipe import Input, Recipe
from shoal.table.read import read
from shoal.verifier.spark.session import steady

SECRET = "mark3r"
WRITE = {"parquet": parquet.write_table, "orc": orc.write_table}
PLAIN = pa.table({"a": [1, 2], "b": [SECRET, "x"]})
LESS = PLAIN.select(["a"])
MORE = PLAIN.append_column("c", [[1.5, 2.5]])
OTHER = PLAIN.set_column(0, "a", [[SECRET, "x"]])
WIDER = pa.table({f"c{at}": [1] for at in range(7)})


def folder(place: Path, tables: Sequence[pa.Table], form: str = "parquet") -> Path:
    place = place / f"in.{form}"
    place.mkdir(parents=True)
    for at, table in enumerate(tables):
        WRITE[form](table, place / f"part-{at}.{form}")
    return place


def frame_of(spark: Any, place: Path) -> Any:
    changes = {"input": {"path": str(place)}, "engine": {"name": "spark"}}
    with steady(spark):
        return read_input(spark, Recipe.from_roles(quasi=["a"], k=2, changes=changes))


def refused(spark: Any, place: Path) -> str:
    with pytest.raises(DataError) as caught:
        frame_of(spark, place)
    assert caught.value.code == "data.ragged"
    assert SECRET not in str(caught.value)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("form", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("tables", "number", "columns"),
    [
        ([PLAIN, PLAIN, LESS], "1 of 3, such as part-2.F.", "`b` is string in 2, missing in 1."),
        ([PLAIN, MORE, MORE], "2 of 3, such as part-1.F.", "`c` is missing in 1, double in 2."),
        ([PLAIN, OTHER], "1 of 2, such as part-1.F.", "`a` is bigint in 1, string in 1."),
    ],
    ids=["fewer", "more", "types"],
)
def test_files_with_other_columns_are_refused(
    spark: Any, tmp_path: Path, form: str, tables: list[pa.Table], number: str, columns: str
) -> None:
    """Spark takes the columns of one file for all: cells would be missing, or lost."""
    place = folder(tmp_path, tables, form)
    message = refused(spark, place)
    assert message == (
        f"Files with other columns or types than part-0.{form}: {number.replace('F', form)} "
        f"By number of files: {columns}"
    )
    if form == "parquet":
        with pytest.raises(DataError) as caught:
            read(place, Input())
        assert caught.value.code == "data.ragged"
        assert message.startswith(caught.value.message)


def test_at_most_five_columns_are_named(spark: Any, tmp_path: Path) -> None:
    assert refused(spark, folder(tmp_path, [PLAIN, WIDER])).endswith(
        "`c2` is missing in 1, bigint in 1; and 4 more columns."
    )


def test_files_that_spark_passes_over_are_not_compared(spark: Any, tmp_path: Path) -> None:
    for form, write in WRITE.items():
        place = folder(tmp_path, [PLAIN, PLAIN], form)
        for name in (f"_x.{form}", f".x.{form}"):
            write(LESS, place / name)
        (place / f"empty.{form}").touch()
        assert frame_of(spark, place).count() == 4


def test_the_summary_of_a_folder_is_compared(spark: Any, tmp_path: Path) -> None:
    """Where a folder has one, Spark takes the columns from there, whatever the files have."""
    place = folder(tmp_path, [PLAIN, PLAIN])
    parquet.write_metadata(PLAIN.schema, place / "_common_metadata")
    assert frame_of(spark, place).count() == 4
    parquet.write_metadata(MORE.schema, place / "_common_metadata")
    assert "than _common_metadata: 2 of 3" in refused(spark, place)


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_the_order_of_columns_is_harmless(spark: Any, tmp_path: Path, form: str) -> None:
    place = folder(tmp_path, [PLAIN, PLAIN.select(["b", "a"])], form)
    rows = [tuple(row) for row in frame_of(spark, place).select("a", "b").collect()]
    assert sorted(rows) == [(1, SECRET), (1, SECRET), (2, "x"), (2, "x")]


def test_ways_to_store_the_same_type_are_harmless(spark: Any, tmp_path: Path) -> None:
    days = pa.array([datetime(2001, 1, 1), datetime(2002, 2, 2)], pa.timestamp("us", "UTC"))
    table = PLAIN.append_column("t", days)
    place = folder(tmp_path, [table])
    parquet.write_table(table, place / "old.parquet", use_deprecated_int96_timestamps=True)
    never_null = pa.schema([field.with_nullable(False) for field in table.schema])
    parquet.write_table(table.cast(never_null), place / "sure.parquet")
    frame = frame_of(spark, place)
    assert frame.where("t = timestamp'2002-02-02 00:00:00Z' AND b = 'x'").count() == 3


def test_folders_that_hold_values_are_not_named(spark: Any, tmp_path: Path) -> None:
    for at, table in enumerate((PLAIN, PLAIN, LESS)):
        place = tmp_path / "in.parquet" / f"c={SECRET} %[{at}]"
        place.mkdir(parents=True)
        parquet.write_table(table, place / "x.parquet")
    assert "than x.parquet: 1 of 3, such as x.parquet." in refused(spark, tmp_path / "in.parquet")
    parquet.write_table(PLAIN, place / "x.parquet")
    assert frame_of(spark, tmp_path / "in.parquet").columns == ["a", "b", "c"]
