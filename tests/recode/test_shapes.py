"""Other shapes of output: typical values, snapped bounds, bounds as columns, harmless texts."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.recode.microaggregate import rounding_step
from shoal.table.forms import Range, parse
from shoal.table.spreadsheet import escaped, unescaped

PEOPLE = pl.DataFrame(
    {
        "age": [21, 24, 29, 60, 60, 63],
        "income": [1000.5, 1200.25, 1100.0, 900.0, 950.75, None],
        "born": ["2001-03-05", "1998-01-31", "1993-07-07", "1962-02-28", "1962-02-28", "1959-12-31"],
        "school": ["low", "mid", "low", "high", "high", "high"],
        "sex": ["f", "f", "m", "m", "m", "f"],
        "ill": list("aabbcc"),
    }
)


def release(columns=None, **output):
    specs = {
        "age": {"role": "quasi", "kind": "numeric", "grid": 5},
        "income": {"role": "quasi", "kind": "numeric", "grid": 0.5},
        "born": {"role": "quasi", "kind": "date", "grid": 30},
        "school": {"role": "quasi", "kind": "ordinal", "order": ["low", "mid", "high"], "grid": 2},
        "sex": {"role": "quasi", "kind": "categorical"},
        "ill": {"role": "sensitive"},
    }
    for name, change in (columns or {}).items():
        specs[name] = {**specs[name], **change}
    recipe = Recipe.from_dict({"columns": specs, "privacy": {"k": 3}, "output": output})
    return shoal.anonymize(PEOPLE, recipe)


def first(frame):
    return frame.row(0, named=True)


def test_means_and_modes():
    # The young: ages 21 24 29 -> 74 / 3 = 24.67, whole numbers -> 25; the first class by value.
    # Incomes 1000.5 1200.25 1100: 1100.25; two decimals and a range of 300: steps of 0.1 -> 1100.2 (ties
    # to even). Birthdays are all different: the earliest. Schools low mid low: low. Sexes f f m: f.
    young = first(release(values="microaggregate").table)
    assert young["age"] == 25
    assert young["income"] == pytest.approx(1100.2)
    assert young["born"] == date(1993, 7, 7)
    assert (young["school"], young["sex"]) == ("low", "f")


def test_medians():
    # Ages 21 24 29 -> 24. Incomes of the old, 900 950.75 and one missing: 925.375 -> 925.4.
    table = release(values="microaggregate", aggregate="median").table
    assert table["age"].unique(maintain_order=True).to_list() == [24, 60]
    assert table.row(-1, named=True)["income"] == pytest.approx(925.4)


def test_losses_of_boxes_are_not_defined_for_typical_values():
    made = release(values="microaggregate")
    assert (made.loss.il, made.loss.gcp, made.loss.distortion_ratio) == (None, None, None)
    assert made.loss_tight.il > 0
    assert made.loss.dm == 18


@pytest.mark.parametrize(
    ("numbers", "step"),
    [
        (np.array([20, 93]), 1),  # whole numbers stay whole
        (np.array([0, 50_000]), 10),  # a thousandth of the range, as a power of ten
        (np.array([0.5, 1.25]), 0.01),  # as fine as the data
        (np.array([0.001, 2000.0]), 1),  # finer data, but a wide range
        (np.array([7]), 1),
    ],
)
def test_rounding_is_never_finer_than_the_data_or_a_thousandth_of_the_range(numbers, step):
    assert float(rounding_step(numbers)) == step


def test_means_do_not_publish_sums():
    # Two members known, the third would follow from the exact mean: 10, 20, 1e6 + 1 -> mean 333343.67.
    table = pl.DataFrame({"x": [10, 20, 1_000_001], "s": ["a", "b", "c"]})
    data = {
        "columns": {"x": {"role": "quasi"}, "s": {"role": "keep"}},
        "privacy": {"k": 3},
        "output": {"values": "microaggregate"},
    }
    published = shoal.anonymize(table, Recipe.from_dict(data)).table["x"][0]
    assert published == 333_300  # steps of 100: the third lies within 150 of 999 870, no closer


def test_snapped_bounds_are_grid_points_outside():
    young = first(release(bounds="snapped").table)
    assert young["age"] == "[20, 30]"  # 21 to 29 on a grid of 5
    assert young["income"] == "[1000.5, 1200.5]"  # 1000.5 lies on the grid, 1200.25 does not
    # Days since 1970 in steps of 30: 1993-07-07 is day 8588, 286 x 30 = 8580 is 1993-06-29;
    # 2001-03-05 is day 11386, 380 x 30 = 11400 is 2001-03-19.
    assert young["born"] == "[1993-06-29, 2001-03-19]"
    assert young["school"] == "[low, high]"  # positions 0 and 1 on a grid of 2


def test_a_snapped_range_is_never_a_single_value():
    old = release(bounds="snapped").table.row(-1, named=True)
    assert old["age"] == "[60, 65]"
    table = pl.DataFrame({"age": [60, 60], "s": ["a", "b"]})
    data = {
        "columns": {"age": {"role": "quasi", "kind": "numeric", "grid": 5}, "s": {"role": "keep"}},
        "privacy": {"k": 2},
        "output": {"bounds": "snapped"},
    }
    assert shoal.anonymize(table, Recipe.from_dict(data)).table["age"].to_list() == ["[60, 65]"] * 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12), st.sampled_from([0.1, 0.25, 3, 1000]))
def test_snapped_bounds_cover_and_lie_on_the_grid(numbers, grid):
    data = {
        "columns": {"x": {"role": "quasi", "kind": "numeric", "grid": grid}},
        "privacy": {"k": len(numbers)},
        "output": {"bounds": "snapped"},
    }
    table = pl.DataFrame({"x": numbers})
    found = parse(shoal.anonymize(table, Recipe.from_dict(data)).table["x"][0])
    assert isinstance(found, Range)
    assert float(found.low) <= min(numbers) <= max(numbers) <= float(found.high)
    assert float(found.low) < float(found.high)
    assert float(found.high) - max(numbers) <= grid * 1.001
    steps = float(found.low) / grid
    assert steps == pytest.approx(round(steps), abs=1e-6)


def test_snapping_needs_a_grid():
    with pytest.raises(RecipeError, match="Column `age` has no grid"):
        release(columns={"age": {"grid": None}}, bounds="snapped")


def test_bounds_as_columns_are_typed(tmp_path):
    made = release(bounds_as="columns")
    young = first(made.table)
    assert (young["age_low"], young["age_high"]) == (21, 29)
    assert (young["born_low"], young["born_high"]) == (date(1993, 7, 7), date(2001, 3, 5))
    assert (young["school_low"], young["school_high"]) == ("low", "mid")
    assert young["sex"] == "{f, m}"
    # The old ones mix missing and present incomes: everything is lost.
    assert made.table.row(-1, named=True)["income_low"] is None
    assert made.table.columns[:4] == ["age_low", "age_high", "income_low", "income_high"]
    for ending in ("csv", "parquet"):
        path = made.write(tmp_path / f"out.{ending}")
        assert shoal.verify(path, made.recipe).holds


def test_a_column_that_a_bound_would_hide_is_refused():
    columns = {"age": {"role": "quasi"}, "age_low": {"role": "keep"}}
    data = {"columns": columns, "privacy": {"k": 2}, "output": {"bounds_as": "columns"}}
    with pytest.raises(RecipeError, match="`age_low` would be written twice"):
        Recipe.from_dict(data)


def test_numbers_and_dates_read_as_text_get_types_in_parquet(tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("age,visits,day,code\n1,10,2026-01-01,007\n2,-3,2026-01-02,8\n", encoding="utf-8")
    data = {
        "input": {"path": str(people)},
        "columns": {"age": {"role": "quasi"}} | {n: {"role": "keep"} for n in ("visits", "day", "code")},
        "privacy": {"k": 2},
    }
    path = shoal.anonymize(Recipe.from_dict(data)).write(tmp_path / "out.parquet")
    schema = pl.read_parquet_schema(path)
    # 007 is not how the number 7 is written: the column stays text.
    assert [schema[n] for n in ("visits", "day", "code")] == [pl.Int64, pl.Date, pl.String]


@given(st.lists(st.text(st.sampled_from("=+-@'a1. "), max_size=6) | st.none(), min_size=1, max_size=8))
def test_harmless_texts_are_read_back_and_never_run(texts):
    table = pl.DataFrame({"t": pl.Series(texts, dtype=pl.String)})
    written = escaped(table)
    assert unescaped(written).equals(table)
    for text in written["t"].drop_nulls():
        runs = text.startswith(("=", "+", "-", "@"))
        assert not runs or _is_number(text)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_a_formula_is_written_harmless_and_verified(tmp_path):
    table = pl.DataFrame({"age": [1, 2], "note": ["=HYPERLINK(1)", "-5"], "c": ["@a", "@b"]})
    data = {
        "columns": {"age": {"role": "quasi"}, "note": {"role": "keep"}, "c": {"role": "quasi"}},
        "privacy": {"k": 2},
    }
    recipe = Recipe.from_dict(data)
    original = tmp_path / "original.csv"
    table.write_csv(original)
    path = shoal.anonymize(table, recipe).write(tmp_path / "out.csv")
    text = path.read_text(encoding="utf-8")
    assert "'=HYPERLINK(1)" in text
    assert ",-5," in text
    assert shoal.verify(path, recipe, original=original).holds
    raw = Recipe.from_dict({**data, "output": {"spreadsheet_safe": False}})
    path = shoal.anonymize(table, raw).write(tmp_path / "raw.csv")
    assert ",=HYPERLINK(1)," in path.read_text(encoding="utf-8")
