"""Kinds that were found: told wherever a release is described, and carried to the verifier."""

import json
import tomllib
from datetime import datetime

import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.recipe import Recipe

CSV = "age,zip,born,ill\n" + "".join(f"{20 + i},1011{i},1980-01-0{i + 1},{'ab'[i % 2]}\n" for i in range(8))
KINDS = {
    "age": {"kind": "numeric", "found": True},
    "zip": {"kind": "categorical", "found": False},
    "born": {"kind": "date", "found": True},
}
LINE = "kinds detected: age numeric, born date; given: zip categorical"
RECIPE = """
[input]
path = "people.csv"
[columns.age]
role = "quasi"
[columns.zip]
role = "quasi"
kind = "categorical"
[columns.born]
role = "quasi"
[columns.ill]
role = "sensitive"
[privacy]
k = 2
"""


def run(folder, *more):
    (folder / "people.csv").write_text(CSV)
    (folder / "recipe.toml").write_text(RECIPE)
    arguments = ["anonymize", folder / "recipe.toml", "-o", folder / "out.csv", "--no-bound", *more]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


each_kind_of_release = pytest.mark.parametrize(
    "flags",
    [
        ["--method", "mondrian"],
        ["--method", "nh"],
        ["--method", "anatomy"],
        ["--method", "mondrian", "--views", "age,zip;age,born", "--accept-composition"],
        ["--method", "mondrian", "--views", "equal", "--views-by", "projection"],
    ],
    ids=["classes", "nh", "anatomy", "views", "projections"],
)


@each_kind_of_release
@pytest.mark.filterwarnings("ignore::shoal.errors.PrivacyWarning")
def test_every_summary_tells_the_kinds(tmp_path, flags):
    assert LINE in run(tmp_path, *flags)


@each_kind_of_release
@pytest.mark.filterwarnings("ignore::shoal.errors.PrivacyWarning")
def test_json_and_manifest_tell_the_kinds(tmp_path, flags):
    assert json.loads(run(tmp_path, *flags, "--json"))["kinds"] == KINDS
    assert json.loads((tmp_path / "out.csv.manifest.json").read_text())["kinds"] == KINDS


@pytest.mark.filterwarnings("ignore::shoal.errors.PrivacyWarning")
def test_the_report_marks_the_kinds_that_were_found(tmp_path):
    run(tmp_path, "--method", "mondrian")
    page = (tmp_path / "out.csv.report.html").read_text()
    assert "<code>age</code></th><td>numbers (detected)</td>" in page
    assert "<code>zip</code></th><td>categories</td>" in page


SIZES = ["small", "medium", "large"]
ORDERED = pl.DataFrame(
    {
        "size": pl.Series(["large", "large", "small", "medium", "small", "medium"], dtype=pl.Enum(SIZES)),
        "note": pl.Series(["b", "a", "b", "a", "b", "a"], dtype=pl.Enum(["b", "a"])),
    }
)


def ordered_release(**more):
    return shoal.anonymize(ORDERED, quasi=["size"], keep=["note"], k=4, **more)


def test_ranges_follow_the_order_of_the_type():
    release = shoal.anonymize(ORDERED, quasi=["size"], keep=["note"], k=3)
    assert release.kinds == {"size": {"kind": "ordinal", "found": True}}
    assert set(release.table["size"]) == {"[medium, large]", "[small, medium]"}


def test_a_release_with_an_order_of_its_type_is_verified_from_its_own_recipe(tmp_path):
    release = ordered_release()
    path = release.write(tmp_path / "out.csv")
    assert release.recipe.columns["size"].order == SIZES
    assert shoal.verify(path, release.recipe).holds
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    # The values of an order are not shown in a manifest, only how many there are.
    shared = {"role": "quasi", "kind": "ordinal", "omitted": {"order": len(SIZES)}}
    assert manifest["recipe"]["columns"]["size"] == shared
    # A range that goes down the order is no published form: the verifier knows the order.
    path.write_text(path.read_text().replace("[small, large]", "[large, small]"))
    verdict = shoal.verify(path, release.recipe, manifest=False)
    assert [problem.code for problem in verdict.problems] == ["verify.form"]


def test_the_recipe_that_was_given_stays_as_it_was():
    recipe = Recipe.from_roles(quasi=["size"], keep=["note"], k=4)
    shoal.anonymize(ORDERED, recipe)
    assert recipe.columns["size"].kind is None


def test_a_kept_column_with_an_order_goes_out_as_text_in_the_order_of_texts():
    table = ordered_release().table
    assert table["note"].dtype == pl.String
    assert table["note"].to_list() == sorted(ORDERED["note"].cast(pl.String))


@pytest.mark.filterwarnings("ignore::shoal.errors.PrivacyWarning")
@pytest.mark.parametrize("method", ["nh", "anatomy"])
def test_methods_without_classes_take_an_order_too(method, tmp_path):
    table = ORDERED.with_columns(ill=pl.Series(list("abcabc")))
    release = shoal.anonymize(table, quasi=["size"], keep=["note"], sensitive=["ill"], k=2, method=method)
    assert release.kinds == {"size": {"kind": "ordinal", "found": True}}
    release.write(tmp_path / "out.csv")


@pytest.mark.filterwarnings("ignore::shoal.errors.PrivacyWarning")
def test_views_and_extensions_take_an_order_too(tmp_path):
    recipe = Recipe.from_roles(quasi=["size", "age"], k=2)
    table = pl.DataFrame({"size": ORDERED["size"], "age": [1, 2, 3, 4, 5, 6]})
    views = shoal.anonymize(
        table, quasi=["size", "age"], k=2, views="equal", views_by="projection", method="mondrian"
    )
    views.write(tmp_path / "views.csv")
    assert views.kinds["size"] == {"kind": "ordinal", "found": True}
    extension = shoal.extend(shoal.anonymize(table, recipe), table[:3], recipe)
    assert extension.kinds["size"] == {"kind": "ordinal", "found": True}


def test_comparing_and_measuring_take_an_order_too(tmp_path):
    recipe = Recipe.from_roles(quasi=["size"], keep=["note"], k=3)
    path = shoal.anonymize(ORDERED, recipe).write(tmp_path / "out.csv")
    # Each of the six rows is in a range over half of the order; in a set it would have lost everything.
    (trial,) = shoal.compare(ORDERED, recipe, methods=["local-search"], bound=False).trials
    assert trial.outcome.loss.il == pytest.approx(3.0)
    ORDERED.write_parquet(tmp_path / "raw.parquet")
    (tmp_path / "recipe.toml").write_text(recipe.to_toml())
    arguments = ["measure", tmp_path / "raw.parquet", "--recipe", tmp_path / "recipe.toml",
                 "--released", path, "--json", "--no-bound"]  # fmt: skip
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert json.loads(result.stdout)["loss"]["il"] == pytest.approx(3.0)


def test_the_report_says_that_an_order_was_used_and_the_recipe_which(tmp_path):
    release = ordered_release()
    page = release.report(tmp_path / "out.html").read_text()
    recipe = page[page.index("<h3>Recipe</h3>") :]
    assert "ordinal" in recipe
    assert "small" not in recipe
    assert tomllib.loads(release.recipe.to_toml())["columns"]["size"]["order"] == SIZES


@pytest.mark.filterwarnings("ignore::shoal.errors.PrivacyWarning")
def test_boxes_over_times_with_a_zone_are_verified_by_the_local_day():
    walls = [datetime(2024, 3, day, hour, 30) for day in (1, 2, 3) for hour in (0, 23)]
    seen = pd.Series(walls).dt.tz_localize("America/New_York")
    release = shoal.anonymize(pd.DataFrame({"seen": seen}), quasi=["seen"], k=2, method="nh")
    assert set(release.table["seen"]) <= {"2024-03-01", "2024-03-02", "2024-03-03"}
