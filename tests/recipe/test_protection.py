"""Settings of protection: what is read, what is refused, and what a manifest shows."""

from datetime import date

import pytest

from shoal.errors import RecipeError
from shoal.recipe import Recipe, shareable

AGE = {"age": {"role": "quasi"}}


def recipe(columns=None, **sections):
    return Recipe.from_dict({"columns": AGE | (columns or {}), "privacy": {"k": 2}, **sections})


def faults(columns=None, **sections):
    with pytest.raises(RecipeError) as caught:
        recipe(columns, **sections)
    return [fault.message for fault in caught.value.faults]


def test_numbers_stand_for_the_first_setting():
    found = recipe({"a": {"role": "keep", "pram": 0.2}, "b": {"role": "keep", "noise": 1}}).columns
    assert (found["a"].pram.change, found["a"].pram.invariant) == (0.2, False)
    assert (found["b"].noise.sd, found["b"].noise.correlated) == (1.0, False)


def test_a_date_may_be_written_without_quotes():
    assert recipe({"born": {"role": "quasi", "top": date(2000, 1, 31)}}).columns["born"].top == "2000-01-31"


def test_a_recipe_survives_toml(tmp_path):
    columns = {
        "born": {"role": "quasi", "bottom": "1930-01"},
        "a": {"role": "keep", "pram": {"change": 0.2, "invariant": True}},
        "id": {"role": "identifier", "pseudonym": True},
    }
    asked = recipe(
        columns, secrets={"seed": 2**40, "key_env": "KEY"}, privacy={"k": 3, "suppress_cells": 0.1}
    )
    (tmp_path / "r.toml").write_text(asked.to_toml())
    assert Recipe.load(tmp_path / "r.toml").to_dict() == asked.to_dict()


def test_a_manifest_shows_no_secret():
    columns = {"id": {"role": "identifier", "pseudonym": True}, "a": {"role": "keep", "pram": 0.5}}
    shared = shareable(recipe(columns, secrets={"seed": 2**40, "key_file": "/home/me/key"}))
    assert "secrets" not in shared
    assert Recipe.from_dict(shared).pseudonyms == ["id"]


def test_a_key_file_is_never_overwritten():
    columns = {"id": {"role": "identifier", "pseudonym": True}}
    files = recipe(columns, secrets={"key_file": "key.txt"}).files
    assert files["the key of the pseudonyms"].name == "key.txt"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"role": "drop", "top": 3}, "Column `x` has the role drop, for which `top` has no effect."),
        (
            {"role": "sensitive", "swap": 3},
            "Column `x` has the role sensitive, for which `swap` has no effect.",
        ),
        (
            {"role": "keep", "pseudonym": True},
            "Column `x` has the role keep, for which `pseudonym` has no effect.",
        ),
        ({"role": "keep", "swap": 0}, "`columns.x.swap` in the recipe should be greater than 0."),
        ({"role": "keep", "pram": "often"}, "`columns.x.pram` in the recipe should be a number or a table."),
        ({"role": "keep", "pram": {"chance": 1}}, "Unknown key `chance` in [columns.x.pram] of the recipe."),
        (
            {"role": "keep", "top": 1, "bottom": 2},
            "`bottom` of column `x` must be below `top`, and as precise.",
        ),
        (
            {"role": "keep", "top": "2000", "bottom": "1990-01", "kind": "date"},
            "`bottom` of column `x` must be below `top`, and as precise.",
        ),
        (
            {"role": "keep", "top": "high"},
            "`top` of column `x` should be a date such as 1950-12-31, 1950-12 or 1950.",
        ),
        (
            {"role": "keep", "top": "1990-02-30"},
            "`top` of column `x` should be a date such as 1950-12-31, 1950-12 or 1950.",
        ),
        ({"role": "keep", "kind": "numeric", "top": "5"}, "`top` of column `x` should be a number."),
        (
            {"role": "quasi", "kind": "ordinal", "order": ["a", "b"], "top": "c"},
            "`top` of column `x` should be a value of its order.",
        ),
        (
            {"role": "quasi", "top": 5, "hierarchy": {"intervals": [5]}},
            "Column `x` has a hierarchy, so `top` cannot be used.",
        ),
        (
            {"role": "keep", "noise": {"sd": 1, "correlated": True}},
            "Column `x` is the only one with correlated noise.",
        ),
        ({"role": "keep", "noise": 0.1, "swap": 3}, "Column `x` has `swap` and `noise`."),
    ],
)
def test_columns_that_do_not_fit(column, message):
    assert message in faults({"x": column})


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        ({"output": {"views": "equal"}}, "they would link the rows of all views"),
        ({"method": {"name": "nh"}}, "by a secret shift"),
        ({"method": {"name": "anatomy"}}, "give everybody's pseudonym away"),
    ],
)
def test_pseudonyms_are_refused_where_they_break_a_promise(sections, why):
    columns = {
        "id": {"role": "identifier", "pseudonym": True},
        "zip": {"role": "quasi"},
        "ill": {"role": "sensitive"},
    }
    assert any(why in message for message in faults(columns, **sections))


def test_pseudonyms_and_people_with_several_rows():
    columns = {"id": {"role": "identifier", "pseudonym": True}, "person": {"role": "subject"}}
    assert any("followed through all classes" in message for message in faults(columns))


def test_all_faults_are_reported_at_once():
    found = faults(
        {"x": {"role": "quasi", "pram": 0.5, "top": 1, "bottom": 2}},
        engine={"name": "spark"},
        output={"values": "microaggregate"},
        privacy={"k": 2, "suppress_cells": 0.1},
        secrets={"key_file": "a", "key_env": "b"},
    )
    assert found == [
        "`bottom` of column `x` must be below `top`, and as precise.",
        "Column `x` has the role quasi, for which `pram` has no effect.",
        "`secrets.key_file` and `secrets.key_env` are both given.",
        "A key for pseudonyms is given, but no column has them.",
        "`privacy.suppress_cells` is for generalized values, not for typical ones.",
        "The engine `spark` does not support `top` (column `x`), `bottom` (column `x`), `pram` (column `x`), "
        "`suppress_cells`.",
    ]


def test_a_seed_without_a_use_is_a_fault():
    assert faults(secrets={"seed": 5}) == ["`secrets.seed` is given, but no column is perturbed."]


def test_snapped_bounds_would_lie_beyond_a_code():
    columns = {
        "x": {"role": "quasi", "kind": "numeric", "grid": 5, "top": 90},
        "age": {"role": "quasi", "kind": "categorical"},
    }
    assert faults(columns, output={"bounds": "snapped"}) == [
        "Snapped bounds of column `x` would lie beyond its codes."
    ]
