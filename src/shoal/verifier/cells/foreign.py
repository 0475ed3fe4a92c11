r"""Labels as other tools write them, parsed for the verifier.

=====================  ==========================================================  =====================
style                  examples                                                    written by
=====================  ==========================================================  =====================
`half-open interval`   ``[15, 55[``, ``]15, 55]``, ``[15, 55)``, ``(15,55]``       ARX, anjana, R's `cut`
`open interval`        ``]15, 55[``, ``(15, 55)``                                  ARX
`closed interval`      ``[15,55]``, our own form without the blank                 R's `cut`
`dash range`           ``15-55``, both ends included                               by hand
`threshold`            ``>=90``, ``>90``, ``<18``, ``<=17``                        ARX
`calendar period`      ``2020``, ``2020-03``, ``03/2020``, ``[1960, 1970[``        ARX
`set of values`        ``{15, 17}`` in a column of numbers or dates                ARX
`masked ending`        ``148**``                                                   ARX, anjana
`suppressed cell`      ``NA``, ``<NA>``, ``*****``                                 sdcMicro, ARX
=====================  ==========================================================  =====================

Our own forms (``*``, ``[15, 54]``, a plain value), raw values and the nodes of a hierarchy take precedence:
a label that is one of these means that, whatever it looks like. Only other labels are parsed here.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Literal, NamedTuple, TypeVar

Kind = Literal["numeric", "date", "month", "year", "text"]
Point = Decimal | date
_P = TypeVar("_P", Decimal, date)

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_DAY = r"\d{4}-\d\d-\d\d"
_BRACKETED = re.compile(r"([\[\](])\s*([^,\[\](){}]+?)\s*,\s*([^,\[\](){}]+?)\s*([\[\])])")
_DASHED = re.compile(rf"({_NUMBER})\s*-\s*({_NUMBER})", re.ASCII)
_COMPARED = re.compile(r"(<=|>=|<|>)\s*(\S+)")
_MONTH = re.compile(r"(?P<y>\d{4})[-/](?P<m>\d\d)|(?P<m2>\d\d)[./](?P<y2>\d{4})", re.ASCII)
_YEARS = re.compile(r"\[\s*(\d{4})\s*,\s*(\d{4})\s*[\[)]", re.ASCII)
_MASKED = re.compile(r"([^*]+)(\*+)")
_GONE = re.compile(r"NA|<NA>|\*{2,}")


class Interval(NamedTuple):
    """Everything between two ends; None is the end of the raw table."""

    style: str
    low: Point | None
    high: Point | None
    include_low: bool
    include_high: bool


class Members(NamedTuple):
    """One of these values."""

    style: str
    points: tuple[Point, ...]


class Prefix(NamedTuple):
    """A text of `length` characters that begins with `kept`."""

    style: str
    kept: str
    length: int


class Lost(NamedTuple):
    """Nothing is known, although the raw row may have had a value."""

    style: str


Foreign = Interval | Members | Prefix | Lost


def read_foreign(label: str, kind: Kind) -> Foreign | None:
    """Parse a label that is in none of our own forms; None if no style matches.

    Parameters
    ----------
    label : str
        A published cell, trimmed.
    kind : {"numeric", "date", "month", "year", "text"}
        What the raw column contains. Dates are ISO dates; months and years are read as their first and last
        days. Text has no intervals: `text` is also the kind of ordinal and categorical columns.

    Returns
    -------
    Interval, Members, Prefix, Lost or None
        Ends are `Decimal` or `date`. `low` is never above `high`, and an empty interval is None.

    Examples
    --------
    >>> tuple(read_foreign("[15, 55[", "numeric"))
    ('half-open interval', Decimal('15'), Decimal('55'), True, False)
    >>> read_foreign("(9,19]", "numeric")[1:]
    (Decimal('9'), Decimal('19'), False, True)
    >>> read_foreign("<18", "numeric")
    Interval(style='threshold', low=None, high=Decimal('18'), include_low=True, include_high=False)
    >>> read_foreign("148**", "text"), read_foreign("NA", "text")
    (Prefix(style='masked ending', kept='148', length=5), Lost(style='suppressed cell'))
    >>> read_foreign("148**", "numeric")[1:3]
    (Decimal('14800'), Decimal('14899'))
    >>> read_foreign("03/2020", "date")[1:3]
    (datetime.date(2020, 3, 1), datetime.date(2020, 3, 31))
    >>> read_foreign("[1960, 1970[", "date")[1:]
    (datetime.date(1960, 1, 1), datetime.date(1970, 1, 1), True, False)
    >>> read_foreign("{15, 17}", "numeric").points
    (Decimal('15'), Decimal('17'))
    >>> nonsense = ["", "*", "[55, 15[", "[5, 5[", "teens", "15-", "{15, teens}", "148*x"]
    >>> {read_foreign(label, "numeric") for label in nonsense}
    {None}
    """
    if _GONE.fullmatch(label):
        return Lost("suppressed cell")
    if kind == "text":
        return _prefix(label)
    if kind == "date":
        return _calendar(label) or _on_a_line(label, _to_day)
    if kind in ("month", "year"):
        return _calendar(label) or _on_a_line(label, _to_month if kind == "month" else _to_year)
    return _on_a_line(label, _to_number) or _dashed(label) or _masked_digits(label)


def _on_a_line(label: str, point: Callable[[str], _P | None]) -> Foreign | None:
    """Read an interval in brackets, a threshold, or a set of points."""
    bracketed = _BRACKETED.fullmatch(label)
    if bracketed:
        opening, first, second, closing = bracketed.groups()
        return _interval(point(first), point(second), opening == "[", closing == "]")
    compared = _COMPARED.fullmatch(label)
    if compared:
        end = point(compared[2])
        return None if end is None else _threshold(compared[1], end)
    if label.startswith("{") and label.endswith("}"):
        points = [point(member.strip()) for member in label[1:-1].split(",")]
        known = tuple(sorted(one for one in points if one is not None))
        return Members("set of values", known) if len(known) == len(points) else None
    return None


def _interval(low: _P | None, high: _P | None, include_low: bool, include_high: bool) -> Interval | None:
    """Combine two ends, unless one of them is missing or the interval is empty."""
    if low is None or high is None or low > high:
        return None
    if low == high and not (include_low and include_high):
        return None
    styles = {2: "closed interval", 1: "half-open interval", 0: "open interval"}
    return Interval(styles[include_low + include_high], low, high, include_low, include_high)


def _threshold(sign: str, end: Point) -> Interval:
    included = sign.endswith("=")
    if sign.startswith("<"):
        return Interval("threshold", None, end, True, included)
    return Interval("threshold", end, None, included, True)


def _dashed(label: str) -> Interval | None:
    """Read ``15-55``; a date or a plain negative number is not of this form."""
    found = _DASHED.fullmatch(label)
    if found is None:
        return None
    low, high = Decimal(found[1]), Decimal(found[2])
    return Interval("dash range", low, high, True, True) if low <= high else None


def _masked_digits(label: str) -> Interval | None:
    """Read digits with a masked ending as the whole numbers that begin with them."""
    found = _MASKED.fullmatch(label)
    if found is None or not re.fullmatch(r"\d+", found[1], re.ASCII):
        return None
    n_hidden = len(found[2])
    low, high = (Decimal(found[1] + digit * n_hidden) for digit in "09")
    return Interval("masked ending", low, high, True, True)


def _prefix(label: str) -> Prefix | None:
    found = _MASKED.fullmatch(label)
    return None if found is None else Prefix("masked ending", found[1], len(label))


def _calendar(label: str) -> Interval | None:
    """Read a year, a month, or an interval of years that excludes the last."""
    if re.fullmatch(r"\d{4}", label, re.ASCII):
        return _period(int(label), 1, 12)
    month = _MONTH.fullmatch(label)
    if month:
        year, number = int(month["y"] or month["y2"]), int(month["m"] or month["m2"])
        return _period(year, number, number)
    years = _YEARS.fullmatch(label)
    if years and 0 < int(years[1]) < int(years[2]):
        first, behind = (date(int(year), 1, 1) for year in years.groups())
        return Interval("calendar period", first, behind, True, False)
    return None


def _period(year: int, month: int, last_month: int) -> Interval | None:
    if year < 1 or not 1 <= month <= 12:
        return None
    last = date(year, last_month, monthrange(year, last_month)[1])
    return Interval("calendar period", date(year, month, 1), last, True, True)


def _to_number(text: str) -> Decimal | None:
    return Decimal(text) if re.fullmatch(_NUMBER, text, re.ASCII) else None


def _to_month(text: str) -> date | None:
    found = _calendar(text) if _MONTH.fullmatch(text) else None
    return found.low if found is not None and isinstance(found.low, date) else None


def _to_year(text: str) -> date | None:
    found = _calendar(text) if re.fullmatch(r"\d{4}", text, re.ASCII) else None
    return found.low if found is not None and isinstance(found.low, date) else None


def _to_day(text: str) -> date | None:
    if not re.fullmatch(_DAY, text, re.ASCII):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
