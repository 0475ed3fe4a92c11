"""What is counted of a column to find its kind and its range, part by part: counts of parts add up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from shoal.table.columns import are_whole, most_decimals
from shoal.table.kinds import TextCounts, numbers_among

_EPOCH = date(1970, 1, 1)
_EXACT = 2.0**53

Number = int | float


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
    numbers, days : Ends
    decimals : int
        The most decimals of any number.
    """

    cells: int
    missing: int
    texts: TextCounts = TextCounts()
    infinite: int = 0
    all_int: bool = True
    all_exact: bool = True
    all_whole: bool = True
    numbers: Ends = Ends()
    days: Ends = Ends()
    decimals: int = 0

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
            decimals=max(self.decimals, other.decimals),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Statistics:
        """Return the statistics that `to_dict` made a dictionary of."""
        nested = {"texts": TextCounts, "numbers": Ends, "days": Ends}
        return cls(**{key: nested[key](**value) if key in nested else value for key, value in data.items()})


def statistics(values: pl.Series) -> Statistics:
    """Count what the cells of a part of a column look like, after they were cleaned."""
    present = values.drop_nulls()
    counts: dict[str, Any] = {"cells": len(present), "missing": values.null_count()}
    if values.dtype == pl.String:
        counts["texts"] = TextCounts.of(present)
        counts |= _of_numbers(numbers_among(present)) | _of_days(
            present.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        )
    elif values.dtype.is_numeric():
        counts |= _of_numbers(present)
    elif values.dtype in (pl.Date, pl.Datetime):
        counts |= _of_days(present.dt.date())
    return Statistics(**counts)


def _of_numbers(values: pl.Series) -> dict[str, Any]:
    """Describe numbers, stored as such or as texts."""
    if not len(values):
        return {}
    whole = values.cast(pl.Int64, strict=False) if not values.dtype.is_float() else values.clear()
    if len(whole) and not whole.null_count() and (values.dtype == pl.String or (whole == values).all()):
        return {"numbers": Ends(whole.min(), whole.max()), "all_exact": False}  # type: ignore[arg-type]
    floats = values.cast(pl.Float64, strict=False).drop_nulls()
    infinite = int(floats.is_infinite().sum())
    floats = floats.filter(floats.is_finite())
    numbers = floats.to_numpy()
    ends = Ends(float(numbers.min()), float(numbers.max())) if len(numbers) else Ends()
    return {
        "infinite": infinite,
        "all_int": False,
        "all_exact": are_whole(numbers) and bool((np.abs(numbers) < _EXACT).all()),
        "all_whole": are_whole(numbers),
        "numbers": ends,
        "decimals": most_decimals(np.unique(numbers)),
    }


def _of_days(days: pl.Series) -> dict[str, Any]:
    known = days.drop_nulls().cast(pl.Int32)
    return {"days": Ends(known.min(), known.max())} if len(known) else {}  # type: ignore[arg-type]
