"""Distributions before and after: what they count, and what they must not tell."""

import datetime
import math
import re
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.distribution import MISSING, OTHER
from shoal.report.scale import ALL, MOST_CELLS, SMALLEST
from tests.report.cases import column_of, profiled, recipe_of

EPOCH = datetime.date(1970, 1, 1)
ORDER = [f"grade {at}" for at in range(1, 31)]
TREE = {"any": {"a": {"a1": {}, "a2": {}, "a3": {}}, "b": {"b1": {}, "b2": {}}, "c": {}, "d": {}}}
LEAVES = ["a1", "a2", "a3", "b1", "b2", "c", "d"]
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
DAY = re.compile(r"\d{4}-\d\d-\d\d")

# Each kind: its values, what the recipe says about it, and the type of the column.
KINDS = {
    "whole": (st.integers(-50, 50) | st.integers(-(10**7), 10**7), {"kind": "numeric"}, pl.Int64),
    "few": (st.integers(0, 3), {"kind": "numeric"}, pl.Int64),
    "fraction": (
        st.floats(-1e3, 1e3) | st.floats(allow_nan=False, allow_infinity=False) | st.just(0.5),
        {"kind": "numeric"},
        pl.Float64,
    ),
    "tenth": (st.sampled_from([at / 10 for at in range(17)]), {"kind": "numeric"}, pl.Float64),
    "date": (
        st.dates() | st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 3, 1)),
        {"kind": "date"},
        pl.Date,
    ),
    "ordinal": (st.sampled_from(ORDER), {"kind": "ordinal", "order": ORDER}, pl.String),
    "flat": (st.text("abcxyz*[]{},\\ ", max_size=3), {"kind": "categorical"}, pl.String),
    "tree": (st.sampled_from(LEAVES), {"kind": "categorical", "hierarchy": TREE}, pl.String),
    "prefix": (st.from_regex(r"[0-9]{3}", fullmatch=True), {"hierarchy": {"prefix": 1}}, pl.String),
    "intervals": (st.integers(0, 200), {"hierarchy": {"intervals": [5, 10, 50]}}, pl.Int64),
    "months": (st.dates(), {"kind": "date", "hierarchy": {"dates": ["month", "year"]}}, pl.Date),
}


@st.composite
def columns(draw, *kinds):
    """A column of a few different values, some rare and some not, missing ones among them."""
    name = draw(st.sampled_from(kinds or list(KINDS)))
    values, spec, dtype = KINDS[name]
    counts = st.sampled_from([1, 2, 5, 9, 10, 11, 30])
    cells = []
    for value in draw(st.lists(st.none() | values, min_size=1, max_size=12, unique=True)):
        cells += [value] * draw(counts)
    size = draw(st.sampled_from([2, 5, 10]))
    return name, cells, dtype, spec, size


def whole_or_not(values):
    return all(float(value).is_integer() for value in values)


def is_in(label, value, present):
    """Tell from its label alone whether a cell holds a value of a numeric or date column."""
    if label == ALL:
        return True
    if value is None:
        return label == MISSING or label.endswith(", or missing")
    label = label.removesuffix(", or missing")
    if isinstance(value, datetime.date):
        return is_in_dates(label, value, present)
    numbers = [float(found.replace(",", "")) for found in NUMBER.findall(label)]
    if label.startswith("below "):
        return value < numbers[0]
    if label.startswith("above "):
        return value > numbers[0]
    if label.endswith(" and more"):
        return value >= numbers[0]
    if label == MISSING:
        return False
    low, high = numbers[0], numbers[-1]
    return low <= value <= high if whole_or_not(present) else low <= value < high


def is_in_dates(label, value, present):
    text = value.isoformat()
    parts = re.findall(r"\d{4}(?:-\d\d){0,2}", label)
    if label in ("earlier days", "later days"):
        return (value == min(present)) == (label == "earlier days") if len(set(present)) == 2 else None
    if label == MISSING:
        return False
    cut = text[: len(parts[0])]
    if label.startswith("before "):
        return cut < parts[0]
    if label.startswith("after "):
        return cut > parts[0]
    if label.endswith(" and later"):
        return cut >= parts[0]
    return parts[0] <= cut <= parts[-1]


@given(columns())
def test_every_cell_has_ten_rows_and_nothing_is_left_to_compute(case):
    _, values, dtype, spec, size = case
    cells = column_of(values, dtype, size=size, **spec).cells
    assert all(cell.before >= SMALLEST for cell in cells)
    assert sum(cell.before for cell in cells) == (len(values) if len(values) >= SMALLEST else 0)
    assert len(cells) <= MOST_CELLS + 1


@given(columns())
def test_published_rows_are_spread_but_none_is_lost(case):
    _, values, dtype, spec, size = case
    cells = column_of(values, dtype, size=size, **spec).cells
    released = len(values) if len(values) >= SMALLEST else 0
    assert math.isclose(sum(cell.after for cell in cells), released, rel_tol=1e-9)
    assert all(cell.after >= -1e-9 for cell in cells)


@given(columns("whole", "few", "fraction", "tenth", "date", "intervals", "months"))
def test_no_label_tells_the_lowest_or_highest_value(case):
    _, values, dtype, spec, size = case
    present = [value for value in values if value is not None]
    labels = [cell.label for cell in column_of(values, dtype, size=size, **spec).cells]
    if not present:
        return
    ends = {min(present), max(present)}
    if dtype == pl.Date:
        shown = {datetime.date.fromisoformat(text) for label in labels for text in DAY.findall(label)}
    else:
        shown = {float(text.replace(",", "")) for label in labels for text in NUMBER.findall(label)}
    assert not shown & ends


@given(columns("whole", "few", "tenth", "date", "intervals", "months"))
def test_labels_say_what_is_counted(case):
    _, values, dtype, spec, size = case
    present = [value for value in values if value is not None]
    cells = column_of(values, dtype, size=size, **spec).cells
    if cells and cells[-1].label == MISSING:
        assert cells[-1].before == len(values) - len(present)
        cells, values = cells[:-1], present
    for cell in cells:
        inside = [is_in(cell.label, value, present) for value in values]
        if None not in inside:
            assert cell.before == sum(inside), cell.label


@given(columns())
def test_values_published_as_they_are_change_nothing(case):
    _, values, dtype, spec, _ = case
    codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
    labels = [codes[value] for value in values]
    for cell in column_of(values, dtype, labels=labels, **spec).cells:
        assert math.isclose(cell.after, cell.before, abs_tol=1e-6)


@given(columns("whole", "few"))
def test_ranges_are_shared_out_over_the_numbers_that_they_cover(case):
    _, values, dtype, spec, _ = case
    values = [value % 97 for value in values if value is not None]
    if len(values) < SMALLEST:
        return
    labels = [at % 3 for at in range(len(values))]
    expected = Counter()
    cells = column_of(values, dtype, labels=labels, **spec).cells
    for number in set(labels):
        members = [value for value, label in zip(values, labels, strict=True) if label == number]
        covered = range(min(members), max(members) + 1)
        for cell in cells:
            share = sum(is_in(cell.label, value, values) for value in covered) / len(covered)
            expected[cell.label] += len(members) * share
    for cell in cells:
        assert math.isclose(cell.after, expected[cell.label], abs_tol=1e-6)


def test_a_node_is_shared_out_over_the_leaves_that_occur():
    # a3 does not occur: the class published as `a` counts half for a1 and half for a2, though all
    # but one of its rows are a1; `*` counts a quarter for each of the four leaves that occur.
    values = ["a1"] * 11 + ["a2"] + ["a2"] * 20 + ["c"] * 19 + ["d"] + ["d"] * 12
    labels = [0] * 12 + [1] * 20 + [2] * 20 + [3] * 12
    cells = column_of(values, labels=labels, kind="categorical", hierarchy=TREE).cells
    assert [(cell.label, cell.before, cell.after) for cell in cells] == [
        ("a1", 11, 6 + 5),
        ("a2", 21, 6 + 20 + 5),
        ("c", 19, 5),
        ("d", 13, 5 + 12),
    ]


def test_everything_lost_is_shared_out_over_all_values_and_missing():
    # The class of twelve is published `*`: three rows for each of 1, 2, 3 and missing.
    values = [1] * 10 + [2] * 10 + [3] * 10 + [None] * 10 + [1] * 8 + [None] * 4
    labels = [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10 + [4] * 12
    cells = column_of(values, pl.Int64, labels=labels).cells
    assert [(cell.label, cell.before, round(cell.after, 9)) for cell in cells] == [
        ("below 2", 18, 13),
        ("2", 10, 13),
        ("above 2", 10, 13),
        (MISSING, 14, 13),
    ]


def test_a_set_is_shared_out_over_its_members():
    values = ["x"] * 20 + ["y"] * 10 + ["z"] * 15
    cells = column_of(values, labels=[0] * 30 + [1] * 15, kind="categorical").cells
    assert [(cell.label, cell.before, cell.after) for cell in cells] == [
        ("x", 20, 15),
        ("z", 15, 15),
        ("y", 10, 15),
    ]


def test_one_rare_value_takes_the_smallest_shown_one_with_it():
    # Shown alone, x, y and the total would give the nine rows of z.
    values = ["x"] * 30 + ["y"] * 10 + ["z"] * 9
    cells = column_of(values, kind="categorical").cells
    assert [(cell.label, cell.before) for cell in cells] == [("x", 30), (OTHER, 19)]


def test_a_few_missing_values_do_not_stand_alone():
    values = [*range(20), *[None] * 9]
    last = column_of(values, pl.Int64).cells[-1]
    assert last.label.endswith("or missing")
    assert last.before >= SMALLEST + 9


def test_many_missing_values_have_their_own_cell():
    values = [*range(20), *[None] * 10]
    cells = column_of(values, pl.Int64).cells
    assert (cells[-1].label, cells[-1].before) == (MISSING, 10)


def test_suppressed_rows_are_in_no_cell():
    values = ["x"] * 30 + ["y"] * 13
    column = column_of(values, labels=[0] * 30 + [1] * 10 + [-1] * 3, kind="categorical")
    assert [(cell.label, cell.before, cell.after) for cell in column.cells] == [("x", 30, 30), ("y", 10, 10)]
    assert column.share_lost == pytest.approx(3 / 43)


def test_many_postcodes_are_shown_by_their_first_digits():
    values = [f"{at:03}" for at in range(500)] * 2
    labels = {cell.label for cell in column_of(values, hierarchy={"prefix": 1}).cells}
    assert labels == {"0**", "1**", "2**", "3**", "4**"}


def test_ordered_texts_are_merged_with_their_neighbours():
    values = ["grade 1"] * 3 + ["grade 2"] * 8 + ["grade 3"] * 10 + ["grade 4"] * 2 + ["grade 5"] * 15
    cells = column_of(values, kind="ordinal", order=ORDER[:6]).cells
    assert [(cell.label, cell.before) for cell in cells] == [
        ("below grade 3", 11),
        ("grade 3", 10),
        ("above grade 3", 17),
    ]


def test_an_ordered_text_that_few_rows_have_is_not_named():
    # grade:    1    2    3    4    5    6    7
    counts = [3, 8, 6, 5, 12, 7, 8]
    values = [f"grade {at}" for at, count in enumerate(counts, 1) for _ in range(count)]
    cells = column_of(values, kind="ordinal", order=ORDER[:7]).cells
    assert [(cell.label, cell.before) for cell in cells] == [
        ("up to no. 2", 11),
        ("no. 3 to no. 4", 11),
        ("grade 5", 12),
        ("above grade 5", 15),
    ]


def test_a_table_of_nine_rows_shows_nothing():
    assert column_of(list(range(9)), pl.Int64, size=9).cells == ()


@pytest.mark.parametrize(
    ("values", "dtype", "spec", "label"),
    [
        ([7] * 12, pl.Int64, {}, ALL),
        ([None] * 12, pl.Int64, {"kind": "numeric"}, MISSING),
        ([None] * 12, pl.String, {"kind": "categorical"}, MISSING),
        ([datetime.date(2020, 2, 29)] * 12, pl.Date, {}, ALL),
        (list(range(12)), pl.Int64, {}, ALL),
        ([f"only {at}" for at in range(12)], pl.String, {}, ALL),
    ],
    ids=["constant", "missing-numbers", "missing-texts", "one-day", "twelve", "unique"],
)
def test_poor_columns_have_one_cell_without_a_value(values, dtype, spec, label):
    column = column_of(values, dtype, size=12, **spec)
    assert [(cell.label, cell.before, cell.after) for cell in column.cells] == [(label, 12, 12)]


def test_bounds_in_two_columns_are_read():
    table = pl.DataFrame({"q": [*range(0, 30), *range(70, 100)]})
    recipe = recipe_of(q={"kind": "numeric"})
    as_text = profiled(table, recipe, [0] * 30 + [1] * 30)
    in_two = recipe.model_copy(update={"output": recipe.output.model_copy(update={"bounds_as": "columns"})})
    found = profiled(table, in_two, [0] * 30 + [1] * 30)
    pairs = [[(cell.label, cell.after) for cell in each.columns[0].cells] for each in (as_text, found)]
    assert pairs[0] == pairs[1]
    assert len(pairs[0]) > 5


def test_sensitive_columns_and_class_sizes_are_counted():
    table = pl.DataFrame(
        {
            "q": [1] * 4 + [2] * 4 + [3] * 12,
            "ill": ["flu", "flu", None, "flu"] + ["flu"] * 4 + [None] * 12,
            "gap": [None] * 9 + ["x"] * 11,
        }
    )
    found = profiled(table, recipe_of(sensitive=["ill", "gap"], q={}), [0] * 4 + [1] * 4 + [2] * 12)
    told = [(each.name, each.distinct, each.missing, each.alike) for each in found.sensitive]
    assert told == [("ill", 1, 13, 2), ("gap", 1, None, 2)]
    assert found.class_sizes == ((4, 2), (12, 1))


def test_typical_values_count_where_they_lie():
    # One class of 0 to 29 is published as its mean, 14 or 15: all its rows lie in one cell.
    table = pl.DataFrame({"q": [*range(30), *[40] * 12], "place": ["x"] * 20 + ["y"] * 22})
    recipe = recipe_of(q={"kind": "numeric"}, place={"kind": "categorical"})
    output = recipe.output.model_copy(update={"values": "microaggregate"})
    recipe = recipe.model_copy(update={"output": output})
    number, place = profiled(table, recipe, [0] * 30 + [1] * 12, costs=False).columns
    assert sorted(cell.after for cell in number.cells)[-2:] == [12, 30]
    assert [(cell.label, cell.before, cell.after) for cell in place.cells] == [("y", 22, 12), ("x", 20, 30)]
    assert number.share_lost is None


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["10"] * 30 + ["9"] * 12 + ["2"] * 20, ["2", "9", "10"]),
        (["1952/10"] * 30 + ["1952/9"] * 12 + ["1951/12"] * 20, ["1951/12", "1952/9", "1952/10"]),
        (["10.1951"] * 12 + ["09.1952"] * 30, ["10.1951", "09.1952"]),
        (["90+"] * 30 + ["90"] * 10 + ["<5"] * 12 + ["5"] * 20, ["<5", "5", "90", "90+"]),
        (["b1"] * 10 + ["a2"] * 30, ["a2", "b1"]),  # no number: most frequent first
    ],
    ids=["codes", "months", "months first", "top-coded", "texts"],
)
def test_categories_that_are_numbers_or_months_are_shown_in_order(values, labels):
    found = column_of([*values, *[None] * 10], kind="categorical")
    assert [cell.label for cell in found.cells] == [*labels, "(missing)"]
    assert [cell.before for cell in found.cells] == [*(values.count(label) for label in labels), 10]
