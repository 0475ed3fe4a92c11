"""The bound by prices: passes equal their reference in fractions, and no bound is above the least loss."""

import ast
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
import shoal.bound
from shoal.bound.lower_bound import lower_bound, recipe_bound
from shoal.bound.prices import PLANS, Ascent, Plan, feasible_prices
from shoal.bound.result import gap
from shoal.bound.scans import Scans
from shoal.bound.separation import Separation
from shoal.bound.terms import dragged, rounding, summed
from shoal.bound.working_set import WorkingSet
from shoal.recipe import Recipe
from shoal.table.encode import encode
from tests.bound.limits import set_limit
from tests.reference import bound as others
from tests.reference import prices as reference
from tests.reference.kmember import NumericColumn, diversity
from tests.strategies import EVERY_KIND, tables

F = Fraction
PATIENT = 1 << 40
# Ages 0, 1, 2, 10: as shares of the range 0, 1/10, 2/10, 1.
AGES = [NumericColumn([0, 1, 2, 10])]


def silent(share):
    """Progress that nobody looks at."""


def test_ages_by_hand():
    # k = 2 at prices of 0: v is minus the least box of each row.
    near = [F(1, 10), F(1, 10), F(1, 10), F(8, 10)]
    assert reference.greatest_excess(AGES, 4, 2, [0] * 4) == [-price for price in near]
    # At these prices the box of 2 and 10 has (1 + 8) / 20 - 8/10 = -7/20; of all it has (1 + 8) / 20 - 1,
    # those of 0 and 1 and of 1 and 2 have 0.
    assert reference.greatest_excess(AGES, 4, 2, near) == [0, 0, 0, F(-7, 20)]
    # So 10 may cost 23/20, and 29/20 in all; each pass halves what is missing of 18/10.
    assert sum(reference.fixed_point(AGES, 4, 2, 2)) == F(29, 20)
    assert sum(reference.fixed_point(AGES, 4, 2, 3)) == F(65, 40)


class Priced:
    """A generated table, ready for passes, next to its reference."""

    def __init__(self, case):
        self.encoded = encode(case.table, case.recipe)
        self.k, self.n = case.recipe.privacy.k, self.encoded.n_rows
        self.columns = case.twin_columns(self.encoded.order)
        self.scans = Scans(self.encoded, self.k)
        self.unit, self.size = self.scans.fixed.unit, self.scans.size
        self.separation = Separation(self.scans.fixed, self.size, self.k)
        self.slack = rounding(self.encoded, self.scans.fixed)
        self.first = np.append(0, np.cumsum(self.size)[:-1])

    def steps(self, prices):
        """Prices of rows, fractions, as those of tuples, whole steps."""
        return np.array([int(prices[row] * self.unit) for row in self.first], np.int64)

    def of_rows(self, steps):
        """Steps of tuples as fractions of rows."""
        return [F(int(price), self.unit) for price in np.repeat(steps, self.size)]

    def is_feasible(self, prices):
        """Whether no box has an excess at these prices, but for the rounding of its cost."""
        excess = reference.greatest_excess(self.columns, self.n, self.k, self.of_rows(prices))
        return max(excess) * self.unit <= self.slack + 1e-6


small = tables(max_rows=8, max_k=4, kinds=EVERY_KIND)
TENTHS = st.lists(st.integers(-8, 20), min_size=8, max_size=8)


@given(small, TENTHS)
def test_a_pass_finds_the_greatest_excess_of_all_boxes(case, tenths):
    table = Priced(case)
    prices = table.steps([F(tenth, 10) for tenth in np.resize(tenths, table.n).tolist()])
    excess, boxes, steps = table.separation.excess(prices, None, PATIENT)
    exact = reference.greatest_excess(table.columns, table.n, table.k, table.of_rows(prices))
    for found, wanted in zip(np.repeat(excess, table.size).tolist(), exact, strict=True):
        assert abs(F(found, table.k) - wanted * table.unit) <= table.slack + 1e-6
    assert steps > 0
    # The boxes are those that have this excess, and each holds its tuple.
    kept = WorkingSet(table.separation)
    kept.add(boxes)
    assert kept.weigh(prices).tolist() == excess.tolist()


@given(small, TENTHS, st.integers(0, 5))
def test_what_is_known_and_a_margin_only_save_time(case, tenths, margin):
    table = Priced(case)
    prices = table.steps([F(tenth, 10) for tenth in np.resize(tenths, table.n).tolist()])
    excess, _, _ = table.separation.excess(prices, None, PATIENT)
    again, _, _ = table.separation.excess(prices, excess, PATIENT)
    assert again.tolist() == excess.tolist()
    floor = int(np.median(excess))
    raised, _, _ = table.separation.excess(prices, np.full(table.scans.m, floor), PATIENT)
    assert raised.tolist() == np.maximum(excess, floor).tolist()
    most = margin * table.unit * table.k // 10
    near, _, _ = table.separation.excess(prices, None, PATIENT, most)
    assert ((near <= excess) & (excess <= near + most)).all()


def greatest_of_intervals(value, missing, size, price, k):
    """k times the greatest excess of an interval of one range over each tuple."""
    order = np.argsort(value, kind="stable")
    place = np.where(missing, 2 * value[~missing].max(), value)[order]
    span, best = int(value[~missing].max()), np.full(len(value), -(1 << 62))
    for first in range(len(order)):
        inside = []
        for last in range(first, len(order)):
            at = order[last]
            inside = sorted(inside + [-int(price[at])] * min(int(size[at]), k))[:k]
            is_whole = last + 1 == len(order) or place[last + 1] != place[last]
            if len(inside) == k and is_whole and (first == 0 or place[first - 1] != place[first]):
                excess = -sum(inside) - k * min(int(place[last] - place[first]), span)
                held = order[first : last + 1]
                best[held] = np.maximum(best[held], excess)
    return best


@pytest.mark.parametrize("shape", ["flat", "rising", "far", "missing"])
def test_a_pass_over_many_values_finds_the_greatest_excess(shape):
    random = np.random.Generator(np.random.PCG64(3))
    n, k = 300, 6
    ages = np.sort(random.choice(2_000, n, replace=False))
    ages[-1] = 9_000 if shape == "far" else 2_000
    ages -= ages[0]
    rows = random.integers(1, 3, n) if shape != "flat" else np.ones(n, np.int64)
    values = [None if shape == "missing" and at in (5, 9) else age for at, age in enumerate(ages.tolist())]
    table = pl.DataFrame(
        {"age": np.repeat(np.array(values, object), rows).tolist()}, schema={"age": pl.Int64}
    )
    scans = Scans(shoal.encode(table, quasi=["age"]), k)
    separation = Separation(scans.fixed, scans.size, k)
    [place], [span] = scans.fixed.position, scans.fixed.span.tolist()
    prices = (random.random(scans.m) * span / 20).astype(np.int64)
    prices = {"flat": prices * 0, "rising": prices + place // 9}.get(shape, prices)
    exact = greatest_of_intervals(place.astype(np.int64), place > span, scans.size, prices, k)
    for known in (None, exact - random.integers(0, span, scans.m)):
        excess, boxes, steps = separation.excess(prices, known, PATIENT)
        assert excess.tolist() == exact.tolist()
        # Halving alone would have ended before that many.
        assert steps > 64 * scans.m or known is not None
        kept = WorkingSet(separation)
        kept.add(boxes)
        found = boxes[:, 0] >= 0
        assert kept.weigh(prices)[found].tolist() == excess[found].tolist()


@given(small)
def test_passes_alone_are_those_of_the_reference(case):
    table = Priced(case)
    prices = np.zeros(table.scans.m, np.int64)
    for passes in (1, 2, 3):
        excess, _, _ = table.separation.excess(prices, None, PATIENT)
        prices = prices + (-excess) // table.k
        exact = reference.fixed_point(table.columns, table.n, table.k, passes)
        for found, wanted in zip(table.of_rows(prices), exact, strict=True):
            assert abs(found - wanted) * table.unit <= (2**passes) * (table.slack + 1)


@given(small, st.sampled_from(["quick", "normal", "high"]))
def test_prices_are_feasible_and_never_above_the_least_loss(case, plan):
    table = Priced(case)
    few = Plan(PLANS[plan].passes, min(PLANS[plan].rounds, 12), 3_000_000)
    prices = feasible_prices(table.separation, few, silent)
    assert table.is_feasible(prices)
    least = others.least_loss(table.columns, table.n, table.k)
    assert sum(table.of_rows(prices)) <= least + F(table.n) * F(table.slack) / table.unit
    # The first pass is the smallest box of each row, and no pass falls behind.
    box = others.smallest_box(table.columns, table.n, table.k)
    assert sum(table.of_rows(prices)) >= sum(box) - F(table.n) * F(table.slack + 1) / table.unit


@given(small)
def test_the_bound_is_between_the_one_with_drag_and_the_least_loss(case):
    table = Priced(case)
    found = lower_bound(table.encoded, table.k)
    box = others.smallest_box(table.columns, table.n, table.k)
    drag = others.with_drag(table.columns, table.n, table.k, box)
    assert found.how == "row prices, all rows"
    assert float(sum(drag)) - 1e-6 <= found.total
    assert found.total <= float(others.least_loss(table.columns, table.n, table.k)) + 1e-12


def test_ages_reach_the_optimum():
    encoded = shoal.encode(pl.DataFrame({"age": [0, 1, 2, 10]}), quasi=["age"])
    assert lower_bound(encoded, 2).total == pytest.approx(1.8)


class _Part:
    """Some rows of a column, measured by the whole column's range."""

    def __init__(self, column, rows):
        self.column, self.weight = column, column.weight
        self.values = [column.values[row] for row in rows]

    def cost(self, present):
        return self.column.cost(present)


@given(tables(max_rows=7, max_k=3, kinds=EVERY_KIND), st.integers(1, 3))
def test_rows_that_may_be_left_out(case, may_suppress):
    table = Priced(case)
    weight = sum(F(column.weight) for column in table.columns)
    losses = [table.n * weight] if may_suppress >= table.n else []
    for left_out in range(min(may_suppress, table.n - table.k) + 1):
        for out in combinations(range(table.n), left_out):
            rows = [row for row in range(table.n) if row not in out]
            parts = [_Part(column, rows) for column in table.columns]
            losses.append(others.least_loss(parts, len(rows), table.k) + left_out * weight)
    assert lower_bound(table.encoded, table.k, may_suppress=may_suppress).total <= float(min(losses)) + 1e-9


@given(small, st.integers(1, 3), st.data())
def test_people_with_several_rows_are_bounded_too(case, most, data):
    # A class of k people has k rows or more, so the bound for rows holds for it.
    table = Priced(case)
    person = data.draw(st.lists(st.integers(0, table.n - 1), min_size=table.n, max_size=table.n))
    found = lower_bound(table.encoded, table.k).total
    everybody = range(table.n)
    if len(set(person)) >= table.k:
        assert found <= float(table.n * diversity(table.columns, everybody)) + 1e-12


def test_a_pass_that_takes_too_long_is_given_up():
    table = pl.DataFrame({"age": list(range(40)), "zip": [(7 * at) % 40 for at in range(40)]})
    scans = Scans(shoal.encode(table, quasi=["age", "zip"]), 3)
    separation = Separation(scans.fixed, scans.size, 3)
    assert separation.excess(np.zeros(40, np.int64), None, 100) is None
    assert feasible_prices(separation, Plan(3, 3, 50), silent) is None
    start = np.full(40, 7)
    assert feasible_prices(separation, Plan(3, 3, 50), silent, start) is start


def test_the_sweeps_of_a_single_range_keep_to_their_steps():
    random = np.random.Generator(np.random.PCG64(0))
    scans = Scans(shoal.encode(pl.DataFrame({"age": random.random(20_000)}), quasi=["age"]), 10)
    separation, nothing = Separation(scans.fixed, scans.size, 10), np.zeros(scans.m, np.int64)
    excess, _, steps = separation.excess(nothing, None, PATIENT)
    assert steps < 250 * scans.m  # all pairs of values would be 10,000 for each
    assert separation.excess(nothing, None, steps - 1) is None
    assert separation.excess(nothing, None, steps)[0].tolist() == excess.tolist()


@pytest.mark.parametrize("columns", [["age"], ["age", "level", "score"]])
@pytest.mark.parametrize("passes", [0, 1])
def test_passes_that_end_early_are_never_worse_than_drag(passes, columns, monkeypatch):
    # Prices begin at 0, and either the first pass takes too long or no more than one is made.
    random = np.random.Generator(np.random.PCG64(0))
    table = pl.DataFrame(
        {"age": random.normal(size=800), "level": random.integers(0, 9, 800), "score": random.random(800)}
    )
    encoded = shoal.encode(table, quasi=columns)
    scans = Scans(encoded, 25)
    terms = dragged(scans, silent)[0]
    drag = summed(scans, terms, 24, 0, 3 * rounding(encoded, scans.fixed))
    separation, nothing = Separation(scans.fixed, scans.size, 25), np.zeros(scans.m, np.int64)
    steps = separation.excess(nothing, None, PATIENT)[2]
    set_limit(monkeypatch, "_BEGIN_ABOVE", 0)
    monkeypatch.setitem(PLANS, "normal", Plan(2, 6, steps))
    if passes:
        monkeypatch.setattr("shoal.bound.prices._LONG_PASS", 1)
    assert lower_bound(encoded, 25).total >= drag


def test_no_sum_is_left_to_threads_of_its_own():
    # `@` on floats is: its threads take time of their own, and the last digits depend on their number.
    for path in Path(shoal.bound.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.MatMult)], path.name


def test_where_prices_take_too_long_the_terms_with_drag_are_summed(monkeypatch):
    encoded = shoal.encode(pl.DataFrame({"age": [0, 1, 2, 10]}), quasi=["age"])
    set_limit(monkeypatch, "_MAX_PRICED", 3)
    assert lower_bound(encoded, 2).how == "smallest box with drag, all rows"
    assert lower_bound(encoded, 2).total == pytest.approx(1.8)


@pytest.fixture(scope="module")
def people():
    random = np.random.Generator(np.random.PCG64(1))
    n = 500
    return pl.DataFrame(
        {
            "age": random.normal(40, 15, n).round(),
            "zip": [f"{at:02}" for at in random.integers(0, 40, n)],
            "level": random.integers(0, 5, n),
            "sex": random.choice(["f", "m"], n),
        }
    )


def asked(**privacy):
    columns = {name: {"role": "quasi"} for name in ("age", "level", "sex")}
    columns["zip"] = {"role": "quasi", "kind": "categorical", "hierarchy": {"prefix": 1}}
    return Recipe.from_dict({"columns": columns, "privacy": {"k": 6, **privacy}})


def test_more_effort_is_never_worse(people):
    recipe = asked()
    encoded = encode(people.head(60), recipe)
    totals = [recipe_bound(encoded, recipe, effort=effort).total for effort in ("quick", "normal", "high")]
    assert totals == sorted(totals)
    assert totals[0] < totals[2]


def test_a_search_with_high_effort_has_the_tighter_bound(people):
    recipe = asked()
    encoded = encode(people.head(60), recipe)
    high = recipe.model_copy(
        update={"method": recipe.method.model_copy(update={"options": {"effort": "high"}})}
    )
    tight = recipe_bound(encoded, recipe, effort="high")
    assert recipe_bound(encoded, high) == tight != recipe_bound(encoded, recipe)


def test_row_order_and_threads_change_nothing(people):
    recipe = asked()
    found = recipe_bound(encode(people, recipe), recipe)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert recipe_bound(encode(people.reverse(), recipe), recipe) == found
    finally:
        numba.set_num_threads(threads)


def test_shares_of_a_pass_together_are_the_whole(people):
    from shoal.kernels.box_walk import LOWEST, STEPS_LEFT, empty_walk
    from shoal.kernels.excess import greatest_excess

    scans = Scans(encode(people, asked()), 6)
    separation = Separation(scans.fixed, scans.size, 6)
    prices = np.arange(scans.m, dtype=np.int64) % 7 * (scans.fixed.unit // 9)
    whole, _, _ = separation.excess(prices, None, PATIENT)
    merged = np.full(scans.m, LOWEST)
    for share in range(3):
        walk = empty_walk(separation.priced)
        walk.price[:], walk.begin[0], walk.end[0] = prices, 0, scans.m
        walk.by_price[0], walk.by_value[0] = np.argsort(-prices, kind="stable"), separation.by_value
        walk.state[STEPS_LEFT] = PATIENT
        excess, box = np.full(scans.m, LOWEST), np.zeros((scans.m, 8), np.int32)
        assert greatest_excess(separation.priced, None, 6, 0, share, 3, walk, excess, box)
        merged = np.maximum(merged, excess)
    assert merged.tolist() == whole.tolist()


def test_mutants_are_noticed(people):
    # Prices that are a little too high, or right for k - 1 rows, are found out by the next pass.
    scans = Scans(encode(people, asked()), 6)
    separation, fewer = (Separation(scans.fixed, scans.size, k) for k in (6, 5))
    prices = feasible_prices(separation, PLANS["normal"], silent)
    assert separation.excess(prices, None, PATIENT)[0].max() <= 0
    assert separation.excess(prices + scans.fixed.unit // 50, None, PATIENT)[0].max() > 0
    assert fewer.excess(prices, None, PATIENT)[0].max() > 0
    # A level of a tree that is passed over hides boxes.
    level = separation.priced.level_at.copy()
    level[-1] -= 1
    walked = separation.excess(prices, None, PATIENT)[0]
    separation.priced = separation.priced._replace(level_at=level)
    assert (separation.excess(prices, None, PATIENT)[0] < walked).any()


def test_the_ascent_gains_on_the_passes(people):
    scans = Scans(encode(people, asked()), 6)
    separation = Separation(scans.fixed, scans.size, 6)
    sums = [
        int(Ascent(separation, Plan(4, rounds, 10**9), silent, None).run() @ scans.size)
        for rounds in (0, 6, 20)
    ]
    assert sums[0] < sums[1] < sums[2]


@pytest.mark.parametrize(
    ("il", "bound", "share"),
    [
        (120.0, 100.0, 0.2),
        (120.1, 100.0, 0.21),
        (100.0, 100.0, 0.0),
        (99.9, 100.0, None),  # the bound does not hold for this
        (0.0, 0.0, 0.0),
        (5.0, 0.0, None),
    ],
)
def test_the_gap_is_rounded_up(il, bound, share):
    assert gap(il, bound) == share


def test_tables_with_too_many_boxes_keep_the_bound_by_drag():
    # Two ranges of four and six values: ten intervals of the one that is not swept, times one tree's levels.
    few = shoal.encode(
        pl.DataFrame({"a": [0, 1, 2, 3, 0, 1], "b": [0, 1, 2, 3, 4, 5], "c": list("xyxyxy")}),
        quasi=["a", "b", "c"],
    )
    scans = Scans(few, 2)
    assert Separation(scans.fixed, scans.size, 2).n_boxes == 10 * 2
    numbers = np.random.default_rng(0).random((300, 5))
    table = pl.DataFrame({f"n{at}": numbers[:, at] for at in range(5)})
    many = shoal.encode(table, quasi=table.columns)
    assert lower_bound(many, 3).how.endswith("with drag, all rows")
    assert lower_bound(many.take(np.arange(50)), 3).how == "row prices, all rows"
