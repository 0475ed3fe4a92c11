"""The values that goals count: equal ones are one, missing ones are none; and the people behind the rows."""

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe
from shoal.table.sensitive import comparable

L1 = {"type": "l-diversity", "l": 1}


def sensitive(columns, goal, **data):
    """The codes that one goal counts, in the order of the rows."""
    given = {"row": {"role": "quasi", "kind": "numeric"}, **columns}
    recipe = Recipe.from_dict({"columns": given, "privacy": {"k": 2, "goal": [goal]}})
    n_rows = len(next(iter(data.values())))
    return shoal.encode(pl.DataFrame({"row": range(n_rows), **data}), recipe)


@pytest.mark.parametrize(
    "spellings",
    [
        ["1", "1.0", " 1", "1e0", "+1", "1.", "1E0", "1\t"],
        ["0.5", ".5", "5e-1", "0.50"],
        ["0", "0.0", "-0", "-0.0"],
        ["\u00e9", "e\u0301", " \u00e9 "],
    ],
)
def test_spellings_of_one_value_are_one(spellings):
    assert comparable(pl.Series(spellings)).n_unique() == 1


def test_codes_are_no_numbers_and_large_numbers_are_not_rounded():
    texts = ["007", "7", "07", "9007199254740993", "9007199254740992", "1e400", "1e401", "nan", "inf"]
    assert comparable(pl.Series(texts)).n_unique() == len(texts)


def test_empty_texts_are_missing():
    assert comparable(pl.Series(["", "  ", None, "x"])).to_list() == [None, None, None, "x"]


@pytest.mark.parametrize("numbers", [[1, 2, None], [1.0, 2.0, None], [1.0, 2.0, float("nan")]])
def test_numbers_are_the_values_that_their_texts_are(numbers):
    found = sensitive({"s": {"role": "sensitive"}}, {**L1, "column": "s"}, s=numbers).sensitive[0]
    assert (found.codes.tolist(), found.n_values) == ([0, 1, -1], 2)


def test_a_combination_with_a_missing_part_is_missing():
    columns = {"a": {"role": "sensitive"}, "b": {"role": "sensitive"}}
    data = {"a": ["x", "x", None, "x", ""], "b": ["y", "1", "y", "1.0", "y"]}
    codes = sensitive(columns, {**L1, "column": ["a", "b"]}, **data).sensitive[0].codes.tolist()
    assert codes[2] == codes[4] == -1
    assert codes[1] == codes[3] != codes[0]


def test_ordered_codes_follow_the_order():
    goal = {"type": "t-closeness", "t": 0.5, "distance": "ordered", "column": "s"}
    ordinal = {"s": {"role": "sensitive", "kind": "ordinal", "order": ["low", "never", "mid", "high"]}}
    found = sensitive(ordinal, goal, s=["high", "low", None, "mid"]).sensitive[0]
    assert (found.codes.tolist(), found.n_values) == ([2, 0, -1, 1], 3)
    found = sensitive({"s": {"role": "sensitive"}}, goal, s=["10", "9", "", "9.0"]).sensitive[0]
    assert (found.codes.tolist(), found.n_values) == ([1, 0, -1, 0], 2)
    with pytest.raises(RecipeError, match="no order"):
        sensitive({"s": {"role": "sensitive"}}, goal, s=["b", "a"])


def test_people_are_numbered_and_nobody_is_refused():
    columns = {"who": {"role": "subject"}, "s": {"role": "sensitive"}}
    goal = {**L1, "column": "s"}
    person = sensitive(columns, goal, who=["1", "anna", "1.0", " anna"], s=list("abcd")).person.tolist()
    assert person[0] == person[2] != person[1] == person[3]
    with pytest.raises(DataError, match="1 missing"):
        sensitive(columns, goal, who=["x", None], s=["a", "b"])


def test_a_dirty_cell_is_an_error_where_a_goal_needs_an_order():
    goal = {"type": "t-closeness", "column": "cost", "distance": "ordered", "t": 0.5}
    with pytest.raises(DataError, match="Column `cost`: 1 of 20 cells are not numbers") as caught:
        sensitive({"cost": {"role": "sensitive"}}, goal, cost=[*map(str, range(19)), "x"])
    assert caught.value.code == "data.kind"
