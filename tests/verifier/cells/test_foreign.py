"""The verifier's own reading of labels by other tools."""

from datetime import date
from decimal import Decimal

import pytest

from shoal.verifier.cells.foreign import Interval, Lost, Members, Prefix, read_foreign


@pytest.mark.parametrize(
    ("label", "style", "low", "high", "ends"),
    [
        ("[15, 55[", "half-open interval", 15, 55, "[)"),
        ("]15, 55]", "half-open interval", 15, 55, "(]"),
        ("[15,55)", "half-open interval", 15, 55, "[)"),
        ("(15,55]", "half-open interval", 15, 55, "(]"),
        ("(-5,1e+03]", "half-open interval", -5, 1000, "(]"),
        ("]15, 55[", "open interval", 15, 55, "()"),
        ("(15, 55)", "open interval", 15, 55, "()"),
        ("[15,55]", "closed interval", 15, 55, "[]"),
        ("[15,15]", "closed interval", 15, 15, "[]"),
        ("15-55", "dash range", 15, 55, "[]"),
        ("-15 - -5", "dash range", -15, -5, "[]"),
        (">=90", "threshold", 90, None, "[]"),
        (">90", "threshold", 90, None, "(]"),
        ("<18", "threshold", None, 18, "[)"),
        ("<=17", "threshold", None, 17, "[]"),
        ("148**", "masked ending", 14800, 14899, "[]"),
    ],
)
def test_intervals_of_numbers(label, style, low, high, ends):
    expected = [None if end is None else Decimal(end) for end in (low, high)]
    assert read_foreign(label, "numeric") == Interval(style, *expected, ends[0] == "[", ends[1] == "]")


@pytest.mark.parametrize(
    ("label", "style", "low", "high", "has_high"),
    [
        ("[2020-01-01, 2020-07-01[", "half-open interval", date(2020, 1, 1), date(2020, 7, 1), False),
        ("2020", "calendar period", date(2020, 1, 1), date(2020, 12, 31), True),
        ("2020-02", "calendar period", date(2020, 2, 1), date(2020, 2, 29), True),
        ("02/2021", "calendar period", date(2021, 2, 1), date(2021, 2, 28), True),
        ("[1960, 1970[", "calendar period", date(1960, 1, 1), date(1970, 1, 1), False),
        ("<2020-01-01", "threshold", None, date(2020, 1, 1), False),
    ],
)
def test_intervals_of_dates(label, style, low, high, has_high):
    assert read_foreign(label, "date") == Interval(style, low, high, True, has_high)


def test_labels_without_ends():
    assert read_foreign("NA", "numeric") == read_foreign("*****", "text") == Lost("suppressed cell")
    assert read_foreign("148**", "text") == Prefix("masked ending", "148", 5)
    assert read_foreign("{17, 15}", "numeric") == Members("set of values", (Decimal(15), Decimal(17)))


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("numeric", ["", "*", "x", "[55, 15[", "[5, 5[", "]5, 5]", "55-15", "{1, x}", ">=x", "14x*"]),
        ("date", ["2020-13", "13/2020", "0000", "2020-02-30", "[1970, 1960[", "15-55", "<2020-02-30"]),
        ("text", ["", "*", "[15, 55[", "15-55", ">=90", "{a, b}", "14*8"]),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_not_read(kind, labels):
    assert [label for label in labels if read_foreign(label, kind) is not None] == []
