"""The papers' worked numbers, and losses against their definitions."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from shoal.measure.loss import loss
from shoal.measure.published import published_costs
from shoal.measure.readings import tight_costs
from shoal.recipe import Recipe
from shoal.recode.publish import publish
from shoal.table.encode import encode
from tests.reference import kmember as reference
from tests.strategies import tables

COUNTRY = {
    "Country": {
        "America": {"North": ["USA", "Canada"], "South": ["Brazil", "Mexico"]},
        "Asia": {"West": ["Iran", "Egypt"], "East": ["India", "Japan"]},
    }
}


def recipe(k, *, keep=(), **columns):
    specs = {name: {"role": "quasi", **spec} for name, spec in columns.items()}
    specs |= {name: {"role": "sensitive"} for name in keep}
    return Recipe.from_dict({"columns": specs, "privacy": {"k": k}})


def encoded_and_labels(table, asked, labels):
    """Encode a table and bring labels, one for each input row, into canonical order."""
    encoded = encode(table, asked)
    return encoded, np.array(labels, np.int32)[encoded.order]


def tight_il(table, asked, labels):
    encoded, sorted_labels = encoded_and_labels(table, asked, labels)
    return loss(encoded, sorted_labels, tight_costs(encoded, sorted_labels), asked.privacy.k).il


def published_il(table, asked, labels, texts):
    """IL of published texts, one row of texts for each class in the order of its number."""
    encoded, sorted_labels = encoded_and_labels(table, asked, labels)
    costs = published_costs(encoded, pl.DataFrame(texts))
    return loss(encoded, sorted_labels, costs, asked.privacy.k).il


@pytest.mark.parametrize(
    ("pair", "distance"),
    [
        (("India", "USA"), 3 / 3),
        (("India", "Iran"), 2 / 3),
        (("India", "Japan"), 1 / 3),
        (("Iran", "Iran"), 0),
    ],
)
def test_distances_in_the_country_tree_of_byun(pair, distance):
    # D of two rows; IL of the class of both is 2 D.
    table = pl.DataFrame({"country": pair})
    asked = recipe(2, country={"kind": "categorical", "hierarchy": COUNTRY})
    assert tight_il(table, asked, [0, 0]) == pytest.approx(2 * distance)


def test_any_two_values_under_one_root_are_at_distance_one():
    # [byun2007] figure 4: the occupation tree has height 1.
    table = pl.DataFrame({"job": ["Teacher", "Doctor"]})
    asked = recipe(2, job={"kind": "categorical", "hierarchy": {"Job": ["Teacher", "Doctor", "Salesman"]}})
    assert tight_il(table, asked, [0, 0]) == 2


LIN = pl.DataFrame(
    {
        "zip": ["75275", "75277", "75278", "75275", "75275", "75275"],
        "sex": ["Male", "Male", "Male", "Male", "Female", "Female"],
        "age": [22, 23, 24, 33, 38, 36],
    }
)
LIN_RECIPE = recipe(
    3,
    zip={"kind": "categorical", "hierarchy": {"7527*": ["75275", "75277", "75278"]}},
    sex={"kind": "categorical", "hierarchy": {"Person": ["Male", "Female"]}},
    age={"kind": "numeric"},
)
TWO_CLASSES = [0, 0, 0, 1, 1, 1]


def test_lin_tables_have_this_tight_loss():
    # Ages span 38 - 22 = 16. First class: zip 1, sex 0, age 2/16; second: zip 0, sex 1, age 5/16.
    # 3 (1 + 0 + 2/16) + 3 (0 + 1 + 5/16) = 3.375 + 3.9375
    assert tight_il(LIN, LIN_RECIPE, TWO_CLASSES) == 7.3125


def test_lin_table_2_attribute_level():
    # Both classes: zip 1, sex 1, a decade of width 9 / 16. 6 (1 + 1 + 9/16) = 15.375
    texts = {"zip": ["*", "*"], "sex": ["*", "*"], "age": ["[21, 30]", "[31, 40]"]}
    assert published_il(LIN, LIN_RECIPE, TWO_CLASSES, texts) == 15.375


def test_lin_table_3_cell_level():
    # 3 (1 + 0 + 4/16) + 3 (0 + 1 + 9/16) = 3.75 + 4.6875
    texts = {"zip": ["*", "75275"], "sex": ["Male", "*"], "age": ["[21, 25]", "[31, 40]"]}
    assert published_il(LIN, LIN_RECIPE, TWO_CLASSES, texts) == 8.4375


BHALADHARE = pl.DataFrame(
    {
        "age": [20, 22, 24, 32, 34, 38],
        "sex": ["Male", "Male", "Male", "Male", "Female", "Female"],
        "zip": ["443350", "443351", "443352", "443350", "443350", "443350"],
    }
)
BHALADHARE_RECIPE = recipe(
    3,
    age={"kind": "numeric"},
    sex={"kind": "categorical", "hierarchy": {"Person": ["Male", "Female"]}},
    zip={"kind": "categorical", "hierarchy": {"44335*": ["443350", "443351", "443352"]}},
)


def test_bhaladhare_example_1_tight():
    # The first class is all male, the second has one zip code.
    # 3 (4/18 + 0 + 1) + 3 (6/18 + 1 + 0) = 3.667 + 4
    assert tight_il(BHALADHARE, BHALADHARE_RECIPE, TWO_CLASSES) == pytest.approx(7.667, abs=5e-4)


def test_bhaladhare_example_1_published():
    # Decades of width 9/18, both roots. 6 (9/18 + 1 + 1) = 15
    texts = {"age": ["[21, 30]", "[31, 40]"], "sex": ["*", "*"], "zip": ["*", "*"]}
    assert published_il(BHALADHARE, BHALADHARE_RECIPE, TWO_CLASSES, texts) == 15.0


def test_bhaladhare_example_1_as_the_paper_mixes_it():
    # Raw ages with printed roots: 3 (4/18 + 1 + 1) + 3 (6/18 + 1 + 1) = 13.667 (printed 13.65)
    texts = {"age": ["[20, 24]", "[32, 38]"], "sex": ["*", "*"], "zip": ["*", "*"]}
    il = published_il(BHALADHARE, BHALADHARE_RECIPE, TWO_CLASSES, texts)
    assert il == pytest.approx(13.667, abs=5e-4)


def test_he_table_1_has_this_ncp():
    # Ages span 40, zips 25. {Andy, Bob}: 2 (0/40 + 5/25) = 0.4; {Jane, Alex}: 2 (10/40 + 5/25) = 0.9;
    # {Mary, Lily, Lucy}: 3 (10/40 + 5/25) = 1.35. Together 2.65.
    table = pl.DataFrame({"age": [20, 20, 30, 40, 50, 60, 60], "zip": [25, 30, 25, 30, 10, 5, 10]})
    asked = recipe(2, age={"kind": "numeric"}, zip={"kind": "numeric"})
    assert tight_il(table, asked, [0, 0, 1, 1, 2, 2, 2]) == pytest.approx(2.65)
    encoded, labels = encoded_and_labels(table, asked, [0, 0, 1, 1, 2, 2, 2])
    first = publish(encoded, labels, asked).classes.row(0)
    assert first == ("20", "[25, 30]")  # gen({Andy, Bob})


def test_gcp_dm_c_avg_and_cm_by_hand():
    # Five rows, the last one suppressed. Classes {1, 2}: width 1/4, {4, 5}: 1/4 of the range 5 - 1.
    # IL = 2/4 + 2/4 + 1 (suppressed) = 2; weights sum to 1: GCP = 2 / 5.
    # DM = 2^2 + 2^2 + 5 x 1 = 13; C_avg = (5 / 2) / 2 = 1.25.
    # CM: class 0 has labels a b (one differs), class 1 has a a, one suppressed: (1 + 0 + 1) / 5.
    table = pl.DataFrame({"x": [1, 2, 4, 5, 3], "y": ["a", "b", "a", "a", "b"]})
    asked = recipe(2, keep=["y"], x={"kind": "numeric"})
    encoded, labels = encoded_and_labels(table, asked, [0, 0, 1, 1, -1])
    found = loss(encoded, labels, tight_costs(encoded, labels), 2)
    assert (found.il, found.gcp, found.dm, found.c_avg) == (2.0, 0.4, 13, 1.25)
    assert found.cm == pytest.approx(0.4)
    assert found.distortion_ratio is None


def test_constant_columns_and_single_node_trees_cost_nothing():
    table = pl.DataFrame({"x": [7, 7], "y": ["a", "a"]})
    asked = recipe(2, x={"kind": "numeric"}, y={"kind": "categorical", "hierarchy": {"a": {}}})
    assert tight_il(table, asked, [0, 0]) == 0


def test_a_mix_of_missing_and_present_costs_everything():
    table = pl.DataFrame({"x": [1, None, 3, None, None], "y": ["a", "a", None, None, None]})
    asked = recipe(2, x={"kind": "numeric"}, y={"kind": "categorical"})
    # {1, missing} and {a, a}: 1 + 0; {3, missing, missing}: 1, all missing: 0.
    assert tight_il(table, asked, [0, 0, 1, 1, 1]) == 2 * 1 + 3 * 1


@given(tables())
def test_tight_and_published_losses_equal_the_definition(case):
    encoded = encode(case.table, case.recipe)
    k = case.recipe.privacy.k
    labels = (np.arange(encoded.n_rows, dtype=np.int32) // k).clip(max=encoded.n_rows // k - 1)
    columns = case.twin_columns(encoded.order)
    classes = [np.flatnonzero(labels == number).tolist() for number in range(labels.max() + 1)]
    expected = float(sum(reference.loss(columns, rows) for rows in classes))

    published = publish(encoded, labels, case.recipe)
    costs = published_costs(encoded, published.classes)
    assert loss(encoded, labels, tight_costs(encoded, labels), k).il == pytest.approx(expected)
    assert loss(encoded, published.labels, costs, k).il == pytest.approx(expected)


@given(tables())
def test_cm_counts_rows_outside_the_majority(case):
    encoded = encode(case.table, case.recipe)
    labels = (np.arange(encoded.n_rows, dtype=np.int32) // 3).astype(np.int32)
    values = [case.table["label"][int(at)] for at in encoded.order]
    outside = 0
    for number in set(labels.tolist()):
        counts = Counter(value for value, label in zip(values, labels, strict=True) if label == number)
        outside += counts.total() - max(counts.values())
    found = loss(encoded, labels, tight_costs(encoded, labels), 3).cm
    assert found == pytest.approx(outside / len(values))
