"""The systematic clustering kernel against its slow twin, and by hand."""

from unittest import mock

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import systematic
from shoal.recipe.options import SystematicOptions
from shoal.table.encode import encode
from tests.reference import systematic as reference
from tests.strategies import tables


@given(tables(), st.sampled_from(["systematic", "random"]))
def test_kernel_gives_the_labels_of_the_twin(case, seeds):
    encoded = encode(case.table, case.recipe)
    k, seed, options = case.recipe.privacy.k, case.recipe.method.seed, SystematicOptions(seeds=seeds)
    labels = systematic.Systematic(k, seed=seed, options=options).fit(encoded).labels
    drawn = systematic.draw(encoded.n_rows, k, seed, options)
    offsets = [int(row) - at * k for at, row in enumerate(drawn)]
    columns = case.twin_columns(encoded.order)
    if seeds == "random":
        assert labels.tolist() == reference.systematic(columns, k, offsets=offsets)
    else:
        assert set(offsets) == {offsets[0]}
        assert labels.tolist() == reference.systematic(columns, k, offsets[0])


def test_calls_of_the_kernel_may_end_anywhere():
    table = pl.DataFrame({"x": [i * i % 17 for i in range(60)], "y": [i * 7 % 5 for i in range(60)]})
    encoded = shoal.encode(table, quasi=["x", "y"])
    at_once = systematic.Systematic(4).fit(encoded).labels
    with mock.patch.object(systematic, "_ROWS_TIMES_CLASSES", 1):
        assert np.array_equal(systematic.Systematic(4).fit(encoded).labels, at_once)


def test_a_worked_table():
    # Ages 20 22 23 24 60, k = 2, seeds at position 1 of each run: 22 (class 0) and 24 (class 1); range 40.
    # 20: class 0 grows by 2 x 2/40 = 4/40, class 1 by 2 x 4/40: class 0.
    # 23: class 0 grows by 3 x 3/40 - 2 x 2/40 = 5/40, class 1 by 2 x 1/40: class 1.
    # 60: class 0 by 3 x 40/40 - 4/40 = 116/40, class 1 by 3 x 37/40 - 2/40 = 109/40: class 1.
    # Class 1 has three rows and gives up 60, the last one. No class is below 2, so it joins any:
    # the same numbers again, class 1.
    encoded = shoal.encode(pl.DataFrame({"age": [20, 22, 23, 24, 60]}), quasi=["age"])
    with mock.patch.object(systematic, "draw", return_value=np.array([1, 3])):
        labels = systematic.Systematic(2).fit(encoded).labels
    assert labels.tolist() == [0, 0, 1, 1, 1]


def test_rows_given_up_fill_small_classes_first():
    # Ages 1 2 3 9, k = 2, seeds 1 (class 0) and 9 (class 1); range 8. 2 costs 2/8 or 14/8: class 0.
    # 3 costs 3 x 2/8 - 2 x 1/8 = 4/8 or 12/8: class 0 again. It has three rows and gives up 3, which
    # must go to class 1, although class 0 would be cheaper.
    encoded = shoal.encode(pl.DataFrame({"age": [1, 2, 3, 9]}), quasi=["age"])
    with mock.patch.object(systematic, "draw", return_value=np.array([0, 3])):
        labels = systematic.Systematic(2).fit(encoded).labels
    assert labels.tolist() == [0, 0, 1, 1]
