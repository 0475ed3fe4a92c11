"""Days, months and years as ISO texts, and as whole numbers on a line.

A date column has one precision. Its values are counted in that unit: days from 1970-01-01, months and years
from the year 0, so that a grid of 12 months begins in January and one of 10 years with a decade.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

Unit = Literal["day", "month", "year"]

_EPOCH = date(1970, 1, 1).toordinal()
_FORMS: dict[Unit, re.Pattern[str]] = {
    "day": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "month": re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])"),
    "year": re.compile(r"[0-9]{4}"),
}
_UNITS: dict[int, Unit] = {4: "year", 7: "month"}
# The first and the last that the calendar has.
_ENDS: dict[Unit, tuple[int, int]] = {
    "day": (date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH),
    "month": (12, 9999 * 12 + 11),
    "year": (1, 9999),
}


def unit_of(text: str) -> Unit:
    """Return the precision of an ISO text.

    >>> [unit_of(text) for text in ("1952", "1952-09", "1952-09-13")]
    ['year', 'month', 'day']
    """
    return _UNITS.get(len(text), "day")


def number_of(text: str, unit: Unit) -> int | None:
    """Return the number of a day, month or year; None for a text that is not one.

    >>> number_of("1970-01-02", "day"), number_of("1952-09", "month"), number_of("1952", "year")
    (1, 23432, 1952)
    """
    if not _FORMS[unit].fullmatch(text):
        return None
    if unit == "day":
        try:
            return date.fromisoformat(text).toordinal() - _EPOCH
        except ValueError:
            return None
    year = int(text[:4])
    number = year if unit == "year" else year * 12 + int(text[5:]) - 1
    return number if year else None


def text_of(number: int, unit: Unit) -> str:
    """Return a day, month or year as ISO text; one before or after the calendar as its first or last.

    >>> text_of(23432, "month"), text_of(12345, "year")
    ('1952-09', '9999')
    """
    first, last = _ENDS[unit]
    inside = min(max(number, first), last)
    if unit == "day":
        return date.fromordinal(inside + _EPOCH).isoformat()
    return f"{inside:04}" if unit == "year" else f"{inside // 12:04}-{inside % 12 + 1:02}"
