"""Columns from Python values, as spreadsheets, databases and statistics files return them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal.errors import DataError

_EXACT = 2**53  # beyond it several whole numbers share one float
_MIDNIGHT = datetime.time()


def column_of(name: str, values: Sequence[Any]) -> pl.Series:
    """Return values as a column of one type, None for missing.

    Numbers that are all whole become integers, times that are all at midnight days: the programs that write
    these files do not distinguish them. A column of several types becomes texts.
    """
    types = set(map(type, values)) - {type(None)}
    if types <= {str}:
        return pl.Series("", values, dtype=pl.String)
    if types == {bool}:
        return pl.Series("", values, dtype=pl.Boolean)
    if types <= {int, float} and all(abs(v) < 2**63 for v in values if type(v) is int):
        return _numbers(values)
    if types <= {datetime.date, datetime.datetime}:
        return _times(values)
    if types == {datetime.time}:
        return pl.Series("", values, dtype=pl.Time)
    if bytes in types or types == {datetime.timedelta}:
        what = "binary data" if bytes in types else "durations"
        message = f"Column `{name}` contains {what}, which cannot be released."
        raise DataError("data.kind", message, "convert it to texts or numbers, or give it the role drop")
    return pl.Series("", [None if value is None else text_of(value) for value in values], dtype=pl.String)


def text_of(value: Any) -> str:
    """Return a value as text, a whole number without its decimal point.

    Examples
    --------
    >>> [text_of(value) for value in (7.0, 1.5, True, datetime.datetime(2020, 1, 31), "x")]
    ['7', '1.5', 'TRUE', '2020-01-31', 'x']
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return str(value.date()) if value.time() == _MIDNIGHT else value.isoformat(" ")
    return str(value)


def _numbers(values: Sequence[Any]) -> pl.Series:
    if float not in set(map(type, values)):
        return pl.Series("", values, dtype=pl.Int64)
    numbers = pl.Series("", values, dtype=pl.Float64, strict=False).fill_nan(None)
    is_whole = bool(((numbers == numbers.round()) & (numbers.abs() < _EXACT)).all())
    return numbers.cast(pl.Int64) if is_whole else numbers


def _times(values: Sequence[Any]) -> pl.Series:
    whole = [
        datetime.datetime.combine(value, _MIDNIGHT) if type(value) is datetime.date else value
        for value in values
    ]
    times = pl.Series("", whole, dtype=pl.Datetime("us"))
    are_days = all(value is None or value.time() == _MIDNIGHT for value in whole)
    return times.cast(pl.Date) if are_days else times
