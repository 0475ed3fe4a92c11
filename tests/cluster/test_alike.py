"""Equal rows beyond those that the search needs are classes of their own."""

from unittest import mock

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cluster.local_search import LocalSearch, alike
from shoal.cluster.local_search.alike import joined, set_apart
from shoal.cluster.local_search.cell import whole_cell
from shoal.cluster.local_search.partition import Partition
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.recipe.options import LocalSearchOptions
from shoal.table.encode import encode
from shoal.table.fixed import fixed_columns

QUICK = LocalSearchOptions(effort="quick")


@pytest.fixture
def few_searched():
    with mock.patch.object(alike, "_SEARCHED", 2):
        yield


def encoded(*sizes):
    """A table with so many rows of each number."""
    return shoal.encode(pl.DataFrame({"age": np.repeat(np.arange(len(sizes)) ** 2, sizes)}), quasi=["age"])


def test_only_what_is_a_class_by_itself_is_set_apart(few_searched):
    table = encoded(9, 8, 1, 10)
    cell = whole_cell(fixed_columns(table, np.arange(28)), 3, None, None)
    rows = np.r_[27:16:-1, 0:17]  # a class of 1 and 10, and one of 9 and 8; of each age, 6 are searched
    left, taken = set_apart(cell, Partition(rows, np.array([11, 28]), 0), table.tuple_of_row)
    assert taken.rows.tolist() == [18, 19, 20, 21, 0, 1, 2]
    assert (taken.ends.tolist(), taken.loss) == ([4, 7], 0)
    assert left.rows.tolist() == [*range(27, 21, -1), 17, *range(3, 17)]
    assert left.ends.tolist() == [7, 21]
    assert left.loss == pytest.approx((7 * 5 / 9 + 14 * 1 / 9) * cell.span[0], rel=1e-6)
    whole = joined(left, taken)
    assert sorted(whole.rows.tolist()) == list(range(28))
    assert whole.ends.tolist() == [7, 21, 25, 28]


def test_the_search_labels_all_rows_and_lends_equal_ones(few_searched):
    table = encoded(40, 2, 1, 60, 3)
    labels = LocalSearch(k=4, options=LocalSearchOptions()).fit(table).labels
    assert np.bincount(labels).min() >= 4
    ages = np.repeat([0, 1, 4, 9, 16], [40, 2, 1, 60, 3])
    lost = sum(
        np.ptp(ages[labels == number]) * (labels == number).sum() for number in range(labels.max() + 1)
    )
    # The best: 2 ones with a zero and the four, 4 x 4; 3 sixteens with a nine, 4 x 7.
    assert lost == 4 * 4 + 4 * 7
    assert np.array_equal(labels, LocalSearch(k=4, options=LocalSearchOptions()).fit(table).labels)


def test_nothing_is_set_apart_where_goals_ask_for_more(few_searched):
    ill = np.array(["a"] * 30 + ["b"] * 10)
    goal = {"type": "l-diversity", "column": "ill", "l": 2}
    recipe = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2, changes={"privacy": {"goal": [goal]}})
    table = encode(pl.DataFrame({"age": [1] * 30 + [2] * 10, "ill": ill}), recipe)
    goals = GoalSet.of(table, recipe).kernel
    labels = table.in_input_order(LocalSearch(k=2, options=QUICK, goals=goals).fit(table).labels)
    assert all(len(set(ill[labels == number])) == 2 for number in range(labels.max() + 1))
