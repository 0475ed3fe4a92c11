"""The threshold greedy kernel against its slow twin and the hand-worked tables."""

from fractions import Fraction
from unittest import mock

import numba
import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import threshold
from shoal.recipe.options import ThresholdOptions
from shoal.table.encode import encode
from tests.reference import threshold as reference
from tests.strategies import tables


def labels_and_twin(case, limit, may_suppress):
    encoded = encode(case.table, case.recipe)
    k, seed = case.recipe.privacy.k, case.recipe.method.seed
    options = ThresholdOptions(threshold=None if limit is None else float(limit))
    result = threshold.Threshold(k, seed=seed, options=options, may_suppress=may_suppress).fit(encoded)
    priority = np.argsort(threshold.draw(encoded.n_rows, seed)).tolist()
    given = Fraction(len(encoded.columns), 4) if limit is None else limit
    columns = case.twin_columns(encoded.order)
    twin = reference.threshold_greedy(columns, k, priority, threshold=given, may_suppress=may_suppress)
    return result, twin


@given(tables(), st.sampled_from([None, Fraction(1, 3), 1, 2]), st.sampled_from([0, 3, 60]))
def test_kernel_gives_the_labels_of_the_twin(case, limit, may_suppress):
    result, (labels, deleted, rejoined) = labels_and_twin(case, limit, may_suppress)
    assert result.labels.tolist() == labels
    (remark,) = result.remarks
    suppressed = labels.count(-1)
    assert remark == (
        f"threshold: {deleted} rows were in classes below k; {rejoined} of them joined another class, "
        f"{suppressed} were left out"
    )


@given(tables(), st.sampled_from([1, 3, 16]), st.sampled_from([1, 2]))
def test_threads_and_blocks_do_not_change_labels(case, block, threads):
    alone, _ = labels_and_twin(case, None, 0)
    numba.set_num_threads(threads)
    with mock.patch.object(threshold, "empty_scan", lambda n: threshold_scan(n, block)):
        together, _ = labels_and_twin(case, None, 0)
    numba.set_num_threads(1)
    assert alone.labels.tolist() == together.labels.tolist()


def threshold_scan(n_units, block):
    from shoal.cluster.units import empty_scan

    return empty_scan(n_units, block, 1)


def test_calls_of_the_kernel_may_end_anywhere():
    table = pl.DataFrame({"x": [i * i % 17 for i in range(60)], "y": [i * 7 % 5 for i in range(60)]})
    encoded = shoal.encode(table, quasi=["x", "y"])
    at_once = threshold.Threshold(4).fit(encoded).labels
    with mock.patch.object(threshold, "_UNITS_PER_CALL", 1):
        assert np.array_equal(threshold.Threshold(4).fit(encoded).labels, at_once)


def test_a_worked_table():
    # Ages 0 1 2 10 11 30, range 30, threshold 1/4 (7.5 years), opened in order. 0 takes 1 and 2; 10 would
    # make 10 years. 10 takes 11. 30 is alone and deleted (k = 2): class 0 would grow by 4 x 30/30 -
    # 3 x 2/30 = 114/30, class 1 by 3 x 20/30 - 2 x 1/30 = 58/30: it joins class 1.
    encoded = shoal.encode(pl.DataFrame({"age": [0, 1, 2, 10, 11, 30]}), quasi=["age"])
    with mock.patch.object(threshold, "draw", return_value=np.arange(6)):
        assert threshold.Threshold(2).fit(encoded).labels.tolist() == [0, 0, 0, 1, 1, 1]
        assert threshold.Threshold(2, may_suppress=1).fit(encoded).labels.tolist() == [0, 0, 0, 1, 1, -1]
