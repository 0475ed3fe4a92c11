"""The lower bound of a Spark table: the nearest row of every row, or of rows drawn fairly."""

import numpy as np
import pytest

from shoal.engine.spark import bounding
from shoal.engine.spark.rows import SparkRows
from shoal.table.encode import encode
from tests.engine.spark.pairs import in_cells, whole
from tests.profiles import slow

pytestmark = slow


def nearest_row(table, recipe, k):
    """The sum over all rows of the distance to the (k - 1)-th nearest other row, by comparing all pairs."""
    encoded = encode(table, recipe)
    n = encoded.n_rows
    one, other = np.divmod(np.arange(n * n), n)
    distance = np.zeros(n * n)
    for column in encoded.columns:
        low, high = (
            np.minimum(column.codes[one], column.codes[other]),
            np.maximum(column.codes[one], column.codes[other]),
        )
        distance += column.weight * column.cost(low, high)
    return float(np.sort(distance.reshape(n, n), axis=1)[:, k - 1].sum())


def rows_of(release):
    return release.parts[0].frame.run.encoded


def test_few_different_rows_are_all_compared(spark):
    made = whole(spark)
    bound = made.spark.bound
    assert (bound.is_estimate, bound.how) == (False, "nearest row, all rows")
    exact = nearest_row(made.table, made.local.recipe, 5)
    assert 0 <= exact - bound.total < 1e-3
    assert bound.total <= made.local.bound.total  # which has boxes and drag


def test_a_sample_is_an_estimate_below_the_sum_over_all_rows(spark, monkeypatch):
    made = whole(spark)
    monkeypatch.setattr(bounding, "SAMPLED", 150)
    monkeypatch.setattr(bounding, "_MIN_SAMPLED", 1)
    rows = rows_of(made.spark)
    bound = bounding.lower_bound(rows, made.recipe, 0)
    assert bound.is_estimate
    assert bound.how == "nearest row, 150 of 400 rows, 99 % confidence"
    exact = nearest_row(made.table, made.local.recipe, 5)
    assert 0.7 * exact < bound.total <= exact
    shuffled = SparkRows(rows.frame.repartition(5), rows.codebook)
    assert bounding.lower_bound(shuffled, made.recipe, 0) == bound


def test_rows_are_drawn_by_numbers_that_do_not_depend_on_them(spark):
    rows = rows_of(whole(spark).spark)
    names = ["key", *(f"x{at}" for at in range(5))]
    in_order = sorted(tuple(row) for row in rows.frame.select(*names).collect())
    numbers = np.random.Generator(np.random.PCG64(bounding.SEED)).integers(400, size=300)
    chosen = bounding._chosen(rows, 300)
    assert chosen.is_drawn
    drawn = sorted(tuple(row) for row in chosen.frame.select("at", *names[1:]).collect())
    assert drawn == [(at, *in_order[number][1:]) for at, number in enumerate(numbers)]


@pytest.mark.parametrize("sampled", [150, 1000])
def test_no_code_of_a_row_comes_to_the_driver(spark, monkeypatch, sampled):
    """Everything that is collected is numbers of buckets, of rows, and distances."""
    made = whole(spark)
    frames = type(rows_of(made.spark).frame)
    collected = []
    plain = frames.collect

    def collect(frame):
        collected.append(frame)
        return plain(frame)

    monkeypatch.setattr(bounding, "SAMPLED", sampled)
    monkeypatch.setattr(bounding, "_MIN_SAMPLED", 1)
    monkeypatch.setattr(frames, "collect", collect)
    assert bounding.lower_bound(rows_of(made.spark), made.recipe, 0).is_estimate == (sampled < 400)
    assert {name for frame in collected for name in frame.columns} <= {
        "bucket",
        "count",
        "at",
        "times",
        "far",
    }
    for frame in collected:  # nor on the way of a broadcast, other than the numbers that the driver drew
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert "BroadcastNestedLoopJoin" not in plan
        assert ("CartesianProduct" in plan) == ("far" in frame.columns)


def test_rows_left_out_for_a_missing_value_cost_everything(spark):
    rows = rows_of(whole(spark).spark)
    recipe = whole(spark).recipe
    one, other = (bounding.lower_bound(rows, recipe, missing).total for missing in (0, 7))
    assert other - one == pytest.approx(7 * 6)  # the sum of the weights


def test_no_bound_is_computed_unless_asked_for(spark):
    made = in_cells(spark).spark
    assert made.bound is None
    assert "bounding" not in made.timings
