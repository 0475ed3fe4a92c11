"""The CB kernel against its slow twin, the paper's table, and by hand."""

from collections import Counter
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.cluster import cb
from shoal.errors import InfeasibleError, RecipeError
from shoal.recipe.options import CBOptions
from shoal.table.encode import encode
from shoal.table.fixed import fixed_columns
from tests.reference import cb as reference
from tests.strategies import tables

NCP = st.sampled_from(["height", "leaves", "order"])


def by_twin(case, encoded, options):
    visit = cb.draw(encoded.n_rows, options.rounds, case.recipe.method.seed)
    cells = case.table["label"].to_list()
    return reference.cb(
        case.twin_columns(encoded.order),
        case.recipe.privacy.k,
        [np.argsort(order).tolist() for order in visit],
        ncp=options.ncp,
        sensitive=None if options.l is None else [cells[at] for at in encoded.order],
        l=options.l,
        unit=fixed_columns(encoded, np.arange(1)).unit,
    )


@given(tables(), NCP, st.sampled_from([1, 2, 5, 15]))
def test_kernel_gives_the_labels_of_the_twin(case, ncp, rounds):
    encoded = encode(case.table, case.recipe)
    options = CBOptions(ncp=ncp, rounds=rounds)
    labels = cb.CB(case.recipe.privacy.k, seed=case.recipe.method.seed, options=options).fit(encoded).labels
    assert labels.tolist() == by_twin(case, encoded, options)


@given(tables(), NCP, st.sampled_from([1, 2, 3]))
def test_l_diversity_gives_the_labels_of_the_twin(case, ncp, l):  # noqa: E741
    encoded = encode(case.table, case.recipe)
    options = CBOptions(ncp=ncp, rounds=3, l=l)
    clusterer = cb.CB(case.recipe.privacy.k, seed=case.recipe.method.seed, options=options)
    counts = Counter(case.table["label"].drop_nulls())
    if l * max(counts.values(), default=0) > counts.total():
        with pytest.raises(InfeasibleError):
            clusterer.fit(encoded)
    else:
        assert clusterer.fit(encoded).labels.tolist() == by_twin(case, encoded, options)


@given(tables(), st.sampled_from([2, 3]))
def test_theorem_3_every_class_is_l_diverse(case, l):  # noqa: E741
    encoded = encode(case.table, case.recipe)
    counts = Counter(case.table["label"].drop_nulls())
    assume(l * max(counts.values(), default=0) <= counts.total())
    labels = cb.CB(case.recipe.privacy.k, options=CBOptions(l=l)).fit_predict(encoded)
    assert np.bincount(labels).min() >= case.recipe.privacy.k
    for number in range(labels.max() + 1):
        values = case.table["label"].filter(pl.Series(labels == number)).drop_nulls().to_list()
        assert l * max(Counter(values).values(), default=0) <= len(values)


def test_trees_with_more_leaves_than_a_group_has_rows():
    # 40 distinct texts: small groups take the way by rows, the first ones the way by leaves.
    texts = [f"t{(i * i) % 41:02}" for i in range(80)]
    table = pl.DataFrame({"x": [i % 7 for i in range(80)], "t": texts})
    encoded = shoal.encode(table, quasi=["x", "t"])
    from tests.reference.kmember import NumericColumn, TreeColumn

    order = encoded.order
    parent = {"root": None, **dict.fromkeys(sorted(set(texts)), "root")}
    columns = [
        NumericColumn([table["x"][int(at)] for at in order]), TreeColumn([texts[at] for at in order], parent)
    ]  # fmt: skip
    priorities = [np.argsort(visit).tolist() for visit in cb.draw(80, 15, 0)]
    unit = fixed_columns(encoded, np.arange(1)).unit
    assert cb.CB(3).fit(encoded).labels.tolist() == reference.cb(columns, 3, priorities, unit=unit)


def test_calls_of_the_kernel_may_end_anywhere():
    table = pl.DataFrame({"x": [i * i % 17 for i in range(60)], "y": [i * 7 % 5 for i in range(60)]})
    encoded = shoal.encode(table, quasi=["x", "y"])
    at_once = cb.CB(4).fit(encoded).labels
    with mock.patch.object(cb, "_ROWS_TIMES_ROUNDS", 1):
        assert np.array_equal(cb.CB(4).fit(encoded).labels, at_once)


PEOPLE = pl.DataFrame({"age": [20, 20, 30, 40, 50, 60, 60], "zip": [25, 30, 25, 30, 10, 5, 10]})


def ncp(labels):
    """The NCP of a partition of the paper's table: ages span 40, zip codes 25."""
    total = 0.0
    for number in set(labels):
        rows = [row for row, label in zip(PEOPLE.rows(), labels, strict=True) if label == number]
        ages, zips = zip(*rows, strict=True)
        total += len(rows) * ((max(ages) - min(ages)) / 40 + (max(zips) - min(zips)) / 25)
    return total


def test_the_paper_table_reaches_the_optimum_for_most_seeds_and_nothing_below():
    # Table 1: {20, 20}, {30, 40}, {50, 60, 60} cost 2 x 0.2 + 2 x 0.45 + 3 x 0.45 = 2.65, the optimum.
    encoded = shoal.encode(PEOPLE, quasi=["age", "zip"])
    found = [ncp(cb.CB(2, seed=seed).fit_predict(encoded).tolist()) for seed in range(50)]
    assert min(found) == pytest.approx(2.65)
    assert sum(value < 2.651 for value in found) > 25


def test_a_worked_table():
    # Ages 0 1 2 10, k = 2, one round, first centres 0 and 1, visited in order.
    # 0 goes to the first; 1, 2 and 10 are nearer to 1. The first side has one row and borrows the one
    # nearest to 0: 1. Classes {0, 1} and {2, 10}.
    encoded = shoal.encode(pl.DataFrame({"age": [0, 1, 2, 10]}), quasi=["age"])
    with mock.patch.object(cb, "draw", return_value=np.array([[0, 1, 2, 3]], np.int32)):
        labels = cb.CB(2, options=CBOptions(rounds=1)).fit(encoded).labels
    assert labels.tolist() == [0, 0, 1, 1]


def test_dealing_keeps_k():
    # One quasi tuple, k = 5, l = 2, five a and five b: figure 5 alone would make five classes of two.
    table = pl.DataFrame({"x": [1] * 10, "s": list("aaaaabbbbb")})
    release = shoal.anonymize(
        table, quasi=["x"], sensitive=["s"], k=5, method="cb", options={"l": 2, "label": "s"}
    )
    assert release.k >= 5


def test_a_table_that_is_not_diverse_as_a_whole_is_infeasible():
    table = pl.DataFrame({"x": [1, 2, 3, 4], "s": list("aaab")})
    with pytest.raises(InfeasibleError, match="one value makes up 3 of the 4 values"):
        shoal.anonymize(table, quasi=["x"], sensitive=["s"], k=2, method="cb", options={"l": 2})


def test_l_without_a_label_is_refused():
    with pytest.raises(RecipeError, match="needs a label column"):
        shoal.anonymize(pl.DataFrame({"x": [1, 2]}), quasi=["x"], k=2, method="cb", options={"l": 2})
