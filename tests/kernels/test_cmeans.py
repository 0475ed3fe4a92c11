"""The C-means kernel against its slow twin, and by hand."""

from unittest import mock

import numba
import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import cmeans
from shoal.recipe.options import CMeansOptions
from shoal.table.encode import encode
from shoal.table.fixed import fixed_columns
from tests.reference import cmeans as reference
from tests.strategies import tables


@given(tables(max_rows=40), st.sampled_from([1, 2, 5, 50]), st.sampled_from([1, 2]))
def test_kernel_gives_the_labels_of_the_twin(case, rounds, threads):
    encoded = encode(case.table, case.recipe)
    k, seed = case.recipe.privacy.k, case.recipe.method.seed
    numba.set_num_threads(threads)
    with mock.patch.object(cmeans, "_STRETCH", 7):
        labels = cmeans.CMeans(k, seed=seed, options=CMeansOptions(rounds=rounds)).fit(encoded).labels
    numba.set_num_threads(1)
    seeds = cmeans.draw(encoded.n_rows, k, seed).tolist()
    unit = fixed_columns(encoded, np.arange(1)).unit
    columns = case.twin_columns(encoded.order)
    assert labels.tolist() == reference.cmeans(columns, k, seeds, rounds=rounds, unit=unit)


def test_a_worked_table():
    # Ages 0 1 8 9, k = 2, first centres 0 and 1; one column, so its weight plays no part.
    # Round 1: 0 | 1 8 9; centres 0 and 6. Round 2: 0 1 | 8 9; centres 0.5 and 8.5. Round 3: the same.
    encoded = shoal.encode(pl.DataFrame({"age": [0, 1, 8, 9]}), quasi=["age"])
    with mock.patch.object(cmeans, "draw", return_value=np.array([0, 1])):
        assert cmeans.CMeans(2).fit(encoded).labels.tolist() == [0, 0, 1, 1]
        # After one round the first class has one row and merges with the other.
        assert cmeans.CMeans(2, options=CMeansOptions(rounds=1)).fit(encoded).labels.tolist() == [0] * 4
