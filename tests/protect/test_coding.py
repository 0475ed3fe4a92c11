"""Top and bottom codes of every kind and data type."""

from datetime import date, datetime
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import RecipeError
from shoal.recipe import Column
from shoal.table.coding import coded_values
from tests.reference import protection as reference


def coded(values, **column):
    return coded_values(pl.Series("x", values), "x", Column(role="keep", **column)).to_list()


@given(
    st.lists(st.none() | st.integers(-50, 50), min_size=1),
    st.none() | st.integers(-30, 0),
    st.none() | st.integers(1, 30),
)
def test_numbers_are_those_of_the_twin(values, bottom, top):
    column = Column(role="keep", bottom=bottom, top=top)
    for series in (pl.Series("x", values, pl.Int16), pl.Series("x", values, pl.Int64).cast(pl.String)):
        found = coded_values(series, "x", column)
        assert found.dtype == series.dtype
        expected = [reference.coded(value, bottom, top) for value in values]
        assert found.cast(pl.Int64).to_list() == expected
        assert coded_values(found, "x", column).to_list() == found.to_list()


def test_decimals_and_floats():
    assert coded([1.5, 99.25, None], top=90.5) == [1.5, 90.5, None]
    assert coded([Decimal("1.50"), Decimal("99.25")], top=90) == [Decimal("1.50"), Decimal("90.00")]


def test_texts_of_numbers_keep_their_spelling_unless_they_are_coded():
    assert coded(["007", "7.50", "95"], kind="numeric", top=90) == ["007", "7.50", "90"]


@pytest.mark.parametrize(
    ("values", "codes", "expected"),
    [
        (
            [date(1920, 5, 1), date(1960, 1, 1)],
            {"bottom": "1930-01-01"},
            [date(1930, 1, 1), date(1960, 1, 1)],
        ),
        (
            [datetime(2024, 3, 1, 23, 30), datetime(2024, 3, 3, 1)],
            {"top": "2024-03-01"},
            [datetime(2024, 3, 1, 23, 30), datetime(2024, 3, 1)],
        ),
        (["1952-09", "10.1953", "01/1960"], {"top": "1953-10"}, ["1952-09", "10.1953", "1953-10"]),
        (["1952", "1999"], {"top": "1990", "kind": "date"}, ["1952", "1990"]),
        (["1952", "1999"], {"top": 1990}, ["1952", "1990"]),
    ],
)
def test_dates(values, codes, expected):
    assert coded(values, **codes) == expected


def test_ordered_values():
    order = ["none", "school", "college", "university"]
    found = coded(
        ["university", "none", None, "school"], kind="ordinal", order=order, bottom="school", top="college"
    )
    assert found == ["college", "school", None, "school"]


def test_codes_that_do_not_fit_the_values_are_refused():
    with pytest.raises(RecipeError, match="must be whole"):
        coded([1, 2], top=1.5)
    with pytest.raises(RecipeError, match="are months, but its dates are days"):
        coded([date(2024, 1, 1)], top="2024-01")


def test_whatever_encodes_a_table_sees_the_codes():
    columns = {"age": {"role": "quasi", "top": 90, "bottom": 20}}
    recipe = shoal.Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})
    encoded = shoal.encode(pl.DataFrame({"age": [5, 30, 90, 99]}), recipe)
    assert encoded.columns[0].texts == ("20", "30", "90")


def test_a_population_is_coded_like_the_table(tmp_path):
    # Both classes, [30, 32] and 90, match five people: two of those beyond the code are in no row.
    ages = [30, 31, 32, 93, 95, 97]
    pl.DataFrame({"age": [*ages, 30, 31, 91, 99]}).write_csv(tmp_path / "all.csv")
    recipe = shoal.Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi", "top": 90}},
            "privacy": {
                "k": 3,
                "goal": [{"type": "k-map", "k": 5, "population": str(tmp_path / "all.csv")}],
            },
            "method": {"name": "mondrian"},
        }
    )
    release = shoal.anonymize(pl.DataFrame({"age": ages}), recipe, bound=False)
    assert sorted(set(release.table["age"])) == ["90", "[30, 32]"]
    assert [goal.achieved for goal in release.goals] == [3, 5]
