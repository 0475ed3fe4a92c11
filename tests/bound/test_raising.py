"""Prices raised by boxes that cost too little: always feasible, never above the least loss, never lower."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.bound.bunched_ascent import BunchedAscent
from shoal.bound.lower_bound import lower_bound
from shoal.bound.prices import Plan, feasible_prices
from shoal.bound.raising import TOGETHER, Raising
from shoal.bound.scans import Scans
from shoal.bound.separation import Separation
from shoal.bound.terms import dragged, summed
from tests.bound.test_prices import PATIENT, TENTHS, Priced, silent
from tests.reference import bound as others
from tests.reference import prices as reference
from tests.strategies import EVERY_KIND, tables

F = Fraction
small = tables(max_rows=8, max_k=4, kinds=EVERY_KIND)
WIDTHS = st.sampled_from([0.1, 0.3, 0.7, 1.0])


def by_width(table):
    return lambda width: Separation(table.scans.fixed, table.size, table.k, width)


def drag(scans):
    """Feasible prices to begin with."""
    return dragged(scans, silent)[0] // (scans.k - 1)


def raising_of(scans, start, work):
    return Raising(start, scans.size, scans.k, scans.fixed.whole, work, silent)


def test_bunches_by_hand():
    # Ages 0, 1, 2, 10 and 40 to 45 of a hundred: with a tenth, 0 to 10 are one bunch and 40 to 45 another.
    ages = [0, 1, 2, 10, 40, 45, 100]
    table = pl.DataFrame({"age": ages, "size": list(range(7))})
    encoded = shoal.encode(table.with_columns(pl.col("age").replace(45, None)), quasi=["age", "size"])
    scans = Scans(encoded, 2)
    exact, bunched = (Separation(scans.fixed, scans.size, 2, width) for width in (0.0, 0.1))
    span = int(scans.fixed.span[0])
    n = np.diff(bunched.priced.position_at).tolist()
    assert n == [4, 7]  # 0 to 10, 40, 100 and the missing one; sizes are swept, and stay apart
    shares = [round(100 * at / span) for at in bunched.priced.position[:4].tolist()]
    assert shares == [0, 40, 100, 200]
    assert [round(100 * at / span) for at in bunched.priced.position_to[:4].tolist()] == [10, 40, 100, 200]
    assert bunched.n_boxes == 4 * 5 // 2
    assert exact.n_boxes == 7 * 8 // 2


@given(small, TENTHS, WIDTHS)
def test_bunches_overestimate_and_never_underestimate(case, tenths, width):
    table = Priced(case)
    prices = table.steps([F(tenth, 10) for tenth in np.resize(tenths, table.n).tolist()])
    found, _, _ = by_width(table)(width).excess(prices, None, PATIENT)
    exact = reference.greatest_excess(table.columns, table.n, table.k, table.of_rows(prices))
    for too_high, wanted in zip(np.repeat(found, table.size).tolist(), exact, strict=True):
        assert F(too_high, table.k) >= wanted * table.unit - F(table.slack) - F(1, 10**6)
    finer, _, _ = table.separation.excess(prices, None, PATIENT)
    assert (found >= finer).all()
    # What is above 0 is only known to be: everything else is as before.
    enough, _, _ = by_width(table)(width).excess(prices, None, PATIENT, enough=0)
    assert enough.tolist() == np.where(found > 0, table.separation.highest, found).tolist()


@given(small, st.integers(0, 3))
def test_raised_prices_are_feasible_and_never_above_the_least_loss(case, levels):
    table = Priced(case)
    start = drag(table.scans)
    raising = raising_of(table.scans, start, 3_000_000)
    for width in (1.0, 0.5, 0.2)[:levels]:
        raising.by(by_width(table)(width))
    raising.by_bunches(by_width(table))
    assert (raising.prices >= start).all()
    assert table.is_feasible(raising.prices)
    least = others.least_loss(table.columns, table.n, table.k)
    assert sum(table.of_rows(raising.prices)) <= least + F(table.n) * F(table.slack) / table.unit


@given(small)
def test_with_all_boxes_a_pass_of_its_own_gains_nothing_more(case):
    # After many passes over exact boxes no price can be raised alone: each row is in a box without room.
    table = Priced(case)
    raising = raising_of(table.scans, drag(table.scans), 10**9)
    for _ in range(15):
        raising.by(table.separation)
    excess, _, _ = table.separation.excess(raising.prices, None, PATIENT)
    assert (excess <= 0).all()
    assert float(-excess.min()) <= 0.05 * table.k * table.unit


@given(small, WIDTHS, st.booleans())
def test_the_ascent_by_bunches_keeps_prices_feasible_and_never_falls_behind(case, width, is_raised):
    table = Priced(case)
    start = drag(table.scans)
    if is_raised:
        start = raising_of(table.scans, start, 3_000_000).by_bunches(by_width(table))
    plan = Plan(passes=1, rounds=8, work=3_000_000)
    prices = BunchedAscent(by_width(table)(width), plan, silent, start).run()
    assert int(prices @ table.size) >= int(start @ table.size)
    assert table.is_feasible(prices)
    least = others.least_loss(table.columns, table.n, table.k)
    assert sum(table.of_rows(prices)) <= least + F(table.n) * F(table.slack) / table.unit


def test_a_row_without_room_gets_the_lower_price():
    # Ages 0, 1, 2, k = 2; neighbours are half a range apart. At 0.8, 0.2 and 1 the box of the first two has
    # no excess, that of the last two 0.1, and that of all -0.1. Had the middle row its 0.8 again, the first
    # two would have a mean of 0.8.
    scans = Scans(shoal.encode(pl.DataFrame({"age": [0, 1, 2]}), quasi=["age"]), 2)
    unit, separation = scans.fixed.unit, Separation(scans.fixed, scans.size, 2)
    start, tried = (
        np.rint(np.array(prices) * unit).astype(np.int64) for prices in ([0, 0.8, 0], [0.8, 0.2, 1])
    )
    assert separation.excess(start, None, PATIENT)[0].max() <= 0
    ascent = BunchedAscent(separation, Plan(1, 1, PATIENT), silent, start)
    ascent._prices = tried
    ascent._pass(None, 0)
    assert (ascent._best / unit).round(3).tolist() == [0.8, 0.2, 0]
    assert separation.excess(ascent._best, None, PATIENT)[0].max() <= 0


@given(small, TENTHS, WIDTHS)
def test_what_a_pass_of_that_ascent_makes_of_any_prices_is_feasible(case, tenths, width):
    table = Priced(case)
    start = drag(table.scans)
    ascent = BunchedAscent(by_width(table)(width), Plan(1, 1, PATIENT), silent, start)
    ascent._prices = start + np.resize(tenths, table.scans.m) * (table.unit // 20)
    ascent._total = lambda prices: 0.0 if prices is start else 1.0  # whatever comes out is taken
    ascent._pass(None, 0)
    assert table.is_feasible(ascent._best)


@pytest.fixture(scope="module")
def numbers():
    """Four numbers, three of them with long tails."""
    random = np.random.default_rng(3)
    tails = np.exp(2 * random.normal(size=(240, 3)))
    table = pl.DataFrame(np.hstack([tails, random.random((240, 1))]), schema=["a", "b", "c", "d"])
    return shoal.encode(table, quasi=table.columns)


def loss_of(encoded, k):
    """What some release loses: classes of k neighbours in one column."""
    points = [column.points[column.codes] for column in encoded.columns]
    order = np.argsort(points[0])
    classes = np.array_split(order, len(order) // k)
    return sum(len(rows) * sum(np.ptp(point[rows]) for point in points) for rows in classes)


def test_several_numbers_have_prices(numbers):
    found = lower_bound(numbers, 5)
    scans = Scans(numbers, 5)
    with_drag = summed(scans, dragged(scans, silent)[0], 4, 0, 0.0)
    assert found.how == "row prices by bunches of values, all rows"
    assert found.total > 1.05 * with_drag
    assert found.total <= loss_of(numbers, 5)


def test_more_levels_raise_more(numbers):
    scans = Scans(numbers, 5)
    sums = []
    for n_levels in range(3):
        raising = raising_of(scans, drag(scans), 10**8)
        for width in TOGETHER[:n_levels]:
            raising.by(Separation(scans.fixed, scans.size, 5, width))
        sums.append(int(raising.prices @ scans.size))
    assert all(low < high for low, high in pairwise(sums))


def test_the_ascent_gains_where_no_price_can_rise_alone(numbers):
    scans = Scans(numbers, 5)
    separation = Separation(scans.fixed, scans.size, 5, 0.1)
    raising = raising_of(scans, drag(scans), 10**9)
    for _ in range(4):
        raising.by(separation)
    prices = BunchedAscent(separation, Plan(1, 15, 10**9), silent, raising.prices).run()
    assert int(prices @ scans.size) > 1.005 * int(raising.prices @ scans.size)
    assert (prices < raising.prices).any()


def test_without_time_prices_stay(numbers):
    scans = Scans(numbers, 5)
    start = drag(scans)
    raising = raising_of(scans, start, 10)
    assert raising.by_bunches(lambda width: Separation(scans.fixed, scans.size, 5, width)) is start
    assert not raising.by(Separation(scans.fixed, scans.size, 5, 0.1))
    assert raising.prices is start
    separation = Separation(scans.fixed, scans.size, 5, 0.1)
    assert BunchedAscent(separation, Plan(1, 15, 10), silent, start).run() is start


def test_mutants_are_noticed():
    # Prices raised by boxes that cost too much, or hold fewer rows, are found to be infeasible.
    table = pl.DataFrame(np.random.default_rng(5).random((30, 3)), schema=["a", "b", "c"])
    scans = Scans(shoal.encode(table, quasi=table.columns), 5)
    exact = Separation(scans.fixed, scans.size, 5)

    def worst(separation):
        raising = raising_of(scans, drag(scans), 10**9)
        raising.by(separation)
        return int(exact.excess(raising.prices, None, PATIENT)[0].max())

    dear = Separation(scans.fixed, scans.size, 5, 0.1)
    assert worst(exact) <= 0
    assert worst(dear) <= 0
    # The far ends instead of the near ones: what a bunch costs at most.
    dear.priced = dear.priced._replace(position=dear.priced.position_to, position_to=dear.priced.position)
    assert worst(dear) > 0
    assert worst(Separation(scans.fixed, scans.size, 6, 0.0)) > 0


def test_a_long_first_pass_is_followed_by_cheaper_ones(numbers):
    # One pass takes more than a quarter of all work: prices are raised from there, and stay feasible.
    few = numbers.take(np.arange(24))
    scans = Scans(few, 5)
    separation = Separation(scans.fixed, scans.size, 5)
    first, _, steps = separation.excess(np.zeros(24, np.int64), None, PATIENT)
    prices = feasible_prices(separation, Plan(5, 4, 2 * steps), silent)
    assert int(prices.sum()) > 1.05 * int(-(first // 5).sum())
    assert int(separation.excess(prices, None, PATIENT)[0].max()) <= 0
