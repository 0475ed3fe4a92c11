"""A manifest shows no value of an order or an inline hierarchy, and serves where these are not needed."""

from __future__ import annotations

import json

import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError
from shoal.recipe import Recipe

ORDER = ["none", "school", "college", "doctorate"]
TREE = {"anywhere": {"north": ["oslo", "bergen"], "south": {"rome": {}, "athens": {}}, "nowhere": {}}}
PEOPLE = pl.DataFrame(
    {
        "school": ["none", "none", "college", "college", "school", "school"],
        "city": ["oslo", "oslo", "rome", "athens", "rome", "athens"],
        "age": [31, 34, 35, 58, 60, 61],
        "born": ["1990-01-02", "1991-01-02", "1992-01-02", "1993-01-02", "1994-01-02", "1995-01-02"],
        "zip": ["10115", "10117", "10119", "80331", "80333", "80335"],
        "ill": ["flu", "cold", "flu", "asthma", "flu", "cold"],
    }
)
COLUMNS = {
    "school": {"role": "quasi", "kind": "ordinal", "order": ORDER},
    "city": {"role": "quasi", "hierarchy": TREE},
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "born": {"role": "quasi", "kind": "date", "hierarchy": {"dates": ["month", "year"]}},
    "zip": {"role": "quasi", "hierarchy": {"prefix": 1}},
    "ill": {"role": "sensitive", "kind": "ordinal", "order": ["cold", "flu", "asthma"]},
}
SECTIONS = {"columns": COLUMNS, "privacy": {"k": 2}, "method": {"name": "mondrian"}}
CLOSE = {"goal": [{"type": "t-closeness", "distance": "ordered", "column": "ill", "t": 0.9}]}


def released(folder, sections=SECTIONS):
    """Write a release; return its path and the recipe of its manifest."""
    recipe = Recipe.from_dict(sections)
    path = shoal.anonymize(PEOPLE, recipe, bound=False).write(folder / "out.csv", report=True)
    manifest = json.loads((folder / "out.csv.manifest.json").read_text(encoding="utf-8"))
    return path, {key: part for key, part in manifest["recipe"].items() if key != "sha256"}


def test_a_manifest_says_how_many_values_it_leaves_out_and_not_which(tmp_path):
    _, shown = released(tmp_path)
    assert shown["columns"] == {
        "school": {"role": "quasi", "kind": "ordinal", "omitted": {"order": 4}},
        "city": {"role": "quasi", "omitted": {"hierarchy": 5}},
        "age": COLUMNS["age"],
        "born": COLUMNS["born"],
        "zip": COLUMNS["zip"],
        "ill": {"role": "sensitive", "kind": "ordinal", "omitted": {"order": 3}},
    }


@pytest.mark.parametrize(
    "tree",
    [
        {"prefix": ["oslo", "rome", "athens"]},
        {"dates": ["oslo", "rome", "athens"]},
        {"intervals": ["oslo", "rome", "athens"]},
        {"prefix": {"oslo": {}, "rome": {}, "athens": {}}},
    ],
)
def test_a_root_that_is_called_like_a_rule_shows_no_leaves(tree):
    columns = {**COLUMNS, "city": {"role": "quasi", "kind": "categorical", "hierarchy": tree}}
    recipe = Recipe.from_dict({**SECTIONS, "columns": columns})
    manifest = json.dumps(shoal.anonymize(PEOPLE, recipe, bound=False).manifest(""))
    assert "oslo" not in manifest
    assert '"omitted": {"hierarchy": 3}' in manifest


def test_a_digest_of_the_recipe_cannot_test_guesses_of_values():
    def digest(*order):
        columns = {**COLUMNS, "ill": {"role": "sensitive", "kind": "ordinal", "order": list(order)}}
        recipe = Recipe.from_dict({**SECTIONS, "columns": columns})
        return shoal.anonymize(PEOPLE, recipe, bound=False).manifest("")["recipe"]["sha256"]

    assert digest("cold", "flu", "asthma") == digest("asthma", "flu", "cold")
    assert digest("cold", "flu", "asthma") != digest("cold", "flu", "asthma", "plague")


def test_a_release_is_verified_by_the_recipe_of_its_manifest(tmp_path):
    path, shown = released(tmp_path)
    verdict = shoal.verify(path, Recipe.from_dict(shown))
    assert verdict.holds
    assert verdict.remarks == (
        "Values were not compared with an order, which the recipe leaves out: `school`.",
        "Values were not compared with a hierarchy, which the recipe leaves out: `city`.",
    )


def test_a_manifest_with_the_order_given_again_is_as_good_as_the_recipe(tmp_path):
    path, shown = released(tmp_path)
    verdict = shoal.verify(path, Recipe.from_dict(shown, changes={"columns": {"school": {"order": ORDER}}}))
    about_city = "Values were not compared with a hierarchy, which the recipe leaves out: `city`."
    assert (verdict.holds, verdict.remarks) == (True, (about_city,))
    wrong = Recipe.from_dict(shown, changes={"columns": {"school": {"order": ["none", "x"]}}})
    assert [problem.code for problem in shoal.verify(path, wrong).problems] == ["verify.form"]


def test_what_needs_the_values_says_so(tmp_path):
    path, shown = released(tmp_path, {**SECTIONS, "privacy": {"k": 2, **CLOSE}})
    recipe = Recipe.from_dict(shown)
    with pytest.raises(RecipeError) as caught:
        shoal.verify(path, recipe)
    assert caught.value.code == "recipe.omitted"
    assert caught.value.message == (
        "The 3 values of the order of column `ill` are needed, but a manifest omits them."
    )
    with pytest.raises(RecipeError) as caught:
        shoal.anonymize(PEOPLE, recipe)
    assert [fault.message.split()[8] for fault in caught.value.faults] == ["`school`", "`city`", "`ill`"]


def test_a_later_release_is_checked_beside_one_whose_values_are_left_out(tmp_path):
    released(tmp_path)
    also = [tmp_path / "out.csv.manifest.json"]
    recipe = Recipe.from_dict(SECTIONS)
    release = shoal.anonymize(PEOPLE, recipe, also=also, accept_composition=True, bound=False)
    assert release.composition["views"] == 2


def test_a_column_that_is_not_published_again_needs_its_values_again(tmp_path):
    released(tmp_path)
    also = [tmp_path / "out.csv.manifest.json"]

    def check(school):
        columns = {**COLUMNS, "school": {"role": "drop", **school}}
        recipe = Recipe.from_dict({**SECTIONS, "columns": columns})
        return shoal.anonymize(PEOPLE, recipe, also=also, accept_composition=True, bound=False)

    with pytest.raises(RecipeError) as caught:
        check({})
    assert (caught.value.code, "`school`" in caught.value.message) == ("recipe.omitted", True)
    assert check({"kind": "ordinal", "order": ORDER}).composition["views"] == 2


def test_a_release_with_an_order_and_a_tree_is_extended(tmp_path):
    path, _ = released(tmp_path)
    extension = shoal.extend(path, PEOPLE, Recipe.from_dict(SECTIONS))
    assert (extension.earlier, extension.added) == (6, 6)
