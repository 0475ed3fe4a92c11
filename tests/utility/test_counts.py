"""Random counts and dependence: by hand, and against SciPy and a twin that lists every value."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.contingency import association

import shoal
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.utility.columns import paired_columns
from shoal.utility.dependence import cramers_v, dependences
from shoal.utility.measured import measure_utility
from shoal.utility.queries import Counter, LeafCondition, LineCondition, query_errors, random_query
from tests.reference.counting import expected_count, joint_table, squared_v

RECIPE = Recipe.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "kind": "numeric"},
            "sex": {"role": "quasi", "kind": "categorical"},
            "ill": {"role": "sensitive"},
        },
        "privacy": {"k": 2},
    }
)
RAW = pl.DataFrame(
    {
        "age": [20, 21, 22, 30, 32, 33],
        "sex": ["f", "f", "m", "m", "m", "f"],
        "ill": ["a", "a", "b", "b", "b", "a"],
    }
)
RELEASED = pl.DataFrame(
    {
        "age": ["[20, 22]"] * 3 + ["[30, 33]"] * 3,
        "sex": ["{f, m}"] * 3 + ["{f, m}", "m", "{f, m}"],
        "ill": ["a", "a", "b", "b", "b", "a"],
    }
)
# The same release, as a list of possible values for every cell.
CELLS = [
    {
        "age": range(20, 23) if at < 3 else range(30, 34),
        "sex": "m" if at == 4 else "fm",
        "ill": RELEASED["ill"][at],
    }
    for at in range(6)
]


def pairs(raw=RAW, released=RELEASED, recipe=RECIPE):
    return paired_columns(raw, encode(raw, recipe), released, recipe)


def released_counter(found):
    return Counter({name: pair.released for name, pair in found.items()})


def raw_counter(found):
    return Counter({name: pair.raw for name, pair in found.items()})


def leaves(column, *wanted):
    return LeafCondition(np.array([leaf in wanted for leaf in column.leaves]))


def test_counts_by_hand():
    found = pairs()
    query = {"age": LineCondition(20, 31)}  # above 20, at most 31
    # Raw: 21, 22, 30. Released: 2 of 3 values in three rows, 2 of 4 values in three rows.
    assert raw_counter(found).count(query) == 3
    assert released_counter(found).count(query) == 3 * Fraction(2, 3) + 3 * Fraction(1, 2)
    query["sex"] = leaves(found["sex"].raw, "m")
    assert raw_counter(found).count(query) == 2
    assert released_counter(found).count(query) == pytest.approx(3 * 2 / 3 / 2 + 1 / 2 * (1 / 2 + 1 + 1 / 2))


@given(
    st.integers(18, 34),
    st.integers(0, 10),
    st.sets(st.sampled_from("fm"), min_size=1),
    st.sets(st.sampled_from("ab"), min_size=1),
)
def test_counts_equal_those_of_the_twin(low, width, sexes, ills):
    found = pairs()
    query = {
        "age": LineCondition(low, low + width),
        "sex": leaves(found["sex"].raw, *sexes),
        "ill": leaves(found["ill"].raw, *ills),
    }
    conditions = {
        "age": lambda age: low < age <= low + width,
        "sex": sexes.__contains__,
        "ill": ills.__contains__,
    }
    raw = [{name: [cell] for name, cell in row.items()} for row in RAW.rows(named=True)]
    assert raw_counter(found).count(query) == expected_count(raw, conditions)
    assert released_counter(found).count(query) == pytest.approx(float(expected_count(CELLS, conditions)))


def test_decimals_count_by_width():
    raw = pl.DataFrame({"age": [0.5, 2.5, 4.5], "sex": ["f"] * 3, "ill": ["a"] * 3})
    released = raw.with_columns(age=pl.Series(["[0.5, 4.5]", "2.5", "*"]))
    count = released_counter(pairs(raw, released)).count
    # The range is at most 1.5 with a quarter; the lost cell is like the average of the two others.
    assert count({"age": LineCondition(-np.inf, 1.5)}) == pytest.approx(0.25 + 0 + 0.125)
    assert count({"age": LineCondition(1.5, 2.5)}) == pytest.approx(0.25 + 1 + 0.625)
    assert count({"age": LineCondition(-np.inf, np.inf)}) == pytest.approx(3)


def test_missing_cells_fulfil_no_condition():
    raw = RAW.with_columns(age=pl.Series([None, 21, 22, 30, 32, 33]))
    released = RELEASED.with_columns(age=pl.Series([None, *["[21, 33]"] * 5]))
    everything = {"age": LineCondition(-np.inf, np.inf)}
    found = pairs(raw, released)
    assert raw_counter(found).count(everything) == 5
    assert released_counter(found).count(everything) == 5


def test_a_column_that_is_lost_counts_as_all_raw_values():
    lost = RELEASED.with_columns(age=pl.lit("*"), sex=pl.lit("*"))
    found = pairs(released=lost)
    # 20 to 33 are 14 ages, of which 21 to 31 are 11; half of the sexes.
    query = {"age": LineCondition(20, 31), "sex": leaves(found["sex"].raw, "m")}
    assert released_counter(found).count(query) == pytest.approx(6 * 11 / 14 / 2)


def test_texts_that_mean_missing_are_missing():
    recipe = RECIPE.changed({"input": {"missing": ["", "?"]}})
    released = RELEASED.with_columns(age=pl.Series(["?", *["[20, 33]"] * 5]), sex=pl.Series(["?", *"fffmm"]))
    found = pairs(released=released, recipe=recipe)
    assert released_counter(found).count({"age": LineCondition(-np.inf, np.inf)}) == 5
    assert released_counter(found).count({"sex": leaves(found["sex"].raw, "f", "m")}) == 5


def test_errors_of_a_release_that_loses_nothing_are_zero():
    same = pl.DataFrame({name: RAW[name].cast(pl.String) for name in RAW.columns})
    for errors in query_errors(pairs(released=same), seed=1):
        assert (errors.median, errors.p90) == (0, 0)


def test_errors_by_hand():
    raw = pl.DataFrame({"age": [1, 2, 3, 4]})
    recipe = Recipe.from_roles(quasi=["age"], k=2, changes={"columns": {"age": {"kind": "numeric"}}})
    released = pl.DataFrame({"age": ["[1, 4]"] * 4})
    (errors,) = query_errors(pairs(raw, released, recipe), 0, [0.5], 50)
    # Any range of r values has the true count r, and r / 4 of each of four rows: no error.
    assert (errors.median, errors.p90, errors.rows) == (0, 0, 2)
    skewed = pl.DataFrame({"age": ["[1, 2]"] * 4})
    (errors,) = query_errors(pairs(raw, skewed, recipe), 0, [1.0], 5)
    assert errors.median == 0  # everything is counted, whatever the labels
    (errors,) = query_errors(pairs(raw, skewed, recipe), 0, [1e-9], 60)
    # One value is asked for: 2 instead of 1 for 1 and 2, and 0 instead of 1 for 3 and 4.
    assert (errors.median, errors.p90, errors.rows) == (1, 1, 1)


def test_small_counts_do_not_make_errors_large():
    # Of 4,000 ages every second is published as the one before it: 2 or 0 rows instead of 1. The error of 1
    # is divided by 0.1 % of the rows, which is 4.
    raw = pl.DataFrame({"age": range(4000)})
    recipe = Recipe.from_roles(quasi=["age"], k=2, changes={"columns": {"age": {"kind": "numeric"}}})
    released = pl.DataFrame({"age": [str(age // 2 * 2) for age in range(4000)]})
    (errors,) = query_errors(pairs(raw, released, recipe), 0, [1e-9], 20)
    assert (errors.rows, errors.median, errors.p90) == (1, 0.25, 0.25)


def test_queries_depend_on_raw_values_and_seed_alone():
    shuffled = RAW.sample(fraction=1, shuffle=True, seed=3)
    found = query_errors(pairs(), 5)
    assert found == query_errors(pairs(shuffled), 5)
    assert found != query_errors(pairs(), 6)


def test_conditions_select_about_what_is_asked_for():
    random = np.random.default_rng(2)
    raw = pl.DataFrame(
        {
            "age": random.integers(0, 100, 2000),
            "sex": random.choice(list("abcdefghij"), 2000),
            "ill": ["x"] * 2000,
        }
    )
    found = pairs(raw, raw.with_columns(pl.col("age").cast(pl.String)))
    for name in ("age", "sex"):
        one = {name: found[name]}
        counts = [raw_counter(one).count(random_query(one, 0.3, random)) for _ in range(40)]
        assert np.mean(counts) == pytest.approx(600, rel=0.1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=8, max_size=40))
def test_cramers_v_equals_scipy(rows):
    table = np.zeros((4, 5))
    for a, b in rows:
        table[a, b] += 1
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) > 1:
        assert cramers_v(table) == pytest.approx(association(table.astype(int), method="cramer"))


def test_dependence_equals_that_of_the_twin():
    raw = [{name: [cell] for name, cell in row.items()} for row in RAW.rows(named=True)]
    found = {pair.columns: pair for pair in dependences(pairs())}
    assert set(found) == {("age", "sex"), ("age", "ill"), ("sex", "ill")}
    for (a, b), pair in found.items():
        assert pair.raw**2 == pytest.approx(float(squared_v(joint_table(raw, a, b))))
        # The raw table decides how many cells there are: six ages, two sexes, two diseases.
        assert pair.released == pytest.approx(_released_v(a, b))
    assert found["sex", "ill"].raw == 1  # whoever has a is f
    assert found["sex", "ill"].released < 0.5


def _released_v(a, b):
    """V of the release in the cells of the raw table: ages up to the next raw one belong together."""
    cells = [
        {**cell, "age": [min(age for age in RAW["age"] if age >= value) for value in cell["age"]]}
        for cell in CELLS
    ]
    return float(squared_v(joint_table(cells, a, b))) ** 0.5


def test_dependence_does_not_change_if_nothing_is_lost():
    same = pl.DataFrame({name: RAW[name].cast(pl.String) for name in RAW.columns})
    assert [pair.change for pair in dependences(pairs(released=same))] == pytest.approx([0, 0, 0])


def test_dependence_is_gone_if_a_column_is_lost():
    released = RELEASED.with_columns(sex=pl.lit("*"))
    found = {pair.columns: pair.released for pair in dependences(pairs(released=released))}
    assert found["age", "sex"] == 0
    assert found["sex", "ill"] == 0
    assert found["age", "ill"] > 0


def test_many_values_are_put_together():
    random = np.random.default_rng(4)
    age = random.integers(0, 1000, 3000)
    raw = pl.DataFrame({"age": age, "sex": [f"s{one // 20}" for one in age], "ill": ["x"] * 3000})
    (pair,) = dependences(pairs(raw, raw.with_columns(pl.col("age").cast(pl.String))))
    assert pair.columns == ("age", "sex")  # a constant column depends on nothing
    assert pair.change == pytest.approx(0)
    assert 0.4 < pair.raw < 0.8  # tenths of the ages say which of the 19 most frequent categories it is


def test_utility_is_the_same_for_any_order_of_rows():
    def measured(raw, released):
        return measure_utility(raw, encode(raw, RECIPE), released, RECIPE)

    expected = measured(RAW, RELEASED)
    other = measured(RAW[::-1], RELEASED[[3, 1, 5, 0, 2, 4]])
    assert other.to_json() == expected.to_json()


def test_a_release_measures_its_own_utility():
    release = shoal.anonymize(RAW, RECIPE)
    found = release.utility(RAW)
    assert found == measure_utility(RAW, encode(RAW, RECIPE), release.frame, RECIPE)
    assert found.to_json()["dependence"]["mean_change"] == pytest.approx(found.mean_change, rel=1e-3)
    with pytest.raises(shoal.ShoalError, match="several views"):
        shoal.anonymize(RAW, RECIPE, views="equal", accept_composition=True).utility(RAW)


def test_labels_of_other_tools_are_understood():
    released = RELEASED.with_columns(age=pl.Series(["[20, 23["] * 3 + [">=30", "30-33", "(29,33]"]))
    found = pairs(released=released)["age"].released
    ends = list(zip(found.low[found.label], found.high[found.label], strict=True))
    assert ends == [(20, 22)] * 3 + [(30, 33)] * 3
