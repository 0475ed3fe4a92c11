"""The lower bound: every form equals its reference, and none is above what a table can lose at least."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.bound.confidence import lower_limit
from shoal.bound.estimates import _drawn, sampled_terms
from shoal.bound.lower_bound import lower_bound, recipe_bound
from shoal.bound.raising import Raising
from shoal.bound.result import Bound
from shoal.bound.scans import Scans
from shoal.bound.terms import PASSES, bounds_of_all, rounding
from shoal.kernels.nearest import SOME
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.workflow.prepare import prepare
from tests.bound.limits import set_limit
from tests.reference import bound as reference
from tests.reference.kmember import NumericColumn
from tests.strategies import EVERY_KIND, Case, tables

PATIENT = 1 << 40  # steps: no search is given up


def silent(share):
    """Progress that nobody looks at."""


def by_row(scans, values):
    """Spread what was found for each tuple of `order` over the rows."""
    of_tuple = np.zeros(scans.m, np.int64)
    of_tuple[scans.order] = values
    return np.repeat(of_tuple, scans.size)


class Forms:
    """All forms of the bound of one generated table, by row, beside their references."""

    def __init__(self, case):
        self.encoded = encode(case.table, case.recipe)
        self.k = case.recipe.privacy.k
        self.n = self.encoded.n_rows
        self.columns = case.twin_columns(self.encoded.order)
        self.scans = Scans(self.encoded, self.k)
        self.unit = self.scans.fixed.unit
        self.args = self.columns, self.n, self.k

    def as_bound(self, exact):
        """The reference's fractions as the kernels take a bound: steps, by tuple."""
        first = np.append(0, np.cumsum(self.scans.size)[:-1])
        return np.array([round(exact[row] * self.unit) for row in first], np.int32)

    def agree(self, found, exact, times=1):
        """Whether what was found for each tuple of `order` is the reference's, but for rounding."""
        slack = rounding(self.encoded, self.scans.fixed)
        allowed = times * (slack + 1) if slack > 1e-6 else 0
        rows = by_row(self.scans, found).tolist()
        return all(abs(one - other * self.unit) <= allowed for one, other in zip(rows, exact, strict=True))


def is_just_below(total, exact):
    """Whether a total is the exact one, less what rounding to fixed points could have added."""
    return 0 <= float(exact) - total + 1e-12 <= 1e-6


small = tables(max_rows=10, max_k=4, kinds=EVERY_KIND)


@given(small)
def test_nearest_row(case):
    forms = Forms(case)
    found = forms.scans.nearest(forms.scans.order, silent)
    assert forms.agree(found, reference.nearest_row(*forms.args))


def reference_near_or_box(forms):
    """Nearest rows; 0 for tuples of k rows or more, for which nothing is searched."""
    near = reference.nearest_row(*forms.args)
    sizes = np.repeat(forms.scans.size, forms.scans.size)
    return [0 if size >= forms.k else value for value, size in zip(near, sizes, strict=True)]


@given(small)
def test_smallest_box(case):
    forms = Forms(case)
    near, found, taken = forms.scans.boxes(forms.scans.order, PATIENT, silent)
    assert forms.agree(found, reference.smallest_box(*forms.args))
    assert forms.agree(near, reference_near_or_box(forms))
    assert (taken >= 0).all()


def forms_of(k, weights, *columns):
    """All forms of the bound of a table of numbers, given by columns."""
    table = pl.DataFrame({f"q{at}": values for at, values in enumerate(columns)})
    specs = {
        name: {"role": "quasi", "weight": float(weight)}
        for name, weight in zip(table.columns, weights, strict=True)
    }
    recipe = Recipe.from_dict({"columns": specs, "privacy": {"k": k}, "method": {"name": "k-member"}})
    return Forms(Case(table, recipe, list(map(NumericColumn, columns, weights))))


def test_a_box_over_missing_and_lower_values_costs_its_column_once():
    # Somebody at 5, 6, two below her in the first column, one with nothing there: a box of 1. Each of the
    # four others is further, two on each side, so that the first column is not the last to be settled.
    forms = forms_of(4, [1, 3], [5, 4, 4, None, 5, 5, 5, 5], [6, 6, 6, 6, 0, 1, 11, 12])
    exact = reference.smallest_box(*forms.args)
    assert exact.count(1) == 4
    assert forms.agree(forms.scans.boxes(forms.scans.order, PATIENT, silent)[1], exact)


def test_a_box_may_need_rows_that_are_not_among_the_nearest():
    # Somebody at 6, 6, 6, 6 has eight others at a distance of 2, each in a direction of its own: two of them
    # make a box of 4. One of them and the row at 9, 6, 6, 6, which is further than all eight, make one of 3.
    middle = [6] * 4
    around = [[6 + step * (at == col) for at in range(4)] for col in range(4) for step in (-2, 2)]
    rows = [middle, *around, [9, 6, 6, 6], [0] * 4, [12] * 4]
    forms = forms_of(3, [1] * 4, *map(list, zip(*rows, strict=True)))
    assert len([middle, *around]) == SOME * 3
    found = forms.scans.boxes(forms.scans.order, PATIENT, silent)[1]
    assert forms.agree(found, reference.smallest_box(*forms.args))
    assert Fraction(3, 12) * forms.unit in found


def test_nearest_rows_of_more_tuples_than_are_kept_at_a_time():
    random = np.random.Generator(np.random.PCG64(0))
    forms = forms_of(4, [1] * 3, *random.integers(0, 1000, (3, 700)).tolist())
    scans, place = forms.scans, forms.scans.fixed.position.astype(np.int64)
    assert scans.m > 2 * ((SOME + 1) * 4 + 256)
    for one in range(0, scans.m, 10):
        far = np.repeat(np.abs(place - place[:, [one]]).sum(axis=0), scans.size)
        # New scans each time: with a first guess from the last one, few tuples would be kept.
        [found] = Scans(forms.encoded, 4).nearest(np.array([one]), silent)
        assert found == np.sort(far)[3]


def test_a_search_has_room_for_the_rows_of_a_first_box_however_large_k_is(monkeypatch):
    monkeypatch.setattr("shoal.bound.scans._MAX_CANDIDATES", 5)
    random = np.random.Generator(np.random.PCG64(0))
    scans = forms_of(30, [1] * 2, *random.integers(0, 1000, (2, 200)).tolist()).scans
    assert scans.m > SOME * 30
    with scans._borrowed() as (_, search):
        assert len(search.other) == SOME * 30


@given(small, st.sampled_from(["nearest_row", "smallest_box"]))
def test_mutual_reachability(case, form):
    forms = Forms(case)
    below = getattr(reference, form)(*forms.args)
    bound = forms.as_bound(below)
    for passes in (1, 2, 3):
        bound[forms.scans.order] = forms.scans.reachable(forms.scans.order, bound, silent)
        exact = reference.mutual_reachability(*forms.args, below, passes)
        assert forms.agree(bound[forms.scans.order], exact)


@given(small, st.sampled_from(["nearest_row", "smallest_box"]))
def test_drag(case, form):
    forms = Forms(case)
    below = getattr(reference, form)(*forms.args)
    drag = forms.scans.dragged(forms.scans.order, forms.as_bound(below), silent)
    exact = reference.with_drag(*forms.args, below)
    drags = [(one - other) * (forms.k - 1) for one, other in zip(exact, below, strict=True)]
    assert forms.agree(drag, drags, times=3 * (forms.k - 1))


@given(small)
def test_the_bound_is_the_references_sum_and_not_above_the_least_loss(case):
    forms = Forms(case)
    with pytest.MonkeyPatch.context() as patch:
        set_limit(patch, "_MAX_PRICED", 0)
        patch.setattr(Raising, "by_bunches", lambda raising, _: raising.prices)
        found = lower_bound(forms.encoded, forms.k)
    box = reference.smallest_box(*forms.args)
    assert is_just_below(found.total, sum(reference.with_drag(*forms.args, box)))
    assert found.total <= float(reference.least_loss(*forms.args)) + 1e-12
    assert found == Bound(found.total, False, "smallest box with drag, all rows")


@given(small)
def test_where_no_box_is_searched_mutual_reachability_takes_its_place(case):
    forms = Forms(case)
    with pytest.MonkeyPatch.context() as patch:
        set_limit(patch, "_MAX_SEARCHED", -1)
        set_limit(patch, "_MAX_PRICED", 0)
        patch.setattr(Raising, "by_bunches", lambda raising, _: raising.prices)
        found = lower_bound(forms.encoded, forms.k)
    near = reference.nearest_row(*forms.args)
    box = reference.smallest_box(*forms.args)
    # Tuples of k rows or more need no search: their box is a point.
    at_once = np.repeat(forms.scans.size >= forms.k, forms.scans.size)
    reached = [b if done else n for b, n, done in zip(box, near, at_once, strict=True)]
    for _ in range(PASSES):
        reached = reference.mutual_reachability(*forms.args, reached, 1)
    assert is_just_below(found.total, sum(reference.with_drag(*forms.args, reached)))
    assert found.total <= float(reference.least_loss(*forms.args)) + 1e-12
    assert ("mutual reachability" in found.how) == (not at_once.all())


def test_mutual_reachability_takes_three_passes(monkeypatch):
    set_limit(monkeypatch, "_MAX_SEARCHED", -1)
    set_limit(monkeypatch, "_MAX_PRICED", 0)
    encoded = shoal.encode(pl.DataFrame({"age": [0, 2, 4, 6, 8, 11, 12]}), quasi=["age"])
    # With drag the passes give 53/24, 9/4 and 7/3.
    assert lower_bound(encoded, 3) == Bound(
        pytest.approx(7 / 3), False, "mutual reachability with drag, all rows"
    )


def least_loss_with_suppression(columns, n, k, may_suppress):
    """The least loss when up to so many rows are left out, at the sum of the weights each."""
    weight = sum(Fraction(column.weight) for column in columns)
    losses = [n * weight] if may_suppress >= n else []
    for left_out in range(min(may_suppress, n - k) + 1):
        for out in combinations(range(n), left_out):
            rows = [row for row in range(n) if row not in out]
            parts = [_Part(column, rows) for column in columns]
            losses.append(reference.least_loss(parts, len(rows), k) + left_out * weight)
    return min(losses)


class _Part:
    """Some rows of a column, measured by the whole column's range."""

    def __init__(self, column, rows):
        self.column, self.weight = column, column.weight
        self.values = [column.values[row] for row in rows]

    def cost(self, present):
        return self.column.cost(present)


@given(tables(max_rows=7, max_k=3, kinds=EVERY_KIND), st.integers(0, 2))
def test_rows_that_may_be_left_out(case, may_suppress):
    forms = Forms(case)
    found = lower_bound(forms.encoded, forms.k, may_suppress=may_suppress)
    least = least_loss_with_suppression(*forms.args, may_suppress)
    assert found.total <= float(least) + 1e-9
    assert found.total <= lower_bound(forms.encoded, forms.k).total


def test_drag_counts_no_more_than_the_weights_of_a_row_that_may_be_left_out():
    # Three pairs of equal rows and somebody far from all: she drags anybody from 0 to 1, and costs 2 with it.
    ages = pl.DataFrame({"age": [0, 0, 1, 1, 2, 2, 100]})
    encoded = shoal.encode(ages, quasi=["age"])
    kept, left_out = (lower_bound(encoded, 2, may_suppress=rows).total for rows in (0, 1))
    assert kept == pytest.approx(2 * 98 / 100)
    assert left_out == pytest.approx(1)  # which is what leaving her out costs


def test_rows_without_values_that_are_left_out_cost_everything():
    table = pl.DataFrame({"age": [0, 1, 2, 10, None]})
    columns = {"age": {"role": "quasi", "kind": "numeric", "weight": 3.0}}
    privacy = {"k": 2, "missing": "suppress", "max_suppressed": 0.3}
    recipe = Recipe.from_dict({"columns": columns, "privacy": privacy, "method": {"name": "k-member"}})
    assert recipe_bound(encode(table, recipe), recipe).total == pytest.approx(3 * 1.8 + 3)
    few = recipe.model_copy(update={"privacy": recipe.privacy.model_copy(update={"max_suppressed": 0.0})})
    assert recipe_bound(encode(table, few), few) is None  # no release is allowed


@pytest.mark.parametrize("counts_rounding", [True, False])
def test_rounding_to_fixed_points_never_lifts_it(counts_rounding, monkeypatch):
    # Ranges of these widths have no exact fixed points. In pairs nobody can lose less than the bound says.
    if not counts_rounding:
        set_limit(monkeypatch, "rounding", lambda *given: 0.0)
    above = []
    for width in (17, 19, 23, 29, 31, 37):
        ages = [0, 0, 1, 2, width - 2, width - 1, width, width]
        encoded = shoal.encode(pl.DataFrame({"age": ages}), quasi=["age"])
        above.append(Fraction(lower_bound(encoded, 2).total) > Fraction(4, width))
    assert any(above) == (not counts_rounding)


def people(n, seed=0):
    """A table of n rows with a wide column, a narrow one and two categories, some values missing."""
    random = np.random.Generator(np.random.PCG64(seed))
    zips = random.integers(0, 40, n)
    return pl.DataFrame(
        {
            "age": random.normal(40, 15, n).round(),
            "zip": [None if at == 0 else f"{at:02}" for at in zips],
            "level": random.integers(0, 5, n),
            "sex": random.choice(["f", "m"], n, p=[0.3, 0.7]),
        }
    )


@pytest.fixture(scope="module")
def medium():
    return shoal.encode(
        people(1500), quasi=["age", "zip", "level", "sex"], hierarchies={"zip": {"prefix": 1}}
    )


def test_a_sample_of_all_rows_has_the_terms_of_all_rows(medium):
    scans = Scans(medium, 5)
    every_row = np.repeat(np.arange(scans.m), scans.size)
    with pytest.MonkeyPatch.context() as patch:
        set_limit(patch, "_drawn", lambda scans, n_rows: every_row)
        terms, how = sampled_terms(scans, len(every_row), silent)
    exact, _ = bounds_of_all(scans, silent)
    assert how == "smallest box"
    assert terms.tolist() == np.repeat(exact, scans.size).tolist()


def test_an_estimate_is_below_the_exact_sum(medium, monkeypatch):
    scans = Scans(medium, 5)
    exact, _ = bounds_of_all(scans, silent)
    mean = float(exact @ scans.size) / scans.fixed.unit / medium.n_rows
    set_limit(monkeypatch, "_ALL_ROWS", 0)
    set_limit(monkeypatch, "_MAX_PRICED", 0)
    set_limit(monkeypatch, "_PASS", 0)
    found = lower_bound(medium, 5)
    assert found.is_estimate
    assert found.how == "smallest box, 8,000 of 1,500 rows, 99 % confidence"
    assert 0.9 * mean < found.total / medium.n_rows < mean
    terms, _ = sampled_terms(scans, 8000, silent)
    assert found.total == pytest.approx(medium.n_rows * lower_limit(terms / scans.fixed.unit, 0.01))


def test_rows_are_drawn_alike_each_time_and_by_their_number(medium):
    assert (_drawn(Scans(medium, 5), 500) == _drawn(Scans(medium, 5), 500)).all()
    scans = Scans(shoal.encode(pl.DataFrame({"age": [0, 1, 1, 1, 2, 2, 2, 2, 2, 2]}), quasi=["age"]), 2)
    shares = np.bincount(_drawn(scans, 100_000)) / 100_000
    assert shares == pytest.approx([0.1, 0.3, 0.6], abs=0.01)


def test_without_time_to_search_boxes_the_nearest_rows_are_sampled(medium, monkeypatch):
    set_limit(monkeypatch, "_ALL_ROWS", 0)
    set_limit(monkeypatch, "_MAX_PRICED", 0)
    set_limit(monkeypatch, "_PASS", 0)
    set_limit(monkeypatch, "SEARCHED", 1)
    set_limit(monkeypatch, "_PATIENT", 1)
    assert lower_bound(medium, 5).how == "nearest row, 8,000 of 1,500 rows, 99 % confidence"


@pytest.mark.parametrize("k", [2, 5, 40])
def test_threads_and_parts_change_nothing(medium, k, monkeypatch):
    threads = numba.get_num_threads()
    found = lower_bound(medium, k)
    try:
        numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
        monkeypatch.setattr("shoal.bound.scans._LOOKED_UP", 100_000)
        assert lower_bound(medium, k) == found
    finally:
        numba.set_num_threads(threads)


def test_wide_columns_are_looked_up_too(monkeypatch):
    encoded = shoal.encode(people(300), quasi=["age", "zip", "level", "sex"])
    found = lower_bound(encoded, 3)
    for name, value in {"_MAX_COMBINED": 1, "_MAX_PAIRS": 1, "_LOOKED_UP": 1}.items():
        monkeypatch.setattr(f"shoal.bound.scans.{name}", value)
    assert len(Scans(encoded, 3).tuples.code) == 4  # each column alone
    assert lower_bound(encoded, 3) == found


def test_no_method_is_below_it(medium):
    recipe = Recipe.from_roles(quasi=["age", "zip", "level", "sex"], k=4)
    encoded = encode(people(400), recipe)
    found = recipe_bound(encoded, recipe).total
    for method in ("k-member", "oka", "mondrian", "nh"):
        changed = recipe.model_copy(update={"method": recipe.method.model_copy(update={"name": method})})
        assert prepare(people(400), changed).loss.il >= found


def test_progress_ends_at_one_and_never_goes_back(medium):
    shares = []
    lower_bound(medium, 5, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("total", "rounded"),
    [
        (5496.99, 5490),
        (1.8, 1.8),
        (4.35, 4.35),
        (1.7999999, 1.79),
        (0.012399, 0.0123),
        (123456.0, 123000),
        (0.0, 0),
        (7.0, 7),
    ],
)
def test_it_is_rounded_down_to_three_digits(total, rounded):
    assert Bound(total, False, "").rounded == rounded


@given(st.integers(0, 2**32), st.sampled_from(["even", "rare", "mostly"]), st.sampled_from([0.5, 0.9]))
def test_a_confidence_limit_is_below_the_mean(seed, shape, most_staked):
    random = np.random.Generator(np.random.PCG64(seed))
    draws = {
        "even": lambda: random.random(500),
        "rare": lambda: (random.random(500) < 0.01) * 50.0,  # the mean is 0.5 in all three
        "mostly": lambda: (random.random(500) < 0.99) / 1.98,
    }[shape]()
    # At 1e-6 none of 50 draws of 500 should fail.
    assert lower_limit(draws, 1e-6, most_staked) <= min(0.5, draws.mean())


@pytest.mark.parametrize("most_staked", [0.5, 0.9])
def test_a_confidence_limit_is_near_the_mean_and_wrong_as_seldom_as_promised(most_staked):
    random = np.random.Generator(np.random.PCG64(0))
    limits = [lower_limit(random.exponential(1.0, 2000), 0.01, most_staked) for _ in range(200)]
    assert np.mean(limits) > 0.92  # three standard errors of 1 / sqrt(2000) below the mean
    assert sum(limit > 1 for limit in limits) <= 4


def test_staking_more_suits_few_terms_that_differ_little():
    random = np.random.Generator(np.random.PCG64(0))

    def mean_limit(draw, most_staked):
        return np.mean([lower_limit(draw(random), 0.01, most_staked) for _ in range(40)])

    def alike(random):
        return 1 + 0.3 * random.random(100)

    def rare(random):
        return (random.random(400) < 0.02) * 50.0

    assert mean_limit(alike, 0.9) > mean_limit(alike, 0.5) + 0.01
    assert mean_limit(rare, 0.9) < mean_limit(rare, 0.5) - 0.01


def test_nothing_but_numbers_is_told(medium):
    assert set(replace(lower_bound(medium, 5), total=1.0).to_dict()) == {
        "bound", "bound_is_estimate", "bound_how",
    }  # fmt: skip
    assert "Bound(total=" in repr(lower_bound(medium, 5))
