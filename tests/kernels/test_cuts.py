"""Cuts from above, greedy and with rollouts, against their slow twin."""

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.kernels.local_search import cuts as kernel
from shoal.kernels.local_search.growth import Waiting, waiting_rows
from shoal.recipe import Recipe
from tests.kernels.calling import GREEDY, ROLLOUTS, part_rows
from tests.kernels.test_space import Rows, plain_rows, rows_with_goals
from tests.reference import local_search as twin
from tests.reference.kmember import NumericColumn
from tests.strategies import Case

NO_NOISE = 0.0
NOTHING = np.zeros(0, np.int64)


class Grown(NamedTuple):
    """Room for classes that grow."""

    waiting: Waiting
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray


def parted(way, rows, order, labels=NOTHING, *, ends=NOTHING, first=0, tried=0, noise=NO_NOISE, seed=0):
    """Part all rows; return the number of parts and the loss. Writes `order`, and `ends` or `labels`."""
    work = kernel.cut_work(rows.cell, rows.n)
    work.stack[0] = 0, rows.n
    n_values = 0 if rows.kept is None else int(rows.cell.goals.begin[-1])
    box = np.zeros((rows.n // rows.k + 2, rows.d), np.int32)
    grown = Grown(waiting_rows(rows.cell, rows.n), box, box.copy(), np.zeros(len(box), np.int64))
    return part_rows(
        way, rows.cell, order, first, tried, noise, np.array([seed], np.uint64), ends, kernel.no_cuts(),
        kernel.no_cuts(), work, labels, grown, np.zeros(n_values, np.bool_),
    )  # fmt: skip


def greedy(rows, noise=NO_NOISE, seed=0):
    order, ends = np.arange(rows.n), np.zeros(rows.n // rows.k + 2, np.int64)
    _, loss = parted(GREEDY, rows, order, ends=ends, noise=noise, seed=seed)
    return parts_by_end(order, ends), loss


def with_rollouts(rows, tried):
    order, ends = np.arange(rows.n), np.zeros(rows.n // rows.k + 2, np.int64)
    _, loss = parted(ROLLOUTS, rows, order, ends=ends, tried=tried)
    return parts_by_end(order, ends), loss


def parts_by_end(order, ends):
    """The parts, each ascending. The first of `ends` is their number."""
    parts = np.split(order, np.sort(ends[1 : ends[0] + 1]))
    assert len(parts.pop()) == 0, "rows behind the last end"
    return sorted(sorted(part.tolist()) for part in parts)


def check_greedy(rows):
    assume(rows.is_exact)
    parts, loss = greedy(rows)
    expected = twin.cut_greedily(rows.table, list(range(rows.n)), rows.k, rows.keeping)
    assert parts == sorted(expected)
    assert loss == rows.loss(expected)


def check_rollouts(rows, tried):
    assume(rows.is_exact)
    parts, loss = with_rollouts(rows, tried)
    expected = twin.cut_with_rollouts(rows.table, list(range(rows.n)), rows.k, tried, rows.keeping)
    assert parts == sorted(expected)
    assert loss == rows.loss(expected)


@given(plain_rows(max_rows=40))
def test_greedy_cuts_give_the_classes_of_the_twin(rows):
    check_greedy(rows)


@given(rows_with_goals())
def test_greedy_cuts_under_goals_give_the_classes_of_the_twin(rows):
    check_greedy(rows)


@given(plain_rows(max_rows=40, max_k=4), st.sampled_from([3, 8]))
def test_rollouts_give_the_classes_of_the_twin(rows, tried):
    check_rollouts(rows, tried)


@given(rows_with_goals(max_k=3))
def test_rollouts_under_goals_give_the_classes_of_the_twin(rows):
    check_rollouts(rows, tried=8)


@given(plain_rows(max_rows=40), st.sampled_from([0.5, 5.0]), st.integers(0, 99))
def test_noise_chooses_other_cuts_but_keeps_classes_and_loss_right(rows, noise, seed):
    parts, loss = greedy(rows, noise, seed)
    assert sorted(row for part in parts for row in part) == list(range(rows.n))
    assert min(len(part) for part in parts) >= rows.k
    assert abs(loss - rows.loss(parts)) <= rows.n * rows.d


def test_noise_does_choose_other_cuts():
    rows = numbers(range(40), k=2)
    assert len({str(greedy(rows, 5.0, seed)[0]) for seed in range(20)}) > 1


def numbers(values, k):
    """One numeric column."""
    values = list(values)
    recipe = Recipe.from_dict({"columns": {"q": {"role": "quasi"}}, "privacy": {"k": k}})
    return Rows(Case(pl.DataFrame({"q": values}), recipe, [NumericColumn(values)]), 256)


@pytest.mark.parametrize("n", [100, 1500, 3000], ids=["64 slots", "256 slots", "1024 slots"])
def test_more_values_than_bins_give_whole_classes_and_a_true_loss(n):
    random = np.random.Generator(np.random.PCG64(n))
    rows = numbers(np.cumsum(random.integers(1, 50, n)).tolist(), k=7)
    parts, loss = greedy(rows)
    assert [row for part in parts for row in part] == list(range(n)), "parts are ranges of values"
    assert min(len(part) for part in parts) >= 7
    assert max(len(part) for part in parts) < 14 + n // 32, "a bin is not cut, but the cells get finer"
    assert abs(loss - rows.loss(parts)) <= n


def test_a_worked_table():
    # In twelfths of the range, k = 2: whole 6 x 12 = 72. Cut behind 1: 2 x 1 + 4 x 10 = 42. Behind 2:
    # 3 x 2 + 3 x 2 = 12. Behind 10: 4 x 10 + 2 x 1 = 42. So behind 2; parts of 3 rows cannot be cut again.
    rows = numbers([0, 1, 2, 10, 11, 12], k=2)
    parts, loss = greedy(rows)
    assert parts == [[0, 1, 2], [3, 4, 5]]
    assert loss == rows.fixed.unit * 12 // 12
