"""Nothing is written to a file that is read, and a release takes the place of one of its own recipe only."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import OutputError
from shoal.recipe import Recipe
from tests.bad_input_cases import run, snapshot

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")

PEOPLE = pl.DataFrame({"age": [31, 33, 58, 60], "sex": ["f", "f", "m", "f"], "ill": ["a", "b", "a", "b"]})
RECIPE = """
[input]
path = "people.csv"
[columns.age]
role = "quasi"
[columns.sex]
role = "quasi"
hierarchy = "sex.csv"
[columns.ill]
role = "sensitive"
[privacy]
k = 2
[method]
name = "mondrian"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, its hierarchy and its recipe, in which the commands run."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recipe(**changes: Any) -> Recipe:
    return Recipe.load("recipe.toml", changes=changes)


def anonymize(out: str, *more: str) -> Any:
    return run("anonymize", "recipe.toml", "--no-bound", "-o", out, *more)


def made(**changes: Any) -> Any:
    return shoal.anonymize(recipe(**changes), bound=False)


def refused(result: Any, what: str) -> None:
    assert result.stderr.startswith("error [output.unwritable]: The output ")
    assert f" would overwrite {what}.\n" in result.stderr
    assert (result.exit_code, result.stdout) == (2, "")


# What is read is never written.


@pytest.mark.parametrize(
    ("file", "out", "what"),
    [
        ("people.csv", "people.csv", "the input"),
        ("sex.csv", "sex.csv", "the hierarchy of column `sex`"),
        ("recipe.toml", "x.csv", "the recipe"),
        ("people.csv", "x.csv", "the input"),
    ],
    ids=["input", "hierarchy", "recipe-as-manifest", "input-as-report"],
)
def test_a_file_that_a_recipe_names_is_never_overwritten(
    file: str, out: str, what: str, folder: Path
) -> None:
    if out == "x.csv":  # a link stands where the manifest or the report would go
        os.link(file, "x.csv.manifest.json" if file == "recipe.toml" else "x.csv.report.html")
    before = snapshot(folder)
    refused(anonymize(out, "--force"), what)
    assert snapshot(folder) == before


def test_an_input_where_the_manifest_would_go_is_never_overwritten(folder: Path) -> None:
    PEOPLE.write_csv(folder / "x.csv.manifest.json")
    asked = RECIPE.replace("people.csv", "x.csv.manifest.json")
    assert asked != RECIPE
    (folder / "recipe.toml").write_text(asked, encoding="utf-8")
    before = snapshot(folder)
    refused(anonymize("x.csv", "--force"), "the input")
    assert snapshot(folder) == before


@needs_links
@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard", "symbolic"])
@pytest.mark.parametrize(
    ("out", "what"),
    [("people.csv", "the input"), ("sex.csv", "the hierarchy of column `sex`")],
    ids=["input", "hierarchy"],
)
def test_a_link_to_a_file_that_is_read_is_never_overwritten(
    link: Any, out: str, what: str, folder: Path
) -> None:
    link(folder / out, folder / "linked.csv")
    refused(anonymize("linked.csv", "--force"), what)
    with pytest.raises(OutputError, match="would overwrite "):
        made().write("linked.csv", force=True)
    assert (folder / "linked.csv").read_bytes() == (folder / out).read_bytes()


def test_python_never_overwrites_what_was_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    releases = {
        "whole": made(),
        "views": made(output={"views": [["age"], ["sex"]]}),
        "anatomy": made(method={"name": "anatomy"}),
    }
    os.link("sex.csv", "x.1.csv")
    os.link("sex.csv", "y.quasi.csv")
    before = snapshot(folder)
    monkeypatch.chdir("/")  # what was read stays what it was
    for name, place in (("whole", "sex.csv"), ("views", "x.csv"), ("anatomy", "y.csv")):
        with pytest.raises(OutputError, match="would overwrite the hierarchy of column `sex`"):
            releases[name].write(folder / place, force=True)
    with pytest.raises(OutputError, match="would overwrite the recipe"):
        releases["whole"].report(folder / "recipe.toml")
    with pytest.raises(OutputError, match="would overwrite the hierarchy of column `sex`"):
        releases["views"].report(folder / "x.csv")
    assert snapshot(folder) == before


def test_earlier_releases_and_their_manifests_are_never_overwritten(folder: Path) -> None:
    made(columns={"sex": {"role": "drop"}}).write("a.csv")
    made(output={"views": [["age"], ["sex"]]}).write("b.csv")
    also = ["--also", "a.csv.manifest.json", "--also", "b.csv.manifest.json", "--accept-composition"]
    before = snapshot(folder)
    refused(anonymize("a.csv", *also, "--force"), "earlier release 1")
    os.link("b.2.csv", "x.csv.report.html")
    refused(anonymize("x.csv", *also, "--force"), "table 2 of earlier release 2")
    release = shoal.anonymize(recipe(), also=["a.csv.manifest.json"], accept_composition=True, bound=False)
    with pytest.raises(OutputError, match="would overwrite the manifest of earlier release 1"):
        release.report("a.csv.manifest.json")
    (folder / "x.csv.report.html").unlink()
    assert snapshot(folder) == before


@pytest.mark.parametrize("nowhere", [".", "/", "nobody.csv.manifest.json"])
def test_what_is_no_earlier_release_is_said_to_be_none(nowhere: str, folder: Path) -> None:
    result = anonymize("x.csv", "--also", nowhere)
    assert result.stderr.startswith("error [data.unreadable]: The earlier release ")
    junit = run("verify", nowhere, "--recipe", "recipe.toml", "--junit", "junit.xml")
    assert junit.stderr.startswith("error [data.unreadable]: ")


def test_an_extension_never_overwrites_the_release_that_it_extends(folder: Path) -> None:
    asked = recipe()
    path = made().write("earlier.csv")
    before = snapshot(folder)
    extension = shoal.extend(path, PEOPLE, asked)
    for place in (path, Path("sex.csv")):
        with pytest.raises(OutputError, match="would overwrite "):
            extension.write(place, force=True)
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("people.csv", "the original"),
        ("out.csv", "the release"),
        ("out.csv.manifest.json", "the manifest"),
        ("sex.csv", "the hierarchy of column `sex`"),
        ("recipe.toml", "the recipe"),
    ],
)
def test_a_junit_file_takes_the_place_of_nothing_that_is_read(file: str, what: str, folder: Path) -> None:
    (folder / "raw.csv").write_bytes(b"not the input that the recipe names\n")
    made().write("out.csv")
    before = snapshot(folder)
    changed = RECIPE.replace("people.csv", "raw.csv")
    (folder / "recipe.toml").write_text(changed, encoding="utf-8")
    before["recipe.toml"] = changed.encode()
    result = run("verify", "out.csv", "--recipe", "recipe.toml", "--original", "people.csv", "--junit", file)
    refused(result, what)
    assert snapshot(folder) == before


def test_a_chart_takes_the_place_of_nothing_that_is_read(folder: Path) -> None:
    os.link("people.csv", "people.html")
    before = snapshot(folder)
    arguments = ["--methods", "mondrian", "--no-bound", "--chart", "people.html"]
    refused(run("compare", "recipe.toml", *arguments), "the input")
    comparison = shoal.compare(recipe(), methods=["mondrian"], bound=False)
    with pytest.raises(OutputError, match="would overwrite the input"):
        comparison.chart("people.html")
    assert snapshot(folder) == before


def test_a_hierarchy_takes_the_place_of_nothing_that_is_read(folder: Path) -> None:
    before = snapshot(folder)
    refused(run("hierarchy", "build", "people.csv", "--column", "sex", "-o", "people.csv"), "the table")
    refused(run("hierarchy", "convert", "sex.csv", "sex.csv"), "the hierarchy")
    assert snapshot(folder) == before


# What is there already is replaced by a release of the same recipe, or on demand.


def test_a_release_of_the_same_recipe_is_replaced_and_said_to_be(folder: Path) -> None:
    first = json.loads(anonymize("out.csv", "--json").stdout)
    second = json.loads(anonymize("out.csv", "--json").stdout)
    assert (first["replaced"], second["replaced"]) == (False, True)
    assert "replaced existing files" in anonymize("out.csv").stdout
    assert "replaced" not in anonymize("other.csv").stdout


@pytest.mark.parametrize("form", [[], ["--views", "age;sex"], ["--method", "anatomy"]], ids=str)
def test_a_release_of_another_recipe_is_replaced_by_force_only(form: list[str], folder: Path) -> None:
    more = [*form, "--accept-composition"]
    assert anonymize("out.csv", *more).exit_code == 0
    before = snapshot(folder)
    result = anonymize("out.csv", *more, "--k", "3")
    assert result.stderr.startswith("error [output.exists]: out.")
    assert "--force" in result.stderr
    assert (result.exit_code, result.stdout) == (2, "")
    assert snapshot(folder) == before
    forced = anonymize("out.csv", *more, "--k", "3", "--force", "--json")
    assert json.loads(forced.stdout)["replaced"] is True
    manifest = json.loads((folder / "out.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["recipe"]["privacy"]["k"] == 3


@pytest.mark.parametrize("name", ["out.csv", "out.csv.manifest.json", "out.csv.report.html"])
def test_a_file_that_is_no_release_is_replaced_by_force_only(name: str, folder: Path) -> None:
    (folder / name).write_text('{"recipe": "somebody\'s own"}', encoding="utf-8")
    before = snapshot(folder)
    result = anonymize("out.csv")
    assert result.stderr.startswith(f"error [output.exists]: {name} exists and is not a release of this ")
    assert result.exit_code == 2
    with pytest.raises(OutputError, match="not a release of this recipe") as caught:
        made().write("out.csv", report=True)
    assert caught.value.code == "output.exists"
    assert snapshot(folder) == before
    made().write("out.csv", report=True, force=True)
    assert shoal.verify("out.csv", recipe()).holds


def test_views_that_the_new_release_does_not_have_go_with_the_old_one(folder: Path) -> None:
    assert anonymize("out.csv", "--views", "age;sex", "--accept-composition").exit_code == 0
    one = ["--views", "age,sex", "--json"]
    assert anonymize("out.csv", *one).exit_code == 2
    assert (folder / "out.2.csv").exists()
    assert anonymize("out.csv", *one, "--force").exit_code == 0
    assert sorted(file.name for file in folder.glob("out*")) == [
        "out.1.csv", "out.1.csv.report.html", "out.csv.manifest.json",
    ]  # fmt: skip


def test_a_stale_view_that_is_read_is_not_removed(folder: Path) -> None:
    assert anonymize("out.csv", "--views", "age;sex", "--accept-composition").exit_code == 0
    before = snapshot(folder)
    changed = RECIPE.replace("people.csv", "out.2.csv").replace('[columns.age]\nrole = "quasi"\n', "")
    (folder / "recipe.toml").write_text(changed.replace("hierarchy", "# hierarchy"), encoding="utf-8")
    refused(anonymize("out.csv", "--views", "equal", "--force"), "the input")
    assert (folder / "out.2.csv").read_bytes() == before["out.2.csv"]


def test_the_demo_can_be_repeated(folder: Path) -> None:
    first = run("demo", "--dir", "demo", "--rows", "100", "--json")
    second = run("demo", "--dir", "demo", "--rows", "120", "--json")
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert json.loads(second.stdout)["replaced"] is True


@pytest.mark.parametrize("name", ["hospital.csv", "hospital-k5.csv", "hospital.toml"])
def test_the_demo_replaces_no_files_but_its_own(name: str, folder: Path) -> None:
    (folder / name).write_text("somebody's own\n", encoding="utf-8")
    before = snapshot(folder)
    result = run("demo", "--dir", ".", "--rows", "100")
    assert result.stderr.startswith("error [output.exists]: ")
    assert (result.exit_code, result.stdout) == (2, "")
    assert snapshot(folder) == before
