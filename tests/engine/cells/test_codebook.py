"""A table encoded part by part is the same as one encoded at once."""

from datetime import date, datetime
from functools import reduce

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.table.columns import Line, RangeColumn, are_whole, most_decimals
from shoal.table.encode import encode
from shoal.table.fixed import fixed_columns
from shoal.table.kinds import settle
from shoal.table.read import cleaned
from shoal.table.statistics import Statistics, found_kind, line_of, statistics
from tests.engine.cells.parts import codebook_of, encoded_by, prepared
from tests.profiles import some
from tests.strategies import EVERY_KIND, tables

GOALS = [
    {"type": "l-diversity", "column": "label", "variant": "distinct", "l": 1},
    {"type": "t-closeness", "column": "pay", "t": 1.0, "distance": "ordered"},
    {"type": "l-diversity", "column": ["label", "odd"], "variant": "distinct", "l": 1},
]
ODD = ["a", "a\\", "a\\u", "a\\\\u", "a\x1f", "\x1f", "\\", "1", "1.0", "01", "é", "e\u0301", " a", ""]


@st.composite
def parted(draw, values, n_rows):
    """Where a table is cut into parts, none of which is empty."""
    ends = sorted(draw(st.sets(st.integers(1, max(1, n_rows - 1)), max_size=4)) | {n_rows})
    starts = [0, *ends[:-1]]
    return [values[start:end] for start, end in zip(starts, ends, strict=True) if end > start]


@st.composite
def cases(draw):
    case = draw(tables(kinds=EVERY_KIND))
    n = len(case.table)
    pay = draw(st.lists(st.sampled_from([1.0, 2.0, 2.5, 1e3, None]), min_size=n, max_size=n))
    odd = draw(st.lists(st.sampled_from([*ODD, None]), min_size=n, max_size=n))
    who = draw(st.lists(st.sampled_from(["x", "y", "1", "1.0", "z"]), min_size=n, max_size=n))
    table = case.table.with_columns(
        pay=pl.Series(pay, dtype=pl.Float64),
        odd=pl.Series(odd, dtype=pl.String),
        who=pl.Series(who, dtype=pl.String),
    )
    sections = case.recipe.to_dict()
    sections["columns"] |= {"pay": {"role": "sensitive", "kind": "numeric"}, "odd": {"role": "sensitive"}}
    sections["columns"]["who"] = {"role": draw(st.sampled_from(["subject", "drop"]))}
    sections["privacy"]["goal"] = draw(st.lists(st.sampled_from(GOALS), unique_by=str))
    if draw(st.booleans()):  # kinds are found, wherever the type or the values say them
        for column in sections["columns"].values():
            if column.get("kind") not in ("ordinal", None):
                del column["kind"]
    return table, Recipe.from_dict(sections)


def assert_same(one, other):
    """Two encoded tables agree; the second knows the ends of its ranges by a line."""
    assert one.order.tolist() == other.order.tolist()
    for a, b in zip(one.columns, other.columns, strict=True):
        assert (a.name, a.kind, a.weight, a.missing) == (b.name, b.kind, b.weight, b.missing)
        assert a.codes.tolist() == b.codes.tolist(), a.name
        if isinstance(a, RangeColumn):
            assert (a.points.tolist(), a.texts, a.order) == (b.points.tolist(), b.texts, b.order)
            assert (a.numbers.tolist(), a.numbers.dtype) == (b.numbers.tolist(), b.numbers.dtype)
            assert b.line == Line(
                *(a.ends or (0, 0)), decimals=most_decimals(a.numbers), whole=are_whole(a.numbers)
            )
        else:
            assert (a.has_missing, a.is_flat, a.tree.labels) == (b.has_missing, b.is_flat, b.tree.labels)
            assert a.tree.parent.tolist() == b.tree.parent.tolist()
    for a, b in zip(one.sensitive, other.sensitive, strict=True):
        assert (a.names, a.codes.tolist(), a.n_values) == (b.names, b.codes.tolist(), b.n_values)
    for a, b in ((one.label, other.label), (one.person, other.person)):
        assert (a is None and b is None) or a.tolist() == b.tolist()
    assert one.label_missing == other.label_missing


def check_parts(table, recipe, parts):
    """Encode at once and by parts; both see cleaned texts."""
    at_once = encode(cleaned(table, recipe.input.missing), recipe)
    codebook = codebook_of(parts, recipe)
    assert codebook.rows == len(table)
    assert_same(at_once, encoded_by(parts, codebook))
    fixed = fixed_columns(at_once, np.argsort(at_once.order))
    codes = prepared(parts, codebook).select(f"x{at}" for at in range(len(at_once.columns)))
    assert codes.to_numpy().T.tolist() == np.concatenate([fixed.position, fixed.leaf]).tolist()


@given(st.data())
def test_parts_are_encoded_as_the_whole(data):
    table, recipe = data.draw(cases())
    check_parts(table, recipe, data.draw(parted(table, len(table))))


def recipe_with(column, **privacy):
    return Recipe.from_dict({"columns": {"q": {"role": "quasi", **column}}, "privacy": {"k": 2, **privacy}})


TREE = {"hierarchy": {"all": {"few": ["1", "2"], "many": ["3", "4"]}}}
HALVES = {"hierarchy": {"all": {"few": ["1.0", "1.5"], "many": ["2.0", "4.0"]}}}
COLUMNS = {
    "integers, then fractions": ([1, 2, 1.5, 4], {}),
    "texts of integers, then fractions": (["1", "2", "1.5", "4.0"], {}),
    "texts of whole numbers": (["1", "2.0", "3e0", "+4"], {}),
    "whole floats as categories": ([1.0, 2.0, 3.0, 4.0], {"kind": "categorical"}),
    "whole floats, then fractions as categories": ([1.0, 2.0, 1.5, 4.0], {"kind": "categorical"}),
    "whole floats in a tree": ([1.0, 2.0, 3.0, 4.0], TREE),
    "whole floats, then fractions in a tree": ([1.0, 2.0, 1.5, 4.0], HALVES),
    "whole floats, then fractions in an order": (
        [1.0, 2.0, 1.5, 4.0], {"kind": "ordinal", "order": ["1.0", "1.5", "2.0", "4.0"]},
    ),
    "fractions in intervals": ([1.0, 2.0, 1.5, 4.0], {"hierarchy": {"intervals": [1, 2]}}),
    "large integers": ([2**53 + 1, 2**53, 7, 2**60], {}),
    "floats beyond all integers": ([1e300, 2.0, 1e17, 5.0], {}),
    "zeros": ([0.0, -0.0, 1.0, 0.5], {}),
    "truth values": ([True, False, None, True], {}),
    "days": ([date(2024, 2, 29), None, date(1, 1, 1), date(9999, 12, 31)], {}),
    "times": ([datetime(2024, 2, 29, 23), None, datetime(2024, 3, 1), datetime(2023, 1, 1)], {}),
    "texts of days": (["2024-02-29", "2024-03-01T10:00", None, "2023-01-01"], {}),
    "months": (["1952/09", "10.1952", None, "1951-01"], {}),
    "months, the first part without any": ([None, None, "09/1952", "1951-01"], {}),
    "months in a tree": (["1952/09", "10.1952", None, "1951-01"], {"hierarchy": {"dates": ["year"]}}),
    "texts of years": (["1952", None, "0999", "1951"], {"kind": "date"}),
    "years": ([1952, None, 999, 1951], {"kind": "date"}),
    "years stored as floats, in a tree": ([1952.0, None, 999.0, 7.0], {"hierarchy": {"dates": ["decade"]}}),
    "codes": (["007", "7", "08", "9"], {}),
    "nothing but missing texts": ([None, None, None, ""], {}),
    "spaces and forms": ([" a", "a ", "e\u0301", "é"], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("sizes", some([(1, 1, 2), (2, 2), (4,), (3, 1)], 3), ids=str)
def test_odd_columns_are_encoded_as_the_whole(name, sizes):
    values, spec = COLUMNS[name]
    table = pl.DataFrame({"q": pl.Series(values, strict=False)}).with_columns(pl.col(pl.Null).cast(pl.String))
    ends = np.cumsum(sizes).tolist()
    parts = [table[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    check_parts(table, recipe_with(spec), parts)


def test_a_sensitive_column_of_which_a_goal_needs_no_kind_may_be_anything():
    """Nearly all numbers: as a quasi column it would be refused."""
    table = pl.DataFrame({"q": [1, 2] * 10, "s": [*"1234567890123456789", "inf"]})
    goal = {"type": "l-diversity", "column": "s", "variant": "distinct", "l": 2}
    columns = {"q": {"role": "quasi"}, "s": {"role": "sensitive"}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2, "goal": [goal]}})
    check_parts(table, recipe, [table[:7], table[7:]])


cells = st.one_of(
    st.none(),
    st.sampled_from(["1", "1.0", "-2.5", "007", "inf", "x", "2024-02-29", "2024-02-30", "1e400", "9" * 17]),
)
MONTHS = ["1952/09", "10.1952", "1951-01", "09/1953", None]
SERIES = st.one_of(
    st.lists(cells, min_size=1, max_size=30).map(lambda v: pl.Series("c", v, dtype=pl.String)),
    st.lists(st.sampled_from(MONTHS), min_size=1).map(lambda v: pl.Series("c", v, dtype=pl.String)),
    st.lists(st.sampled_from([*MONTHS, "1952", "1952-09-13"]), min_size=1).map(
        lambda v: pl.Series("c", v, dtype=pl.String)
    ),
    st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=1).map(
        lambda v: pl.Series("c", v, dtype=pl.Int64)
    ),
    st.lists(st.none() | st.sampled_from([0.0, 0.5, 3.0, 1e20, float("inf")]), min_size=1).map(
        lambda v: pl.Series("c", v, dtype=pl.Float64)
    ),
    st.lists(st.none() | st.dates(), min_size=1).map(lambda v: pl.Series("c", v, dtype=pl.Date)),
)


TOO_LARGE = "too large to be distinguished"


def settled_or_refused(settle_it):
    """The kind and the values; or why there is none, and nothing."""
    try:
        return settle_it()
    except DataError as error:
        return TOO_LARGE if TOO_LARGE in str(error) else error.code, None


@given(SERIES, st.data())
def test_statistics_of_parts_add_up_and_kinds_are_those_of_the_whole(values, data):
    found = reduce(Statistics.joined, [statistics(part) for part in data.draw(parted(values, len(values)))])
    column = recipe_with({}).columns["q"]
    whole = statistics(values)

    assert Statistics.from_dict(found.to_dict()) == found
    # Integers beside fractions are described as floats.
    assert (float(found.numbers.low or 0), float(found.numbers.high or 0)) == (
        float(whole.numbers.low or 0), float(whole.numbers.high or 0),
    )  # fmt: skip
    assert {**found.to_dict(), "numbers": None} == {**whole.to_dict(), "numbers": None}
    expected, canonical = settled_or_refused(lambda: settle(values, column))
    kind, _ = settled_or_refused(lambda: (found_kind("c", values.dtype, found, column), None))
    if kind == TOO_LARGE:  # stricter: whether two large integers collapse is not known
        return
    assert kind == expected
    if kind == "numeric":
        line, is_float = line_of(kind, found)
        assert is_float == canonical.dtype.is_float()
        if canonical.drop_nulls().len():
            assert (line.low, line.high) == (canonical.min(), canonical.max())
