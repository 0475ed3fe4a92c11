"""The flags that describe a table: the same for every command, and as good as a recipe."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.cli.table_flags import TableFlags
from shoal.recipe import Recipe

TABLE = """age;zip;size;ill;name
21;1234;small;a;n1
23;1299;medium;b;n2
NA;1234;small;c;n3
41;9911;large;a;n4
44;9999;large;b;n5
46;9911;medium;c;n6
"""
ROLES = ["--quasi", "age,zip,size", "--sensitive", "ill", "--identifier", "name"]
DETAILS = [
    *("--kind", "zip=categorical", "--kind", "size=ordinal", "--order", "size=small,medium,large"),
    *("--weight", "age=2.5", "--hierarchy", "zip={ prefix = 2 }", "--accept", "ill=alike"),
    *("--missing", "suppress", "--max-suppressed", "0.25", "--missing-values", "NA,?"),
]
RECIPE = {
    "columns": {
        "age": {"role": "quasi", "weight": 2.5},
        "zip": {"role": "quasi", "kind": "categorical", "hierarchy": {"prefix": 2}},
        "size": {"role": "quasi", "kind": "ordinal", "order": ["small", "medium", "large"]},
        "ill": {"role": "sensitive", "accept": ["alike"]},
        "name": {"role": "identifier"},
    },
    "privacy": {"k": 2, "missing": "suppress", "max_suppressed": 0.25},
}


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def recipe(table):
    path = table.with_name("recipe.toml")
    sections = {"input": {"path": "people.csv", "missing": ["", "NA", "?"]}, **RECIPE}
    path.write_text(Recipe.from_dict(sections).to_toml())
    return path


def test_flags_make_the_release_that_a_recipe_makes(table, recipe, tmp_path):
    by_recipe = done("anonymize", recipe, "-o", tmp_path / "a.csv")
    by_flags = done("anonymize", table, *ROLES, *DETAILS, "--k", 2, "-o", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (by_flags["suppressed"], by_flags["loss"]) == (1, by_recipe["loss"])


def test_measure_and_compare_take_the_same_flags(table, recipe, tmp_path):
    release = tmp_path / "a.csv"
    done("anonymize", recipe, "-o", release)
    by_recipe = done("measure", table, "--recipe", recipe, "--released", release)
    by_flags = done("measure", table, *ROLES, *DETAILS, "--k", 2, "--released", release)
    assert by_flags == by_recipe
    methods = ["--methods", "mondrian,k-member", "--k", "2,3"]
    by_recipe = done("compare", recipe, *methods)
    by_flags = done("compare", table, *ROLES, *DETAILS, *methods)
    for one, other in zip(by_recipe["results"], by_flags["results"], strict=True):
        assert (one["method"], one["k"], one["loss"]) == (other["method"], other["k"], other["loss"])


def test_verify_takes_the_same_flags(table, recipe, tmp_path):
    release = tmp_path / "a.csv"
    done("anonymize", recipe, "-o", release)
    flags = [*ROLES, *DETAILS, "--k", 2, "--original", table]
    assert done("verify", release, *flags)["holds"]
    stricter = [flag if flag != "0.25" else "0.1" for flag in flags]
    result = run("verify", release, *stricter, "--json")
    assert [problem["code"] for problem in json.loads(result.stdout)["problems"]] == ["verify.original_rows"]


def test_a_saved_recipe_says_what_the_flags_said(table, recipe, tmp_path):
    folder = tmp_path / "recipes"
    folder.mkdir()
    saved = folder / "saved.toml"
    flags = [
        *ROLES,
        *DETAILS,
        "--k",
        2,
        "--method",
        "mondrian",
        "--seed",
        3,
        "--goal",
        "l-diversity column=ill l=2",
    ]
    done("anonymize", table, *flags, "--save-recipe", saved, "-o", tmp_path / "a.csv")
    found = Recipe.load(saved)
    assert found.resolve(found.input.path).resolve() == table
    assert found.input.path == "../people.csv"  # as seen from the recipe, so that both can move
    method = {"name": "mondrian", "seed": 3}
    goal = {"type": "l-diversity", "column": "ill", "l": 2}
    expected = {**RECIPE, "privacy": {**RECIPE["privacy"], "goal": [goal]}, "method": method}
    sections = found.to_dict()
    assert sections.pop("input") == {"path": "../people.csv", "missing": ["", "NA", "?"]}
    assert sections.pop("output")["path"] == str(tmp_path / "a.csv")
    assert {**sections, "method": {key: sections["method"][key] for key in method}} == expected
    done("anonymize", saved, "-o", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_hierarchy_s_file_is_saved_as_seen_from_the_recipe(table, tmp_path):
    (tmp_path / "tree.csv").write_text("1234;12;*\n1299;12;*\n9911;99;*\n9999;99;*\n")
    (tmp_path / "recipes").mkdir()
    saved = tmp_path / "recipes" / "saved.toml"
    flags = ["--quasi", "zip", "--default", "drop", "--k", 2, "--hierarchy", f"zip={tmp_path / 'tree.csv'}"]
    done("measure", table, *flags, "--save-recipe", saved)
    assert Recipe.load(saved).columns["zip"].hierarchy == "../tree.csv"
    done("compare", saved, "--methods", "kaca")


def test_a_recipe_is_not_overwritten_unless_it_says_the_same(table, tmp_path):
    saved = tmp_path / "saved.toml"
    flags = [table, *ROLES, *DETAILS, "--k", 2, "--save-recipe", saved]
    done("measure", *flags)
    before = saved.read_bytes()
    done("measure", *flags)
    result = run("measure", *flags[:-4], "--k", 3, "--save-recipe", saved)
    assert result.exit_code == 2
    assert "output.exists" in result.stderr
    assert saved.read_bytes() == before


def test_a_recipe_is_not_saved_over_the_table(table):
    result = run("measure", table, *ROLES, "--k", 2, "--save-recipe", table)
    assert result.exit_code == 2
    assert "would overwrite the input" in result.stderr
    assert table.read_text() == TABLE


def test_a_table_without_a_header_is_read_by_its_names(tmp_path):
    path = tmp_path / "people.txt"
    path.write_bytes("31|é\n33|é\n58|ü\n60|ü\n".encode("latin-1"))
    flags = ["--quasi", "age,town", "--names", "age,town", "--separator", "|", "--encoding", "latin-1"]
    done("anonymize", path, *flags, "--k", 2, "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1:3] == ['"[31, 33]",é', '"[31, 33]",é']


@pytest.mark.parametrize(
    ("flags", "message", "hint"),
    [
        (["--kind", "age"], "--kind takes COLUMN=KIND.", "zip=categorical"),
        (["--weight", "=2"], "--weight takes COLUMN=NUMBER.", "age=2"),
        (["--hierarchy", "zip={ prefix"], "A hierarchy in braces is not a valid TOML table.", "--hierarchy"),
        (["--weight", "age=much"], "`--weight` of column `age` should be a valid number.", "correct"),
        (["--kind", "age=number"], "`--kind` of column `age` should be 'numeric', 'categorical'", "correct"),
        (["--missing", "NA"], "`--missing` should be 'category', 'suppress' or 'error'.", "values NA,?"),
        (["--max-suppressed", "2"], "`--max-suppressed` should be less than or equal to 1.", "correct"),
        (["--kind", "size=ordinal"], "Column `size` is ordinal but has no order.", "--order size=...,..."),
        (["--order", "size=small,large"], "has an order but is not ordinal.", "--kind size=ordinal"),
        (["--method", "magic"], "There is no method with this name.", "methods: "),
        (["--views-by", "projection"], "`--views-by` applies to several views", "`--views`"),
        (["--kind", "zipp=date"], "`columns.zipp.role` is missing.", "give each column one role"),
    ],
)  # fmt: skip
def test_faults_of_flags_speak_of_flags(table, tmp_path, flags, message, hint):
    result = run("anonymize", table, *ROLES, "--k", 2, "-o", tmp_path / "out.csv", *flags)
    assert result.exit_code == 2
    assert message in result.stderr
    assert hint in result.stderr.split("hint:")[1]
    assert "recipe" not in result.stderr.replace("[recipe.", "").replace("recipe reference", "")
    assert list(tmp_path.iterdir()) == [table]


def test_without_k_the_flag_is_named(table, tmp_path):
    result = run("anonymize", table, *ROLES, "-o", tmp_path / "out.csv")
    assert "`--k` is missing." in result.stderr
    assert "add --k 5" in result.stderr


def test_with_a_recipe_its_keys_are_named(table, recipe, tmp_path):
    recipe.write_text(recipe.read_text().replace('missing = "suppress"', 'missing = "NA"'))
    result = run("anonymize", recipe, "-o", tmp_path / "out.csv")
    assert "`privacy.missing` in the recipe should be" in result.stderr
    assert 'missing = ["NA", "?"] in [input]' in result.stderr


def test_unnamed_columns_are_listed_with_the_flag_that_drops_them(table, tmp_path):
    result = run("anonymize", table, "--quasi", "age", "--k", 2, "-o", tmp_path / "out.csv")
    assert "4 of 5 columns have no role: `zip`, `size`, `ill`, `name`." in result.stderr
    assert "--default drop" in result.stderr


@pytest.mark.parametrize("command", ["anonymize", "measure", "compare", "verify"])
def test_every_command_lists_every_flag(command):
    import typer.main

    parameters = typer.main.get_command(app).commands[command].params
    assert set(vars(TableFlags())) <= {parameter.name for parameter in parameters}
    assert "--max-suppressed" in {option for parameter in parameters for option in parameter.opts}


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path):
    result = run("compare", Path("nobody.csv"), "--quasi", "a", "--k", "2")
    assert result.exit_code == 2
    assert "nobody.csv" in result.stderr
