"""Growth from single rows, against its slow twin."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.kernels.local_search import start
from tests.kernels.calling import GROW, NOTHING, is_empty
from tests.kernels.test_cuts import parted
from tests.kernels.test_space import labels_of, plain_rows, rows_with_goals
from tests.reference import local_search as twin


def check(rows, order, first):
    labels = np.full(rows.n, -1, np.int64)
    found = parted(GROW, rows, np.array(order), labels, first=first)
    check_found(rows, labels, found, twin.grown(rows.table, order, rows.k, first, rows.keeping))


def check_whole_cell(rows):
    labels, places = np.full(rows.n, -1, np.int64), np.arange(rows.n)
    found = start._run(rows.cell, start.GROW, places, start.ONE, NOTHING, labels)
    check_found(rows, labels, found, twin.grown(rows.table, range(rows.n), rows.k, 0, rows.keeping))


def check_found(rows, labels, found, expected):
    assume(rows.is_exact)
    n_classes, loss = found
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


@given(plain_rows(max_rows=40))
def test_growth_in_a_whole_cell_gives_the_classes_of_the_twin(rows):
    check_whole_cell(rows)


@given(rows_with_goals())
def test_growth_in_a_whole_cell_under_goals_gives_the_classes_of_the_twin(rows):
    check_whole_cell(rows)
