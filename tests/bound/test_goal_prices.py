"""Prices with a goal: passes choose the best class that keeps to its limits, and no bound is too high."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import shoal
from shoal.bound.goal_prices import _allowance, _repeated, goal_limits, with_goals
from shoal.bound.lower_bound import lower_bound, recipe_bound
from shoal.bound.prices import PLANS, feasible_prices
from shoal.bound.scans import Scans
from shoal.bound.separation import Separation
from shoal.bound.working_set import WorkingSet
from shoal.privacy.limits import Limits
from shoal.recipe import Recipe
from shoal.table.encode import encode
from tests.bound.limits import set_limit
from tests.privacy.test_limits import form, meets
from tests.profiles import examples
from tests.reference import prices as reference
from tests.reference.kmember import diversity
from tests.strategies import EVERY_KIND, tables

PATIENT = 1 << 40


def silent(share):
    """Progress that nobody looks at."""


def greatest_mean(prices, values, limits, k):
    """The greatest mean price of weights up to 1 that add up to k and keep to limits; None if there are none.

    SciPy's linear program: a weight for each row, then what each value has beyond its own.
    """
    n, n_values = len(prices), len(limits.own)
    if len({v for v in values if v >= 0}) < limits.needed:
        return None
    by_value = [[float(v == value) for v in values] for value in range(n_values)]
    rows = [
        [*has, *(-float(other == value) for other in range(n_values))] for value, has in enumerate(by_value)
    ]
    rows.append([0.0] * n + [1.0] * n_values)
    found = linprog(
        [-float(price) for price in prices] + [0.0] * n_values,
        A_ub=rows,
        b_ub=[*(k * limits.own), k * limits.beyond],
        A_eq=[[1.0] * n + [0.0] * n_values],
        b_eq=[k],
        bounds=[(0, 1)] * n + [(0, None)] * n_values,
    )
    return -found.fun / k if found.success else None


class Valued:
    """A generated table with a value for each row, in the order of its tuples, and limits on them."""

    def __init__(self, case, values, limits):
        encoded = encode(case.table, case.recipe)
        self.k, self.n = case.recipe.privacy.k, encoded.n_rows
        codes = np.array(values, np.int32)
        order = np.lexsort((codes, encoded.tuple_of_row))
        self.encoded, self.values = encoded.take(order), codes[order]
        self.columns = case.twin_columns(self.encoded.order)
        key = self.encoded.tuple_of_row.astype(np.int64) * 9 + self.values
        self.first = np.flatnonzero(np.diff(key, prepend=-9))
        self.size = np.diff(np.append(self.first, self.n)).astype(np.int64)
        scans = Scans(self.encoded, self.k)
        self.fixed, self.limits = _repeated(scans.fixed, self.encoded.tuple_of_row[self.first]), limits
        allowance = _allowance(limits, self.values[self.first], self.k)
        self.separation = Separation(self.fixed, self.size, self.k, allowance=allowance)


LIMITS = st.builds(
    lambda own, needed, beyond: Limits(np.array(own) / 10, needed, beyond / 10),
    st.lists(st.integers(2, 10), min_size=3, max_size=3),
    st.integers(0, 3),
    st.integers(0, 4),
)
VALUES = st.lists(st.integers(-1, 2), min_size=6, max_size=6)
TENTHS = st.lists(st.integers(-8, 20), min_size=6, max_size=6)
small = tables(max_rows=6, max_k=3, kinds=EVERY_KIND)


@given(small, VALUES, LIMITS, TENTHS)
@examples(25)
def test_a_pass_finds_the_greatest_excess_of_the_classes_that_are_left(case, values, limits, tenths):
    table = Valued(case, values[: case.table.height], limits)
    of_row = np.repeat(np.resize(tenths, len(table.size)), table.size)
    prices = (np.resize(tenths, len(table.size)) * table.fixed.unit) // 10
    exact = np.full(table.n, -np.inf)
    for inside, cost in reference.boxes(table.columns, table.n, table.k).items():
        mean = greatest_mean(of_row[list(inside)] / 10, table.values[list(inside)], limits, table.k)
        if mean is not None:
            exact[list(inside)] = np.maximum(exact[list(inside)], mean - float(cost))
    excess, boxes, _ = table.separation.excess(prices, None, PATIENT)
    found = np.repeat(excess / (table.k * table.fixed.unit), table.size)
    if np.isinf(exact).any():  # the whole table holds every row: there is no class at all
        assert np.isinf(exact).all()
        assert (excess == table.separation.lowest).all()
        return
    # Limits are rounded up to thousandths of a row: never below the exact excess, and hardly above it.
    assert (found >= exact - 1e-6).all()
    assert (found <= exact + 0.02).all()
    kept = WorkingSet(table.separation)
    kept.add(boxes)
    assert kept.weigh(prices).tolist() == excess.tolist()


def partitions(rows, k):
    """Every way to put rows into classes of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [row for row in rest if row not in others]
            for classes in partitions(left, k):
                yield [(first, *others), *classes]


def least_loss(columns, values, case, may_leave_out):
    """The least loss of all releases that meet the goals, rows left out included; None if there are none.

    A class counts people, and a value once for each person who has it.
    """
    n, best, weight = len(values), None, sum(Fraction(column.weight) for column in columns)

    def counted(rows):
        return [value for _, value in {(case.people[row], values[row]) for row in rows}]

    def is_good(rows, released):
        found, k = counted(rows), case.recipe.privacy.k
        has_people = len({case.people[row] for row in rows}) >= k
        return has_people and all(meets(goal, found, released) for goal in case.goals)

    for n_out in range(may_leave_out + 1):
        for out in combinations(range(n), n_out):
            rows = [row for row in range(n) if row not in out]
            if case.incomplete & set(rows):
                continue
            released = counted(rows)
            for classes in partitions(rows, case.recipe.privacy.k):
                if all(is_good(one, released) for one in classes):
                    loss = sum(len(one) * diversity(columns, one) for one in classes) + n_out * weight
                    best = loss if best is None else min(best, loss)
    return best


FEW_GOALS = [
    {"type": "l-diversity", "variant": "distinct", "l": 2},
    {"type": "l-diversity", "variant": "frequency", "l": 2},
    {"type": "l-diversity", "variant": "entropy", "l": 1.8},
    {"type": "l-diversity", "variant": "recursive", "l": 2, "c": 1.5},
    {"type": "t-closeness", "distance": "equal", "t": 0.2},
    {"type": "t-closeness", "distance": "ordered", "t": 0.15},
    {"type": "t-closeness", "distance": "hierarchical", "t": 0.15},
    {"type": "alpha-k", "alpha": 0.6},
    {"type": "beta-likeness", "variant": "basic", "beta": 0.5},
    {"type": "beta-likeness", "variant": "enhanced", "beta": 0.5},
    {"type": "delta-disclosure", "delta": 0.8},
    {"type": "range", "e": 4},
]
OF_PEOPLE = ("frequency", "alpha-k")  # forms whose shares are of people, not of values
SENSITIVE = {
    "ill": {
        "role": "sensitive",
        "kind": "categorical",
        "hierarchy": {"*": {"x": ["0", "1"], "y": ["2", "3", "4"], "5": {}}},
    },
    "number": {"role": "sensitive", "kind": "numeric"},
}


class Asked:
    """A case's table with the values 0, 1 and 5, as texts of a tree and as numbers, and with goals."""

    def __init__(self, case, values, goals, people=None, **privacy):
        self.goals, self.n = goals, case.table.height
        numbers = [None if value < 0 else (0, 1, 5)[value] for value in values[: self.n]]
        self.table = case.table.with_columns(
            pl.Series("number", numbers, dtype=pl.Int64),
            ill=pl.Series(numbers, dtype=pl.Int64).cast(pl.String),
        )
        recipe = case.recipe.to_dict()
        recipe["columns"] |= SENSITIVE
        if people is not None:
            self.table = self.table.with_columns(pl.Series("who", people[: self.n]))
            recipe["columns"]["who"] = {"role": "subject"}
        in_numbers = ("ordered", "range")
        recipe["privacy"] |= privacy | {
            "goal": [{**goal, "column": "number" if form(goal) in in_numbers else "ill"} for goal in goals]
        }
        self.recipe = Recipe.from_dict(recipe)
        self.encoded = encode(self.table, self.recipe)
        order = self.encoded.order
        self.columns, self.values = case.twin_columns(order), [numbers[at] for at in order]
        self.people = [at if people is None else people[at] for at in order]
        self.incomplete = set()
        if self.recipe.privacy.missing == "suppress":
            self.incomplete = set(np.flatnonzero(self.encoded.missing_rows()).tolist())

    def check(self):
        """No bound is above the least loss of all releases, nor below the bound without goals."""
        k, may_leave_out = self.recipe.privacy.k, self.recipe.privacy.may_suppress(self.n)
        least = least_loss(self.columns, self.values, self, min(may_leave_out, self.n - k))
        assume(least is not None)
        found = recipe_bound(self.encoded, self.recipe)
        assert found.total <= float(least) + 1e-9
        if not self.incomplete:
            assert found.total >= lower_bound(self.encoded, k, may_suppress=may_leave_out).total - 1e-9


@pytest.mark.parametrize("goal", FEW_GOALS, ids=form)
@given(small, VALUES, st.booleans())
@examples(8)
def test_no_bound_is_above_the_least_loss_with_the_goal(goal, case, values, leaves_out):
    Asked(case, values, [goal], max_suppressed=0.4 if leaves_out else 0.0).check()


SEVERAL = st.lists(st.sampled_from(FEW_GOALS), min_size=2, max_size=3, unique_by=form)


@given(small, VALUES, SEVERAL, st.booleans())
@examples(10)
def test_no_bound_is_above_the_least_loss_with_several_goals(case, values, goals, leaves_out):
    Asked(case, values, goals, max_suppressed=0.4 if leaves_out else 0.0).check()


@given(small, VALUES, st.sampled_from(FEW_GOALS), st.sampled_from([0.4, 0.6]))
@examples(20)
def test_no_bound_is_above_the_least_loss_without_incomplete_rows(case, values, goal, share):
    Asked(case, values, [goal], max_suppressed=share, missing="suppress").check()


COUNTED_ALIKE = [goal for goal in FEW_GOALS if form(goal) not in OF_PEOPLE]
PEOPLE = st.lists(st.integers(0, 4), min_size=6, max_size=6)


@given(small, VALUES, PEOPLE, st.sampled_from(COUNTED_ALIKE), st.booleans())
@examples(20)
def test_no_bound_is_above_the_least_loss_of_people_with_several_rows(case, values, people, goal, leaves_out):
    Asked(case, values, [goal], people, max_suppressed=0.4 if leaves_out else 0.0).check()


def aged(ages, ill, k, **goal):
    """Ages and illnesses, and a recipe with a goal."""
    recipe = Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}},
            "privacy": {"k": k, "goal": [{"column": "ill", **goal}]},
        }
    )
    return encode(pl.DataFrame({"age": ages, "ill": ill}), recipe), recipe


def test_neighbours_with_the_same_illness_by_hand():
    # Without the goal, 0 with 1 and 2 with 3 lose 1/3 each, 4/3 in all. With two illnesses to a class, 0 and
    # 2, and 1 and 3, lose 2/3. Prices of 1/3 for 1 and 2 and of 1 for the others prove it: 0, 1 and 2 have no
    # two that cost more than 4/3, which is twice what their box costs.
    encoded, recipe = aged([0, 1, 2, 3], list("aabb"), 2, type="l-diversity", l=2)
    assert lower_bound(encoded, 2).total == pytest.approx(4 / 3)
    found = recipe_bound(encoded, recipe)
    assert 0.99 * 8 / 3 < found.total <= 8 / 3  # an ascent comes near, not to the end
    assert found.how == "row prices with l-diversity, all rows"
    assert not found.is_estimate


def test_a_rare_value_that_may_be_left_out_is_not_asked_for_by_hand():
    # Delta-disclosure asks for all values of the release. Without the row with c, which costs 1, two classes
    # lose nothing. With it, there is one class, and all five rows lose 1.
    encoded, recipe = aged([0, 0, 1, 1, 0], list("ababc"), 2, type="delta-disclosure", delta=1.0)
    assert recipe_bound(encoded, recipe).total > 2
    may = recipe.model_copy(update={"privacy": recipe.privacy.model_copy(update={"max_suppressed": 0.2})})
    assert recipe_bound(encoded, may).total <= 1
    assert recipe_bound(encoded, recipe, suppressed=1).total <= 1


def test_limits_that_are_whole_numbers_stay_so():
    thirds = Limits(np.array([0.5, 1 / 3, 0.2, 0.0]), beyond=0.2)
    found = _allowance(thirds, np.zeros(1, np.int32), 3)
    assert found.own.tolist() == [1_500, 1_000, 600, 0, 3_000]
    assert found.beyond == 601  # what they may be too low by
    part = _allowance(Limits(np.array([0.50001, 1 - 1e-9])), np.zeros(1, np.int32), 3)
    assert part.own.tolist() == [1_501, 3_000, 3_000]
    # What is rounded off the half counts beyond all: with it, 600 units are exceeded.
    given = Limits(np.array([0.5 + 0.9e-9]), beyond=(600 - 4e-6) / 3_000)
    found = _allowance(given, np.zeros(1, np.int32), 3)
    assert (found.own[0], found.beyond) == (1_500, 601)


THOUSANDTHS = st.builds(
    lambda whole, more: Fraction(whole, 1_000) + Fraction(more, 10**11),
    st.integers(0, 999),
    st.integers(0, 150),
)


@given(st.lists(THOUSANDTHS, min_size=1, max_size=5), THOUSANDTHS, st.integers(1, 2_000))
@examples(50)
def test_limits_of_a_class_are_never_lower_in_units(own, beyond, k):
    # A class that uses up all limits, which are up to a billionth of it higher than they were computed to be.
    whole = k * 1_000
    limits = Limits(np.array([float(n) - 9e-10 for n in own]), beyond=float(beyond) - 9e-10)
    found = _allowance(limits, np.zeros(1, np.int32), k)
    over = [max(0, n * whole - int(may)) for n, may in zip(own, found.own, strict=False)]
    assert min(whole, sum(over) + beyond * whole) <= found.beyond
    assert found.beyond <= beyond * whole + 2


def test_rows_that_may_be_left_out_make_limits_wider():
    encoded, recipe = aged([0, 1, 2, 3], list("aabb"), 2, type="beta-likeness", beta=0.2)
    assert goal_limits(encoded, recipe, 0)[0].limits.own.tolist() == [0.6, 0.6]
    # Without one b there are two of three a.
    assert goal_limits(encoded, recipe, 1)[0].limits.own == pytest.approx([0.8, 0.8])


def test_values_that_no_row_has_are_not_limited():
    # The only row with an illness of its own lacks its age, and is left out.
    table = pl.DataFrame({"age": [0, 1, 2, 3, None], "ill": list("ababc")})
    goal = {"type": "beta-likeness", "column": "ill", "beta": 10.0}
    recipe = Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}},
            "privacy": {"k": 2, "missing": "suppress", "max_suppressed": 0.2, "goal": [goal]},
        }
    )
    encoded = encode(table, recipe)
    assert goal_limits(encoded.take(~encoded.missing_rows()), recipe, 0) == []


def test_a_class_needs_as_many_rows_as_values():
    encoded, recipe = aged(list(range(8)), list("abcdabcd"), 2, type="l-diversity", l=4)
    assert [goal.least_rows for goal in goal_limits(encoded, recipe, 0)] == [4]
    # Four neighbours each: 3/7 for everybody.
    assert recipe_bound(encoded, recipe).total == pytest.approx(24 / 7, rel=1e-2)
    assert (
        recipe_bound(encoded, recipe).total >= lower_bound(encoded, 4).total > lower_bound(encoded, 2).total
    )


def test_a_large_table_counts_at_least_the_rows_that_a_class_needs(monkeypatch):
    encoded, recipe = aged(list(range(900)), list("abcdef") * 150, 2, type="l-diversity", l=6)
    for limit in ("_ALL_ROWS", "_MAX_PRICED", "_PASS"):
        set_limit(monkeypatch, limit, 0)
    found = recipe_bound(encoded, recipe)
    assert found.is_estimate
    six = lower_bound(encoded, 6)
    assert (found.total, found.how) == (six.total, f"{six.how}, 6 rows to a class because of goals")
    assert found.total > lower_bound(encoded, 2).total


def test_people_with_several_rows_only_need_different_values():
    encoded, recipe = aged([0, 1, 2, 3], list("aabb"), 2, type="t-closeness", t=0.1)
    assert len(goal_limits(encoded, recipe, 0)) == 1
    table = pl.DataFrame({"age": [0, 1, 2, 3], "ill": list("aabb"), "who": [1, 1, 2, 3]})
    recipe = recipe.model_copy(update={"columns": {**recipe.columns, "who": shoal_subject()}})
    assert goal_limits(encode(table, recipe), recipe, 0) == []
    several = recipe.model_copy(update={"privacy": recipe.privacy.model_copy(update={"goal": diverse(3)})})
    [goal] = goal_limits(encode(table.with_columns(ill=pl.Series(list("abca"))), several), several, 0)
    assert goal.limits.needed == goal.least_rows == 3
    assert not goal.limits.limit_shares
    # A class of two rows has too few for a share of a third each, but one of two people may have three.
    even = aged([0, 1], ["a", "b"], 2, type="l-diversity", variant="recursive", l=2, c=0.5)[1].privacy.goal
    shared = several.model_copy(update={"privacy": recipe.privacy.model_copy(update={"goal": even})})
    [goal] = goal_limits(encode(table.with_columns(ill=pl.Series(list("abca"))), shared), shared, 0)
    assert goal.limits.needed == goal.least_rows == 2


def shoal_subject():
    """The role of a column that says whose rows these are."""
    return Recipe.from_dict(
        {"columns": {"age": {"role": "quasi"}, "who": {"role": "subject"}}, "privacy": {"k": 2}}
    ).columns["who"]


def diverse(n):
    """A goal of so many different illnesses."""
    return aged([0, 1], ["a", "b"], 2, type="l-diversity", l=n)[1].privacy.goal


@pytest.fixture(scope="module")
def patients():
    random = np.random.Generator(np.random.PCG64(5))
    n = 300
    age = random.normal(50, 18, n).round()
    return pl.DataFrame(
        {
            "age": age,
            "sex": random.choice(["f", "m"], n),
            # The young have flu, the old have gout.
            "ill": np.where(
                random.random(n) < age / 90, "gout", np.where(random.random(n) < 0.5, "flu", "cold")
            ),
        }
    )


def asked(k=5, **goal):
    return Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi"}, "sex": {"role": "quasi"}, "ill": {"role": "sensitive"}},
            "privacy": {"k": k, "goal": [{"column": "ill", **goal}]},
        }
    )


def test_the_bound_is_near_the_loss_of_a_search_with_the_goal(patients):
    recipe = asked(type="t-closeness", t=0.15)
    release = shoal.anonymize(patients, recipe)
    assert release.bound.how == "row prices with t-closeness, all rows"
    without = lower_bound(encode(patients, recipe), 5).total
    assert 1.3 * without < release.bound.total < release.loss.il


def test_input_order_changes_nothing(patients):
    recipe = asked(type="alpha-k", alpha=0.5)
    found = recipe_bound(encode(patients, recipe), recipe)
    assert recipe_bound(encode(patients.reverse(), recipe), recipe) == found
    assert found.how.startswith("row prices with alpha-k")


def test_several_goals_are_bounded_by_the_highest(patients):
    one, two = {"type": "l-diversity", "l": 2}, {"type": "t-closeness", "t": 0.15}
    both = asked(**one)
    both = both.model_copy(
        update={
            "privacy": both.privacy.model_copy(
                update={"goal": [*both.privacy.goal, *asked(**two).privacy.goal]}
            )
        }
    )
    totals = [recipe_bound(encode(patients, r), r).total for r in (asked(**one), asked(**two), both)]
    assert totals[2] == pytest.approx(max(totals[:2]), rel=0.02)


def test_prices_for_a_goal_that_asks_for_more_are_found_out(patients):
    recipe = asked(type="t-closeness", t=0.15)
    encoded = encode(patients, recipe)
    [goal] = goal_limits(encoded, recipe, 0)
    scans = Scans(encoded, goal.least_rows)
    begins = np.lexsort((goal.codes, encoded.tuple_of_row))
    value, of_row = goal.codes[begins], encoded.tuple_of_row[begins]
    first = np.flatnonzero((np.diff(of_row, prepend=-1) != 0) | (np.diff(value, prepend=-2) != 0))
    size = np.diff(np.append(first, encoded.n_rows)).astype(np.int64)
    fixed = _repeated(scans.fixed, of_row[first])

    def separation(limits):
        return Separation(fixed, size, scans.k, allowance=_allowance(limits, value[first], scans.k))

    prices = feasible_prices(separation(goal.limits), PLANS["normal"], silent)
    assert separation(goal.limits).excess(prices, None, PATIENT)[0].max() <= 0
    looser = Limits(goal.limits.own, beyond=goal.limits.beyond + 0.1)
    assert separation(looser).excess(prices, None, PATIENT)[0].max() > 0
    assert Separation(fixed, size, scans.k).excess(prices, None, PATIENT)[0].max() > 0


def test_too_many_tuples_with_values_are_not_gone_through(patients, monkeypatch):
    recipe = asked(type="l-diversity", l=3)
    encoded = encode(patients, recipe)
    monkeypatch.setattr("shoal.bound.goal_prices._MAX_PRICED", 10)
    monkeypatch.setattr("shoal.bound.goal_prices.FEW", 10)
    assert recipe_bound(encoded, recipe) == lower_bound(encoded, 5)


def test_a_goal_that_no_class_meets_is_left_out():
    # Three values where there are two.
    encoded, recipe = aged(range(6), list("aaaaab"), 2, type="l-diversity", l=3)
    assert len(goal_limits(encoded, recipe, 0)) == 1
    found, without = recipe_bound(encoded, recipe), lower_bound(encoded, 3)
    assert (found.total, found.how) == (without.total, f"{without.how}, 3 rows to a class because of goals")


def test_no_bound_is_above_what_all_rows_can_lose():
    # Some classes meet this, but five rows have to share two classes' worth of another value.
    encoded, recipe = aged(range(6), list("aaaaab"), 2, type="alpha-k", alpha=0.5)
    assert recipe_bound(encoded, recipe).total == 6


def test_good_prices_without_a_goal_are_begun_with_too(patients):
    # With so weak a goal, a little work leads further from there than from nothing.
    recipe = asked(type="l-diversity", l=2)
    encoded = encode(patients, recipe)
    scans, goals = Scans(encoded, 5), goal_limits(encoded, recipe, 0)
    plain = feasible_prices(Separation(scans.fixed, scans.size, 5), PLANS["high"], silent)
    nothing, plan = np.zeros(scans.m, np.int64), replace(PLANS["normal"], passes=1, rounds=0)

    def total(start, others):
        return with_goals(scans, encoded.tuple_of_row, start, others, goals, plan, 0, 0.0, silent).total

    assert total(nothing, plain) == total(plain, nothing) > total(nothing, nothing)
    assert total(nothing, plain) >= float(plain @ scans.size) / scans.fixed.unit
