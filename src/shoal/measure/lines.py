"""Labels of numeric, date and ordinal columns: a value, or a range between the lowest and the highest.

A label must contain at least one value of the raw table: a generalized value represents some row of it. Its
ends may be outside the table's range, as on a grid; it then costs its full width, but never more than 1.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, LongArray
from shoal.measure import foreign
from shoal.measure.meaning import Meaning
from shoal.measure.numbers import Number, calendar_period, ends_of, in_unit, number_of
from shoal.table.columns import RangeColumn
from shoal.table.forms import Lost, Range, Set, Value, parse, split_ranges

# Other tools write a decimal with 15 digits, shoal with as many as it needs.
_SAME = 1e-12


class LineReader:
    """Reads the labels of one column.

    Parameters
    ----------
    column : RangeColumn
        Of the raw table.
    """

    def __init__(self, column: RangeColumn) -> None:
        self._column = column
        self._number = number_of(column.kind, column.order, column.unit)
        self._whole = column.numbers.dtype.kind == "i"
        self._numbers: list[Number] = column.numbers.tolist()

    def own(self, text: str) -> Meaning | None:
        """Read a label in one of shoal's own forms; None for any other."""
        value = parse(text)
        if isinstance(value, Lost):
            return Meaning(cost=1.0)
        if isinstance(value, Range):
            return self._between(None, self._number(value.low), self._number(value.high))
        return self._value(None, value.text) if isinstance(value, Value) else None

    def range_costs(self, texts: pl.Series) -> FloatArray:
        """Return what the plain ranges among many labels cost, as `own` does; nan for every other label.

        Each end is read once, however many ranges have it.
        """
        lows, highs = split_ranges(texts)
        ends = pl.concat([lows, highs]).drop_nulls().unique()
        first, last, place = self._places(ends)
        costs = np.full(len(texts), np.nan)
        low, high = (_found(found, ends) for found in (lows, highs))
        (rows,) = np.nonzero(low >= 0)
        rows = rows[first[low[rows]] < last[high[rows]]]  # as in `_holds`; so low is no more than high
        costs[rows] = np.minimum(1.0, place[high[rows]] - place[low[rows]])
        return costs

    def _places(self, ends: pl.Series) -> tuple[LongArray, LongArray, FloatArray]:
        """Return how many raw values are below each end, how many are not above it, and where it lies.

        Of an end that is no value, the second is -1.
        """
        texts = pl.Series(self._column.texts, dtype=pl.String)
        code = _found(ends, texts)  # that of an end of our own releases
        first, last = code.copy(), code + 1
        numbers = np.full(len(ends), np.nan)
        numbers[code >= 0] = self._column.numbers[code[code >= 0]]
        for at in np.flatnonzero(code < 0).tolist():
            number = self._number(ends[at])
            if number is None:
                first[at], last[at] = len(texts), -1
                continue
            first[at], last[at] = bisect_left(self._numbers, number), bisect_right(self._numbers, number)
            numbers[at] = float(number)
        return first, last, self._column.places(numbers)

    def foreign(self, text: str) -> Meaning | None:
        """Read a label as another tool may have written it; None if it is invalid."""
        return (
            self._value(foreign.UNESCAPED, text) or self._masked(text) or self._set(text) or self._cut(text)
        )

    def bounds(self, low: str | None, high: str | None) -> Meaning | None:
        """Read two bounds from separate columns; where both are null, the value is lost."""
        if low is None and high is None:
            return Meaning(cost=1.0)
        if low is None or high is None:
            return None
        return self._between(None, self._number(low), self._number(high))

    def _value(self, style: str | None, text: str) -> Meaning | None:
        number = self._number(text)
        return None if number is None or not self._is_raw(number) else Meaning(style)

    def _is_raw(self, number: Number) -> bool:
        if self._holds(number, number):
            return True
        slack = 0.0 if self._whole else abs(number) * _SAME
        return slack > 0 and self._holds(number - slack, number + slack)

    def _masked(self, text: str) -> Meaning | None:
        """Read digits with a masked ending, where all numbers have the same number of digits."""
        mask = foreign.mask(text)
        if mask is None:
            return None
        if not mask.kept:
            return Meaning(foreign.MASKED, cost=1.0)
        lengths = {len(self._column.texts[at]) for at in (0, -1)} if self._column.texts else set()
        if self._column.kind != "numeric" or not self._whole or lengths != {mask.length}:
            return None
        if not (mask.kept.isdecimal() and mask.kept.isascii() and self._numbers[0] >= 0):
            return None
        low, high = (int(mask.kept.ljust(mask.length, digit)) for digit in "09")
        return self._between(foreign.MASKED, low, high)

    def _set(self, text: str) -> Meaning | None:
        """Read a set of values as the range from the lowest to the highest."""
        value = parse(text)
        numbers = [self._number(member) for member in value.members] if isinstance(value, Set) else []
        known = [number for number in numbers if number is not None]
        if not known or len(known) < len(numbers):
            return None
        return self._between(foreign.SET, min(known), max(known))

    def _cut(self, text: str) -> Meaning | None:
        """Read an interval, a threshold, or a calendar period."""
        found = foreign.interval(text)
        if self._column.kind == "date":
            unit = self._column.unit
            found = calendar_period(text, unit) or (found and in_unit(found, unit)) or found
        ends = None if found is None else ends_of(found, self._number, whole=self._whole)
        if found is None or ends is None or not self._numbers:
            return None
        low, high = ends
        return self._between(
            found.style,
            self._numbers[0] if low is None else low,
            self._numbers[-1] if high is None else high,
            has_low=self._whole or found.has_low,
            has_high=self._whole or found.has_high,
        )

    def _between(
        self,
        style: str | None,
        low: Number | None,
        high: Number | None,
        *,
        has_low: bool = True,
        has_high: bool = True,
    ) -> Meaning | None:
        if low is None or high is None or low > high:
            return None
        if not self._holds(low, high, has_low=has_low, has_high=has_high):
            return None
        width = self._column.place(high) - self._column.place(low)
        return Meaning(style, cost=min(1.0, width))

    def _holds(self, low: Number, high: Number, *, has_low: bool = True, has_high: bool = True) -> bool:
        """Return whether the range contains a value of the raw table."""
        first = (bisect_left if has_low else bisect_right)(self._numbers, low)
        last = (bisect_right if has_high else bisect_left)(self._numbers, high)
        return first < last


def _found(texts: pl.Series, known: pl.Series) -> LongArray:
    """Return the place of each text among those known, -1 for none."""
    found = texts.replace_strict(known, range(len(known)), default=-1, return_dtype=pl.Int64)
    return found.fill_null(-1).to_numpy()
