"""What is counted of a column to find its kind and its range, part by part: counts of parts add up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.hierarchy.periods import Unit
from shoal.recipe import Column
from shoal.table.columns import Line, are_whole, most_decimals
from shoal.table.encode import line_numbers
from shoal.table.kinds import (
    TextCounts,
    infinite_fault,
    integers,
    iso_days,
    iso_months,
    kind_of_texts,
    large_fault,
    look_like_numbers,
    misfit,
    refuse_mixed,
    stored_kind,
)

_EXACT = 2.0**53

Number = int | float
_DATE = Column(role="quasi", kind="date")


@dataclass(frozen=True)
class Ends:
    """The lowest and the highest of some numbers; None where there are none."""

    low: Number | None = None
    high: Number | None = None

    def joined(self, other: Ends) -> Ends:
        """Return the ends of both."""
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return Ends(min(lows, default=None), max(highs, default=None))


NO_TEXTS, NO_ENDS = TextCounts(), Ends()


@dataclass(frozen=True)
class Statistics:
    """What is known of the cells of a column.

    Parameters
    ----------
    cells, missing : int
        With and without a value.
    texts : TextCounts
        What the cells look like, where they are texts.
    infinite : int
    all_int, all_exact, all_whole : bool
        Whether every number is stored or written as a 64-bit integer, is a whole number that a float holds
        exactly, is a whole number.
    numbers, days, months : Ends
    decimals : int
        The most decimals of any number.
    large : int
        Numbers that are not stored as floats and that a float may not hold exactly.
    """

    cells: int
    missing: int
    texts: TextCounts = NO_TEXTS
    infinite: int = 0
    all_int: bool = True
    all_exact: bool = True
    all_whole: bool = True
    numbers: Ends = NO_ENDS
    days: Ends = NO_ENDS
    months: Ends = NO_ENDS
    decimals: int = 0
    large: int = 0

    def joined(self, other: Statistics) -> Statistics:
        """Return the statistics of both parts of a column."""
        return Statistics(
            cells=self.cells + other.cells,
            missing=self.missing + other.missing,
            texts=self.texts.joined(other.texts),
            infinite=self.infinite + other.infinite,
            all_int=self.all_int and other.all_int,
            all_exact=self.all_exact and other.all_exact,
            all_whole=self.all_whole and other.all_whole,
            numbers=self.numbers.joined(other.numbers),
            days=self.days.joined(other.days),
            months=self.months.joined(other.months),
            decimals=max(self.decimals, other.decimals),
            large=self.large + other.large,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Statistics:
        """Return the statistics that `to_dict` made a dictionary of."""
        nested = {"texts": TextCounts, "numbers": Ends, "days": Ends, "months": Ends}
        return cls(**{key: nested[key](**value) if key in nested else value for key, value in data.items()})


def statistics(values: pl.Series) -> Statistics:
    """Count what the cells of a part of a column look like, after cleaning."""
    present = values.drop_nulls()
    counts: dict[str, Any] = {"cells": len(present), "missing": values.null_count()}
    if values.dtype == pl.String:
        # Of different texts only: texts repeat, and patterns take long.
        counted = present.alias("text").value_counts(name="times")
        texts, times = counted["text"], counted["times"].cast(pl.Int64)
        counts["texts"] = TextCounts.of(texts, times)
        are_numbers = look_like_numbers(texts)
        numbers = texts.filter(are_numbers).str.to_lowercase()
        counts |= _of_numbers(numbers, times.filter(are_numbers))
        counts |= {"days": _ends_of(iso_days(texts)), "months": _ends_of(iso_months(texts))}
    elif values.dtype.is_numeric():
        counts |= _of_numbers(present)
    elif values.dtype in (pl.Date, pl.Datetime):
        counts["days"] = _ends_of(present.dt.date())
    return Statistics(**counts)


def _of_numbers(values: pl.Series, times: pl.Series | None = None) -> dict[str, Any]:
    """Describe numbers that are stored as such, or as texts, each of which occurs so many times."""
    if not len(values):
        return {}
    weights = np.ones(len(values), np.int64) if times is None else times.to_numpy()
    whole = integers(values)
    if whole is not None:
        low, high = int(whole.min()), int(whole.max())  # type: ignore[arg-type]
        sizes = whole.cast(pl.Float64).abs().to_numpy()  # as if other parts made floats of them
        return {
            "numbers": Ends(low, high),
            "all_exact": max(abs(low), abs(high)) < _EXACT,
            "decimals": most_decimals(sizes.min(keepdims=True)),
            "large": int(weights[sizes >= _EXACT].sum()),
        }
    floats = values.cast(pl.Float64, strict=False).to_numpy()
    numbers = floats[np.isfinite(floats)]
    is_large = np.isfinite(floats) & (np.abs(floats) >= _EXACT)
    return {
        "infinite": int(weights[np.isinf(floats)].sum()),
        "all_int": False,
        "all_exact": are_whole(numbers) and not is_large.any(),
        "all_whole": are_whole(numbers),
        "numbers": Ends(float(numbers.min()), float(numbers.max())) if len(numbers) else Ends(),
        "decimals": most_decimals(np.unique(numbers)),
        "large": 0 if values.dtype.is_float() else int(weights[is_large].sum()),
    }


def _ends_of(dates: pl.Series) -> Ends:
    """Return the first and the last of canonical dates."""
    known = dates.drop_nulls()
    if not len(known):
        return NO_ENDS
    numbers = line_numbers(pl.Series([known.min(), known.max()]), "date", _DATE)
    return Ends(*numbers.to_list())


def found_kind(name: str, dtype: pl.DataType, found: Statistics, column: Column) -> str:
    """Return the kind of a column, given or detected; an error if some cells do not fit it."""
    kind = column.kind or stored_kind(dtype, column) or kind_of_texts(name, found.texts)
    is_text = dtype == pl.String
    if kind == "numeric":
        fits = found.texts.numbers + found.infinite if is_text else found.cells * dtype.is_numeric()
        if fits < found.cells:
            raise misfit(name, kind, found.cells - fits)
        if found.infinite:
            raise infinite_fault(name, found.infinite)
        if found.large and not found.all_int:
            raise large_fault(name, found.large)
    elif kind == "date":
        if is_text:
            refuse_mixed(name, found.texts)
            fits = max(found.texts.days, found.texts.months, found.texts.years)
        else:
            fits = found.cells if dtype in (pl.Date, pl.Datetime) or _are_years(found, dtype) else 0
        if fits < found.cells:
            raise misfit(name, kind, found.cells - fits)
    return kind


def _are_years(found: Statistics, dtype: pl.DataType) -> bool:
    low, high = found.numbers.low, found.numbers.high
    return (
        dtype.is_numeric() and found.all_whole and (low is None or high is None or 1 <= low <= high <= 9999)
    )


def unit_of_dates(found: Statistics) -> Unit:
    """Return the precision of a column of dates."""
    if found.days.low is not None:
        return "day"
    if found.months.low is not None:
        return "month"
    return "day" if found.numbers.low is None else "year"


def line_of(kind: str, found: Statistics) -> tuple[Line, bool]:
    """Return the line of a numeric or date column, and whether its numbers are floats."""
    if kind == "date":
        ends = {"day": found.days, "month": found.months, "year": found.numbers}[unit_of_dates(found)]
        return Line(int(ends.low or 0), int(ends.high or 0)), False
    is_float = not (found.all_int or found.all_exact)
    low, high = found.numbers.low or 0, found.numbers.high or 0
    if is_float:
        return Line(float(low), float(high), found.decimals, found.all_whole), True
    return Line(int(low), int(high)), False
