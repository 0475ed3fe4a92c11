"""Classes are those of the cells as written, apostrophes and all; names are read without them."""

import polars as pl
import pytest

import shoal
from shoal.recipe import Recipe
from shoal.table.read import read_release
from shoal.verifier import verify
from shoal.workflow.measure import measure_tables


def test_cells_that_differ_in_the_file_are_different_classes(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("a\n'=x\n=x\n", encoding="utf-8")
    verdict = verify(path, Recipe.from_roles(quasi=["a"], k=2))
    assert (verdict.holds, verdict.classes, verdict.k) == (False, 2, 1)


def test_an_ordinal_value_with_an_apostrophe_is_a_published_form(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("a\n'-low\n'-low\n", encoding="utf-8")
    data = {
        "columns": {"a": {"role": "quasi", "kind": "ordinal", "order": ["-low", "high"]}},
        "privacy": {"k": 2},
    }
    assert verify(path, Recipe.from_dict(data)).holds
    raw = Recipe.from_dict({**data, "output": {"spreadsheet_safe": False}})
    assert [problem.code for problem in verify(path, raw).problems] == ["verify.form"]


FORMULAS = {
    "=1+1": [31, 33, 58, 60],
    "@ill": ["a", "b", "a", "b"],
    "'=x": ["1", "2", "3", "4"],
    "-5": [1, 2, 3, 4],
}
HEADER = "'=1+1,'@ill,''=x,-5"


def formulas(folder, ending, **output):
    """Release a table whose names a spreadsheet would run, and return its recipe and its path."""
    data = {
        "columns": {
            "=1+1": {"role": "quasi"},
            "@ill": {"role": "sensitive"},
            "'=x": {"role": "keep"},
            "-5": {"role": "keep"},
        },
        "privacy": {"k": 2},
        "method": {"name": "mondrian"},
        "output": output,
    }
    recipe = Recipe.from_dict(data)
    release = shoal.anonymize(pl.DataFrame(FORMULAS), recipe, bound=False)
    return recipe, release.write(folder / f"out{ending}")


@pytest.mark.parametrize(("ending", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_a_name_that_a_spreadsheet_would_run_is_marked_and_understood(ending, separator, tmp_path):
    recipe, path = formulas(tmp_path, ending)
    assert path.read_text(encoding="utf-8").splitlines()[0] == HEADER.replace(",", separator)
    assert verify(path, recipe).holds
    assert read_release(path).columns == list(FORMULAS)


def test_names_are_marked_only_where_a_spreadsheet_would_open_the_file_and_may(tmp_path):
    recipe, path = formulas(tmp_path, ".csv", spreadsheet_safe=False)
    assert path.read_text(encoding="utf-8").splitlines()[0] == ",".join(FORMULAS)
    assert verify(path, recipe).holds
    recipe, path = formulas(tmp_path, ".parquet")
    assert pl.read_parquet(path).columns == list(FORMULAS)
    assert verify(path, recipe).holds


def test_a_marked_name_is_none_where_nothing_is_marked(tmp_path):
    recipe, path = formulas(tmp_path, ".csv")
    raw = recipe.model_copy(update={"output": recipe.output.model_copy(update={"spreadsheet_safe": False})})
    codes = [problem.code for problem in verify(path, raw).problems]
    assert codes[1:] == ["verify.forbidden_column"]


def test_two_columns_of_bounds_are_marked_too(tmp_path):
    recipe, path = formulas(tmp_path, ".csv", bounds_as="columns")
    assert path.read_text(encoding="utf-8").splitlines()[0].startswith("'=1+1_low,'=1+1_high,")
    assert verify(path, recipe).holds


def test_a_release_with_marked_names_is_measured_extended_and_looked_at_again(tmp_path):
    recipe, path = formulas(tmp_path, ".csv")
    people = pl.DataFrame(FORMULAS)
    assert shoal.extend(path, people, recipe).added == 4
    also = [path.with_name("out.csv.manifest.json")]
    release = shoal.anonymize(people, recipe, also=also, accept_composition=True, bound=False)
    assert release.composition["views"] == 2
    people.write_csv(tmp_path / "people.csv")
    asked = Recipe.from_dict({**recipe.to_dict(), "input": {"path": str(tmp_path / "people.csv")}})
    assert measure_tables(asked, path, bound=False)["k"] == 2


def test_both_tables_of_anatomy_have_marked_names(tmp_path):
    columns = {"=age": {"role": "quasi"}, "@ill": {"role": "sensitive"}}
    data = {"columns": columns, "privacy": {"k": 2}, "method": {"name": "anatomy"}}
    recipe = Recipe.from_dict(data)
    people = pl.DataFrame({"=age": [31, 33, 58, 60], "@ill": ["a", "b", "a", "b"]})
    shoal.anonymize(people, recipe).write(tmp_path / "out.csv")
    assert "'=age" in (tmp_path / "out.quasi.csv").read_text(encoding="utf-8")
    assert "'@ill" in (tmp_path / "out.sensitive.csv").read_text(encoding="utf-8")
    assert verify(tmp_path / "out.csv", recipe).holds
