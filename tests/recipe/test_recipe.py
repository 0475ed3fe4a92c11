"""Recipes: read, checked whole, written back."""

import pytest

from shoal.errors import CODES, RecipeError
from shoal.recipe import Recipe, column_faults, did_you_mean


def faults_of(data):
    with pytest.raises(RecipeError) as caught:
        Recipe.from_dict(data)
    return caught.value.faults


def minimal(**sections):
    return {"columns": {"age": {"role": "quasi"}}, "privacy": {"k": 2}, **sections}


def test_defaults_of_the_contract():
    recipe = Recipe.from_dict(minimal())
    assert recipe.input.missing == [""]
    assert recipe.privacy.max_suppressed == 0
    assert (recipe.privacy.missing, recipe.method.name, recipe.method.seed) == ("category", "auto", 0)
    assert (recipe.output.values, recipe.output.views, recipe.output.bounds) == (
        "generalize",
        "whole",
        "tight",
    )


def test_a_recipe_is_written_and_read_back(tmp_path):
    data = minimal(
        input={"path": "a.csv", "missing": ["", "?"]},
        method={"name": "k-member", "seed": 3, "options": {"anchor": "first"}},
    )
    data["columns"] |= {
        "default": "drop",
        "edu": {"role": "quasi", "kind": "ordinal", "order": ["a", "b"]},
        "zip": {"role": "quasi", "hierarchy": {"prefix": 1}},
    }
    recipe = Recipe.from_dict(data)
    path = tmp_path / "recipe.toml"
    path.write_text(recipe.to_toml(), encoding="utf-8")
    again = Recipe.load(path)
    assert again.to_dict() == recipe.to_dict() == data
    assert again.default_role == "drop"


def test_paths_are_relative_to_the_recipe(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(Recipe.from_dict(minimal(input={"path": "a.csv"})).to_toml(), encoding="utf-8")
    recipe = Recipe.load(path)
    assert recipe.resolve(recipe.input.path) == tmp_path / "a.csv"


def test_all_faults_are_reported_at_once():
    data = {
        "columns": {"age": {"role": "quasy", "wait": 1}, "zip": {"role": "quasi", "weight": 0}},
        "privacy": {"k": 1},
        "extra": {},
    }
    messages = [fault.message for fault in faults_of(data)]
    assert len(messages) == 5
    assert any("`columns.age.role`" in message for message in messages)
    assert any("Unknown key `wait` in [columns.age]" in message for message in messages)
    assert any("`columns.zip.weight`" in message for message in messages)
    assert any("`privacy.k`" in message for message in messages)
    assert any("Unknown key `extra`" in message for message in messages)


def test_keys_get_a_hint():
    (fault,) = faults_of(minimal(input={"seperator": ";"}))
    assert fault.hint == "did you mean `separator`?"


@pytest.mark.parametrize(
    ("section", "what"),
    [
        (
            {"input": {"path": "postgresql://host/db", "table": "t"}, "engine": {"name": "spark"}},
            "a PostgreSQL database",
        ),
    ],
)
def test_what_this_version_lacks_is_said_never_ignored(section, what):
    (fault,) = faults_of({**minimal(), **section})
    assert fault.code == "recipe.not_available"
    assert what in fault.message


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ({"columns": {}}, "recipe.no_quasi"),
        ({"columns": {"age": {"role": "keep"}}}, "recipe.no_quasi"),
        ({"columns": {"age": {"role": "quasi", "kind": "ordinal"}}}, "recipe.invalid"),
        ({"columns": {"age": {"role": "quasi", "order": ["a"]}}}, "recipe.invalid"),
        ({"columns": {"a": {"role": "quasi", "kind": "ordinal", "order": ["a", "a"]}}}, "recipe.invalid"),
        ({"method": {"name": "kmember"}}, "recipe.invalid"),
        ({"method": {"name": "k-member", "options": {"opens": "middle"}}}, "recipe.option"),
        ({"method": {"name": "k-member", "options": {"penalty": 1}}}, "recipe.option"),
        ({"method": {"name": "k-member", "options": {"class_penalty": -1}}}, "recipe.option"),
        ({"input": {"header": False}}, "recipe.invalid"),
        ({"input": {"names": ["a"]}}, "recipe.invalid"),
        ({"privacy": {"k": 2, "goal": [{"type": "x"}]}}, "recipe.invalid"),
        ({"privacy": {"k": 2.5}}, "recipe.invalid"),
        ({"privacy": {}}, "recipe.invalid"),
        ({"privacy": {"k": 2, "max_suppressed": 1.5}}, "recipe.invalid"),
        ({"method": {"seed": -1}}, "recipe.invalid"),
    ],
)
def test_single_faults(section, code):
    (fault,) = faults_of({**minimal(), **section})
    assert fault.code == code
    assert fault.hint


def test_columns_are_compared_with_the_table():
    recipe = Recipe.from_dict(minimal(columns={"age": {"role": "quasi"}, "zip": {"role": "keep"}}))
    assert column_faults(recipe, ["age", "zip"]) == []
    unknown, unnamed = column_faults(recipe, ["Ages", "zip", "sex"])
    assert unknown.code == "recipe.unknown_column"
    assert unknown.hint == "did you mean `Ages`? columns present: Ages, zip, sex"
    assert unnamed.code == "recipe.unnamed_column"
    assert unnamed.message == "2 of 3 columns have no role: `Ages`, `sex`."


def test_a_header_of_which_nothing_is_known_is_not_shown():
    # Without a header line the "names" are somebody's cells.
    (fault,) = column_faults(Recipe.from_dict(minimal()), ["Smith", "42"])
    assert fault.code == "recipe.unknown_column"
    assert "Smith" not in str(fault)
    assert "header = false" in fault.hint


def test_unnamed_columns_can_be_dropped_on_purpose():
    data = minimal()
    data["columns"]["default"] = "drop"
    assert column_faults(Recipe.from_dict(data), ["age", "sex"]) == []


def test_a_column_may_be_called_default():
    data = minimal()
    data["columns"]["default"] = {"role": "keep"}
    recipe = Recipe.from_dict(data)
    assert recipe.named("keep") == ["default"]
    assert recipe.default_role is None


def test_an_unknown_label_column_is_a_fault():
    data = minimal(method={"name": "k-member", "options": {"label": "salry"}})
    (fault,) = column_faults(Recipe.from_dict(data), ["age"])
    assert fault.code == "recipe.unknown_column"


def test_one_column_in_two_roles_is_a_fault():
    with pytest.raises(RecipeError, match="`a` has two roles: quasi and keep") as caught:
        Recipe.from_roles(quasi=["a"], keep=["a"], k=2)
    assert caught.value.code == "recipe.doubly_used_column"


def test_flags_fill_in_what_the_file_leaves_out(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text('[columns.age]\nrole = "quasi"\n', encoding="utf-8")
    recipe = Recipe.load(path, changes={"privacy": {"k": 7}, "method": {"name": None, "seed": 5}})
    assert (recipe.privacy.k, recipe.method.seed, recipe.method.name) == (7, 5, "auto")


def test_suggestions_ignore_case_and_stay_silent_when_nothing_is_near():
    assert did_you_mean("AGE", ["age", "zip"]) == "did you mean `age`?"
    assert did_you_mean("disease", ["age", "zip"]) == ""


def test_every_code_has_a_description_that_is_a_sentence():
    assert all(text.endswith(".") and text[0].isupper() for text in CODES.values())
