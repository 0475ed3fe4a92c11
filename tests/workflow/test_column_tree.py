"""The hierarchy of a column with its table: built, edited, imported, and used for a release."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import HierarchyError
from shoal.hierarchy import build, editing, files
from shoal.hierarchy.history import Version
from shoal.hierarchy.showing import HIDDEN
from shoal.hierarchy.writing import file_bytes
from shoal.recipe import Recipe
from shoal.verifier import verify
from shoal.workflow.column_tree import (
    ColumnTree,
    built,
    column_tree,
    edited,
    imported,
    natural_kind,
    values_of,
)

TABLE = pl.DataFrame(
    {
        "age": [str(20 + at % 50) for at in range(200)],
        "city": [["oslo", "rome", "cairo"][at % 3] for at in range(199)] + ["zqrare"],
        "born": [f"{1950 + at % 40}-0{1 + at % 9}-11" for at in range(200)],
    }
)
NESTED = {"all": {"cold": ["oslo"], "warm": ["rome", "cairo", "zqrare"]}}


def recipe_for(folder: Path, **hierarchies) -> Recipe:
    columns = {name: {"role": "quasi"} for name in TABLE.columns}
    for name, spec in hierarchies.items():
        columns[name] |= spec
    return Recipe.from_dict({"columns": columns, "privacy": {"k": 5}}, base=folder)


def column_of(recipe: Recipe, name: str) -> ColumnTree:
    return column_tree(recipe, TABLE, name, values_of(recipe, TABLE, name))


def labels_under_root(column: ColumnTree) -> list[str]:
    tree = column.tree
    assert tree is not None
    return [label for label, above in zip(tree.labels, tree.parent.tolist(), strict=True) if above == 0]


def test_without_a_hierarchy_there_is_no_tree(tmp_path: Path) -> None:
    column = column_of(recipe_for(tmp_path), "city")
    assert column.tree is None
    assert column.showing is None
    assert column.found.texts == ["cairo", "oslo", "rome", "zqrare"]


@pytest.mark.parametrize(
    ("name", "spec", "under_root"),
    [
        ("age", {"hierarchy": {"intervals": [10, 40]}}, ["[0, 39]", "[40, 79]"]),
        ("city", {"hierarchy": {"prefix": 4}}, ["c****", "oslo", "rome", "zq****"]),
        ("born", {"hierarchy": {"dates": ["year", "decade"]}}, ["1950s", "1960s", "1970s", "1980s"]),
        (
            "city",
            {"hierarchy": {"all": {"cold": ["oslo"], "warm": ["rome", "cairo", "zqrare"]}}},
            ["cold", "warm"],
        ),
        ("city", {"hierarchy": "induce"}, ["cairo", "oslo", "rome", "zqrare"]),  # too few to group
    ],
)
def test_the_tree_of_a_recipe(tmp_path: Path, name: str, spec: dict, under_root: list[str]) -> None:
    assert labels_under_root(column_of(recipe_for(tmp_path, **{name: spec}), name)) == under_root


def test_a_tree_from_the_table_hides_rare_values_and_a_list_from_elsewhere_does_not(tmp_path: Path) -> None:
    own = column_of(
        recipe_for(tmp_path, city={"hierarchy": {"all": ["oslo", "rome", "cairo", "zqrare"]}}), "city"
    )
    foreign = {"all": ["oslo", "rome", "cairo", "zqrare", "bern"]}
    listed = column_of(recipe_for(tmp_path, city={"hierarchy": foreign}), "city")
    assert own.is_data
    assert not listed.is_data
    assert own.showing is not None
    assert listed.showing is not None
    assert [line.label for line in own.showing.lines({0: 9})] == ["all", "oslo", "rome", "cairo", None]
    assert [line.label for line in listed.showing.lines({0: 9})][4:] == ["zqrare", "bern"]


@pytest.mark.parametrize(
    ("name", "builder", "levels", "hierarchy", "kind"),
    [
        ("age", "intervals", [5, 10], {"intervals": [5, 10]}, "numeric"),
        ("age", "codes", ["age"], "age", "numeric"),
        ("city", "prefix", [1], {"prefix": 1}, "categorical"),
        ("born", "dates", ["month", "year"], {"dates": ["month", "year"]}, "date"),
        ("city", "induce", [], "induce", "categorical"),
        ("city", "induce", ["age"], {"induce": ["age"]}, "categorical"),
        ("born", "none", [], None, "date"),
    ],
)
def test_what_a_recipe_can_say_in_a_line_has_no_file(
    tmp_path, name, builder, levels, hierarchy, kind
) -> None:
    version = built(column_of(recipe_for(tmp_path), name), builder, levels, "unused.csv")
    assert (version.hierarchy, version.kind, version.content) == (hierarchy, kind, None)
    spec = {"kind": version.kind} | ({} if hierarchy is None else {"hierarchy": hierarchy})
    assert (column_of(recipe_for(tmp_path, **{name: spec}), name).tree is None) == (builder == "none")


@pytest.mark.parametrize(
    ("name", "builder", "levels"),
    [
        ("city", "intervals", [5]),
        ("city", "cuts", [5]),
        ("age", "dates", ["year"]),
        ("city", "codes", ["nonsense"]),
        ("city", "prefix", []),
        ("age", "cuts", [5, 5]),
    ],
)
def test_what_cannot_be_built_is_refused(tmp_path: Path, name: str, builder, levels: list) -> None:
    with pytest.raises(HierarchyError) as caught:
        built(column_of(recipe_for(tmp_path), name), builder, levels, "x.csv")
    assert caught.value.code == "hierarchy.build"
    assert f"`{name}`" in caught.value.message


def test_kinds_by_themselves() -> None:
    mixed = TABLE.with_columns(age=pl.Series(["x", *TABLE["age"][1:]]))
    kinds = [natural_kind(TABLE, name) for name in TABLE.columns]
    assert [*kinds, natural_kind(mixed, "age")] == ["numeric", "categorical", "date", "categorical"]


def save(folder: Path, version: Version) -> dict:
    """Write what a version says, as a page does."""
    if version.content is not None:
        (folder / version.hierarchy).write_bytes(version.content)
    return {"hierarchy": version.hierarchy, "kind": version.kind}


def test_edited_trees_and_cuts_make_releases_that_verify(tmp_path: Path) -> None:
    column = column_of(recipe_for(tmp_path), "city")
    started = built(column, "flat", [], "city.csv")
    recipe = recipe_for(tmp_path, city=save(tmp_path, started))
    column = column_of(recipe, "city")
    assert column.tree is not None
    changed = editing.group(column.tree, [1, 3, 4], "south")
    spec = save(tmp_path, edited(column, changed, "grouping", "city.csv"))
    ages = save(tmp_path, built(column_of(recipe, "age"), "cuts", [30, 50], "age.csv"))
    recipe = recipe_for(tmp_path, city=spec, age=ages)
    assert labels_under_root(column_of(recipe, "city")) == ["south", "oslo"]
    assert labels_under_root(column_of(recipe, "age")) == ["<30", "[30, 49]", ">=50"]
    TABLE.write_csv(tmp_path / "raw.csv")
    release = shoal.anonymize(TABLE, recipe=recipe)
    release.write(tmp_path / "out.csv")
    assert verify(tmp_path / "out.csv", recipe=recipe, original=tmp_path / "raw.csv").holds
    assert set(release.table["age"]) <= {"*", "<30", "[30, 49]", ">=50", *TABLE["age"]}


def test_an_imported_file_is_kept_as_it_is_or_completed(tmp_path: Path) -> None:
    column = column_of(recipe_for(tmp_path), "city")
    whole = b"\xef\xbb\xbfoslo,north,all\r\nrome,south,all\r\ncairo,south,all\r\nzqrare,south,all\r\n"
    assert imported(column, whole, ".csv", "city.csv", complete=False).content == whole
    part = b"oslo;north;all\nrome;south;all\nnot in the file;south;all\n"
    with pytest.raises(HierarchyError) as caught:
        imported(column, part, ".csv", "city.csv", complete=False)
    assert caught.value.code == "hierarchy.uncovered"
    assert "2 of 4" in caught.value.message
    assert "zqrare" not in str(caught.value)
    version = imported(column, part, ".csv", "city.csv", complete=True)
    assert version.content is not None
    tree = files.from_bytes(version.content, ".csv", "city")
    assert files.to_nested(tree)["all"]["not in the file 2"] == {"cairo": {}, "zqrare": {}}


@pytest.mark.parametrize(
    ("ages", "tree", "is_hidden"),
    [
        ([17, *[20, 40, 60, 80] * 20], "default", True),  # one row has the smallest value
        ([17, 17, *[17, 40, 60, 80] * 20], "default", False),
        ([20, *[21, 40, 60, 80] * 20], {"intervals": [20]}, False),  # begins at 20 by chance
        ([0.5, 90.25, *[0.5, 20.5, 40.5] * 20], "default", True),  # one row has the largest
    ],
)
def test_intervals_that_begin_at_a_rare_extreme_are_shown_without_their_ends(ages, tree, is_hidden, tmp_path):
    table = pl.DataFrame({"age": ages})
    if tree == "default":
        made = build.default_intervals(ages, "age")
        (tmp_path / "age.csv").write_bytes(file_bytes(made, ".csv", "age"))
        tree = "age.csv"
    columns = {"age": {"role": "quasi", "kind": "numeric", "hierarchy": tree}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 5}}, base=tmp_path)
    showing = column_tree(recipe, table, "age", values_of(recipe, table, "age")).showing
    assert showing is not None
    groups = [line.label for line in showing.lines(dict.fromkeys(range(40), 40)) if not line.is_leaf][1:]
    assert {label == HIDDEN for label in groups if label} == {is_hidden}
    assert {showing.label(node) == HIDDEN for node in showing.groups("", 9)[1:]} == {is_hidden}
