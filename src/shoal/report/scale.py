"""Cut a line of numbers, dates or ordered values at round positions, and label the cells between.

Cut points are round and the outer cells are open, so that no label reveals the lowest or highest value.
An ordered value is named only if enough rows have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, LongArray
from shoal.table.columns import QuasiColumn, RangeColumn

SMALLEST = 10  # rows in a cell that may be shown
MOST_CELLS = 20
ALL = "all values"

_EPOCH = date(1970, 1, 1)
_LONG = 1e12  # larger numbers are written with an exponent
_MONTHS = (1, 3, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)  # a month to a thousand years


@dataclass(frozen=True)
class Scale:
    """Edges on a line, and the labels of the cells between them.

    An edge is between the lowest and the highest value; `starts` and `stops` are the texts of the first
    value after it and the last one before it. `first` and `last` label the open cells at the ends,
    `alone` the two cells of a scale with one edge, which may be next to the lowest or highest value. No
    label contains either of these.
    """

    edges: FloatArray
    starts: Sequence[str]
    stops: Sequence[str]
    first: Sequence[str]
    last: Sequence[str]
    alone: Sequence[tuple[str, str]] = ()

    def labels(self, kept: Sequence[int]) -> list[str]:
        """Return the labels of the cells between the kept edges."""
        if not kept:
            return [ALL]
        if len(kept) == 1 and self.alone:
            return list(self.alone[kept[0]])
        ends = [(self.starts[low], self.stops[high]) for low, high in pairwise(kept)]
        inner = [start if start == stop else f"{start} to {stop}" for start, stop in ends]
        return [self.first[kept[0]], *inner, self.last[kept[-1]]]


def scale_of(column: QuasiColumn, numbers: FloatArray, counts: LongArray, least: float = 0.0) -> Scale:
    """Choose the edges for ascending numbers; on a line of numbers, at least so far from each other."""
    if len(numbers) < 2 or not isfinite(float(numbers[-1]) - float(numbers[0])):
        return Scale(np.zeros(0), (), (), (), ())
    if isinstance(column, RangeColumn) and column.kind == "ordinal":
        return _order_scale(_names(column.order, numbers, counts), numbers)
    low, high = _bulk(numbers, counts)
    if column.kind == "date":
        return _DATE_SCALES[column.unit](low, high, numbers)
    step = max(_round_step((high - low) / (MOST_CELLS - 4)), least)
    if are_whole(column, numbers) and abs(numbers[[0, -1]]).max() < _LONG:
        return _whole_scale(_inside([at - 0.5 for at in _multiples(max(1.0, step), low, high)], numbers))
    # Compare values as labelled: 0.30000000000000004 is above 0.3 but has the same label.
    texts = {float(text): text for text in (_cut_text(at, step) for at in _multiples(step, low, high))}
    edges = _inside(list(texts), numbers)
    cuts = [texts[edge] for edge in edges]
    return Scale(
        np.array(edges),
        starts=cuts,
        stops=cuts,
        first=[f"below {cut}" for cut in cuts],
        last=[f"{cut} and more" for cut in cuts],
    )


def are_whole(column: QuasiColumn, numbers: npt.NDArray[Any]) -> bool:
    """Return whether all values are whole, where `numbers` represent them."""
    known = column.line if isinstance(column, RangeColumn) else None
    return bool((numbers == np.floor(numbers)).all()) and (known is None or known.whole)


def _whole_scale(edges: Sequence[float]) -> Scale:
    starts = [_grouped(edge + 0.5) for edge in edges]
    stops = [_grouped(edge - 0.5) for edge in edges]
    return Scale(
        np.array(edges),
        starts,
        stops,
        first=[f"below {start}" for start in starts],
        last=[f"above {stop}" for stop in stops],
        alone=[(f"below {edge:,.1f}", f"above {edge:,.1f}") for edge in edges],
    )


def _names(order: Sequence[str], numbers: FloatArray, counts: LongArray) -> list[str | None]:
    """Return the values of an order, with None for those that too few rows have."""
    rows = dict(zip(numbers.astype(int).tolist(), counts.tolist(), strict=True))
    return [text if rows.get(place, 0) >= SMALLEST else None for place, text in enumerate(order)]


def _order_scale(names: Sequence[str | None], numbers: FloatArray) -> Scale:
    """Put an edge between all positions, or every few positions."""
    step = ceil(len(names) / MOST_CELLS)
    edges = _inside([at - 0.5 for at in range(step, len(names), step)], numbers)
    after = [int(edge + 0.5) for edge in edges]
    texts = [f"no. {place + 1}" if name is None else name for place, name in enumerate(names)]

    def first(start: int) -> str:
        if start == 1 and names[0] is not None:
            return names[0]
        is_below = names[start - 1] is None and names[start] is not None
        return f"below {texts[start]}" if is_below else f"up to {texts[start - 1]}"

    def last(start: int) -> str:
        name = names[start]
        if start == len(names) - 1 and name is not None:
            return name
        is_above = name is None and names[start - 1] is not None
        return f"above {texts[start - 1]}" if is_above else f"{texts[start]} and above"

    return Scale(
        np.array(edges),
        starts=[texts[start] for start in after],
        stops=[texts[start - 1] for start in after],
        first=[first(start) for start in after],
        last=[last(start) for start in after],
    )


def _day_scale(low: float, high: float, numbers: FloatArray) -> Scale:
    """Put edges between days, weeks, months or years."""
    days = next((days for days in (1, 7) if (high - low) / days < MOST_CELLS - 1), None)
    if days is None:
        return _calendar_scale(_month(low), _month(high), numbers, _first_day)
    first = int(low) + days - (int(low) + 3) % days  # day -3 was a Monday
    edges = _inside([day - 0.5 for day in range(first, int(high) + 1, days)], numbers)
    starts, stops = [_day(edge + 0.5) for edge in edges], [_day(edge - 0.5) for edge in edges]
    return Scale(
        np.array(edges),
        starts,
        stops,
        first=[f"before {start}" for start in starts],
        last=[f"after {stop}" for stop in stops],
        alone=[("earlier days", "later days")] * len(edges),
    )


def _month_scale(low: float, high: float, numbers: FloatArray) -> Scale:
    """Put edges between months or years, where numbers are months."""
    return _calendar_scale(int(low), int(high), numbers, lambda month: month)


def _year_scale(low: float, high: float, numbers: FloatArray) -> Scale:
    """Put edges between years, where numbers are years."""
    return _calendar_scale(12 * int(low), 12 * int(high), numbers, lambda month: month // 12, finest=12)


def _calendar_scale(
    begin: int, end: int, numbers: FloatArray, number_of: Callable[[int], int], finest: int = 1
) -> Scale:
    """Put edges at the beginnings of months or years, given the numbers of months on the column's line."""
    steps = [step for step in _MONTHS if step >= finest]
    step = next((s for s in steps if (end - begin) / s < MOST_CELLS - 1), steps[-1])
    months = [month for month in range((begin // step + 1) * step, end + 1, step) if month >= 12]
    months = [month for month in months if _inside([number_of(month) - 0.5], numbers)]
    unit = min(step, 12)
    starts = [_month_text(month, unit) for month in months]
    return Scale(
        np.array([number_of(month) - 0.5 for month in months]),
        starts,
        stops=[_month_text(month - (12 if unit == 12 else 1), unit) for month in months],
        first=[f"before {start}" for start in starts],
        last=[f"{start} and later" for start in starts],
    )


_DATE_SCALES = {"day": _day_scale, "month": _month_scale, "year": _year_scale}


def _inside(edges: Sequence[float], numbers: FloatArray) -> list[float]:
    return [edge for edge in edges if numbers[0] < edge < numbers[-1]]


def _bulk(numbers: FloatArray, counts: LongArray) -> tuple[float, float]:
    """Return two numbers with most rows between them, so that outliers do not determine the step."""
    rows = np.cumsum(counts)
    low, high = np.searchsorted(rows, [0.01 * rows[-1], 0.99 * rows[-1]])
    if numbers[low] < numbers[high]:
        return float(numbers[low]), float(numbers[high])
    return float(numbers[0]), float(numbers[-1])


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... (at any power of ten) that is at least `least`."""
    power = floor(log10(max(least, 1e-300)))
    steps = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    return next((step for step in steps if step >= least), 2 * steps[-1])


def _multiples(step: float, low: float, high: float) -> list[float]:
    """List the multiples of `step` above `low`, up to `high`."""
    return [at * step for at in range(floor(low / step) + 1, floor(high / step) + 1)]


def _cut_text(number: float, step: float) -> str:
    digits = -floor(log10(step))
    if abs(number) >= _LONG or digits > 6:
        return f"{number:.6g}"
    return f"{number:.{max(0, digits)}f}"


def _grouped(number: float) -> str:
    """Format an integer, without thousands separators below 10,000 (years and the like)."""
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.0f}"


def _month(day: float) -> int:
    """Return the month of a day, counted from the year 0."""
    when = date.fromordinal(int(day) + _EPOCH.toordinal())
    return when.year * 12 + when.month - 1


def _first_day(month: int) -> int:
    return (date(month // 12, month % 12 + 1, 1) - _EPOCH).days


def _month_text(month: int, unit: int) -> str:
    return f"{month // 12:04}" if unit == 12 else f"{month // 12:04}-{month % 12 + 1:02}"


def _day(number: float) -> str:
    return str(date.fromordinal(int(number) + _EPOCH.toordinal()))
