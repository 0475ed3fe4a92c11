"""Texts as numbers on a column's axis: numbers, positions in an order, days, months or years."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date
from math import ceil, floor, inf, isinf

from shoal.hierarchy import periods
from shoal.hierarchy.periods import Unit
from shoal.measure.foreign import PERIOD, Interval

Number = int | float
NumberOf = Callable[[str], Number | None]
Ends = tuple[Number | None, Number | None]  # None where it extends to the end of the raw table

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?")
_MONTH = re.compile(r"(?P<y>[0-9]{4})[-/](?P<m>[0-9]{2})|(?P<month>[0-9]{2})[./](?P<year>[0-9]{4})")
_YEAR = re.compile(r"[0-9]{4}")
_EPOCH = date(1970, 1, 1)
_EXACT_IN_FLOAT = 2**53


def number_of(kind: str, order: tuple[str, ...] = (), unit: Unit = "day") -> NumberOf:
    """Return the function that turns a text of this kind of column into a number, or None."""
    places = {text: place for place, text in enumerate(order)}
    by_unit: dict[Unit, NumberOf] = {"day": _day, "month": _month, "year": _year}
    by_kind: dict[str, NumberOf] = {"numeric": _number, "date": by_unit[unit], "ordinal": places.get}
    return by_kind[kind]


def _number(text: str) -> Number | None:
    if _WHOLE.fullmatch(text):
        return int(text)
    number = float(text) if _DECIMAL.fullmatch(text) else inf
    if isinf(number):
        return None
    return int(number) if number.is_integer() and abs(number) < _EXACT_IN_FLOAT else number


def _day(text: str) -> int | None:
    found = _DAY.fullmatch(text)
    try:
        return (date.fromisoformat(found[1]) - _EPOCH).days if found else None
    except ValueError:
        return None


def _month(text: str) -> int | None:
    found = _MONTH.fullmatch(text)
    iso = f"{found['y'] or found['year']}-{found['m'] or found['month']}" if found else ""
    return periods.number_of(iso, "month")


def _year(text: str) -> int | None:
    return periods.number_of(text, "year")


def ends_of(found: Interval, number: NumberOf, *, whole: bool) -> Ends | None:
    """Return the least and the greatest number of an interval; None if an end cannot be read.

    For whole numbers both ends are inside: `[15, 55[` runs from 15 to 54. Otherwise there is no last number
    before 55, and the end itself is used.
    """
    low, high = (None if end is None else number(end) for end in (found.low, found.high))
    if (low is None) != (found.low is None) or (high is None) != (found.high is None):
        return None
    if whole and low is not None:
        low = ceil(low) if found.has_low else floor(low) + 1
    if whole and high is not None:
        high = floor(high) if found.has_high else ceil(high) - 1
    return low, high


def calendar_period(text: str, unit: Unit) -> Interval | None:
    """Read a month or a year as an interval of days, or a year as an interval of months.

    >>> calendar_period("02/2024", "day")
    Interval(style='calendar period', low='2024-02-01', high='2024-02-29', has_low=True, has_high=True)
    """
    if unit != "day":
        is_year = unit == "month" and _YEAR.fullmatch(text)
        return Interval(PERIOD, f"{text}-01", f"{text}-12") if is_year else None
    month = _MONTH.fullmatch(text)
    if month:
        year, number = int(month["y"] or month["year"]), int(month["m"] or month["month"])
        if year == 0 or not 1 <= number <= 12:
            return None
        last = monthrange(year, number)[1]
        return Interval(PERIOD, f"{year:04}-{number:02}-01", f"{year:04}-{number:02}-{last}")
    return Interval(PERIOD, f"{text}-01-01", f"{text}-12-31") if _YEAR.fullmatch(text) else None


def in_unit(found: Interval, unit: Unit) -> Interval | None:
    """Turn an interval of years that excludes its last one into one of days or months; None for any other."""
    if not (found.has_low and found.low and found.high) or found.has_high:
        return None
    if not (_YEAR.fullmatch(found.low) and _YEAR.fullmatch(found.high)):
        return None
    first = {"day": "-01-01", "month": "-01", "year": ""}[unit]
    return Interval(PERIOD, f"{found.low}{first}", f"{found.high}{first}", has_high=False)
