"""`shoal extend`: files in, files out, and the rows that must wait are kept apart."""

import json
import shutil
import stat

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.recipe import Recipe
from shoal.release.signing import make_keys
from tests.bad_input_cases import snapshot

MARCH = {"name": [*"abcdefgh"], "age": [30, 34, 31, 33, 60, 66, 61, 65], "ill": ["flu", "cold"] * 4}
APRIL = {"name": [*"ijkl"], "age": [32, 31, 62, 64], "ill": ["flu", "cold", "flu", "flu"]}
RECIPE = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
kind = "numeric"
[columns.ill]
role = "sensitive"
[privacy]
k = 2
[[privacy.goal]]
type = "l-diversity"
column = "ill"
l = 2
[method]
name = "mondrian"
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with its recipe, and new rows, two of which can be added."""
    folder = tmp_path_factory.mktemp("made")
    pl.DataFrame(MARCH).write_csv(folder / "march-raw.csv")
    pl.DataFrame(APRIL).write_csv(folder / "april-raw.csv")
    (folder / "recipe.toml").write_text('[input]\npath = "march-raw.csv"\n' + RECIPE)
    anonymized(folder, ledger=folder / "ledger")
    return folder


def anonymized(folder, **more):
    shoal.anonymize(Recipe.load(folder / "recipe.toml"), bound=False, **more).write(folder / "march.csv")


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rows_are_added_held_back_and_added_with_the_next(folder):
    make_keys(folder / "key.pem")
    result = run("extend", "march.csv", "april-raw.csv", "-o", "april.csv", "--ledger", "ledger",
                 "--sign", "key.pem", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["earlier"], told["added"], told["held_back"]) == (8, 2, 2)
    assert (told["output"], told["held_back_file"]) == ("april.csv", "april-raw.held-back.csv")
    assert told["ledger"]["entry"] == 2
    held = folder / "april-raw.held-back.csv"
    assert held.read_text() == "name,age,ill\nk,62,flu\nl,64,flu\n"
    assert stat.S_IMODE(held.stat().st_mode) == 0o600
    pl.DataFrame({"name": ["m"], "age": [63], "ill": ["ulcer"]}).write_csv("may-raw.csv")
    again = run("extend", "april.csv", "may-raw.csv", held, "--recipe", "recipe.toml", "-o", "may.csv",
                "--ledger", "ledger", "--sign", "key.pem")  # fmt: skip
    assert again.exit_code == 0, again.output
    assert "released 13 rows in 2 classes: 10 earlier, 3 new (3 of them in earlier classes)" in again.output
    assert not (folder / "may-raw.held-back.csv").exists()
    added = set(pl.read_csv("may.csv").rows()) - set(pl.read_csv("april.csv").rows())
    assert added == {("[60, 66]", "ulcer")}
    key = ("--public-key", "key.pub.pem")
    assert run("verify", "may.csv", "april.csv", "--ledger", "ledger").exit_code == 0
    assert run("verify", "may.csv", *key).exit_code == 0
    # The first release was not signed.
    assert run("verify", "--ledger", "ledger", *key).exit_code == 1


@pytest.mark.parametrize("change", ["separator", "no header", "missing"])
def test_rows_held_back_are_written_so_that_the_recipe_reads_them(tmp_path, monkeypatch, change):
    monkeypatch.chdir(tmp_path)
    given = {
        "separator": 'separator = ";"',
        "no header": 'header = false\nnames = ["name", "age", "ill"]',
        "missing": 'missing = ["NA"]',
    }[change]
    options = {"separator": {"separator": ";"}, "no header": {"include_header": False}, "missing": {}}[change]
    frame = pl.DataFrame({**APRIL, "name": ["i", "j", None, "é;"]})
    pl.DataFrame(MARCH).write_csv("march-raw.csv", **options)
    frame.write_csv("april-raw.csv", null_value="NA" if change == "missing" else "", **options)
    (tmp_path / "recipe.toml").write_text(f'[input]\npath = "march-raw.csv"\n{given}\n' + RECIPE)
    anonymized(tmp_path)
    flags = ("--recipe", "recipe.toml", "--json")
    result = run("extend", "march.csv", "april-raw.csv", "-o", "april.csv", *flags)
    assert json.loads(result.stdout)["held_back"] == 2, result.output
    again = run(
        "extend", "april.csv", "april-raw.held-back.csv", "-o", "may.csv", "--held-back", "w.csv", *flags
    )
    assert json.loads(again.stdout)["held_back"] == 2, again.output
    assert (tmp_path / "w.csv").read_bytes() == (tmp_path / "april-raw.held-back.csv").read_bytes()


def test_parquet_in_and_out(folder):
    pl.DataFrame(APRIL).write_parquet("new.parquet")
    result = run("extend", "march.csv", "new.parquet", "-o", "april.parquet", "--json")
    assert json.loads(result.stdout)["held_back_file"] == "new.held-back.parquet"
    assert pl.read_parquet("new.held-back.parquet").rows() == [("k", 62, "flu"), ("l", 64, "flu")]


BAD = {
    "the earlier release": (("march.csv", "april-raw.csv", "-o", "march.csv"), "output.unwritable"),
    "the new rows": (("march.csv", "april-raw.csv", "-o", "april-raw.csv"), "output.unwritable"),
    "held back onto new rows": (
        ("march.csv", "april-raw.csv", "-o", "o.csv", "--held-back", "april-raw.csv"),
        "output.unwritable",
    ),
    "held back onto the release": (
        ("march.csv", "april-raw.csv", "-o", "o.csv", "--held-back", "o.csv"),
        "output.unwritable",
    ),
    "held back in no folder": (
        ("march.csv", "april-raw.csv", "-o", "o.csv", "--held-back", "none/h.csv"),
        "output.unwritable",
    ),
    "held back as Excel": (
        ("march.csv", "april-raw.csv", "-o", "o.csv", "--held-back", "h.xlsx"),
        "output.unwritable",
    ),
    "held back onto something": (
        ("march.csv", "april-raw.csv", "-o", "o.csv", "--held-back", "march-raw.csv"),
        "output.exists",
    ),
    "other columns": (("march.csv", "april-raw.csv", "other.csv", "-o", "o.csv"), "data.unreadable"),
    "no new rows": (("march.csv", "absent.csv", "-o", "o.csv"), "data.unreadable"),
    "no release": (("absent.csv", "april-raw.csv", "-o", "o.csv"), "data.unreadable"),
    "no manifest": (("april-raw.csv", "april-raw.csv", "-o", "o.csv"), "recipe.invalid"),
    "no key": (("march.csv", "april-raw.csv", "-o", "o.csv", "--sign", "none.pem"), "key.unusable"),
    "in the ledger": (
        ("march.csv", "april-raw.csv", "-o", "march.csv", "--ledger", "ledger", "--force"),
        "output.unwritable",
    ),
}


@pytest.mark.parametrize(("arguments", "code"), BAD.values(), ids=BAD)
def test_bad_usage_gets_one_error_and_leaves_everything_as_it_was(folder, arguments, code):
    pl.DataFrame({"age": [1]}).write_csv("other.csv")
    before = snapshot(folder)
    result = run("extend", *arguments, "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (2, code)
    assert snapshot(folder) == before


def test_what_waits_is_not_left_when_the_release_fails(folder, monkeypatch):
    from shoal.errors import OutputError

    def full(file, place):
        raise OutputError("output.unwritable", "The disk is full.")

    before = snapshot(folder)
    monkeypatch.setattr("shoal.release.writing.move_into_place", full)
    assert run("extend", "march.csv", "april-raw.csv", "-o", "april.csv", "--ledger", "ledger").exit_code == 2
    assert {name: data for name, data in snapshot(folder).items() if not name.endswith(".lock")} == {
        name: data for name, data in before.items() if not name.endswith(".lock")
    }
