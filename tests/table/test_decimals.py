"""Text files whose numbers have a decimal comma."""

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import RecipeError
from shoal.recipe import Input, Recipe
from shoal.table.decimals import has_commas
from shoal.table.read import read

CELLS = {
    "29,4": "29.4",
    "-0,5": "-0.5",
    "+7,25": "+7.25",
    "1.234,5": "1234.5",
    "12.345.678": "12345678",
    "31": "31",
    "1234,5": "1234.5",
    # these are no numbers with a decimal comma
    "01.02.1990": "01.02.1990",
    "1.5": "1.5",
    "1234.567": "1234.567",
    "1,2,3": "1,2,3",
    "a,b": "a,b",
    ",5": ",5",
    "-9,0": None,  # means missing
}


def test_numbers_are_read_with_a_point_and_other_texts_stay(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("cell;other\n" + "".join(f"{cell};x\n" for cell in CELLS))
    given = Input(separator=";", decimal=",", missing=["", "-9,0"])
    assert read(file, given)["cell"].to_list() == list(CELLS.values())
    assert read(file, Input(separator=";"))["cell"].to_list() == list(CELLS)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["29,4", "30,0", "31"], True),
        (["1.234,56", "7,90"], True),
        (["1,234", "5,678"], False),  # may be thousands
        (["29,4", "30,0", "n.a."], False),
        (["29", "30", "1,5"], False),
        (["29.4", "30.1"], False),
        ([None, None], False),
    ],
)
def test_commas_are_found(cells, expected):
    assert has_commas(pl.DataFrame({"a": pl.Series(cells, dtype=pl.String)})) is expected


def people(folder):
    file = folder / "people.csv"
    rows = [f"{20 + at % 7},{at % 10};1.0{at % 4}0,5;{'xy'[at % 2]},{at % 3}" for at in range(60)]
    file.write_text("bmi;pay;ill\n" + "\n".join(rows) + "\n")
    return file


def test_a_drafted_recipe_reads_commas_and_its_release_verifies(tmp_path):
    file = people(tmp_path)
    found = shoal.inspect(file)
    assert {column.name: column.kind for column in found.columns}["bmi"] == "numeric"
    sections = {
        "input": {"path": str(file), "decimal": found.given.decimal},
        "columns": {"bmi": {"role": "quasi"}, "pay": {"role": "keep"}, "ill": {"role": "sensitive"}},
        "privacy": {"k": 5},
        "method": {"name": "mondrian"},
    }
    recipe = Recipe.from_dict(sections)
    release = shoal.anonymize(recipe)
    assert release.kinds["bmi"]["kind"] == "numeric"
    assert set(release.table["pay"]) == {"1000.5", "1010.5", "1020.5", "1030.5"}
    release.write(tmp_path / "out.csv")
    assert shoal.verify(tmp_path / "out.csv", recipe, original=file).holds
    without = Recipe.from_dict({**sections, "input": {"path": str(file)}})
    assert not shoal.verify(tmp_path / "out.csv", without, original=file).holds


def test_the_flag_and_its_faults(tmp_path):
    flags = ["--quasi", "bmi", "--drop", "pay", "--sensitive", "ill", "--k", "5", "--method", "mondrian"]
    output = tmp_path / "out.csv"
    arguments = ["anonymize", str(people(tmp_path)), *flags, "--no-bound", "--quiet", "-o", str(output)]
    refused = CliRunner().invoke(app, [*arguments, "--decimal", ";"])
    assert (refused.exit_code, output.exists()) == (2, False)
    assert "--decimal" in refused.stderr
    assert CliRunner().invoke(app, [*arguments, "--decimal", ","]).exit_code == 0
    assert '"[20' in output.read_text()


def test_spark_does_not_read_commas():
    sections = {"input": {"path": "t.csv", "decimal": ","}, "engine": {"name": "spark"}, "privacy": {"k": 5}}
    with pytest.raises(RecipeError, match="decimal commas"):
        Recipe.from_dict({**sections, "columns": {"a": {"role": "quasi"}}})
