"""Text files whose numbers have a decimal comma, or whose days are not in ISO form."""

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import RecipeError
from shoal.recipe import Input, Recipe
from shoal.table.conventions import found_conventions
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
    frame = pl.DataFrame({"a": pl.Series(cells, dtype=pl.String)})
    assert found_conventions(frame) == ({"decimal": ","} if expected else {})


DAYS = {
    "D.M.Y": ["31.12.1990", "1.2.1990", "01.02.1990 08:15", "1.2.90", "1.2.1990x", "31/12/1990"],
    "D/M/Y": ["31/12/1990", "1/2/1990", "01/02/1990 08:15", "1/2/90", "1/2/1990x", "31.12.1990"],
    "M/D/Y": ["12/31/1990", "2/1/1990", "02/01/1990 08:15", "2/1/90", "2/1/1990x", "31.12.1990"],
    "D-M-Y": ["31-12-1990", "1-2-1990", "01-02-1990 08:15", "1-2-90", "1-2-1990x", "31.12.1990"],
}


@pytest.mark.parametrize("order", DAYS)
def test_days_are_read_in_iso_form_and_other_texts_stay(tmp_path, order):
    cells = DAYS[order]
    file = tmp_path / "t.csv"
    file.write_text("day;other\n" + "".join(f"{cell};x\n" for cell in cells))
    expected = ["1990-12-31", "1990-02-01", "1990-02-01 08:15", *cells[3:]]
    assert read(file, Input(separator=";", dates=order))["day"].to_list() == expected


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["1.2.1990", "3.4.1990"], "D.M.Y"),
        (["13/2/1990", "3/4/1990"], "D/M/Y"),
        (["2/13/1990", "3/4/1990"], "M/D/Y"),
        (["1/2/1990", "3/4/1990"], None),  # of either order
        (["31.2.1990", "3.4.1990"], None),  # there is no such day
        (["1.2.1990", "unknown"], None),
        (["1990-02-01", "1990-04-03"], None),
    ],
)
def test_the_order_of_days_is_found(cells, order):
    assert found_conventions(pl.DataFrame({"a": cells})).get("dates") == order


def people(folder):
    file = folder / "people.csv"
    rows = [
        f"{20 + at % 7},{at % 10};1.0{at % 4}0,5;{1 + at % 28}.{1 + at % 12}.{1950 + at};{'xy'[at % 2]},0"
        for at in range(60)
    ]
    file.write_text("bmi;pay;born;ill\n" + "\n".join(rows) + "\n")
    return file


def test_a_drafted_recipe_reads_both_and_its_release_verifies(tmp_path):
    file = people(tmp_path)
    found = shoal.inspect(file)
    kinds = {column.name: column.kind for column in found.columns}
    assert (kinds["bmi"], kinds["born"]) == ("numeric", "date")
    found.write(tmp_path / "draft.toml")
    assert {"decimal": ",", "dates": "D.M.Y"}.items() <= Recipe.load(
        tmp_path / "draft.toml"
    ).input.model_dump().items()
    roles = {"bmi": "quasi", "born": "quasi", "pay": "keep", "ill": "sensitive"}
    sections = {
        "input": {"path": str(file), "decimal": ",", "dates": "D.M.Y"},
        "columns": {name: {"role": role} for name, role in roles.items()},
        "privacy": {"k": 5},
        "method": {"name": "mondrian"},
    }
    recipe = Recipe.from_dict(sections)
    release = shoal.anonymize(recipe)
    assert (release.kinds["bmi"]["kind"], release.kinds["born"]["kind"]) == ("numeric", "date")
    assert set(release.table["pay"]) == {"1000.5", "1010.5", "1020.5", "1030.5"}
    release.write(tmp_path / "out.csv")
    assert shoal.verify(tmp_path / "out.csv", recipe, original=file).holds
    for key in ("decimal", "dates"):
        given = {name: text for name, text in sections["input"].items() if name != key}
        without = Recipe.from_dict({**sections, "input": given})
        assert not shoal.verify(tmp_path / "out.csv", without, original=file).holds


def test_the_flag_and_its_faults(tmp_path):
    flags = ["--quasi", "bmi", "--drop", "pay,born", "--sensitive", "ill", "--k", "5", "--method", "mondrian"]
    output = tmp_path / "out.csv"
    arguments = ["anonymize", str(people(tmp_path)), *flags, "--no-bound", "--quiet", "-o", str(output)]
    refused = CliRunner().invoke(app, [*arguments, "--decimal", ";"])
    assert (refused.exit_code, output.exists()) == (2, False)
    assert "--decimal" in refused.stderr
    assert CliRunner().invoke(app, [*arguments, "--decimal", ","]).exit_code == 0
    assert '"[20' in output.read_text()


@pytest.mark.parametrize("given", [{"decimal": ","}, {"dates": "D.M.Y"}])
def test_spark_reads_neither(given):
    sections = {"input": {"path": "t.csv", **given}, "engine": {"name": "spark"}, "privacy": {"k": 5}}
    with pytest.raises(RecipeError, match="decimal point"):
        Recipe.from_dict({**sections, "columns": {"a": {"role": "quasi"}}})
