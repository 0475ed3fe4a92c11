"""`shoal inspect` on real and made-up tables: roles, the draft, odd files, and what is never shown."""

from __future__ import annotations

import json
import tomllib

import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.datasets import hospital
from shoal.errors import ShoalError
from tests.profiles import slow

MARK = "ZXMARKERXZ"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def stays():
    return shoal.inspect(hospital(10_000))


def test_hospital_roles(stays):
    assert stays.identifiers == ["name", "patient"]
    assert stays.named("quasi") == ["birth_date", "sex", "postcode", "profession"]
    assert stays.named("sensitive") == ["diagnosis"]
    assert all(column.reason for column in stays.columns)


def test_hospital_counts(stays):
    table = hospital(10_000)
    for column in stays.columns:
        values = table[column.name]
        assert column.distinct == values.drop_nulls().n_unique()
        assert column.missing == values.null_count()
        assert column.unique_share == values.drop_nulls().is_unique().sum() / 10_000
    assert stays.combinations[0].columns == ("birth_date",)
    assert stays.combinations[0].unique == table["birth_date"].is_unique().sum()


@slow
def test_the_draft_of_adults_raw_file_runs_unchanged(data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("inspect", data_folder / "adult" / "adult.data", "--write", "adult.toml", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["rows"], len(found["columns"])) == (0, 32_561, 15)
    assert found["dependencies"][0] == {
        "source": "column_4", "target": "column_5", "share": 1.0, "exact": True, "mutual": True,
    }  # fmt: skip
    assert [column["name"] for column in found["columns"] if column["missing"]] == [
        "column_2",
        "column_7",
        "column_14",
    ]
    released = run("anonymize", "adult.toml", "--method", "mondrian", "--no-bound", "--json")
    assert released.exit_code == 0, released.stderr
    assert (json.loads(released.stdout)["rows"], json.loads(released.stdout)["k"]) == (32_561, 5)


def test_the_draft_of_the_demo_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hospital(600).write_csv("stays.csv")
    (tmp_path / "recipes").mkdir()
    for _ in range(2):  # the same recipe may be written again
        assert run("inspect", "stays.csv", "--write", "recipes/stays.toml").exit_code == 0
    assert tomllib.loads((tmp_path / "recipes" / "stays.toml").read_text())["input"] == {
        "path": "../stays.csv"
    }
    released = run("anonymize", "recipes/stays.toml", "--method", "mondrian", "--no-bound")
    assert released.exit_code == 0, released.stderr


def test_people_with_several_rows_are_counted():
    rows = 400
    table = pl.DataFrame(
        {
            "patient_id": [f"P{at // 4:04d}" for at in range(rows)],
            "visit": [str(at) for at in range(rows)],
            "age": [30 + at // 4 % 40 for at in range(rows)],
            "diagnosis": ["flu", "cold", "asthma"] * 133 + ["flu"],
        }
    )
    found = shoal.inspect(table)
    assert found.named("subject") == ["patient_id"]
    release = shoal.anonymize(table, found.to_recipe(), bound=False)
    assert release.recipe.subject == "patient_id"


def test_every_frame_gives_the_same():
    table = hospital(500)
    same = [shoal.inspect(frame).to_dict() for frame in (table, table.to_pandas(), table.to_arrow())]
    assert same[0] == same[1] == same[2]


def test_columns_that_cannot_be_read_are_dropped():
    table = pl.DataFrame({"age": [31, 33, 35, 37] * 10, "tags": [["a"], ["b"], [], ["c"]] * 10})
    found = shoal.inspect(table)
    assert [(column.name, column.role) for column in found.columns] == [("age", "quasi"), ("tags", "drop")]
    assert shoal.anonymize(table, found.to_recipe(), bound=False).k >= 5
    mixed = pd.DataFrame({"age": [31, 33] * 10, "mixed": [1, "x"] * 10})
    assert shoal.inspect(mixed).named("drop") == ["mixed"]


def test_numbers_that_cannot_be_used_as_such():
    table = pl.DataFrame(
        {
            "infinite": [1.5, float("inf"), 2.5, 3.5] * 10,
            "large": ["99999999999999999999999", "99999999999999999999998", "0.5", "1"] * 10,
            "sex": ["f", "m"] * 20,
        }
    )
    found = shoal.inspect(table)
    assert [(column.kind, column.role) for column in found.columns[:2]] == [
        ("numeric", "drop"),
        ("categorical", "quasi"),
    ]
    assert shoal.anonymize(table, found.to_recipe(), bound=False).k >= 5


def test_long_lists_of_dependencies_are_cut():
    table = pl.DataFrame({f"c{at}": [f"{at}-{row % 4}" for row in range(40)] for at in range(8)})
    found = shoal.inspect(table)
    assert len(found.dependencies) == 8 * 7
    assert repr(found).endswith("and 8 more")  # of 28 mutual ones


def test_an_ordered_type_stays_ordinal():
    levels = pd.Categorical(["low", "high", "mid", "low"] * 10, ["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"level": levels, "age": [31, 33, 35, 37] * 10})
    found = shoal.inspect(table)
    assert found.columns[0].kind == "ordinal"
    assert shoal.anonymize(table, found.to_recipe(), bound=False).kinds["level"]["kind"] == "ordinal"


def test_marks_for_missing_values_are_found():
    table = pl.DataFrame({"age": ["31", "NA", "40", "?"] * 10, "land": ["DE", "NA", "FR", "US"] * 10})
    assert [column.missing for column in shoal.inspect(table).columns] == [20, 10]
    states = pl.DataFrame(
        {"age": [1, 2, 3, 4, 5, 6, 7] * 5, "land": ["DE", "NA", "FR", "US", "IT", "ES", "PL"] * 5}
    )
    assert [column.missing for column in shoal.inspect(states).columns] == [0, 0]


def test_a_table_of_identifiers_alone_still_has_a_recipe():
    table = pl.DataFrame({"email": [f"a{at}@example.org" for at in range(40)]})
    found = shoal.inspect(table)
    assert found.named("quasi") == ["email"]
    assert shoal.anonymize(table, found.to_recipe(), bound=False).k >= 5


@pytest.mark.parametrize(
    "name", ["a b", "ä", 'q"uote', "^a.*$", "x.y", "default", "line\nbreak", "#", "\x1b[31m"]
)
def test_any_column_name_fits_into_the_recipe(name):
    table = pl.DataFrame({name: [1.5, 2.5, 3.5, 4.5] * 10, "sex": ["f", "m"] * 20})
    found = shoal.inspect(table)
    assert found.to_recipe().columns[name].role == "quasi"
    assert "\x1b" not in repr(found)
    assert "\x1b" not in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["absent.csv"], "data.unreadable"),
        (["people.csv", "--separator", "ab"], "recipe.invalid"),
        (["people.csv", "--names", "a,b", "--header"], "recipe.invalid"),
        (["people.csv", "--names", "a"], "data.ragged"),
        (["people.csv", "--encoding", "klingon"], "data.encoding"),
        (["people.csv", "--write", "people.csv"], "output.unwritable"),
        (["people.csv", "--write", "recipe.txt"], "output.unwritable"),
        (["people.csv", "--write", "absent/recipe.toml"], "output.unwritable"),
        (["people.csv", "--write", "there.toml"], "output.exists"),
        (["empty.csv"], "data.empty"),
        (["typed.parquet", "--names", "a,b"], "recipe.invalid"),
    ],
)
def test_faults(arguments, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(f"age,city\n31,{MARK}\n40,Rome\n")
    (tmp_path / "there.toml").write_text("# mine\n")
    (tmp_path / "empty.csv").write_text("")
    pl.DataFrame({"age": [31]}).write_parquet(tmp_path / "typed.parquet")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = run("inspect", *arguments, "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["code"]) == (2, code)
    assert MARK not in done.stdout + done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_flags_for_odd_files(tmp_path):
    path = tmp_path / "people.txt"
    path.write_bytes("31;Köln;#\n40;Köln;b\n50;#;b\n".encode("latin-1"))
    flags = ["--separator", ";", "--encoding", "latin-1", "--names", "age,town,x", "--missing-values", "#"]
    found = json.loads(run("inspect", path, *flags, "--json").stdout)
    assert [(column["name"], column["missing"]) for column in found["columns"]] == [
        ("age", 0),
        ("town", 1),
        ("x", 1),
    ]
    recipe = tomllib.loads(found["recipe"])["input"]
    del recipe["path"]
    assert recipe == {"separator": ";", "encoding": "latin-1", "header": False, "names": ["age", "town", "x"],
                      "missing": ["", "#"]}  # fmt: skip
    no_header = json.loads(run("inspect", path, "--encoding", "latin-1", "--no-header", "--json").stdout)
    assert [column["name"] for column in no_header["columns"]] == ["column_1", "column_2", "column_3"]


def test_an_unsupported_object_is_an_error():
    with pytest.raises(ShoalError, match="is not supported"):
        shoal.inspect(42)


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A table in which nine rows have a mark in every column that could show it."""
    path = tmp_path_factory.mktemp("marked") / "stays.csv"
    table = hospital(300, seed=3).with_row_index("row").with_columns(pl.col("cost").cast(pl.String))
    is_marked = pl.col("row") < 9
    names = ["name", "profession", "diagnosis", "cost", "sex"]
    table.with_columns(
        pl.when(is_marked).then(pl.lit(MARK)).otherwise(pl.col(name)).alias(name) for name in names
    ).drop("row").write_csv(path)
    return path


def test_nothing_shows_a_value_of_fewer_than_ten_rows(marked, tmp_path):
    found = shoal.inspect(marked)
    assert "female" in found.recipe  # frequent values are shown, so the test can fail
    recipe = tmp_path / "recipe.toml"
    printed = [run("inspect", marked, *more) for more in ([], ["--json"], ["--write", recipe])]
    texts = [one.stdout + one.stderr for one in printed]
    texts += [recipe.read_text(), repr(found), found._repr_html_(), json.dumps(found.to_dict())]
    for text in texts:
        assert MARK not in text
    tenth = pl.read_csv(marked, infer_schema=False)
    tenth = tenth.with_columns(sex=pl.when(pl.int_range(pl.len()) < 10).then(pl.lit(MARK)).otherwise("sex"))
    assert MARK in shoal.inspect(tenth).recipe


def test_a_headerless_table_does_not_show_its_first_row(tmp_path):
    path = tmp_path / "people.csv"
    rows = [f"{MARK}@example.org,{MARK} Smith,31,{MARK}"] + [
        f"a{at}@example.org,Bob Smith,{at},x{at % 3}" for at in range(40)
    ]
    path.write_text("\n".join(rows) + "\n")
    for form in ([], ["--json"]):
        done = run("inspect", path, *form)
        assert done.exit_code == 0
        assert MARK not in done.stdout + done.stderr
