"""`shoal risk` as its users see it."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.datasets import hospital

QUASI = "birth_date,sex,profession"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 120 stays, and its release."""
    folder = tmp_path_factory.mktemp("risk")
    hospital(120, seed=2).write_csv(folder / "stays.csv")
    result = run(
        "anonymize", folder / "stays.csv", *flags(), "--k", 4, "-o", folder / "out.csv", "--no-bound"
    )
    assert result.exit_code == 0, result.stderr
    return folder


def flags():
    return ["--quasi", QUASI, "--identifier", "name,patient", "--default", "drop"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_raw_and_released(folder):
    found = printed(
        "risk", folder / "stays.csv", "--quasi", QUASI, "--released", folder / "out.csv", "--k", 4
    )
    assert (found["rows"], found["asked_k"], found["prosecutor"]["highest"]) == (120, 4, 1)
    after = found["released"]
    assert after["k"] >= 4
    assert after["prosecutor"]["below_k"] == 0
    assert after["prosecutor"]["average"] == after["classes"] / after["rows"]


def test_headings_say_which_numbers_are_of_the_release(folder):
    raw = ["risk", folder / "stays.csv", "--quasi", QUASI, "--k", 4]
    both = run(*raw, "--released", folder / "out.csv").stdout
    assert both.count("before") == both.count("after") == 2  # of the numbers, and of the sizes of classes
    alone = run(*raw).stdout.splitlines()
    assert alone[2].split() == ["│", "rows", "│", "120", "│"]  # no line of empty headings


def test_a_release_needs_nothing_but_its_manifest(folder):
    found = printed("risk", folder / "out.csv")
    assert found["asked_k"] == 4
    assert found["k"] >= 4
    assert len(found["subsets"]) == 7


def test_a_release_hides_in_its_own_table(folder):
    found = printed("risk", folder / "out.csv", "--population", folder / "stays.csv")
    assert found["population"]["people"] == 120
    assert found["population"]["k"] >= found["k"]
    assert found["population"]["short"] == 0
    assert found["journalist"]["highest"] <= found["prosecutor"]["highest"]


def test_nothing_is_estimated_from_a_release(folder):
    assert printed("risk", folder / "out.csv", "--sampling-fraction", 0.1)["uniqueness"] is None


def test_the_terminal_shows_all_that_was_asked_for(folder):
    result = run(
        "risk", folder / "stays.csv", "--quasi", "sex,profession", "--sampling-fraction", 0.1, "--household",
        "patient", "--released", folder / "out.csv",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    for text in (
        "before",
        "after",
        "risk above 1/20",
        "rows by class size",
        "sex, profession",
        "zayatz",
        "households",
    ):
        assert text in result.stdout


def test_the_owner_s_file_is_the_only_place_with_names(folder, tmp_path):
    out = tmp_path / "risks.parquet"
    result = run("risk", folder / "stays.csv", "--quasi", QUASI, "--identifier", "name", "--per-person", out)
    assert result.exit_code == 0
    frame = pl.read_parquet(out)
    assert frame.columns == ["name", "people_alike", "prosecutor_risk", "journalist_risk"]
    assert frame.height == 120
    assert not any(name in result.stdout + result.stderr for name in frame["name"])
    assert "not to be shared" in result.stderr


def test_quiet_prints_nothing(folder, tmp_path):
    result = run("risk", folder / "stays.csv", "--quasi", "sex", "--per-person", tmp_path / "x.csv", "-q")
    assert result.stdout + result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--quasi", "nothing"], "recipe.unknown_column"),
        ([], "recipe.no_quasi"),
        (["--quasi", "sex", "--sampling-fraction", "0"], "recipe.invalid"),
        (["--quasi", "sex", "--sampling-weight", "sex"], "data.kind"),
        (["--quasi", "sex", "--per-person", "{folder}/stays.csv"], "output.unwritable"),
        (["--quasi", "sex", "--per-person", "{folder}/nowhere/x.csv"], "output.unwritable"),
        (["--quasi", "sex", "--per-person", "{folder}/x.txt"], "output.unwritable"),
        (["--quasi", "sex", "--population", "{folder}/nothing.csv"], "data.unreadable"),
        (["--quasi", "sex", "--released", "{folder}/nothing.csv"], "data.unreadable"),
    ],
)
def test_mistakes_are_errors(folder, arguments, code):
    before = sorted(path.name for path in folder.iterdir())
    result = run("risk", folder / "stays.csv", *(text.format(folder=folder) for text in arguments), "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == code
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_recipe_in_place_of_the_table_is_an_error(folder):
    (folder / "recipe.toml").write_text("[privacy]\nk = 2\n")
    result = run("risk", folder / "recipe.toml")
    (folder / "recipe.toml").unlink()
    assert result.exit_code == 2
    assert "is a recipe, not a table" in result.stderr


def test_flags_can_be_saved_as_a_recipe(folder, tmp_path):
    recipe = tmp_path / "recipe.toml"
    direct = printed("risk", folder / "stays.csv", "--quasi", QUASI, "--k", 7, "--save-recipe", recipe)
    assert printed("risk", folder / "stays.csv", "--recipe", recipe) == direct
