"""Prices from near rows: glances are never too low, terms never above the least loss, and limits hold."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.bound import near_prices
from shoal.bound.estimates import drawing
from shoal.bound.lower_bound import lower_bound, recipe_bound
from shoal.bound.near_prices import NearPrices, Plan
from shoal.bound.scans import Scans
from shoal.bound.separation import Separation
from shoal.recipe import Recipe
from shoal.table.encode import encode
from tests.bound.limits import set_limit
from tests.bound.test_lower_bound import least_loss_with_suppression, people
from tests.bound.test_prices import PATIENT, TENTHS, Priced, silent
from tests.bound.test_sampled_prices import most_wrong, rows_of
from tests.reference import prices as reference
from tests.strategies import EVERY_KIND, tables

F = Fraction
small = tables(max_rows=8, max_k=4, kinds=EVERY_KIND)
PLAN = Plan(for_one=PATIENT, pilot=16, steps=PATIENT, glances=4_000)


def encoded_people(table):
    return shoal.encode(table, quasi=["age", "zip", "level", "sex"], hierarchies={"zip": {"prefix": 1}})


@pytest.fixture(scope="module")
def medium():
    return encoded_people(people(700))


def near_of(scans):
    """D of each tuple and its (k - 1)-th nearest other row."""
    return scans.nearest(np.arange(scans.m), silent)


@given(small, TENTHS)
def test_a_glance_is_never_below_the_greatest_excess(case, tenths):
    table = Priced(case)
    prices = table.steps([F(tenth, 10) for tenth in np.resize(tenths, table.n).tolist()])
    seen = table.scans.glances(np.arange(table.scans.m), prices, silent)
    exact = reference.greatest_excess(table.columns, table.n, table.k, table.of_rows(prices))
    for found, wanted in zip(np.repeat(seen, table.size).tolist(), exact, strict=True):
        assert F(found, table.k) >= wanted * table.unit - table.slack - 1e-6
    # No box costs less than the nearest rows are away: a confidence limit relies on that.
    assert (seen <= table.k * (int(prices.max()) - near_of(table.scans))).all()


def test_a_glance_by_hand():
    # k = 2. The row at 0 has others at 1 and 10 tenths, with prices of 200 and 900 thousandths of the range.
    scans = Scans(shoal.encode(pl.DataFrame({"q": [0, 1, 10]}), quasi=["q"]), 2)
    prices = np.array([0.3, 0.2, 0.9]) * scans.fixed.span[0]
    found = scans.glances(np.array([0]), prices.astype(np.int64), silent)[0] / scans.fixed.span[0] / 2
    # By the nearest row: (0.3 + 0.2) / 2 - 0.1. By the furthest, (0.3 + 0.9) / 2 - 1, which is less.
    assert found == pytest.approx(0.15, abs=0.001)
    dearer = np.array([0.3, 0.2, 2.5]) * scans.fixed.span[0]
    found = scans.glances(np.array([0]), dearer.astype(np.int64), silent)[0] / scans.fixed.span[0] / 2
    # Now the furthest row pays for the way: (0.3 + 2.5) / 2 - 1, or more by the width of a ring.
    assert 0.4 <= found < 0.4 + 0.3


@pytest.mark.parametrize(("rows", "columns", "values", "k"), [(300, 2, 100, 20), (200, 3, 25, 30)])
def test_searches_that_judge_parts_find_what_passes_over_all_boxes_find(rows, columns, values, k):
    # So many rows that parts are judged by the rows they leave out, and cut by marks.
    random = np.random.default_rng(k)
    table = pl.DataFrame({f"q{at}": random.integers(0, values, rows) for at in range(columns)})
    scans = Scans(shoal.encode(table, quasi=table.columns), k)
    separation = Separation(scans.fixed, scans.size, k)
    prices = NearPrices(scans, near_of(scans)).prices()
    for tried in (*prices[1:], random.permutation(prices[2])):
        found, _, is_exact = scans.patient_excess(scans.order, tried, PATIENT, silent)
        assert is_exact.all()
        assert found.tolist() == separation.excess(tried, None, PATIENT)[0][scans.order].tolist()


def test_glances_are_near_what_searches_find(medium):
    scans = Scans(medium, 5)
    near = near_of(scans)
    for prices in NearPrices(scans, near).prices()[:2]:
        seen = scans.glances(scans.order, prices, silent)
        found = scans.patient_excess(scans.order, prices, PATIENT, silent)[0]
        assert (seen >= found).all()
        assert (seen == found).any()
        assert (seen - found).mean() < 0.8 * 5 * near.mean()


@given(tables(max_rows=7, max_k=3, kinds=EVERY_KIND), st.integers(0, 2))
def test_terms_of_all_rows_are_never_above_the_least_loss(case, may_suppress):
    table = Priced(case)
    scans = table.scans
    priced = NearPrices(scans, near_of(scans), scans.fixed.whole if may_suppress else None)
    least = float(least_loss_with_suppression(table.columns, table.n, table.k, may_suppress)) * table.unit
    drawn = rows_of(scans)
    for prices in priced.prices():
        found = [priced._searched(prices, drawn, steps, silent)[0] for steps in (0, PATIENT)]
        for excess in (*found, priced._glanced(prices, drawn, silent)):
            assert (prices[drawn] - excess).sum() <= least + table.n * table.slack + 1e-3


def mean_term(priced, scans, prices):
    """The mean of q - v over all rows, in steps."""
    drawn = rows_of(scans)
    return float((prices[drawn] - priced._searched(prices, drawn, PATIENT, silent)[0]).mean())


def test_the_best_multiple_is_chosen(medium):
    scans = Scans(medium, 5)
    priced = NearPrices(scans, near_of(scans))
    means = [mean_term(priced, scans, prices) for prices in priced.prices()]
    chosen, _ = priced._chosen(rows_of(scans), PATIENT, silent)
    assert mean_term(priced, scans, chosen) == max(means)
    assert max(means) > 1.2 * near_of(scans).mean()


@pytest.mark.parametrize("may_suppress", [False, True])
def test_an_estimate_is_wrong_as_seldom_as_promised(medium, monkeypatch, may_suppress):
    # The mean of q - v over all rows is known here; samples of 300 rows, at an error of a tenth.
    scans = Scans(medium, 5)
    near = near_of(scans)
    priced = NearPrices(scans, near, int(1.5 * near.mean()) if may_suppress else None)
    prices, drawn = priced.prices()[2], rows_of(scans)
    truth = mean_term(priced, scans, prices)
    found, seen = np.zeros((2, scans.m), np.int64)
    found[drawn] = priced._searched(prices, drawn, PATIENT, silent)[0]
    seen[drawn] = priced._glanced(prices, drawn, silent)
    monkeypatch.setattr(priced, "_chosen", lambda pilot, steps, tick: (prices, 1.0))
    monkeypatch.setattr(priced, "_searched", lambda prices, drawn, steps, tick: (found[drawn], 1.0))
    monkeypatch.setattr(priced, "_glanced", lambda prices, drawn, tick: seen[drawn])
    # Glances are many, so that they hide no error of the searches.
    plan = Plan(for_one=1, pilot=1, steps=300, glances=20_000)
    limits = [priced.limit(drawing(scans.size, [seed]), plan, 0.1, silent).mean for seed in range(200)]
    assert sum(limit > truth for limit in limits) <= most_wrong(200, F(1, 10))
    assert 0.8 * truth < np.mean(limits) < truth


def test_rows_that_decide_are_not_counted(medium, monkeypatch):
    scans = Scans(medium, 5)
    priced, drawn, decided, counted = NearPrices(scans, near_of(scans)), [], [], []
    draw, chosen, searched = drawing(scans.size, [7]), priced._chosen, priced._searched
    monkeypatch.setattr(priced, "_chosen", lambda rows, *more: decided.append(rows) or chosen(rows, *more))
    monkeypatch.setattr(
        priced, "_searched", lambda q, rows, *more: counted.append(rows) or searched(q, rows, *more)
    )
    found = priced.limit(lambda n: drawn.append(draw(n)) or drawn[-1], PLAN, 0.1, silent)
    pilot, glanced, others = drawn
    assert (len(pilot), len(glanced)) == (PLAN.pilot, PLAN.glances)
    assert decided[0] is pilot
    assert all(rows is pilot for rows in counted[:-1])
    assert counted[-1] is others
    assert found.n_drawn == len(others)


def slow(monkeypatch):
    """As if a table were too large for searches of all rows, but not for the nearest rows of all."""
    for name, value in {"_FEWER_ROWS": 0, "_MAX_PRICED": 0, "SEARCHED": 1}.items():
        set_limit(monkeypatch, name, value)


def test_tables_with_slow_searches_have_an_estimate(medium, monkeypatch):
    proved = lower_bound(medium, 5)
    slow(monkeypatch)
    found = lower_bound(medium, 5)
    assert (found.is_estimate, found.how) == (True, "row prices, 4,000 of 700 rows, 99 % confidence")
    assert found == lower_bound(medium, 5)
    scans = Scans(medium, 5)
    priced = NearPrices(scans, near_of(scans))
    truth = max(mean_term(priced, scans, prices) for prices in priced.prices()) * 700 / scans.fixed.unit
    assert 0.85 * truth < found.total < truth < proved.total
    # It needs no classes, and no order of the rows.
    classes = np.arange(700, dtype=np.int32) // 7
    assert lower_bound(medium, 5, classes=classes) == found
    again = encoded_people(people(700).reverse())
    assert lower_bound(again, 5) == found


def remote(n, n_far):
    """Rows that are nearly alike in four numbers, and some that are far from all others."""
    random = np.random.default_rng(1)
    values = random.random((n, 4)) * 0.0004 + 0.5
    values[:n_far] = random.random((n_far, 4))
    table = pl.DataFrame({f"q{at}": values[:, at].round(8) for at in range(4)})
    return shoal.encode(table, quasi=table.columns)


def test_no_estimate_takes_the_place_of_a_higher_bound_that_is_proved(monkeypatch):
    # Prices of the most remote rows are cut; drag counts what they add to the loss of others.
    slow(monkeypatch)
    encoded = remote(700, 10)
    efforts = ("quick", "normal", "high")
    drag, normal, high = (lower_bound(encoded, 10, effort=effort) for effort in efforts)
    assert not drag.is_estimate
    assert normal == high == drag
    set_limit(monkeypatch, "_REACHED", 0)
    assert lower_bound(encoded, 10).total < drag.total


def test_searches_that_are_cut_short_say_less(medium, monkeypatch):
    slow(monkeypatch)
    set_limit(monkeypatch, "_REACHED", 0)  # so that drag does not help out
    patient = lower_bound(medium, 5, effort="high").total
    monkeypatch.setitem(near_prices.PLANS, "normal", Plan(for_one=0, pilot=16, steps=PATIENT, glances=4_000))
    assert 0 < lower_bound(medium, 5).total < patient


def test_rows_that_may_be_left_out_cost_no_more_than_all_columns(medium, monkeypatch):
    recipe = Recipe.from_roles(quasi=["age", "zip", "level", "sex"], k=5)
    changed = {"privacy": {"max_suppressed": 0.5}}
    slow(monkeypatch)
    table = people(700)
    found = recipe_bound(encode(table, recipe), recipe)
    with_some = Recipe.from_roles(quasi=["age", "zip", "level", "sex"], k=5, changes=changed)
    assert recipe_bound(encode(table, with_some), with_some).total <= found.total + 1e-9
    scans = Scans(medium, 5)
    most = int(near_of(scans).mean())
    priced = NearPrices(scans, near_of(scans), most)
    for prices in priced.prices():
        found = prices[rows_of(scans)] - priced._searched(prices, rows_of(scans), PATIENT, silent)[0]
        assert found.max() == most
