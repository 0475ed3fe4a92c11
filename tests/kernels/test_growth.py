"""Growth from single rows, against its slow twin."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.kernels import growth as kernel
from tests.kernels.test_space import labels_of, plain_rows, rows_with_goals
from tests.reference import local_search as twin


def check(rows, order, first):
    assume(rows.is_exact)
    most = rows.n // rows.k + 2
    labels = np.full(rows.n, -1, np.int64)
    low, high = np.zeros((most, rows.d), np.int32), np.zeros((most, rows.d), np.int32)
    n_classes, loss = kernel.grow_classes(
        rows.cell, np.array(order), 0, rows.n, first, labels, low, high, np.zeros(most, np.int64),
        np.zeros(rows.cell.goals.begin[-1], np.bool_),
    )  # fmt: skip
    expected = twin.grown(rows.table, order, rows.k, first, rows.keeping)
    assert n_classes == len(expected)
    if expected:
        assert labels.tolist() == labels_of(expected, rows.n).tolist()
        assert loss == rows.loss(expected)
    assert not any(array.any() for array in rows.cell.tally), "the tally is not empty again"


@settings(max_examples=100)
@given(plain_rows(max_rows=40), st.data())
def test_growth_gives_the_classes_of_the_twin(rows, data):
    order = data.draw(st.permutations(range(rows.n)))
    check(rows, order, data.draw(st.integers(0, rows.n - 1)))


@settings(max_examples=80)
@given(rows_with_goals(), st.data())
def test_growth_under_goals_gives_the_classes_of_the_twin(rows, data):
    order = data.draw(st.permutations(range(rows.n)))
    check(rows, order, data.draw(st.integers(0, rows.n - 1)))
