"""Frames of other libraries: what their types say is kept, and only columns that are used are looked at."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.workflow.prepare import table_of

SIZES = ["small", "medium", "large"]


def quasi(name="c", **roles):
    return Recipe.from_roles(quasi=[name], k=2, **roles)


def kinds(data, recipe=None, **roles):
    """The kinds and the texts of the distinct values of the quasi columns."""
    encoded = shoal.encode(data, recipe or quasi(**roles))
    return [(column.kind, list(getattr(column, "texts", ()))) for column in encoded.columns]


@pytest.mark.parametrize(
    ("periods", "texts"),
    [
        (pd.PeriodIndex(["2024-03", "2024-04", None], freq="M"), ["2024-03", "2024-04", None]),
        (pd.PeriodIndex(["2024-03-01", "2024-03-02"], freq="D"), ["2024-03-01", "2024-03-02"]),
        (pd.PeriodIndex(["2024Q1", "2024Q2"], freq="Q"), ["2024Q1", "2024Q2"]),
    ],
)
def test_pandas_periods_are_taken_as_pandas_writes_them(periods, texts):
    assert table_of(pd.DataFrame({"c": periods}), quasi())["c"].to_list() == texts


def test_pandas_periods_of_days_are_dates():
    days = pd.PeriodIndex(["2024-03-01", "2024-03-02"], freq="D")
    assert kinds(pd.DataFrame({"c": days})) == [("date", ["2024-03-01", "2024-03-02"])]


def test_pandas_intervals_are_refused_with_a_hint():
    frame = pd.DataFrame({"c": pd.interval_range(0, 4)})
    with pytest.raises(DataError, match="Column `c` contains pandas intervals") as caught:
        table_of(frame, quasi())
    assert caught.value.code == "data.kind"
    assert ".mid" in caught.value.hint


def test_pandas_intervals_in_a_dropped_column_do_not_matter():
    frame = pd.DataFrame({"c": [1, 2, 3, 4], "x": pd.interval_range(0, 4)})
    assert kinds(frame, drop=["x"]) == [("numeric", ["1", "2", "3", "4"])]


def in_polars(texts, order):
    return pl.DataFrame({"c": pl.Series(texts, dtype=pl.Enum(order))})


def in_pandas(texts, order):
    return pd.DataFrame({"c": pd.Categorical(texts, categories=order, ordered=True)})


def in_arrow(texts, order):
    codes = pa.array([None if text is None else order.index(text) for text in texts], pa.int8())
    return pa.table({"c": pa.DictionaryArray.from_arrays(codes, pa.array(order), ordered=True)})


each_frame = pytest.mark.parametrize("frame", [in_polars, in_pandas, in_arrow])


@each_frame
def test_an_ordered_categorical_is_ordinal_in_its_order(frame):
    data = frame(["large", "small", None, "large"], SIZES)
    assert kinds(data) == [("ordinal", ["small", "large"])]


@each_frame
def test_marks_for_missing_are_not_part_of_an_order(frame):
    recipe = Recipe.from_roles(quasi=["c"], k=2, changes={"input": {"missing": ["?"]}})
    data = frame(["b", "?", " a", "b"], ["?", "b", " a"])
    assert kinds(data, recipe) == [("ordinal", ["b", "a"])]


@each_frame
def test_a_kind_or_hierarchy_that_is_given_goes_before_the_order_of_a_type(frame):
    data = frame(["large", "small", "medium", "large"], SIZES)
    given = {"columns": {"c": {"kind": "categorical"}}}
    assert kinds(data, Recipe.from_roles(quasi=["c"], k=2, changes=given))[0][0] == "categorical"
    given = {"columns": {"c": {"hierarchy": {"*": {size: {} for size in SIZES}}}}}
    assert kinds(data, Recipe.from_roles(quasi=["c"], k=2, changes=given))[0][0] == "categorical"


def test_categoricals_without_an_order_stay_categories():
    texts = ["large", "small", "medium", "large"]
    arrow = pa.table({"c": pa.array(texts).dictionary_encode()})
    for data in (pl.DataFrame({"c": pl.Series(texts, dtype=pl.Categorical)}),
                 pd.DataFrame({"c": pd.Categorical(texts, categories=SIZES)}), arrow):  # fmt: skip
        assert kinds(data)[0][0] == "categorical"


def test_arrow_chunks_with_different_dictionaries_have_no_order():
    chunks = [in_arrow(["b", "a"], ["b", "a"]), in_arrow(["a", "c"], ["c", "a"])]
    assert kinds(pa.concat_tables(chunks))[0][0] == "categorical"


def test_what_pandas_cut_makes_is_ordinal():
    ages = pd.Series([3, 40, 15, 41])
    data = pd.DataFrame({"c": pd.cut(ages, [0, 10, 20, 50])})
    assert kinds(data) == [("ordinal", ["(0, 10]", "(10, 20]", "(20, 50]"])]


def test_an_ordered_categorical_of_numbers_is_numeric():
    data = pd.DataFrame({"c": pd.Categorical([10, 9, 9, 10], ordered=True)})
    assert kinds(data) == [("numeric", ["9", "10"])]


UNUSABLE = {
    "lists": pl.Series([[1], [2], [3], [4]]),
    "structs": pl.Series([{"a": 1}] * 4),
    "bytes": pl.Series([b"a"] * 4),
    "objects": pl.Series([object()] * 4, dtype=pl.Object),
    "durations": pl.Series([dt.timedelta(days=1)] * 4),
}


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("role", ["drop", "identifiers"])
def test_columns_that_are_left_out_may_be_of_any_type(kind, role):
    table = pl.DataFrame({"c": [1, 2, 3, 4], "x": UNUSABLE[kind]})
    release = shoal.anonymize(table, quasi=["c"], k=2, **{role: ["x"]})
    assert release.table.columns == ["c"]


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "subject"])
def test_columns_that_are_used_may_not(kind, role):
    table = pl.DataFrame({"c": [1, 2, 3, 4], "x": UNUSABLE[kind]})
    columns = {"c": {"role": "quasi"}, "x": {"role": role}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})
    with pytest.raises(DataError, match="Column `x` has type") as caught:
        shoal.anonymize(table, recipe)
    assert caught.value.code == "data.kind"


def test_a_mixed_column_is_named_and_does_not_matter_where_it_is_left_out():
    frame = pd.DataFrame({"c": [1, 2, 3, 4], "x": [1, "a", None, 2.5]})
    assert kinds(frame, drop=["x"]) == [("numeric", ["1", "2", "3", "4"])]
    with pytest.raises(DataError, match="Column `x`") as caught:
        table_of(frame, quasi(keep=["x"]))
    assert caught.value.code == "data.unreadable"


def test_python_numbers_beyond_64_bits_are_an_error_that_names_the_column():
    frame = pd.DataFrame({"c": pd.Series([2**70, 2**70 + 1, 3, 4], dtype=object)})
    with pytest.raises(DataError, match="Column `c`") as caught:
        table_of(frame, quasi())
    assert caught.value.code == "data.unreadable"


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "+02:00"])
@pytest.mark.parametrize("library", ["polars", "pandas", "arrow"])
def test_every_library_keeps_the_day_of_a_time_zone(library, zone):
    midnight = pd.Timestamp("2024-03-01T00:30:00", tz="UTC" + zone if zone.startswith("+") else zone)
    late = midnight + pd.Timedelta(hours=23)
    frame = pd.DataFrame({"c": pd.Series([midnight, late])})
    table = pa.table({"c": pa.array([midnight, late], pa.timestamp("us", zone))})
    data = {"pandas": frame, "arrow": table, "polars": pl.from_arrow(table)}[library]
    assert kinds(data) == [("date", ["2024-03-01"])]
