"""CSV files: Spark reads the rows that one machine reads, or the files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.engine.spark.input import read_input
from shoal.engine.spark.scan import scan_of
from shoal.errors import DataError
from shoal.recipe import Input, Recipe
from shoal.table.read import read
from shoal.verifier.spark.session import steady
from tests.engine.spark.made import texts
from tests.profiles import slow

SECRET = "mark3r"


def asked(place: Path, **given: Any) -> Recipe:
    changes = {"input": {"path": str(place), **given}, "engine": {"name": "spark"}}
    return Recipe.from_roles(quasi=["a"], k=2, changes=changes)


def rows(spark: Any, place: Path, **given: Any) -> list[tuple[str, ...]]:
    with steady(spark):
        frame = read_input(spark, asked(place, **given))
        return texts(frame.columns, frame.collect())


def by_local(file: Path, **given: Any) -> list[tuple[str, ...]]:
    frame = read(file, Input(**given))
    return texts(frame.columns, frame.rows())


def folder(place: Path, *contents: str | bytes) -> Path:
    place.mkdir(exist_ok=True)
    for at, content in enumerate(contents):
        data = content if isinstance(content, bytes) else content.encode()
        (place / f"part-{at}.csv").write_bytes(data)
    return place


def refused(spark: Any, place: Path, **given: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        rows(spark, place, **given)
    assert SECRET not in str(caught.value)
    assert caught.value.hint
    return caught.value


def test_files_with_other_columns_are_refused(spark: Any, tmp_path: Path) -> None:
    """Spark takes the header of one file for all: names would land in another column."""
    first = f"a,name\n1,{SECRET}\n2,{SECRET}\n"
    for at, other in enumerate((f"name,a\n{SECRET},1\n", "a,name,c\n1,2,3\n", "a\n1\n", "a,Name\n1,2\n")):
        error = refused(spark, folder(tmp_path / f"{at}.csv", first, other, first))
        assert error.code == "data.ragged"
        assert error.message == (
            "Files with other columns than part-0.csv, or in another order: 1 of 3, such as part-1.csv."
        )


def test_a_header_may_be_written_in_several_ways(spark: Any, tmp_path: Path) -> None:
    place = folder(
        tmp_path / "in.csv", "a,b c\n1,2\n", '\n\n"a", b c \n3,4\n', "", "\ufeffa,b c\n5,6\n", "a,b c"
    )
    assert rows(spark, place) == [("a", "b c"), ("1", "2"), ("3", "4"), ("5", "6")]


def test_files_without_header_have_the_columns_that_are_named(spark: Any, tmp_path: Path) -> None:
    place = folder(tmp_path / "in.csv", "1,2\n", "3,4\n")
    assert rows(spark, place, header=False, names=["a", "b"]) == [("a", "b"), ("1", "2"), ("3", "4")]
    with pytest.raises(Exception, match="MALFORMED"):
        rows(spark, folder(tmp_path / "in.csv", "1,2\n", "3,4,5\n"), header=False, names=["a", "b"])


@pytest.mark.parametrize("header", ["a,a\n1,2\n", "a,\n1,2\n"], ids=["twice", "none"])
def test_every_column_has_a_name_of_its_own(spark: Any, tmp_path: Path, header: str) -> None:
    file = tmp_path / "in.csv"
    file.write_text(header, encoding="utf-8")
    assert refused(spark, file).code == "data.duplicate_column"


def test_what_is_no_text_is_refused_as_on_one_machine(spark: Any, tmp_path: Path) -> None:
    """Spark makes the same letter of every byte that it cannot read, and so one value of several."""
    file = tmp_path / "in.csv"
    latin = "a,b\nMüller,1\nMöller,2\n".encode("latin-1")
    for content, encoding in ((latin, None), (latin, "ascii"), ("ä,b\n1,2\n".encode("latin-1"), None)):
        file.write_bytes(content)
        error = refused(spark, file, encoding=encoding)
        with pytest.raises(DataError) as caught:
            read(file, Input(encoding=encoding))
        assert (error.code, error.hint) == (caught.value.code, caught.value.hint)
        assert error.code == "data.encoding"

    file.write_bytes(latin)
    for encoding in ("latin-1", "ISO-8859-1"):
        assert rows(spark, file, encoding=encoding) == by_local(file, encoding=encoding)
    file.write_text("a,b\nMüller,1\nM\ufffdller,2\n", encoding="utf-8-sig")  # a letter that is in the file
    assert rows(spark, file) == rows(spark, file, encoding="utf-8-sig") == by_local(file)


def test_encodings_that_spark_cannot_split_are_refused(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_bytes("a,b\nx,1\n".encode("utf-16"))
    assert "is in UTF-16" in refused(spark, file).message
    for encoding in ("utf-16", "cp1252", "utf-32-le"):
        assert refused(spark, file, encoding=encoding).message == (
            "The engine spark reads text files in UTF-8, ASCII and Latin-1 only."
        )
    assert refused(spark, file, encoding="klingon").message == "The encoding given in [input] is unknown."


ALL_MISSING = {
    "one column": "a\n1\n\n2\n\n",
    "one column, lines before the header": "\n\na\n1\n\n2\n",
    "one column, white space": 'a\r\n1\r\n  \r\n""\r\n\r\n2',
    "several columns": "a,b\n1,2\n\n,\n3,4\n\n",
    "tabs": "a\tb\tc\n1\t2\t3\n\t\t\n\n \t \t\n4\t5\t6\n",
}


@pytest.mark.parametrize("name", ALL_MISSING)
def test_rows_without_any_value_are_rows(spark: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "in.csv"
    file.write_bytes(ALL_MISSING[name].encode())
    assert [sorted(map(_empty, row)) for row in rows(spark, file)[1:]] == [
        sorted(map(_empty, row)) for row in by_local(file)[1:]
    ]


def _empty(cell: str) -> str:
    return "None" if cell == "" else cell


def test_empty_lines_of_one_column_are_counted_in_every_file(spark: Any, tmp_path: Path) -> None:
    place = folder(tmp_path / "in.csv", "a\n1\n\n\n", "\n\na\n2\n\n", "a\n", "\n\n")
    assert rows(spark, place) == [("a",), ("1",), ("2",), ("None",), ("None",), ("None",)]
    place = folder(tmp_path / "b.csv", "\n1\n\n", "2\n3\n\n")
    assert rows(spark, place, header=False, names=["a"])[1:] == [
        ("1",), ("2",), ("3",), ("None",), ("None",),
    ]  # fmt: skip


def test_lines_of_white_space_with_other_cells_are_refused(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("a,b\n1,2\n   \n", encoding="utf-8")
    assert refused(spark, file).code == "data.ragged"
    with pytest.raises(DataError) as caught:
        read(file, Input())
    assert caught.value.code == "data.ragged"


def test_a_file_without_lines_is_refused(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("\n \n", encoding="utf-8")
    assert refused(spark, tmp_path / "in.csv").code == "data.empty"


def test_the_separator_is_the_one_of_the_rows(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("name (first, last);a, b, c\nx;1\ny;2\n", encoding="utf-8")
    assert rows(spark, file) == by_local(file)


ODD = "ä b%20[x]{y,z}*?&#+'"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_paths_are_taken_as_they_are(spark: Any, tmp_path: Path, form: str) -> None:
    table = pl.DataFrame({"a": ["1", "2"], "b": ["x", "y"]})
    place = tmp_path / ODD / f"{ODD}.{form}"
    place.mkdir(parents=True)
    for at in range(2):
        write = pl.DataFrame.write_csv if form == "csv" else pl.DataFrame.write_parquet
        write(table[at : at + 1], place / f"{ODD}{at}.{form}")
    expected = [("a", "b"), ("1", "x"), ("2", "y")]
    assert rows(spark, place) == expected
    assert rows(spark, place / f"{ODD}1.{form}") == [expected[0], expected[2]]
    if form == "parquet":
        with steady(spark):
            scan = scan_of(read_input(spark, asked(place)), ["a", "b"], 2)
        assert scan is not None
        assert [path for path, _ in scan.groups] == [str(place / f"{ODD}{at}.parquet") for at in range(2)]
    else:
        (place / "other.csv").write_text("b,a\n", encoding="utf-8")
        assert f"{ODD}" in refused(spark, place).message


@slow
def test_files_in_many_blocks_are_read_alike(spark: Any, tmp_path: Path) -> None:
    """Blocks of a file are read in any order, and some have empty lines only."""
    file = tmp_path / "in.csv"
    file.write_text("\n" * 99 + "a\n" + "1\n\n" * 300 + "\n" * 500 + "2\n" * 90 + "\n", encoding="utf-8")
    expected = [("a",), *[("1",)] * 300, *[("2",)] * 90, *[("None",)] * 801]
    spark.conf.set("spark.sql.files.maxPartitionBytes", "256")
    try:
        assert len(rows(spark, file)) == len(expected)
        assert rows(spark, file) == expected
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
