"""The ends of a class's range: its own extremes, or grid points outside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.hierarchy.build import number_text
from shoal.hierarchy.periods import text_of
from shoal.table import forms
from shoal.table.columns import RangeColumn


@dataclass(frozen=True)
class Ends:
    """One possible end of a range for each value of a column, as text and as a number."""

    texts: list[str]
    numbers: list[Fraction]


def snapped_ends(column: RangeColumn, grid: float) -> tuple[Ends, Ends]:
    """Return the grid points at or below, and above, each value.

    The grid is aligned at 0 and does not depend on the data. A range is never a single point: a
    value on the grid gets the next point above it as its high end.
    """
    step = _step(column, grid)
    last = len(column.order) - 1
    low, high = [], []
    for number in map(_exact, column.numbers.tolist()):
        below = number // step * step
        above = -(-number // step) * step
        if column.kind == "ordinal":  # there is nothing beyond the last value
            above = min(Fraction(last), above if above > below else below + step)
            below = below if above > below else max(Fraction(0), below - step)
        low.append(Fraction(below))
        high.append(Fraction(above))
    return _ends(column, low), _ends(column, high)


def _step(column: RangeColumn, grid: float) -> Fraction:
    """Return the grid's step; dates and positions take whole steps."""
    step = Fraction(repr(grid))
    return step if column.kind == "numeric" else Fraction(ceil(step))


def _exact(number: float) -> Fraction:
    """Return the number that its shortest decimal text denotes, so that 0.3 is on a grid of 0.1."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _ends(column: RangeColumn, numbers: list[Fraction]) -> Ends:
    return Ends([end_text(column, number) for number in numbers], numbers)


def end_text(column: RangeColumn, number: Fraction) -> str:
    """Format a number like the column's values."""
    if column.kind == "ordinal":
        return column.order[int(number)]
    if column.kind == "date":
        return text_of(int(number), column.unit)
    return number_text(int(number) if number.denominator == 1 else float(number))


def as_text(column: RangeColumn, low: IntArray, high: IntArray, grid: float | None) -> pl.Series:
    """Format each class's range as one text."""
    if grid is None:
        return _tight_texts(column, low, high)
    lows, highs = snapped_ends(column, grid)

    def write(first: int, second: int) -> str | None:
        if first == column.missing:
            return None
        if second == column.missing:
            return forms.LOST
        high_text = highs.texts[second]
        if lows.texts[first] == high_text and column.kind != "ordinal":  # both on one grid point
            high_text = end_text(column, highs.numbers[second] + _step(column, grid))
        return forms.range_text(lows.texts[first], high_text)

    return each_pair(low, high, write)


def _tight_texts(column: RangeColumn, low: IntArray, high: IntArray) -> pl.Series:
    """Format each class's own extremes, all classes at once."""
    texts = pl.Series([*column.texts, None], dtype=pl.String)  # a missing value has the last code
    lows, highs = texts.gather(low), texts.gather(high)
    is_one = pl.Series(low == high)
    found = forms.value_texts(lows).zip_with(is_one, forms.range_texts(lows, highs))
    return found.set(~is_one & highs.is_null(), forms.LOST)


def as_columns(column: RangeColumn, text: pl.Series) -> dict[str, pl.Series]:
    """Split ranges into two typed columns; both are null where a range is lost or missing."""
    pairs = {found: _pair(found) for found in text.unique().to_list()}
    columns = {}
    for at, end in enumerate(("low", "high")):
        ends = text.replace_strict(list(pairs), [pair[at] for pair in pairs.values()], return_dtype=pl.String)
        columns[f"{column.name}_{end}"] = _typed(column, ends)
    return columns


def _pair(text: str | None) -> tuple[str | None, str | None]:
    value = forms.parse(text)
    if isinstance(value, forms.Range):
        return value.low, value.high
    if isinstance(value, forms.Value):
        return value.text, value.text
    return None, None


def _typed(column: RangeColumn, ends: pl.Series) -> pl.Series:
    if column.kind == "date":
        return typed_dates(column, ends)
    if column.kind == "ordinal":
        return ends
    numbers = ends.cast(pl.Float64)
    whole = ends.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == ends.null_count() else numbers


def typed_dates(column: RangeColumn, texts: pl.Series) -> pl.Series:
    """Convert days to dates; there is no type for months and years, and a day would be false precision."""
    return texts.str.to_date("%Y-%m-%d") if column.unit == "day" else texts


def each_pair(first: IntArray, second: IntArray, write: Callable[[int, int], str | None]) -> pl.Series:
    """Format each distinct pair of codes once and map the texts back to the classes."""
    keys = first.astype(np.int64) << 32 | second
    distinct, inverse = np.unique(keys, return_inverse=True)
    texts = [write(int(key >> 32), int(key & 0xFFFFFFFF)) for key in distinct]
    return pl.Series(texts, dtype=pl.String).gather(inverse)
