"""Published values cover the originals; clusters published alike are one class."""

import numpy as np
import polars as pl
from hypothesis import given

from shoal.recipe import Recipe
from shoal.recode.publish import publish
from shoal.table.encode import encode
from shoal.table.forms import Lost, Range, Set, Value, parse
from tests.strategies import tables


def published(table, labels, k=2, **columns):
    """The published rows of a table, in input order, for given labels."""
    specs = {name: {"role": "quasi", **columns.get(name, {})} for name in table.columns}
    recipe = Recipe.from_dict({"columns": specs, "privacy": {"k": k}})
    encoded = encode(table, recipe)
    result = publish(encoded, np.array(labels, np.int32)[encoded.order], recipe)
    class_of_row = encoded.in_input_order(result.labels)
    return [result.classes.row(int(number)) for number in class_of_row]


def test_the_forms_of_each_kind():
    table = pl.DataFrame(
        {
            "n": [1, 2, 5, 5],
            "o": ["low", "high", "mid", "mid"],
            "d": ["2026-01-02", "2026-01-01", "2026-03-01", "2026-03-01"],
            "c": ["x", "y", "z", "z"],
            "t": ["USA", "Canada", "Iran", "India"],
        }
    )
    tree = {"World": {"America": ["USA", "Canada"], "Asia": {"West": ["Iran"], "East": ["India"]}}}
    rows = published(
        table,
        [0, 0, 1, 1],
        o={"kind": "ordinal", "order": ["low", "mid", "high"]},
        t={"hierarchy": tree},
    )
    assert rows[0] == ("[1, 2]", "[low, high]", "[2026-01-01, 2026-01-02]", "{x, y}", "America")
    assert rows[2] == ("5", "mid", "2026-03-01", "z", "Asia")


def test_the_root_and_a_mix_with_missing_are_lost_and_all_missing_is_empty():
    table = pl.DataFrame(
        {"n": [1, None, None, None], "c": ["a", None, None, None], "t": ["u", "v", None, "u"]}
    )
    tree = {"World": ["u", "v"]}
    rows = published(table, [0, 0, 1, 1], t={"hierarchy": tree})
    assert rows[0] == ("*", "*", "*")
    assert rows[2] == (None, None, "*")


def test_a_tree_of_one_node_publishes_its_value():
    rows = published(pl.DataFrame({"t": ["only", "only"]}), [0, 0], t={"hierarchy": {"only": {}}})
    assert rows[0] == ("only",)


def test_raw_texts_that_look_published_are_marked():
    table = pl.DataFrame({"c": ["*", "*", "[1, 2]", "[1, 2]", "a, b", "c"]})
    rows = published(table, [0, 0, 1, 1, 2, 2])
    assert [row[0] for row in rows[::2]] == ["\\*", "\\[1, 2]", "{a\\, b, c}"]


def test_interval_nodes_are_published_as_ranges():
    table = pl.DataFrame({"n": [20, 24, 31, 39]})
    rows = published(table, [0, 0, 1, 1], n={"hierarchy": {"intervals": [5, 10]}})
    assert [row[0] for row in rows] == ["[20, 24]", "[20, 24]", "[30, 39]", "[30, 39]"]


def test_clusters_published_alike_are_one_class():
    table = pl.DataFrame({"n": [1, 9, 1, 9]})
    recipe = Recipe.from_roles(quasi=["n"], k=2)
    encoded = encode(table, recipe)
    result = publish(encoded, np.array([0, 0, 1, 1], np.int32), recipe)  # canonical order: 1 1 9 9
    assert result.classes["n"].to_list() == ["1", "9"]
    mixed = publish(encoded, np.array([0, 1, 0, 1], np.int32), recipe)
    assert mixed.classes["n"].to_list() == ["[1, 9]"]
    assert mixed.labels.tolist() == [0, 0, 0, 0]


def test_suppressed_rows_are_in_no_class():
    recipe = Recipe.from_roles(quasi=["n"], k=2)
    encoded = encode(pl.DataFrame({"n": [1, 2, 3]}), recipe)
    result = publish(encoded, np.array([0, 0, -1], np.int32), recipe)
    assert result.labels.tolist() == [0, 0, -1]
    assert result.classes["n"].to_list() == ["[1, 2]"]


def covers(text, value, parent):
    """Whether a published text stands for a raw value, by the definitions of the contract."""
    form = parse(text)
    if isinstance(form, Lost):
        return True
    if value is None or form is None:
        return value is None and form is None
    if isinstance(form, Range):
        return float(form.low) <= value <= float(form.high)
    if isinstance(form, Set):
        return value in form.members
    assert isinstance(form, Value)
    if parent is None:
        return form.text == str(value)
    while value != form.text and value is not None:
        value = parent[value]
    return value == form.text


@given(tables())
def test_published_values_cover_the_originals(case):
    encoded = encode(case.table, case.recipe)
    k = case.recipe.privacy.k
    labels = (np.arange(encoded.n_rows, dtype=np.int32) // k).clip(max=encoded.n_rows // k - 1)
    result = publish(encoded, labels, case.recipe)
    for row in range(encoded.n_rows):
        for column, name in zip(case.columns, case.recipe.quasi, strict=True):
            text = result.classes[name][int(result.labels[row])]
            value = case.table[name][int(encoded.order[row])]
            assert covers(text, value, getattr(column, "parent", None))
