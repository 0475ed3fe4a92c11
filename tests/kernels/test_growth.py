"""Growth from single rows, against its slow twin."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.kernels.calling import GROW, is_empty
from tests.kernels.test_cuts import parted
from tests.kernels.test_space import labels_of, plain_rows, rows_with_goals
from tests.reference import local_search as twin


def check(rows, order, first):
    assume(rows.is_exact)
    labels = np.full(rows.n, -1, np.int64)
    n_classes, loss = parted(GROW, rows, np.array(order), labels, first=first)
    expected = twin.grown(rows.table, order, rows.k, first, rows.keeping)
    assert n_classes == len(expected)
    if expected:
        assert labels.tolist() == labels_of(expected, rows.n).tolist()
        assert loss == rows.loss(expected)
    assert is_empty(rows.cell.tally), "the tally is not empty again"


@given(plain_rows(max_rows=40), st.data())
def test_growth_gives_the_classes_of_the_twin(rows, data):
    order = data.draw(st.permutations(range(rows.n)))
    check(rows, order, data.draw(st.integers(0, rows.n - 1)))


@given(rows_with_goals(), st.data())
def test_growth_under_goals_gives_the_classes_of_the_twin(rows, data):
    order = data.draw(st.permutations(range(rows.n)))
    check(rows, order, data.draw(st.integers(0, rows.n - 1)))
