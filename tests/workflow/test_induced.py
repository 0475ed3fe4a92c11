"""Releases with induced hierarchies: the tree is written next to the release, and verified with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import HierarchyError, OutputError, RecipeError
from shoal.recipe import Recipe
from shoal.workflow.measure import measure_tables
from tests.workflow.jobs import JOBS, jobs_table


def recipe_of(raw: Path, tree: Any = "induce", **sections: Any) -> Recipe:
    columns = {
        "job": {"role": "quasi", "hierarchy": tree},
        "sex": {"role": "quasi"},
        "ill": {"role": "sensitive"},
    }
    method = {"name": "mondrian"}
    data = {"input": {"path": str(raw)}, "columns": columns, "privacy": {"k": 4}, "method": method}
    return Recipe.from_dict({**data, **sections})


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "raw.csv"
    jobs_table().write_csv(path)
    return path


def test_the_tree_is_written_and_the_manifest_leads_to_it(raw: Path) -> None:
    recipe = recipe_of(raw)
    release = shoal.anonymize(recipe)
    out = release.write(raw.with_name("out.csv"))

    tree = raw.with_name("out.csv.job.hierarchy.toml")
    manifest = Recipe.load(f"{out}.manifest.json")
    assert tree.read_text().startswith("# shoal: Induced by shoal")
    assert manifest.columns["job"].hierarchy == "induce"
    for asked in (recipe, manifest):
        for verdict in (shoal.verify(out, asked), shoal.verify(out, asked, original=raw)):
            assert verdict.holds, str(verdict)
            assert not any("not checked" in remark for remark in verdict.remarks)
        measured = measure_tables(asked.changed({"input": {"path": str(raw)}}), out, bound=False)
        assert measured["loss"]["gcp"] == pytest.approx(release.loss.gcp)


def test_the_file_gives_the_same_release_as_an_ordinary_hierarchy(raw: Path) -> None:
    out = shoal.anonymize(recipe_of(raw)).write(raw.with_name("out.csv"))

    again = recipe_of(raw, tree=str(raw.with_name("out.csv.job.hierarchy.toml")))
    assert shoal.anonymize(again).write(raw.with_name("again.csv")).read_bytes() == out.read_bytes()


def test_without_its_file_the_nodes_are_not_checked_and_that_is_said(raw: Path) -> None:
    out = shoal.anonymize(recipe_of(raw)).write(raw.with_name("out.csv"))
    raw.with_name("out.csv.job.hierarchy.toml").unlink()

    verdict = shoal.verify(out, Recipe.load(f"{out}.manifest.json"))

    assert verdict.holds
    assert "The hierarchy of column `job` was not found: its nodes were not checked." in verdict.remarks


def test_a_node_that_the_tree_does_not_have_is_found(raw: Path) -> None:
    out = shoal.anonymize(recipe_of(raw)).write(raw.with_name("out.csv"))
    out.write_text(out.read_text().replace("nurse,", '"{nurse, spy}",'))

    verdict = shoal.verify(out, recipe_of(raw), manifest=False)

    assert [problem.code for problem in verdict.problems] == ["verify.node"]


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    written = []
    for at, seed in enumerate((None, 7)):
        table = jobs_table() if seed is None else jobs_table().sample(fraction=1.0, shuffle=True, seed=seed)
        release = shoal.anonymize(table, recipe_of(tmp_path / "unused.csv"))
        out = release.write(tmp_path / f"{at}.csv")
        tree = tmp_path / f"{at}.csv.job.hierarchy.toml"
        written.append((out.read_bytes(), tree.read_bytes()))
    assert written[0] == written[1]


def test_no_rare_value_is_in_a_label_or_in_the_manifest(raw: Path) -> None:
    release = shoal.anonymize(recipe_of(raw))
    out = release.write(raw.with_name("out.csv"), report=True)

    tree: Any = release.recipe.columns["job"].hierarchy
    rare = [job for job, rows in JOBS.items() if sum(rows) < 10]
    shown = [*tree["*"], Path(f"{out}.manifest.json").read_text(), Path(f"{out}.report.html").read_text()]
    assert rare
    assert not [job for job in rare for text in shown if job in text]


def test_replacing_keeps_all_files_of_one_release_together(raw: Path) -> None:
    out = raw.with_name("out.csv")
    shoal.anonymize(recipe_of(raw)).write(out)
    first = {file.name: file.read_bytes() for file in raw.parent.iterdir()}

    shoal.anonymize(recipe_of(raw)).write(out)

    assert {file.name: file.read_bytes() for file in raw.parent.iterdir()} == first


def test_a_foreign_file_in_the_place_of_the_tree_is_not_replaced(raw: Path) -> None:
    mine = raw.with_name("out.csv.job.hierarchy.toml")
    mine.write_text("mine")

    with pytest.raises(OutputError) as caught:
        shoal.anonymize(recipe_of(raw)).write(raw.with_name("out.csv"))

    assert caught.value.code == "output.exists"
    assert mine.read_text() == "mine"
    assert not raw.with_name("out.csv").exists()


def test_views_and_later_releases_use_the_tree(raw: Path) -> None:
    first = shoal.anonymize(recipe_of(raw)).write(raw.with_name("first.csv"))
    views = recipe_of(raw, output={"views": "equal", "views_by": "projection"})
    out = shoal.anonymize(views).write(raw.with_name("views.csv"))

    assert shoal.verify(out, views, original=raw).holds
    # The second release does not have the column, so only the file says what its nodes cover.
    later = recipe_of(raw).changed({"columns": {"job": {"role": "drop"}}})
    also = shoal.anonymize(later, also=[f"{first}.manifest.json"], accept_composition=True)
    assert also.composition is not None
    raw.with_name("first.csv.job.hierarchy.toml").unlink()
    with pytest.raises(HierarchyError, match="cannot be opened"):
        shoal.anonymize(later, also=[f"{first}.manifest.json"], accept_composition=True)


def test_python_and_flags_induce_alike(raw: Path) -> None:
    from typer.testing import CliRunner

    from shoal.cli.main import app

    by_python = shoal.anonymize(
        pl.read_csv(raw), quasi=["job", "sex"], sensitive=["ill"], k=4, method="mondrian",
        hierarchies={"job": "induce"},
    )  # fmt: skip
    out = raw.with_name("flags.csv")
    flags = [
        "--quasi",
        "job,sex",
        "--sensitive",
        "ill",
        "--k",
        "4",
        "--hierarchy",
        "job=induce",
        "--method",
        "mondrian",
        "-o",
        str(out),
    ]
    result = CliRunner().invoke(app, ["anonymize", str(raw), *flags, "--json"])

    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["hierarchies"] == {"job": f"{out}.job.hierarchy.toml"}
    assert out.read_text() == by_python.write(raw.with_name("python.csv")).read_text()


def test_what_cannot_be_induced_is_refused(raw: Path) -> None:
    with pytest.raises(RecipeError, match="does not induce hierarchies") as caught:
        recipe_of(raw, engine={"name": "spark"})
    assert caught.value.code == "recipe.not_available"
    release = shoal.anonymize(recipe_of(raw))
    with pytest.raises(RecipeError, match="an induced hierarchy"):
        shoal.extend(release, jobs_table(), recipe_of(raw))
