"""A pass over all rows of a block, against its slow twin."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from shoal.recipe import Recipe
from tests.kernels.calling import PASS
from tests.kernels.test_block import Searched, audit, searches
from tests.kernels.test_space import Rows, plain_rows, rows_with_goals
from tests.reference import local_search as twin
from tests.reference.kmember import NumericColumn
from tests.strategies import Case


def check_pass(searched):
    rows, before = searched.rows, searched.loss()
    classes = searched.lists()
    for _ in range(2):  # the second one begins with lists that are not in order
        classes = twin.one_pass(rows.table, classes, rows.k, rows.keeping)
        saved = searched.do(PASS)
        assert searched.lists() == classes
        audit(searched)
        assert saved == before - searched.loss()
        before = searched.loss()


@given(searches(plain_rows(max_rows=24, max_k=4)))
def test_a_pass_does_what_the_twin_does(searched):
    check_pass(searched)


@given(searches(rows_with_goals(max_rows=20, max_k=3)))
def test_a_pass_under_goals_does_what_the_twin_does(searched):
    check_pass(searched)


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
    check_pass(Searched(rows, [sorted(members.tolist()) for members in classes], spare=3))
