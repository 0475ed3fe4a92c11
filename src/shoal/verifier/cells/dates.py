"""Dates of one precision, days, months or years, read independently from the contract.

Days are numbered as Python does, months and years from the year 0.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date
from typing import Literal

Precision = Literal["day", "month", "year"]
PRECISIONS: tuple[Precision, ...] = ("day", "month", "year")

# A time with an offset from UTC counts on the day that is written.
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?", re.ASCII)
_MONTH = re.compile(r"(?P<y>\d{4})[-/](?P<m>\d\d)|(?P<m2>\d\d)[./](?P<y2>\d{4})", re.ASCII)
_YEAR = re.compile(r"(\d{1,4})(\.0*)?", re.ASCII)  # also a number that is stored as one
_ISO = {
    "day": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "month": re.compile(r"\d{4}-\d\d", re.ASCII),
    "year": re.compile(r"\d{4}", re.ASCII),
}


def raw_number(text: str, precision: Precision) -> int | None:
    """Read a raw cell: a date with or without a time of day, a month in one of four forms, or a year.

    Examples
    --------
    >>> [raw_number(text, "month") for text in ("1952-09", "1952/09", "09.1952", "09/1952", "1952-13")]
    [23432, 23432, 23432, 23432, None]
    """
    if precision == "day":
        found = _DAY.fullmatch(text)
        try:
            return date.fromisoformat(found[1]).toordinal() if found else None
        except ValueError:
            return None
    if precision == "year":
        found = _YEAR.fullmatch(text)
        return int(found[1]) or None if found else None
    found = _MONTH.fullmatch(text)
    if found is None:
        return None
    year, month = int(found["y"] or found["y2"]), int(found["m"] or found["m2"])
    return year * 12 + month - 1 if year and 1 <= month <= 12 else None


def published_number(text: str, precision: Precision) -> int | None:
    """Read an end of a published range, which is in ISO form."""
    return raw_number(text, precision) if _ISO[precision].fullmatch(text) else None


def precision_of(texts: Collection[str]) -> Precision:
    """Return the precision that most raw cells have."""
    counts = {each: sum(raw_number(text, each) is not None for text in texts) for each in PRECISIONS}
    return max(PRECISIONS, key=lambda each: counts[each])


def iso(number: int, precision: Precision) -> str:
    """Return the ISO text of a number."""
    if precision == "day":
        return date.fromordinal(number).isoformat()
    return f"{number:04}" if precision == "year" else f"{number // 12:04}-{number % 12 + 1:02}"


def period_of(day: date, precision: Precision) -> int:
    """Return the number of the day, month or year that a day is in."""
    numbers = {"day": day.toordinal(), "month": day.year * 12 + day.month - 1, "year": day.year}
    return numbers[precision]


def first_day(text: str) -> date:
    """Return the first day of a day, month or year in ISO form."""
    return date.fromisoformat(text + "-01" * ((10 - len(text)) // 3))
