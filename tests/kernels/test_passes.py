"""Passes over the rows of a block, and loans, against their slow twins."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.kernels.local_search.block import N_TOUCHED
from shoal.recipe import Recipe
from tests.kernels.calling import MOVE, PASS, REFILL, SETTLE
from tests.kernels.test_block import KINDS, Searched, audit, searches
from tests.kernels.test_space import Rows, plain_rows, rows_with_goals
from tests.reference import local_search as twin
from tests.reference.kmember import NumericColumn
from tests.strategies import Case


def check_pass(searched, most):
    rows, before = searched.rows, searched.loss()
    classes = searched.lists()
    for _ in range(2):  # the second one begins with lists that are not in order
        classes = twin.one_pass(rows.table, classes, rows.k, None if searched.is_wide else most, rows.keeping)
        saved = searched.do(PASS, c=most)
        assert searched.lists() == classes
        audit(searched)
        assert saved == before - searched.loss()
        before = searched.loss()


some_near = st.sampled_from([1, 2, 3, 24])


@given(searches(plain_rows(max_rows=24, max_k=4)), some_near)
def test_a_pass_does_what_the_twin_does(searched, most):
    check_pass(searched, most)


@given(searches(rows_with_goals(max_rows=20, max_k=3)), some_near)
def test_a_pass_under_goals_does_what_the_twin_does(searched, most):
    check_pass(searched, most)


@pytest.mark.parametrize("seed", range(4))
def test_a_pass_over_many_classes_does_what_the_twin_does(seed):
    # 25 classes or more, which generated tables do not have.
    random = np.random.Generator(np.random.PCG64(seed))
    values = {name: random.integers(0, 13, 60).tolist() for name in "abc"}
    recipe = {"columns": {name: {"role": "quasi"} for name in values}, "privacy": {"k": 2}}
    columns = [NumericColumn(cells) for cells in values.values()]
    rows = Rows(Case(pl.DataFrame(values), Recipe.from_dict(recipe), columns), 256)
    ends = np.sort(random.choice(np.arange(2, 60, 2), 25, replace=False))
    classes = np.split(random.permutation(60), ends)
    classes = [sorted(members.tolist()) for members in classes]
    for is_wide in (False, True):
        check_pass(Searched(rows, classes, spare=3, is_wide=is_wide), 5 * (seed + 1))


def check_settling(searched, kind, temperature):
    """Make a step, then let rows settle."""
    rows, before = searched.rows, searched.lists()
    assume(searched.step(kind))
    touched = searched.block.touched[: searched.block.state[N_TOUCHED]].tolist()
    after = searched.lists()
    searched.do(SETTLE, temperature=float(temperature * rows.fixed.unit))
    assert searched.lists() == twin.settled(
        rows.table, before, after, touched, rows.k, temperature, rows.keeping, is_wide=searched.is_wide
    )
    audit(searched)


warmth = st.sampled_from([0, 0, 1])


@given(searches(plain_rows(max_rows=30, max_k=4)), st.sampled_from(KINDS), warmth)
def test_rows_settle_as_those_of_the_twin(searched, kind, temperature):
    check_settling(searched, kind, temperature)


@given(searches(rows_with_goals(max_rows=20, max_k=3)), st.sampled_from(KINDS), warmth)
def test_rows_settle_under_goals_as_those_of_the_twin(searched, kind, temperature):
    check_settling(searched, kind, temperature)


def check_loans(searched, data):
    """Take some rows out of a class, to the others in turn, and let it borrow."""
    rows, n_classes = searched.rows, len(searched.classes)
    assume(n_classes > 1)
    own = data.draw(st.integers(0, n_classes - 1))
    leaving = data.draw(st.integers(1, len(searched.classes[own]) - 1) if rows.k > 1 else st.just(0))
    for at, row in enumerate(searched.classes[own][:leaving]):
        searched.do(MOVE, row=row, c=(own + 1 + at % (n_classes - 1)) % n_classes)
    expected, filled = twin.refilled(rows.table, searched.lists(), own, rows.k, rows.keeping)
    assert bool(searched.do(REFILL, c=own)) == filled
    assert searched.lists() == expected
    audit(searched)


@given(searches(plain_rows(max_rows=30, max_k=6)), st.data())
def test_a_class_borrows_what_that_of_the_twin_borrows(searched, data):
    check_loans(searched, data)


@given(searches(rows_with_goals(max_rows=24, max_k=4)), st.data())
def test_a_class_borrows_under_goals_what_that_of_the_twin_borrows(searched, data):
    check_loans(searched, data)


@pytest.mark.parametrize("seed", range(8))
def test_a_class_borrows_from_many_large_ones_what_that_of_the_twin_borrows(seed):
    # It borrows ten rows and gets wider meanwhile, so what loans cost changes, and who lends.
    random = np.random.Generator(np.random.PCG64(seed))
    values = {name: random.integers(0, 13, 160).tolist() for name in "abc"}
    recipe = {"columns": {name: {"role": "quasi"} for name in values}, "privacy": {"k": 12}}
    columns = [NumericColumn(cells) for cells in values.values()]
    rows = Rows(Case(pl.DataFrame(values), Recipe.from_dict(recipe), columns), 256)
    order = np.argsort(np.array(values["a"]) + random.integers(0, 6, 160), kind="stable")
    classes = [sorted(members.tolist()) for members in np.split(order, range(20, 160, 20))]
    searched = Searched(rows, classes, spare=0)
    for at, row in enumerate(classes[3][:18]):
        searched.do(MOVE, row=row, c=(4 + at % 7) % 8)
    expected, filled = twin.refilled(rows.table, searched.lists(), 3, rows.k, None)
    assert filled
    assert bool(searched.do(REFILL, c=3))
    assert searched.lists() == expected
    audit(searched)
