"""Prices from classes: searches from single rows are exact or too high, and estimates hold."""

from fractions import Fraction
from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.bound import sampled_prices
from shoal.bound.estimates import drawing
from shoal.bound.lower_bound import lower_bound, recipe_bound
from shoal.bound.sampled_prices import SampledPrices, costs_in_classes
from shoal.bound.scans import Scans
from shoal.bound.separation import Separation
from shoal.cluster import METHODS
from shoal.recipe import Recipe
from shoal.table.encode import encode
from tests.bound.limits import set_limit
from tests.bound.test_lower_bound import least_loss_with_suppression, people
from tests.bound.test_prices import PATIENT, TENTHS, Priced, silent
from tests.reference import prices as reference
from tests.reference.kmember import diversity
from tests.strategies import EVERY_KIND, tables

F = Fraction
small = tables(max_rows=8, max_k=4, kinds=EVERY_KIND)
LABELS = st.lists(st.integers(-1, 3), min_size=8, max_size=8)


def of_all(scans, prices, steps=PATIENT, *, is_patient=False):
    """k times the excess over every tuple, found from each one alone."""
    excess, search = np.zeros(scans.m, np.int64), scans.patient_excess if is_patient else scans.excess
    excess[scans.order] = search(scans.order, prices, steps, silent)[0]
    return excess


@given(small, TENTHS)
def test_a_search_from_one_row_finds_what_a_pass_over_all_boxes_finds(case, tenths):
    table = Priced(case)
    prices = table.steps([F(tenth, 10) for tenth in np.resize(tenths, table.n).tolist()])
    excess = of_all(table.scans, prices)
    assert excess.tolist() == of_all(table.scans, prices, is_patient=True).tolist()
    assert excess.tolist() == table.separation.excess(prices, None, PATIENT)[0].tolist()
    exact = reference.greatest_excess(table.columns, table.n, table.k, table.of_rows(prices))
    for found, wanted in zip(np.repeat(excess, table.size).tolist(), exact, strict=True):
        assert abs(F(found, table.k) - wanted * table.unit) <= table.slack + 1e-6


@given(small, TENTHS, st.sampled_from([0, 30, 60, 120]))
def test_a_search_that_is_given_up_overestimates(case, tenths, steps):
    table = Priced(case)
    prices = table.steps([F(abs(tenth), 10) for tenth in np.resize(tenths, table.n).tolist()])
    exact = of_all(table.scans, prices)
    for is_patient in (False, True):
        found = of_all(table.scans, prices, steps, is_patient=is_patient)
        assert (found >= exact).all()
        # No more than the highest price can be lost: confidence limits rely on that.
        assert (found <= table.k * prices.max()).all()


@pytest.fixture(scope="module")
def medium():
    return shoal.encode(people(700), quasi=["age", "zip", "level", "sex"], hierarchies={"zip": {"prefix": 1}})


@pytest.fixture(scope="module")
def classes(medium):
    """Classes of a good release."""
    info = METHODS["local-search"]
    return info.make(5, 0, info.options(effort="quick")).fit(medium).labels


@pytest.mark.parametrize("k", [2, 5, 40])
def test_many_rows_many_prices(medium, k):
    scans = Scans(medium, k)
    separation = Separation(scans.fixed, scans.size, k)
    random = np.random.default_rng(k)
    for power in (1, 6):  # with 6, a few prices are far above all others
        prices = (random.random(scans.m) ** power * scans.fixed.unit).astype(np.int64)
        exact = separation.excess(prices, None, PATIENT)[0]
        assert of_all(scans, prices).tolist() == exact.tolist()
        assert of_all(scans, prices, is_patient=True).tolist() == exact.tolist()
        given_up = of_all(scans, prices, 3_000)
        assert (given_up >= exact).all()
        assert (given_up > exact).any() or k < 40


@pytest.mark.parametrize(("k", "n_rows"), [(2, 40), (6, 40), (25, 60), (40, 60)])
def test_many_numbers(k, n_rows):
    # Where most candidates are needed, boxes are told apart by candidates, else by how far they reach.
    random = np.random.default_rng(k)
    numbers = random.normal(size=(n_rows, 3)).round(2)
    table = pl.DataFrame(numbers, schema=["a", "b", "c"]).with_columns(
        pl.when(pl.int_range(n_rows) % 11 == 0).then(None).otherwise(pl.col("c")).alias("c"),
        d=random.choice(["x", "y", "z"], n_rows),
    )
    table = pl.concat([table, table[: n_rows // 5]])  # some rows are equal
    scans = Scans(shoal.encode(table, quasi=table.columns), k)
    separation = Separation(scans.fixed, scans.size, k)
    for prices in (np.zeros(scans.m, np.int64), random.integers(0, scans.fixed.unit, scans.m)):
        exact = separation.excess(prices, None, PATIENT)[0]
        before = None
        for steps in (0, 3_000, 30_000, PATIENT):
            found, _, is_exact = scans.patient_excess(scans.order, prices, steps, silent)
            assert (found >= exact[scans.order]).all()
            assert found[is_exact].tolist() == exact[scans.order][is_exact].tolist()
            assert before is None or found.mean() <= before
            before = found.mean()
        assert is_exact.all()


@pytest.mark.parametrize("dearer", [0, 2])
def test_a_box_that_is_better_by_the_smallest_step_is_found(dearer):
    # k = 2: the row in the middle has a box with each of the others. Both cost the same, and one other has
    # a price that is higher by a step. Whichever box is found first, the better one is found too.
    scans = Scans(shoal.encode(pl.DataFrame({"q": [0, 1, 2]}), quasi=["q"]), 2)
    prices = np.full(3, 1000)
    prices[dearer] += 1
    assert of_all(scans, prices, is_patient=True)[1] == 2001 - 2 * (scans.fixed.span[0] // 2)


def test_searches_end_where_prices_differ_by_the_smallest_step():
    # What a better box may cost is then known to the last step. A search that waited until it is known more
    # exactly would never end.
    for seed in range(20):
        random = np.random.default_rng(seed)
        table = pl.DataFrame({name: random.integers(0, 3, 6) for name in "qrs"})
        scans = Scans(shoal.encode(table, quasi=table.columns), 2)
        prices = 1000 + random.integers(0, 2, scans.m)
        exact = Separation(scans.fixed, scans.size, 2).excess(prices, None, PATIENT)[0]
        for is_patient in (False, True):
            assert of_all(scans, prices, is_patient=is_patient).tolist() == exact.tolist()


@given(small, LABELS)
def test_costs_are_those_of_the_classes(case, labels):
    table = Priced(case)
    labels = np.resize(labels, table.n)
    rows_of = [np.flatnonzero(labels == label).tolist() for label in labels]
    exact = [
        0 if label < 0 else diversity(table.columns, rows)
        for label, rows in zip(labels, rows_of, strict=True)
    ]
    found = costs_in_classes(table.scans.fixed, table.size, labels) * table.size
    for cost, first, rows in zip(found, table.first, table.size, strict=True):
        wanted = float(sum(exact[first : first + rows])) * table.unit
        assert cost == pytest.approx(wanted, abs=rows * (table.slack + 1e-3))


def smallest_of(scans):
    """The smallest box of each tuple, rounded down."""
    return (-of_all(scans, np.zeros(scans.m, np.int64))) // scans.k


def rows_of(scans):
    """The tuple of every row: a sample without error."""
    return np.repeat(np.arange(scans.m), scans.size)


@given(tables(max_rows=7, max_k=3, kinds=EVERY_KIND), LABELS, st.integers(0, 2))
def test_terms_of_all_rows_are_never_above_the_least_loss(case, labels, may_suppress):
    table = Priced(case)
    scans = table.scans
    costs = costs_in_classes(scans.fixed, table.size, np.resize(labels, table.n))
    least = least_loss_with_suppression(table.columns, table.n, table.k, may_suppress)
    most = scans.fixed.whole if may_suppress else None
    for smallest, is_slow in ((None, False), (None, True), (smallest_of(scans), False)):
        priced = SampledPrices(scans, smallest, costs, most, is_slow=is_slow)
        for prices in (*priced.prices(), (2.5 * costs).astype(np.int64)):
            terms, _ = priced._terms(prices, rows_of(scans), silent)
            assert terms.sum() <= float(least) * table.unit + table.n * table.slack + 1e-3
            # What a confidence limit relies on.
            highest = (prices if smallest is None else prices - smallest).max()
            if not may_suppress:
                assert (terms - prices[rows_of(scans)]).min() >= -highest


def sampled(monkeypatch, encoded, classes, passed=0, **more):
    """The bound as if the table were too large for anything but a sample, and perhaps one pass."""
    for name, value in {"_ALL_ROWS": 0, "_FEWER_ROWS": 0, "_MAX_PRICED": 0, "_PASS": passed}.items():
        set_limit(monkeypatch, name, value)
    return lower_bound(encoded, 5, classes=classes, **more)


def most_wrong(n, error):
    """How many of n limits may be wrong: more are, if each is with this probability, once in a million."""
    tail, wrong = Fraction(1), 0
    while tail > Fraction(1, 10**6):
        tail -= comb(n, wrong) * Fraction(error) ** wrong * (1 - Fraction(error)) ** (n - wrong)
        wrong += 1
    return wrong - 1


def test_how_many_may_be_wrong():
    assert most_wrong(1, 0) == 0
    assert most_wrong(3, F(1, 2)) == 3  # all of them: one in eight
    assert most_wrong(9, F(1, 100)) == 4  # four or more: once in 800,000; five: once in 80 million


SEEDS = range(9)


@pytest.mark.parametrize(("passed", "knows_classes"), [(0, True), (PATIENT, True), (PATIENT, False)])
def test_an_estimate_is_below_the_sum_of_all_terms(medium, classes, monkeypatch, passed, knows_classes):
    scans = Scans(medium, 5)
    labels = classes if knows_classes else None
    costs = costs_in_classes(scans.fixed, scans.size, classes) if knows_classes else None
    smallest = smallest_of(scans)
    priced = SampledPrices(scans, smallest if passed else None, costs)
    sums = [
        priced._terms(prices, rows_of(scans), silent)[0].sum() / scans.fixed.unit
        for prices in priced.prices()
    ]
    assert len(sums) == {(0, True): 3, (PATIENT, True): 2, (PATIENT, False): 1}[passed, knows_classes]
    assert max(sums) > 1.02 * float(smallest @ scans.size) / scans.fixed.unit
    monkeypatch.setattr(sampled_prices, "_PILOT", 4_000)  # with 64 rows it is by chance what is chosen here
    totals = []
    for seed in SEEDS:
        set_limit(monkeypatch, "SEED", seed)
        found = sampled(monkeypatch, medium, labels, passed)
        assert found.is_estimate
        assert found.how == "row prices, 4,000 of 700 rows, 99 % confidence"
        assert found == sampled(monkeypatch, medium, labels, passed)
        totals.append(found.total)
    assert len(set(totals)) == len(SEEDS)  # other rows each time
    assert sum(total > max(sums) for total in totals) <= most_wrong(len(SEEDS), F(1, 100))
    assert 0.97 * min(sums) < np.median(totals) < max(sums)


def test_draws_are_independent_of_each_other_and_of_those_of_other_estimates(medium):
    size = Scans(medium, 5).size
    whole, parts, other = (drawing(size, seed) for seed in ([7], [7], [7, 2]))
    first = whole(300)
    assert np.append(parts(64), parts(236)).tolist() == first.tolist()  # each row of the stream is used once
    assert (other(300) != first).mean() > 0.9
    # Every row is equally likely: tuples are drawn as often as they have rows.
    counts = np.bincount(drawing(size, [7])(100_000), minlength=len(size))
    chi = float(((counts - 100_000 * size / size.sum()) ** 2 / (100_000 * size / size.sum())).sum())
    free = len(size) - 1
    assert abs(chi - free) < 5 * (2 * free) ** 0.5


def test_rows_that_decide_are_not_counted(medium, classes, monkeypatch):
    scans = Scans(medium, 5)
    priced = SampledPrices(scans, None, costs_in_classes(scans.fixed, scans.size, classes))
    drawn, decided, counted = [], [], []
    draw, chosen, terms = drawing(scans.size, [7]), priced._chosen, priced._terms
    monkeypatch.setattr(priced, "_chosen", lambda pilot: decided.append(pilot) or chosen(pilot))
    monkeypatch.setattr(priced, "_terms", lambda q, rows, tick: counted.append(rows) or terms(q, rows, tick))
    found = priced.limit(
        lambda n: drawn.append(draw(n)) or drawn[-1], 10 * PATIENT * scans.work_of_one, 0.1, silent
    )
    pilot, others = drawn
    assert len(pilot) == sampled_prices._PILOT
    assert decided[0] is pilot
    assert all(rows is pilot for rows in counted[:-1])
    assert counted[-1] is others
    assert found.n_drawn == len(others)


def test_where_prices_gain_nothing_the_smallest_boxes_of_all_rows_are_proved(medium, monkeypatch):
    scans = Scans(medium, 5)
    monkeypatch.setattr(sampled_prices, "_LONG", -1)
    found = sampled(monkeypatch, medium, None, PATIENT)
    assert (found.is_estimate, found.how) == (False, "smallest box, all rows")
    exact = float(smallest_of(scans) @ scans.size) / scans.fixed.unit
    assert exact - 1e-3 < found.total <= exact


@pytest.mark.parametrize("passed", [False, True])
def test_an_estimate_is_wrong_as_seldom_as_promised(medium, classes, monkeypatch, passed):
    # The sum of all prices less v is known here; samples of 300 rows, at an error of a tenth.
    scans = Scans(medium, 5)
    costs = costs_in_classes(scans.fixed, scans.size, classes)
    priced = SampledPrices(scans, smallest_of(scans) if passed else None, costs)
    prices = (1.3 * costs).astype(np.int64)  # so much that most rows lose some of it again
    truth, terms = priced._terms(prices, rows_of(scans), silent)[0].mean(), np.zeros(scans.m)
    terms[rows_of(scans)] = priced._terms(prices, rows_of(scans), silent)[0]
    monkeypatch.setattr(priced, "_chosen", lambda pilot: (prices, 1.0))
    monkeypatch.setattr(priced, "_terms", lambda prices, drawn, tick: (terms[drawn], 1.0))
    limits = [
        priced.limit(drawing(scans.size, [seed]), 300 * scans.work_of_one, 0.1, silent).mean
        for seed in range(200)
    ]
    assert sum(limit > truth for limit in limits) <= most_wrong(200, F(1, 10))
    assert 0.85 * truth < np.mean(limits) < truth


def test_a_limit_never_gets_negative_terms_even_if_searches_are_given_up(medium, monkeypatch):
    # Excess is then overestimated by more than it can be.
    scans = Scans(medium, 5)
    priced = SampledPrices(scans, smallest_of(scans), None)
    [prices] = priced.prices()
    given = []
    monkeypatch.setattr(priced, "_chosen", lambda pilot: (prices, 1.0))
    monkeypatch.setattr(sampled_prices, "_FOR_ONE", 0)
    monkeypatch.setattr(sampled_prices, "lower_limit", lambda terms, *_: given.append(terms) or 0.0)
    drawn = np.random.default_rng(0).choice(scans.m, 300)
    found = priced.limit(lambda n_rows: drawn, 300 * scans.work_of_one, 0.01, silent)
    highest = (prices - smallest_of(scans)).max()
    terms, _ = priced._terms(prices, drawn, silent)
    assert (terms - prices[drawn]).min() < -highest
    assert given[0].min() == 0
    assert found.mean == pytest.approx(float(prices @ scans.size) / scans.size.sum() - highest)


def test_useless_classes_leave_the_smallest_boxes(medium, monkeypatch):
    at_random = np.random.default_rng(0).permutation(medium.n_rows).astype(np.int32) // 350
    assert sampled(monkeypatch, medium, at_random).how.startswith("smallest box, ")
    nothing = np.full(medium.n_rows, -1, np.int32)
    assert sampled(monkeypatch, medium, nothing).how.startswith("smallest box, ")


def test_searches_that_take_too_long_leave_the_smallest_boxes(medium, classes, monkeypatch):
    monkeypatch.setattr(sampled_prices, "_LONG", 0)
    assert sampled(monkeypatch, medium, classes).how.startswith("smallest box, ")


def test_rows_without_values_that_are_left_out_are_in_no_class(monkeypatch):
    columns = {name: {"role": "quasi"} for name in ("age", "level", "sex")}
    columns["zip"] = {"role": "quasi", "kind": "categorical", "hierarchy": {"prefix": 1}}
    privacy = {"k": 5, "missing": "suppress", "max_suppressed": 0.3}
    recipe = Recipe.from_dict({"columns": columns, "privacy": privacy})
    encoded = encode(people(700), recipe)
    inside = ~encoded.missing_rows()
    part, n_out = encoded.take(inside), int((~inside).sum())
    info = METHODS["local-search"]
    labels = np.full(700, -1, np.int32)
    labels[inside] = info.make(5, 0, info.options(effort="quick")).fit(part).labels
    expected = sampled(monkeypatch, part, labels[inside], may_suppress=210 - n_out)
    found = recipe_bound(encoded, recipe, classes=labels)
    assert n_out > 0
    assert found.how == expected.how == f"row prices, 4,000 of {700 - n_out} rows, 99 % confidence"
    assert found.total == pytest.approx(expected.total + 4 * n_out)


def test_mutants_are_noticed(medium, classes):
    # Prices less an excess that is a little too low are found out by a pass over all boxes.
    scans = Scans(medium, 5)
    separation = Separation(scans.fixed, scans.size, 5)
    prices = (0.6 * costs_in_classes(scans.fixed, scans.size, classes)).astype(np.int64)
    feasible = prices + (-of_all(scans, prices)) // 5
    assert separation.excess(feasible, None, PATIENT)[0].max() <= 0
    fewer = Scans(medium, 6)
    too_high = prices + (-of_all(fewer, prices)) // 6
    assert separation.excess(too_high, None, PATIENT)[0].max() > 0
    one = int(np.argmax(scans.size == 1))
    feasible[one] += scans.fixed.unit
    assert separation.excess(feasible, None, PATIENT)[0].max() > 0


def test_searches_that_take_long_are_for_fewer_rows(medium, monkeypatch):
    # As if other searches for boxes took too long for a sample of all it needs.
    set_limit(monkeypatch, "SEARCHED", 1)
    found = sampled(monkeypatch, medium, None)
    assert found.how == "smallest box, 2,000 of 700 rows, 99 % confidence"
    scans = Scans(medium, 5)
    exact = float(smallest_of(scans) @ scans.size) / scans.fixed.unit
    assert 0.85 * exact < found.total < exact
    # With so large a k that even a first box takes too long, nearest rows say as much, of more rows.
    set_limit(monkeypatch, "PATIENCE", 0)
    assert sampled(monkeypatch, medium, None).how == "nearest row, 8,000 of 700 rows, 99 % confidence"
    set_limit(monkeypatch, "is_patience_enough", lambda scans: True)
    near = sampled(monkeypatch, medium, None)
    assert near.how == "smallest box or search cut short, 2,000 of 700 rows, 99 % confidence"
    assert near.total < found.total
    set_limit(monkeypatch, "_PATIENT", 1)
    assert sampled(monkeypatch, medium, None).how == "nearest row, 8,000 of 700 rows, 99 % confidence"
