"""The Mondrian kernel against its slow twin, and by hand."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import Mondrian
from shoal.recipe.options import MondrianOptions
from shoal.table.encode import encode
from tests.reference import mondrian as reference
from tests.strategies import tables


@given(tables(method="mondrian"), st.sampled_from(["strict", "relaxed"]))
def test_kernel_gives_the_labels_of_the_twin(case, mode):
    encoded = encode(case.table, case.recipe)
    k = case.recipe.privacy.k
    labels = Mondrian(k, options=MondrianOptions(mode=mode)).fit(encoded).labels
    assert labels.tolist() == reference.mondrian(case.twin_columns(encoded.order), k, mode=mode)


def labels_of(table, k, mode="strict"):
    encoded = shoal.encode(table, quasi=table.columns)
    return Mondrian(k, options=MondrianOptions(mode=mode)).fit(encoded).labels.tolist()


def test_worked_tables():
    # Lower median of 1 2 3 4 is 2: left {1, 2}, right {3, 4}.
    assert labels_of(pl.DataFrame({"x": [1, 2, 3, 4]}), 2) == [0, 0, 1, 1]
    # 1 2 2 2 2: the median 2 leaves nothing to its right; relaxed deals two rows to the left.
    assert labels_of(pl.DataFrame({"x": [1, 2, 2, 2, 2]}), 2) == [0] * 5
    assert labels_of(pl.DataFrame({"x": [1, 2, 2, 2, 2]}), 2, "relaxed") == [0, 0, 1, 1, 1]


def test_the_paper_table_of_he_is_cut_into_its_optimum():
    # Ages 20 20 30 40 50 60 60 are widest (1, zips 1: first column). Median 40: left of 4, right of 3.
    # Left: ages 20..40 are 0.5 wide, zips 0.2: median 20 -> {20, 20}, {30, 40}. Right cannot be cut.
    table = pl.DataFrame({"age": [20, 20, 30, 40, 50, 60, 60], "zip": [25, 30, 25, 30, 10, 5, 10]})
    assert labels_of(table, 2) == [0, 0, 1, 1, 2, 2, 2]
