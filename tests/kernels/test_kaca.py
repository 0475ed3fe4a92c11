"""The KACA kernel against its slow twin, the paper's distances, and by hand."""

from fractions import Fraction
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import kaca
from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.recipe.options import KACAOptions
from shoal.table.encode import encode
from shoal.table.fixed import fixed_columns
from shoal.table.intervals import with_trees
from tests.reference import kaca as reference
from tests.reference.kmember import TreeColumn
from tests.strategies import TREES, tables

SCHEMES = st.sampled_from([("uniform", 1), ("height", 1), ("height", 2)])


def by_twin(columns, encoded, case, weights, beta, **more):
    order = kaca.draw(encoded.n_rows, case.recipe.method.seed)
    unit = fixed_columns(encoded, np.arange(1)).unit
    priority = np.argsort(order).tolist()
    return reference.kaca(
        columns, case.recipe.privacy.k, priority, weights=weights, beta=beta, unit=unit, **more
    )


@given(tables(kinds=TREES), SCHEMES)
def test_kernel_gives_the_labels_of_the_twin(case, scheme):
    weights, beta = scheme
    encoded = encode(case.table, case.recipe)
    options = KACAOptions(weights=weights, beta=beta)
    labels = (
        kaca.KACA(case.recipe.privacy.k, seed=case.recipe.method.seed, options=options).fit(encoded).labels
    )
    assert labels.tolist() == by_twin(case.twin_columns(encoded.order), encoded, case, weights, beta)


@given(tables(kinds=TREES), st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1)]), st.integers(0, 20))
def test_outliers_are_those_of_the_twin(case, outlier, may_suppress):
    encoded = encode(case.table, case.recipe)
    options = KACAOptions(outlier=float(outlier))
    k, seed = case.recipe.privacy.k, case.recipe.method.seed
    labels = kaca.KACA(k, seed=seed, options=options, may_suppress=may_suppress).fit(encoded).labels
    columns = case.twin_columns(encoded.order)
    more = {"outlier": outlier, "may_suppress": may_suppress}
    assert labels.tolist() == by_twin(columns, encoded, case, "uniform", 1, **more)
    assert (labels < 0).sum() <= may_suppress


@given(tables())
def test_numbers_go_through_the_default_intervals(case):
    # The trees of numbers are built by shoal (and tested there); the twin takes them as they are.
    encoded = encode(case.table, case.recipe)
    columns = []
    for column, plain in zip(with_trees(encoded).columns, case.twin_columns(encoded.order), strict=True):
        if isinstance(plain, TreeColumn):
            columns.append(plain)
            continue
        missing = column.missing if column.has_missing else -1
        dead = int(column.tree.leaf_nodes[missing]) if missing >= 0 else -1
        parent = {
            node: None if above < 0 else above
            for node, above in enumerate(column.tree.parent.tolist())
            if node != dead
        }
        values = [None if code == missing else int(column.tree.leaf_nodes[code]) for code in column.codes]
        if missing >= 0 and len(parent) == 2:  # one value and a new root: the twin makes that root itself
            parent = {1: None}
        columns.append(TreeColumn(values, parent, plain.weight))
    k, seed = case.recipe.privacy.k, case.recipe.method.seed
    labels = kaca.KACA(k, seed=seed).fit(encoded).labels
    assert labels.tolist() == by_twin(columns, encoded, case, "uniform", 1)


def labels_of(table, k, order, trees=None, **options):
    encoded = shoal.encode(table, quasi=table.columns, hierarchies=trees or {})
    with mock.patch.object(kaca, "draw", return_value=np.array(order)):
        return kaca.KACA(k, options=KACAOptions(**options), may_suppress=1).fit(encoded).labels.tolist()


POSTCODES = {"post": {"prefix": 1}}


def test_a_large_class_lends_a_stub_and_keeps_its_detail():
    # k = 2. Tuples 4351 (one row), 4352 (four rows). 1 + 4 >= 4: a stub of one row joins, at distance
    # 1 x 1/4 + 1 x 1/4; the other three rows keep 4352.
    table = pl.DataFrame({"post": ["4351", "4352", "4352", "4352", "4352"]})
    assert labels_of(table, 2, range(5), POSTCODES) == [0, 0, 1, 1, 1]


def test_a_small_class_merges_whole_when_no_stub_is_left():
    # k = 2. 4351 (1 row), 4352 (2 rows): 1 + 2 < 4, all three become 435*.
    assert labels_of(pl.DataFrame({"post": ["4351", "4352", "4352"]}), 2, range(3), POSTCODES) == [0, 0, 0]


def test_distance_counts_rows():
    # k = 3. One row 4311, rows 4321 4321 (435 apart at 43**), row 4411 (at 4***). From 4311:
    # to 4321: 1 x 2/4 + 2 x 2/4 = 1.5 (1 + 2 < 6, whole); to 4411: 1 x 3/4 + 1 x 3/4 = 1.5: a tie, which
    # goes to the class whose first row comes first, 4321. Three rows: done. 4411 alone then merges whole.
    table = pl.DataFrame({"post": ["4311", "4321", "4321", "4411", "4411", "4411"]})
    # 4411 has three rows here and stays as it is; with 1 + 3 < 6 it would be taken whole: 4 x 3/4 = 3.
    assert labels_of(table, 3, range(6), POSTCODES) == [0, 0, 0, 1, 1, 1]


def test_an_outlier_is_left_out():
    # 9999 meets 435* only at the root: 1 x 1 + 1 x 1 (a stub of one) = 2 for its one row.
    table = pl.DataFrame({"post": ["4351", "4351", "4351", "9999"]})
    assert labels_of(table, 2, [3, 0, 1, 2], POSTCODES) == [0, 1, 1, 0]
    assert labels_of(table, 2, [3, 0, 1, 2], POSTCODES, outlier=1.9) == [0, 0, 0, -1]
    assert labels_of(table, 2, [3, 0, 1, 2], POSTCODES, outlier=2.0) == [0, 1, 1, 0]


def test_own_weights_decide_which_column_gives_way():
    # All pairs of a, b and x, y, one row each, k = 2, each column one leaf step below a node under the
    # root. Weights run from the root down. Where the leaf step of `s` is cheap (1 of 10, that of `t` 9 of
    # 10), (a, x) merges with (b, x); where that of `t` is, with (a, y).
    table = pl.DataFrame({"s": ["a", "a", "b", "b"], "t": ["x", "y", "x", "y"]})
    trees = {"s": {"r": {"m": ["a", "b"], "n": ["c"]}}, "t": {"r": {"m": ["x", "y"], "n": ["z"]}}}
    assert labels_of(table, 2, range(4), trees, weights={"s": [9, 1], "t": [1, 9]}) == [0, 1, 0, 1]
    assert labels_of(table, 2, range(4), trees, weights={"s": [1, 9], "t": [9, 1]}) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"post": [1.0]}, "1 numbers for column `post`, whose tree has 4 steps"),
        ({"post": [0.0] * 4}, "nothing above 0 for column `post`"),
        ({"zip": [1.0]}, "names `zip`, which is no quasi column"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, message):
    table = pl.DataFrame({"post": ["4351", "4352"]})
    with pytest.raises(RecipeError, match=message):
        labels_of(table, 2, range(2), POSTCODES, weights=weights)


def test_suppression_stays_within_the_limit_of_the_recipe():
    table = pl.DataFrame({"post": ["4351"] * 9 + ["9999"], "s": list("abcdefghij")})
    data = {
        "columns": {"post": {"role": "quasi", "hierarchy": {"prefix": 1}}, "s": {"role": "keep"}},
        "privacy": {"k": 2, "max_suppressed": 0.1},
        "method": {"name": "kaca", "options": {"outlier": 0.5}},
    }
    release = shoal.anonymize(table, Recipe.from_dict(data))
    assert (release.released, release.suppressed) == (9, 1)
    data["privacy"]["max_suppressed"] = 0.09
    assert shoal.anonymize(table, Recipe.from_dict(data)).suppressed == 0


def test_calls_of_the_kernel_may_end_anywhere():
    table = pl.DataFrame({"x": [i * i % 17 for i in range(60)], "y": [i * 7 % 5 for i in range(60)]})
    encoded = shoal.encode(table, quasi=["x", "y"])
    at_once = kaca.KACA(4).fit(encoded).labels
    with mock.patch.object(kaca, "_CLASSES_PER_CALL", 1):
        assert np.array_equal(kaca.KACA(4).fit(encoded).labels, at_once)
