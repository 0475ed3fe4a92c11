"""Kinds found and values brought to one canonical form."""

from datetime import date, datetime

import polars as pl
import pytest

from shoal.errors import DataError
from shoal.recipe import Column
from shoal.table.kinds import TextCounts, kind_of_texts, settle

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
        (["1952/09", "1952-09", "09.1952", "09/1952", None], "date", ["1952-09"] * 4 + [None]),
        (["09.1952", "10.1952", "12.1952"], "date", ["1952-09", "1952-10", "1952-12"]),
        (["10.1952", "12.1952"], "numeric", [10.1952, 12.1952]),  # nothing says that these are months
        (["1952", "1953"], "numeric", [1952, 1953]),  # years are published sensibly as numbers
        (["1952/13", "1952/09"], "categorical", ["1952/13", "1952/09"]),  # no such month
        (["0000-01", "1952-09"], "categorical", ["0000-01", "1952-09"]),  # no such year
        (["1952-9", "1952-10"], "categorical", ["1952-9", "1952-10"]),
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
    with pytest.raises(DataError, match=f"Column `c` (has|contains) {count} ") as caught:
        settle(pl.Series("c", values), Column(role="quasi", kind=kind))
    assert caught.value.code == code


def test_infinite_floats_are_refused():
    with pytest.raises(DataError) as caught:
        settle(pl.Series("c", [1.0, float("inf")]), ANY)
    assert caught.value.code == "data.infinite"


def test_values_outside_the_order_are_counted():
    column = Column(role="quasi", kind="ordinal", order=["low", "high"])
    with pytest.raises(DataError, match="2 cells whose values its order does not list") as caught:
        settle(pl.Series("c", ["low", "middle", "top"]), column)
    assert caught.value.code == "data.order"


def test_order_is_compared_in_normal_form():
    column = Column(role="quasi", kind="ordinal", order=["cafe\u0301", "x"])  # decomposed
    assert settled(["caf\u00e9"], column) == ("ordinal", ["caf\u00e9"])


AGES = [str(age) for age in range(20, 60)]
DAYS = [f"2024-03-{day:02}" for day in range(1, 31)]


@pytest.mark.parametrize(
    ("texts", "count", "of"),
    [
        ([*AGES, "x"], 1, 41),
        ([*AGES, None, "x", "n/a", "-"], 3, 43),
        ([*AGES[:36], "a", "b", "c", "d"], 4, 40),  # a tenth is still few
        ([*AGES[:5], "x"], 1, 6),  # one cell is, in a short column
        ([*AGES, "inf"], 1, 41),
        ([*DAYS, "2024-02-30"], 1, 31),  # no such day
        ([*DAYS, "31.03.2024"], 1, 31),
    ],
)
def test_a_few_cells_that_do_not_parse_are_counted_and_not_guessed_about(texts, count, of):
    with pytest.raises(DataError) as caught:
        settle(pl.Series("c", texts), ANY)
    assert caught.value.code == "data.kind"
    assert f"Column `c`: {count} of {of} cells are not " in caught.value.message
    assert all(word in caught.value.hint for word in ("missing", 'kind = "categorical"'))


@pytest.mark.parametrize(
    "texts",
    [
        [*AGES[:35], "a", "b", "c", "d", "e"],  # more than a tenth
        [*AGES[:4], "x"],  # too few numbers to speak of
        [*(f"{code:05}" for code in range(1000, 1040)), "x"],  # codes with leading zeros
        [*AGES, "07", "x"],
        ["A1", "B2", "C3", "A1", "B2", "C3", "7"],
        [*AGES[:10], *DAYS[:10]],
    ],
)
def test_texts_of_which_many_do_not_parse_are_categories(texts):
    assert settled(texts) == ("categorical", texts)


DATES = Column(role="quasi", kind="date")


@pytest.mark.parametrize(
    ("values", "canonical"),
    [
        (["1952", "0999", None], ["1952", "0999", None]),
        (["10.1952", "12/1952"], ["1952-10", "1952-12"]),
        ([1952, 999, None], ["1952", "0999", None]),
        ([1952.0, None], ["1952", None]),  # as pandas stores years beside a missing one
    ],
)
def test_years_and_months_are_dates_where_the_recipe_says_so(values, canonical):
    assert settled(values, DATES) == ("date", canonical)


@pytest.mark.parametrize("values", [["1952", "52"], ["0000"], [1952, 0], [1952, 10000], [1952.5], [True]])
def test_other_numbers_are_no_years(values):
    with pytest.raises(DataError, match="has 1 cells that are not date values") as caught:
        settle(pl.Series("c", values), DATES)
    assert caught.value.code == "data.kind"


@pytest.mark.parametrize(
    ("texts", "column", "counts"),
    [
        ([*DAYS, "1952-09", "1952/10"], ANY, "30 cells are days, 2 cells are months"),
        (["1952-09", "1952-09-13"], ANY, "1 cells are days, 1 cells are months"),
        (["1952-09", "1952"], DATES, "1 cells are months, 1 cells are years"),
        ([*DAYS, "1952-09", "1952"], DATES, "30 cells are days, 1 cells are months, 1 cells are years"),
    ],
)
def test_dates_of_different_precision_are_one_clear_error(texts, column, counts):
    with pytest.raises(DataError, match=f"dates of different precision: {counts}") as caught:
        settle(pl.Series("c", texts), column)
    assert caught.value.code == "data.kind"
    assert "same precision" in caught.value.hint


def test_counts_alone_show_different_precisions():
    with pytest.raises(DataError, match="2 cells are days, 3 cells are months"):
        kind_of_texts("c", TextCounts(cells=5, days=2, months=3))


def test_a_kind_that_is_given_is_not_second_guessed():
    texts = [*AGES, "x"]
    assert settled(texts, Column(role="quasi", kind="categorical")) == ("categorical", texts)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC"])
def test_a_time_with_a_zone_counts_on_the_day_of_its_own_zone(zone):
    walls = [datetime(2024, 3, 1, 0, 30), datetime(2024, 3, 1, 23, 30), None]
    kind, canonical = settle(pl.Series("c", walls).dt.replace_time_zone(zone), ANY)
    assert (kind, canonical.to_list()) == ("date", [date(2024, 3, 1), date(2024, 3, 1), None])


@pytest.mark.parametrize("offset", ["+02:00", "-0500", "+05", "Z", " +02:00"])
def test_a_text_with_an_offset_counts_on_the_day_as_written(offset):
    texts = [f"2024-03-01T00:30:00{offset}", f"2024-03-01 23:30{offset}"]
    assert settled(texts) == ("date", [date(2024, 3, 1), date(2024, 3, 1)])


def test_an_offset_without_a_time_is_no_date():
    assert settled(["2024-03-01+02:00"])[0] == "categorical"


@pytest.mark.parametrize(
    ("values", "count"),
    [
        (pl.Series("c", [2**63, 2**63 + 1, 2**63 + 1, 5], dtype=pl.UInt64), 3),
        (pl.Series("c", [str(2**63), str(2**63 + 1), "5", "7"]), 2),
        (pl.Series("c", [str(2**53), str(2**53 + 1), "1.5"]), 2),  # a fraction makes all of them floats
        (pl.Series("c", [f"-{10**25}", f"-{10**25 + 1}", "5"]), 2),
        (pl.Series("c", [10**25, 10**25 + 1, 5], dtype=pl.Decimal(38, 0)), 2),
    ],
)
def test_whole_numbers_that_a_float_cannot_tell_apart_are_refused(values, count):
    with pytest.raises(DataError) as caught:
        settle(values, ANY)
    assert caught.value.code == "data.kind"
    assert f"Column `c` has {count} cells" in caught.value.message


@pytest.mark.parametrize(
    ("values", "canonical"),
    [
        (pl.Series("c", [2**63 - 1, 2**63 - 2], dtype=pl.UInt64), [2**63 - 1, 2**63 - 2]),
        (pl.Series("c", [2**60, 2**60 + 1], dtype=pl.Decimal(20, 0)), [2**60, 2**60 + 1]),
        (pl.Series("c", [2**64, 2**65, None], dtype=pl.Decimal(38, 0)), [2.0**64, 2.0**65, None]),
        (pl.Series("c", ["1e30", "2e30"]), [1e30, 2e30]),
        (pl.Series("c", ["10000000000000000000000000", "1" + "0" * 25]), [1e25, 1e25]),
    ],
)
def test_whole_numbers_that_stay_apart_are_numbers(values, canonical):
    assert settle(values, ANY)[1].to_list() == canonical


def test_large_whole_numbers_are_exact_as_categories():
    column = Column(role="quasi", kind="categorical")
    values = pl.Series("c", [2**63, 2**63 + 1], dtype=pl.UInt64)
    assert settle(values, column)[1].to_list() == ["9223372036854775808", "9223372036854775809"]
