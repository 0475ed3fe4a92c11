"""Unique rows, smallest sets and dependencies: by hand, and against the slow twin."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.inspection import combinations as sets
from shoal.inspection.dependencies import find_dependencies
from shoal.inspection.profile import profile
from tests.reference import inspection as reference


def profiles(table):
    return [profile(name, table[name]) for name in table.columns]


def listed(singled):
    return [(one.columns, one.unique) for one in singled.combinations]


BY_HAND = pl.DataFrame(
    {
        "a": ["x", "x", "x", "y", "y", "y"],
        "b": ["1", "1", "2", "1", "2", "2"],
        "c": ["u", "v", "u", "u", "u", "u"],
    }
)


def test_unique_rows_by_hand():
    # On a and b, (x, 2) and (y, 1) occur once. On a and c, (x, v) does. On b and c, (1, v).
    # On all three, (x, 1, u), (x, 1, v), (x, 2, u) and (y, 1, u) do; only (y, 2, u) occurs twice.
    singled = sets.find_combinations(profiles(BY_HAND))
    assert singled.unique == 4
    # c alone makes the row with v unique: one of six, which is more than a twentieth.
    assert listed(singled) == [(("c",), 1), (("a", "b"), 2)]
    # Without a: (2, u) and (1, u) repeat, so one row is left. Without b: one. Without c: two.
    assert {one.column: (one.alone, one.adds) for one in singled.contributions} == {
        "a": (0, 3),
        "b": (0, 3),
        "c": (1, 2),
    }


def test_a_single_missing_value_makes_a_row_unique():
    singled = sets.find_combinations(profiles(pl.DataFrame({"a": ["x", "x", None], "b": ["1", "1", "1"]})))
    assert listed(singled) == [(("a",), 1)]


def test_without_a_set_that_is_enough_the_best_is_listed():
    table = pl.DataFrame({"a": [0] * 50 + [1] * 50, "b": [0] * 49 + [1] + [0] * 50})
    # The row with b = 1 is one of a hundred.
    assert listed(sets.find_combinations(profiles(table))) == [(("a", "b"), 1)]


CELL = st.sampled_from(["p", "q", "r", None])
TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[CELL] * width), min_size=2, max_size=30).map(
        lambda rows: [dict(zip("abcde", row, strict=False)) for row in rows]
    )
)


@given(TABLES)
def test_combinations_agree_with_the_reference(rows):
    names = list(rows[0])
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    singled = sets.find_combinations(profiles(table))
    assert singled.unique == reference.unique_rows(rows, names)
    for one in singled.contributions:
        others = [name for name in names if name != one.column]
        rest = reference.unique_rows(rows, others) if others else 0
        assert (one.alone, one.adds) == (reference.unique_rows(rows, [one.column]), singled.unique - rest)
    wanted = reference.smallest_sets(rows, names, Fraction(1, 20), sets.LARGEST)
    assert (listed(singled) == wanted[: len(listed(singled))]) or not wanted
    assert len(listed(singled)) == min(len(wanted), 12) or not wanted


def test_dependencies_by_hand():
    table = pl.DataFrame(
        {
            "city": ["A"] * 4 + ["B"] * 4 + ["C"] * 4,
            "state": ["n"] * 4 + ["n"] * 4 + ["s"] * 4,
            "other": ["1", "2", "3", "4"] * 3,
        }
    )
    (found,) = find_dependencies(profiles(table))
    assert (found.source, found.target, found.share, found.exact, found.mutual) == (
        "city",
        "state",
        1,
        True,
        False,
    )


def test_an_exception_is_counted_without_the_row_itself():
    # 99 rows of city A in state n, one in s; 100 of city B in s. Of 200 rows, 199 are predicted right.
    # Guessing s is wrong in 99 of 200, so up to 9.9 errors would be allowed.
    table = pl.DataFrame({"city": ["A"] * 100 + ["B"] * 100, "state": ["n"] * 99 + ["s"] * 101})
    found = {(one.source, one.target): one for one in find_dependencies(profiles(table))}
    assert found["city", "state"].share == pytest.approx(199 / 200)
    assert not found["city", "state"].exact
    assert found["city", "state"].mutual
    assert (
        str(found["city", "state"]) == "city determines state in 99.5% of the rows, and the other way round"
    )


def test_a_value_that_occurs_once_predicts_nothing():
    # Eight rows have a city that another row has too, and all eight are predicted right; four do not count.
    table = pl.DataFrame({"city": [*"AABBCCDD", *"WXYZ"], "state": [*"nnnnssss", *"nsns"]})
    found = {(one.source, one.target): one.share for one in find_dependencies(profiles(table))}
    assert found == {("city", "state"): 1}


def test_nearly_unique_values_determine_nothing():
    table = pl.DataFrame({"number": [str(at) for at in range(100)], "sex": ["f", "m"] * 50})
    assert find_dependencies(profiles(table)) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(["p", "q", None]), st.sampled_from(["1", "2", "3", None])),
        min_size=2,
        max_size=40,
    )
)
def test_dependencies_agree_with_the_reference(cells):
    rows = [{"a": a, "b": b} for a, b in cells]
    table = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    for one in find_dependencies(profiles(table)):
        assert one.share == pytest.approx(float(reference.predicted(rows, one.source, one.target)))


def test_a_wide_table_is_counted_in_part(monkeypatch):
    from shoal.inspection import dependencies

    table = pl.DataFrame({"city": ["A", "B", "C", "D"] * 500, "state": ["n", "n", "s", "s"] * 500})
    table = table.with_columns(other=pl.int_range(2000).cast(pl.String).str.slice(0, 2))
    whole = find_dependencies(profiles(table))
    monkeypatch.setattr(dependencies, "_WORK", 1500)  # of 6000: about every fourth row
    rows = dependencies._rows(profiles(table), 3)
    assert 200 < len(rows) < 1000
    assert find_dependencies(profiles(table)) == whole
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    part, other = (frame[found].sort(pl.all()) for frame, found in
                   ((table, rows), (shuffled, dependencies._rows(profiles(shuffled), 3))))  # fmt: skip
    assert part.equals(other)


def test_in_a_large_table_the_sets_that_are_counted_are_counted_exactly(monkeypatch):
    monkeypatch.setattr(sets, "_WORK", 1)  # at least 20 sets are counted
    names = list("abcdefgh")
    rows = [{name: str(at // 3**place % 3) for place, name in enumerate(names)} for at in range(0, 6561, 13)]
    singled = sets.find_combinations(profiles(pl.DataFrame(rows)))
    assert singled.combinations
    for columns, unique in listed(singled):
        assert unique == reference.unique_rows(rows, columns)
