"""Shuffled rows: the same rows, in an order that depends on the seed alone."""

import json
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.recipe import Recipe
from shoal.table.shuffling import written_order
from shoal.verifier import verify_table
from tests.profiles import some
from tests.strategies import EVERY_KIND, tables

PEOPLE = pl.DataFrame(
    {
        "age": [at % 37 + 20 for at in range(60)],
        "sex": ["fm"[at % 2] for at in range(60)],
        "born": [f"{1950 + at % 40}-05-01" for at in range(60)],
        "ill": [["flu", "=cold", "3rd", None][at % 4] for at in range(60)],
        "cost": [at % 11 * 10 for at in range(60)],
    }
)
ROLES = {"quasi": ["age", "sex", "born"], "sensitive": ["ill"], "keep": ["cost"]}
SHAPES = {
    "classes": {"method": "mondrian"},
    "bounds as columns": {"method": "mondrian", "changes": {"output": {"bounds_as": "columns"}}},
    "typical values": {"method": "mondrian", "changes": {"output": {"values": "microaggregate"}}},
    "views": {"method": "mondrian", "views": "equal"},
    "anatomy": {"method": "anatomy"},
    "cells": {"method": "mondrian", "changes": {"engine": {"cell_rows": 30}}},
}


def released(table=PEOPLE, shape="classes", order="shuffled", seed=5):
    options = dict(SHAPES[shape])
    recipe = Recipe.from_roles(**ROLES, k=3, changes=options.pop("changes", None))
    more = {"order": order, "seed": seed, "bound": False, "accept_composition": True}
    return shoal.anonymize(table, recipe, **more, **options)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_rows_in_another_order(shape):
    ordered, shuffled = released(shape=shape, order="sorted"), released(shape=shape)
    for before, after in zip(ordered.tables, shuffled.tables, strict=True):
        assert before.sort(before.columns).equals(after.sort(after.columns))
        assert not before.equals(after)


@pytest.mark.parametrize(("shape", "ending"), some(product(SHAPES, ["csv", "parquet"]), 3))
def test_the_same_bytes_for_any_input_order_and_sound_by_another_engine(shape, ending, tmp_path):
    release = released(shape=shape)
    again = released(PEOPLE.sample(fraction=1, shuffle=True, seed=9), shape)
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    release.write(first)
    again.write(second)
    files = [sorted(path for path in tmp_path.glob(f"{name}*.{ending}")) for name in "ab"]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    assert shoal.verify(first, Recipe.load(tmp_path / f"a.{ending}.manifest.json")).holds


def test_another_seed_is_another_order():
    # The same classes, so that only the order can differ.
    wide = PEOPLE.with_columns(age=pl.lit(30), sex=pl.lit("f"), born=pl.lit("2000-01-01"))
    one, other = (released(wide, seed=seed).table for seed in (1, 2))
    assert one.sort(one.columns).equals(other.sort(one.columns))
    assert not one.equals(other)


def test_the_order_of_anatomy_does_not_depend_on_its_secret_seed():
    recipe = Recipe.from_roles(
        **ROLES, k=3, changes={"method": {"name": "anatomy"}, "output": {"order": "shuffled"}}
    )
    orders = [written_order(50, recipe.changed({"method": {"seed": seed}})) for seed in (1, 2)]
    assert np.array_equal(*orders)


def test_views_are_still_sorted_by_their_own_values_before_the_shuffle():
    """Undoing the public shuffle gives the sorted tables, and so reveals no more than those do."""
    release = released(shape="views")
    for table, ordered in zip(release.tables, released(shape="views", order="sorted").tables, strict=True):
        undone = np.empty(table.height, np.int64)
        undone[written_order(table.height, release.recipe)] = np.arange(table.height)
        assert table[undone].equals(ordered)


def test_the_order_is_fixed_for_all_versions():
    recipe = Recipe.from_roles(
        quasi=["a"], k=2, changes={"output": {"order": "shuffled"}, "method": {"seed": 7}}
    )
    assert written_order(10, recipe).tolist() == [6, 3, 4, 9, 0, 2, 8, 7, 5, 1]


@given(tables(max_rows=30, method="systematic", kinds=EVERY_KIND), st.randoms(use_true_random=False))
def test_an_order_that_follows_the_input_is_found(case, random):
    recipe = case.recipe.changed({"output": {"order": "shuffled"}})
    release = shoal.anonymize(case.table, recipe, bound=False)
    table = release.frame
    assert verify_table(table.to_arrow(), release.recipe).holds
    order = list(range(table.height))
    random.shuffle(order)
    moved = table[order]
    codes = [problem.code for problem in verify_table(moved.to_arrow(), release.recipe).problems]
    assert codes == ([] if moved.equals(table) else ["verify.order"])


@pytest.mark.parametrize("shape", ["classes", "views", "anatomy"])
def test_a_file_in_sorted_order_is_not_shuffled(shape, tmp_path):
    recipe = released(shape=shape).recipe
    released(shape=shape, order="sorted").write(tmp_path / "out.csv")
    (tmp_path / "out.csv.manifest.json").unlink()
    verdict = shoal.verify(tmp_path / "out.csv", recipe)
    assert {problem.code for problem in verdict.problems} == {"verify.order"}


def test_people_are_counted_in_the_shuffled_order():
    table = PEOPLE.with_columns(who=pl.Series([at // 2 for at in range(60)]))
    recipe = Recipe.from_roles(**ROLES, subject=["who"], k=3, changes={"method": {"name": "mondrian"}})
    release = shoal.anonymize(table, recipe, order="shuffled", bound=False)
    assert release.goals[0].counts == "people"
    plain = shoal.anonymize(table, recipe, bound=False)
    assert release.k == plain.k


def test_an_extension_is_shuffled_too(tmp_path):
    recipe = Recipe.from_roles(
        quasi=["age"], sensitive=["ill"], drop=["sex", "born", "cost"], k=3,
        changes={"columns": {"age": {"kind": "numeric"}}, "output": {"order": "shuffled"}},
    )  # fmt: skip
    shoal.anonymize(PEOPLE.head(40), recipe, bound=False).write(tmp_path / "out.csv")
    extension = shoal.extend(tmp_path / "out.csv", PEOPLE.tail(20), recipe)
    other_way = shoal.extend(tmp_path / "out.csv", PEOPLE.tail(20)[::-1], recipe)
    assert extension.table.equals(other_way.table)
    assert not extension.table.equals(extension.table.sort("age", "ill"))
    extension.write(tmp_path / "longer.csv")
    assert shoal.verify(tmp_path / "longer.csv", recipe).holds


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_flags(tmp_path):
    source = tmp_path / "people.csv"
    PEOPLE.write_csv(source)
    roles = [
        "--quasi",
        "age,sex,born",
        "--sensitive",
        "ill",
        "--keep",
        "cost",
        "--k",
        "3",
        "--no-bound",
        "--method",
        "mondrian",
    ]
    out = tmp_path / "out.csv"
    done = run(
        "anonymize",
        source,
        *roles,
        "--row-order",
        "shuffled",
        "-o",
        out,
        "--save-recipe",
        tmp_path / "r.toml",
    )
    assert done.exit_code == 0, done.output
    recipe = Recipe.load(tmp_path / "r.toml")
    assert recipe.output.order == "shuffled"
    assert (
        json.loads((tmp_path / "out.csv.manifest.json").read_text())["recipe"]["output"]["order"]
        == "shuffled"
    )
    assert shoal.verify(out, recipe, original=source).holds
    wrong = run("anonymize", source, *roles, "--row-order", "random", "-o", out)
    assert wrong.exit_code == 2
    assert "`--row-order` should be 'sorted' or 'shuffled'" in wrong.stderr
    confused = run("anonymize", source, *roles, "--order", "shuffled", "-o", out)
    assert confused.exit_code == 2
    assert "--row-order" in confused.stderr


def test_spark_refuses_it():
    changes = {"output": {"order": "shuffled"}, "engine": {"name": "spark"}}
    with pytest.raises(shoal.ShoalError, match="sorted order only") as caught:
        Recipe.from_roles(quasi=["a"], k=2, changes=changes)
    assert caught.value.code == "recipe.not_available"
