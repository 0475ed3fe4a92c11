"""Reading what a recipe names, and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.engine.spark.input import read_input
from shoal.errors import DataError
from shoal.recipe import Recipe
from tests.engine.spark.made import by_local, in_spark, people, persisted, recipe, texts
from tests.profiles import slow

N_ROWS = 400
FAR = {"path": "s3a://bucket/people.parquet"}  # Spark lacks what it needs for that


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return people(N_ROWS, 6)


@pytest.fixture(scope="module")
def inputs(spark: Any, table: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same table in all forms."""
    place = tmp_path_factory.mktemp("input")
    for form in ("csv", "parquet", "bare"):
        (place / f"in.{form}").mkdir()
    for at, part in enumerate((table[:150], table[150:])):
        part.write_csv(place / "in.csv" / f"part-{at}.csv", separator=";")
        part.write_parquet(place / "in.parquet" / f"part-{at}.parquet")
    (place / "in.bare").rename(place / "bare")
    table.write_parquet(place / "bare" / "x.parquet")
    table.write_csv(place / "in.tsv", separator="\t")
    frame = spark.read.parquet(str(place / "in.parquet"))
    plain = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    plain.write.orc(str(place / "in.orc"))
    plain.createOrReplaceTempView("people_of_tests")
    return place


def run(*arguments: object) -> tuple[int, Any]:
    result = CliRunner().invoke(app, ["anonymize", *map(str, arguments), "--json"])
    return result.exit_code, json.loads(result.stdout)


def saved(place: Path, source: Path, asked: Recipe) -> Path:
    sections = asked.to_dict()
    sections["input"] = {"path": str(source)}
    sections["columns"] = {
        name: {key: value for key, value in column.items() if value is not None}
        for name, column in sections["columns"].items()
    }
    file = place / "recipe.toml"
    file.write_text(tomli_w.dumps(sections), encoding="utf-8")
    return file


def test_everything_that_a_recipe_can_name_is_read(spark: Any, inputs: Path, table: pl.DataFrame) -> None:
    asked = recipe().changed({"engine": {"name": "spark"}})
    rows = [[None if cell == "" else cell for cell in row] for row in table.rows()]
    expected = texts([], rows)
    for name in ("in.csv", "in.parquet", "bare", "in.tsv", "in.orc"):
        frame = read_input(spark, asked.changed({"input": {"path": str(inputs / name)}}))
        found = [[None if cell == "" else cell for cell in row] for row in frame.collect()]
        assert texts([], found) == expected, name
    named = read_input(spark, asked.changed({"input": {"table": "people_of_tests"}}))
    assert named.count() == N_ROWS
    for given in (
        {"table": "no.such_table"},
        {"path": str(inputs / "none.parquet")},
        {"path": "none.csv"},
        FAR,
    ):
        with pytest.raises(DataError) as caught:
            read_input(spark, asked.changed({"input": given}))
        assert caught.value.code == "data.unreadable"
        assert "Exception" not in str(caught.value)


def test_cells_with_line_breaks_are_refused(spark: Any, tmp_path: Path) -> None:
    """Spark would make rows of their lines, which may well have as many cells as the header."""
    file = tmp_path / "in.csv"
    asked = Recipe.from_roles(
        quasi=["a", "b"], k=2, changes={"input": {"path": str(file)}, "engine": {"name": "spark"}}
    )
    fine = ['1,"x, ""y"" z"', '"1", "x"', '3,5" pipe', '3,"5" pipe"', '"",', ',""', '"a,b","c"']
    file.write_text("\n".join(["a,b", *fine, ""]), encoding="utf-8")
    assert read_input(spark, asked).count() == len(fine)
    for text in ('1,"x\ny,z"', '1, "x, w\ny,z"', '"x""\ny",2', '"1","x ""v\ny,z"'):
        file.write_text("\n".join(["a,b", *fine, text, ""]), encoding="utf-8")
        with pytest.raises(DataError) as caught:
            read_input(spark, asked)
        assert caught.value.message == f"{file} has 1 line that ends inside quotes."


@slow
def test_the_command_writes_what_one_machine_writes(
    spark: Any, inputs: Path, table: pl.DataFrame, tmp_path: Path
) -> None:
    asked = saved(tmp_path, inputs / "in.csv", recipe(method={"name": "mondrian"}))
    target = tmp_path / "out.csv"
    status, told = run(asked, "--engine", "spark", "-o", target, "--conf", "spark.app.name=x")
    assert (status, told["rows"], told["replaced"]) == (0, N_ROWS, False)
    assert {"method", "released", "suppressed", "classes", "k", "goals", "loss", "manifest", "report"} <= set(
        told
    )
    assert persisted(spark) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "out.csv", "out.csv.manifest.json", "out.csv.report.html", "recipe.toml",
    ]  # fmt: skip

    whole = tmp_path / "one.csv"
    table.write_csv(tmp_path / "in.csv", separator=";")
    local = saved(tmp_path, tmp_path / "in.csv", recipe(method={"name": "mondrian"}))
    status, here = run(local, "-o", whole)
    assert status == 0, here
    parts = [file.read_text(encoding="utf-8").partition("\n") for file in sorted(target.iterdir())]
    header = parts[0][0]
    assert header + "\n" + "".join(lines for _, _, lines in parts) == whole.read_text(encoding="utf-8")
    assert (told["loss"], told["classes"]) == (pytest.approx(here["loss"]), here["classes"])


@slow
@pytest.mark.parametrize("form", ["orc", "a table"])
def test_orc_and_tables_of_the_catalog_are_released_alike(spark: Any, tmp_path: Path, form: str) -> None:
    table = pl.DataFrame({"age": [at * 7 % 60 for at in range(300)], "ill": ["a", "b", "c"] * 100})
    frame = in_spark(spark, table)
    place = tmp_path / "in.orc"
    if form == "orc":
        frame.write.orc(str(place))
        given = {"path": str(place)}
    else:
        frame.write.option("path", str(tmp_path / "stored")).saveAsTable("shoal_people")
        given = {"table": "shoal_people"}
    flags = {"engine": {"cell_rows": 100}, "method": {"name": "mondrian"}, "input": given}
    asked = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=4, changes=flags)
    file = tmp_path / "recipe.toml"
    file.write_text(asked.to_toml(), encoding="utf-8")
    try:
        status, told = run(file, "--engine", "spark", "-o", tmp_path / "out.parquet")
    finally:
        spark.sql("DROP TABLE IF EXISTS shoal_people")
    assert (status, told.get("rows")) == (0, 300), told
    released = pl.read_parquet(tmp_path / "out.parquet" / "*.parquet")
    assert texts(released.columns, released.rows()) == by_local(table, asked.changed({"input": {}}))


def test_the_command_refuses_without_starting(spark: Any, inputs: Path, tmp_path: Path) -> None:
    asked = saved(tmp_path, inputs / "in.csv", recipe())
    before = {file.name: file.read_bytes() for file in (inputs / "in.csv").iterdir()}
    for arguments in (
        ("-o", inputs / "in.csv", "--force"),
        ("-o", tmp_path / "out.xlsx"),
        ("-o", tmp_path / "out.csv", "--method", "incognito"),
        ("-o", tmp_path / "out.csv", "--cell-rows", 12),
        ("-o", tmp_path / "out.csv", "--also", tmp_path / "none.manifest.json"),
    ):
        status, told = run(asked, "--engine", "spark", *arguments)
        assert status != 0, arguments
        assert "error" in told
        assert "Exception" not in json.dumps(told)
    assert {file.name: file.read_bytes() for file in (inputs / "in.csv").iterdir()} == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["recipe.toml"]
    status, _ = run(asked, "--master", "local[1]", "-o", tmp_path / "out.csv")
    assert status == 2
