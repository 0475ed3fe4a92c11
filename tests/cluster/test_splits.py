"""The last step of local search: no class of 2k rows or more stays where a cut is allowed."""

from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster.local_search import LocalSearch, splits
from shoal.cluster.local_search.partition import Partition
from shoal.kernels.goals import empty_tally
from shoal.kernels.local_search.partition import partition_loss
from shoal.recipe.options import LocalSearchOptions
from tests.kernels.test_space import SMALL, Rows, good_classes, mixed_tables, rows_with_goals
from tests.profiles import slow
from tests.reference import splits as twin
from tests.reference.kmember import NumericColumn, TreeColumn
from tests.reference.local_search import Table

QUICK = LocalSearchOptions(effort="quick")


def partition_of(rows, classes):
    order, ends = np.concatenate(classes).astype(np.int64), np.cumsum([len(c) for c in classes])
    return Partition(order, ends, int(partition_loss(rows.cell, order, ends)))


def classes_of(partition):
    return sorted(sorted(members.tolist()) for members in np.split(partition.rows, partition.ends[:-1]))


def check_against_twin(rows, classes):
    goals = rows.cell.goals
    tally = None if goals is None else empty_tally(goals)
    found = splits.split_large(rows.cell, partition_of(rows, classes), tally)
    assert found.loss == partition_loss(rows.cell, found.rows, found.ends)
    expected = [part for c in classes for part in twin.split(rows.table, c, rows.k, rows.keeping)]
    if rows.is_exact:  # otherwise kernel and twin may see other ties
        assert classes_of(found) == sorted(expected)
    else:
        check_nothing_left(rows.table, rows.k, rows.keeping, classes_of(found))


def check_nothing_left(table, k, keeping, classes):
    """No class of 2k rows or more, unless its rows are alike or the goals forbid every cut."""
    for members in classes:
        if len(members) >= 2 * k and not twin.are_alike(table, members):
            assert keeping is not None, "a class of 2k rows can always be cut"
            assert not twin.cuts(table, members, k, keeping), "this class can be cut"


@given(mixed_tables(max_rows=30, max_k=4), SMALL, st.data())
def test_classes_are_split_as_the_twin_splits_them(case, small, data):
    rows = Rows(case, small)
    check_against_twin(rows, data.draw(good_classes(rows)))
    check_against_twin(rows, [list(range(rows.n))])


@given(rows_with_goals(), st.data())
def test_classes_are_split_under_goals_as_the_twin_splits_them(rows, data):
    check_against_twin(rows, data.draw(good_classes(rows)))
    check_against_twin(rows, [list(range(rows.n))])


@given(mixed_tables(max_rows=40, max_k=5), st.integers(0, 9))
def test_no_class_of_2k_rows_remains_after_a_search(case, seed):
    rows = Rows(case, 256)
    labels = LocalSearch(rows.k, seed=seed, options=QUICK).fit(rows.encoded).labels
    check_nothing_left(rows.table, rows.k, None, by_label(labels))


@given(rows_with_goals(), st.integers(0, 9))
def test_no_class_remains_after_a_search_that_the_goals_allow_to_be_cut(rows, seed):
    method = LocalSearch(rows.k, seed=seed, options=QUICK, goals=rows.kept.goals.kernel)
    found = by_label(method.fit(rows.encoded).labels)
    assert all(rows.keeping.good(members) for members in found)
    check_nothing_left(rows.table, rows.k, rows.keeping, found)


def by_label(labels):
    return [np.flatnonzero(labels == number).tolist() for number in range(labels.max() + 1)]


def test_a_partition_without_large_classes_stays_the_very_same():
    encoded = shoal.encode(pl.DataFrame({"age": [*range(9), *[50] * 8]}), quasi=["age"])
    rows = plain(encoded, 5)
    alike_or_small = partition_of(rows, [list(range(9)), list(range(9, 17))])
    found = splits.split_large(rows.cell, alike_or_small, rows.cell.tally)
    assert found is alike_or_small


def plain(encoded, k):
    """An encoded table as the search takes it."""
    from shoal.cluster.local_search.method import _Run

    return _Run(LocalSearch(k), encoded, None)


def texts(n_rows, n_others=7):
    """One text for each row, and a column of few values."""
    random = np.random.Generator(np.random.PCG64(n_rows))
    return pl.DataFrame(
        {
            "text": [f"t{number:06d}" for number in random.permutation(n_rows)],
            "few": [f"v{number}" for number in random.integers(0, n_others, n_rows)],
        }
    )


@pytest.mark.parametrize(("n_rows", "k"), [(700, 5), pytest.param(20_000, 2, marks=slow)])
def test_texts_of_which_each_row_has_its_own_come_in_small_classes(n_rows, k):
    frame = texts(n_rows)
    labels = LocalSearch(k, options=QUICK).fit(shoal.encode(frame, quasi=["text", "few"])).labels
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    # Cuts leave room for as many classes as there can be, each of one value of the other column.
    assert len(sizes) == sum(count // k for count in frame["few"].value_counts()["count"])


def test_a_cut_that_saves_something_is_made_before_one_in_the_middle():
    # The last three share a text; all others have their own.
    frame = pl.DataFrame({"text": [f"t{at}" for at in range(9)] + ["z", "z", "z"]})
    rows = plain(shoal.encode(frame, quasi=["text"]), 3)
    found = splits.split_large(rows.cell, partition_of(rows, [list(range(12))]), rows.cell.tally)
    assert classes_of(found) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert found.loss == 9 * rows.unit


def test_a_large_class_is_cut_in_its_middle_half_first():
    frame = pl.DataFrame({"n": [0, 0, *range(1000, 1030)]})
    encoded = shoal.encode(frame, quasi=["n"])
    rows = plain(encoded, 2)
    seen = []

    def noted(cell, orders, losses, tally):
        parts = best_cut(cell, orders, losses, tally)
        seen.append([len(part) for part in parts])
        return parts

    best_cut = splits._best_cut
    with mock.patch.multiple(splits, _best_cut=noted, _LARGE=10):
        splits.split_large(rows.cell, partition_of(rows, [list(range(32))]), rows.cell.tally)
    assert min(seen[0]) >= 8, "32 rows are large here"
    assert [2, 6] in seen or [2, 14] in seen, "the first two rows are cut off where the class is small"


def test_wide_tables_are_cut_along_the_columns_that_save_most():
    # Forty columns; only the last one has two far groups, in the others every cut saves next to nothing.
    random = np.random.Generator(np.random.PCG64(1))
    frame = pl.DataFrame({f"c{at}": [f"{text}" for text in random.permutation(12)] for at in range(39)})
    frame = frame.with_columns(last=pl.Series([0, 100] * 6))
    encoded = shoal.encode(frame, quasi=frame.columns)
    rows = plain(encoded, 6)
    found = splits.split_large(rows.cell, partition_of(rows, [list(range(12))]), rows.cell.tally)
    last = encoded.columns[-1].codes
    assert sorted(last[members].tolist() for members in classes_of(found)) == [[0] * 6, [1] * 6]


def test_batches_change_nothing():
    frame = texts(300)
    rows = plain(shoal.encode(frame, quasi=["text", "few"]), 3)
    start = partition_of(rows, [list(range(at, at + 60)) for at in range(0, 300, 60)])
    together = splits.split_large(rows.cell, start, rows.cell.tally)
    with mock.patch.object(splits, "_BATCH", 1):
        one_by_one = splits.split_large(rows.cell, start, rows.cell.tally)
    assert classes_of(together) == classes_of(one_by_one)


def test_the_twin_by_hand():
    # Ages 1, 2 and 9, 10, and a text that tells all apart: with k = 2 the cut between 2 and 9 saves most.
    ages = NumericColumn([1, 9, 2, 10])
    names = TreeColumn(["a", "b", "c", "d"], {"any": None, **dict.fromkeys("abcd", "any")})
    assert twin.split(Table([ages, names]), [0, 1, 2, 3], 2) == [[0, 2], [1, 3]]
    assert twin.split(Table([names]), [0, 1, 2, 3], 2) == [[0, 1], [2, 3]]
    assert twin.split(Table([NumericColumn([5, 5, 5, 5])]), [0, 1, 2, 3], 2) == [[0, 1, 2, 3]]
