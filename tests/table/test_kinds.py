"""Kinds found and values brought to one canonical form."""

from datetime import date, datetime

import polars as pl
import pytest

from shoal.errors import DataError
from shoal.recipe import Column
from shoal.table.kinds import settle

ANY = Column(role="quasi")


def settled(values, column=ANY, dtype=None):
    kind, canonical = settle(pl.Series("c", values, dtype=dtype), column)
    return kind, canonical.to_list()


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1", "2", None], "numeric", [1, 2, None]),
        (["1", "1.0", "+1", "1e0"], "numeric", [1, 1, 1, 1]),
        (["-0.0", "0", "0.0"], "numeric", [0, 0, 0]),
        (["1.5", "2", ".5"], "numeric", [1.5, 2.0, 0.5]),
        (["9007199254740993", "1"], "numeric", [9007199254740993, 1]),  # 2^53 + 1 stays whole
        (["01234", "55555"], "categorical", ["01234", "55555"]),  # a leading zero is a code
        (["2026-01-31", "2025-12-01T10:00"], "date", [date(2026, 1, 31), date(2025, 12, 1)]),
        (["a", "1"], "categorical", ["a", "1"]),
        (["nan", "1"], "categorical", ["nan", "1"]),
        (["2024-13-45", "2024-01-01"], "categorical", ["2024-13-45", "2024-01-01"]),  # no such day
        (["\u0663", "\u0664"], "categorical", ["\u0663", "\u0664"]),  # digits of another script
        ([None, None], "categorical", [None, None]),
    ],
)
def test_texts(texts, kind, values):
    assert settled(texts, dtype=pl.String) == (kind, values)


@pytest.mark.parametrize(
    ("values", "kind", "canonical"),
    [
        ([1, 2], "numeric", [1, 2]),
        ([1.0, 2.0, None], "numeric", [1, 2, None]),
        ([1.5, -0.0], "numeric", [1.5, 0.0]),
        ([True, False], "categorical", ["true", "false"]),
        ([date(2026, 1, 1)], "date", [date(2026, 1, 1)]),
        ([datetime(2026, 1, 1, 12)], "date", [date(2026, 1, 1)]),
    ],
)
def test_typed_values(values, kind, canonical):
    assert settled(values) == (kind, canonical)


def test_numbers_can_be_categories():
    assert settled([1.0, 2.0], Column(role="quasi", kind="categorical")) == ("categorical", ["1", "2"])


def test_minus_zero_is_zero():
    _, canonical = settle(pl.Series("c", ["-0.0", "1.5"]), ANY)
    assert str(canonical[0]) == "0.0"


@pytest.mark.parametrize(
    ("values", "kind", "code", "count"),
    [
        (["1", "x", "y"], "numeric", "data.kind", 2),
        (["1", "nan"], "numeric", "data.kind", 1),
        (["1,5", "2"], "numeric", "data.kind", 1),
        (["1", "inf", "-Infinity"], "numeric", "data.infinite", 2),
        (["2026-02-30", "2026-02-01"], "date", "data.kind", 1),
        (["31.01.2026"], "date", "data.kind", 1),
    ],
)
def test_misfits_are_counted(values, kind, code, count):
    with pytest.raises(DataError, match=f"Column `c` (has|holds) {count} ") as caught:
        settle(pl.Series("c", values), Column(role="quasi", kind=kind))
    assert caught.value.code == code


def test_infinite_floats_are_refused():
    with pytest.raises(DataError) as caught:
        settle(pl.Series("c", [1.0, float("inf")]), ANY)
    assert caught.value.code == "data.infinite"


def test_values_outside_the_order_are_counted():
    column = Column(role="quasi", kind="ordinal", order=["low", "high"])
    with pytest.raises(DataError, match="2 cells that its order does not list") as caught:
        settle(pl.Series("c", ["low", "middle", "top"]), column)
    assert caught.value.code == "data.order"


def test_order_is_compared_in_normal_form():
    column = Column(role="quasi", kind="ordinal", order=["cafe\u0301", "x"])  # decomposed
    assert settled(["caf\u00e9"], column) == ("ordinal", ["caf\u00e9"])
