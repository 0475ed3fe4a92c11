"""A manifest wherever a recipe is taken; what recipes and comparisons show of themselves."""

import json
from dataclasses import replace

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import InfeasibleError, RecipeError
from shoal.workflow.compare import Refusal

PEOPLE = pl.DataFrame(
    {
        "age": [at * 7 % 31 for at in range(24)],
        "sex": ["fm"[at % 2] for at in range(24)],
        "ill": ["abc"[at * 5 % 3] for at in range(24)],
    }
)
ROLES = {"quasi": ["age", "sex"], "sensitive": ["ill"]}


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def release(tmp_path):
    """A release that has been written, with its folder."""
    made = shoal.anonymize(PEOPLE, **ROLES, k=4, goals=["l-diversity column=ill l=2"], method="mondrian")
    made.write(tmp_path / "out.csv")
    return made


def test_a_release_with_its_manifest_needs_nothing_else_to_be_verified(release, tmp_path):
    done = run("verify", tmp_path / "out.csv", "--json")
    assert done.exit_code == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert [goal["type"] for goal in verdict["goals"]] == ["k-anonymity", "l-diversity"]
    assert verdict["goals"][0]["asked"] == 4


def test_a_release_that_breaks_what_its_manifest_says_is_found_out(release, tmp_path):
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "out.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    assert run("verify", tmp_path / "out.csv").exit_code == 1


def test_without_a_manifest_somebody_must_say_what_was_promised(release, tmp_path):
    (tmp_path / "out.csv.manifest.json").unlink()
    done = run("verify", tmp_path / "out.csv")
    assert (done.exit_code, "error [recipe." in done.stderr) == (2, True)


def test_flags_count_where_they_are_given(release, tmp_path):
    done = run("verify", tmp_path / "out.csv", "--recipe", tmp_path / "out.csv.manifest.json", "--k", 25)
    assert done.exit_code == 1


@pytest.mark.parametrize("views", ["equal", "anatomy"])
def test_several_tables_are_verified_by_the_name_that_they_share(views, tmp_path):
    how = {"method": "anatomy"} if views == "anatomy" else {"views": views, "accept_composition": True}
    shoal.anonymize(PEOPLE, **ROLES, k=4, **how).write(tmp_path / "out.csv")
    done = run("verify", tmp_path / "out.csv")
    assert done.exit_code == 0, done.stderr


def test_a_manifest_is_a_recipe_in_python(release, tmp_path):
    recipe = shoal.Recipe.load(tmp_path / "out.csv.manifest.json")
    assert shoal.verify(tmp_path / "out.csv", recipe).holds
    assert shoal.anonymize(PEOPLE, recipe).table.equals(release.table)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"recipe": 3}'])
def test_what_is_no_manifest_is_one_error(text, tmp_path):
    path = tmp_path / "x.csv.manifest.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match="does not contain a recipe") as error:
        shoal.Recipe.load(path)
    assert error.value.code == "recipe.unreadable"


def test_a_recipe_shows_what_matters():
    recipe = shoal.Recipe.from_roles(**ROLES, identifiers=["name"], k=4)
    text = "Recipe(quasi: age, sex; sensitive: ill; identifier: name; k: 4; method: auto)"
    assert repr(recipe) == str(recipe) == text
    assert "<th>quasi</th><td>age, sex</td>" in recipe._repr_html_()


def test_a_comparison_shows_its_trials():
    recipe = shoal.Recipe.from_roles(**ROLES, k=4)
    found = shoal.compare(PEOPLE, recipe, methods=["mondrian", "oka"], ks=[4], bound=False)
    refusal = Refusal.of(InfeasibleError("infeasible.rows", "Too few rows.", "lower k"))
    found = replace(found, trials=(*found.trials, replace(found.trials[0], k=30, outcome=refusal)))
    head, columns, *lines = repr(found).splitlines()
    assert head == "Comparison on 24 rows"
    assert columns.split() == ["method", "k", "IL", "GCP", "classes", "seconds"]
    assert [line.split()[:2] for line in lines] == [["mondrian", "4"], ["oka", "4"], ["mondrian", "30"]]
    assert sum(line.endswith("lowest loss") for line in lines) == 1
    assert lines[-1].endswith("infeasible.rows")
    assert found._repr_html_().count("<tr>") == 4
