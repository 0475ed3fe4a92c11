"""Intervals between chosen cuts, and the histogram in which they are chosen."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from shoal.errors import HierarchyError
from shoal.hierarchy.build import Number, as_fraction, number_text
from shoal.hierarchy.picture import RARE
from shoal.hierarchy.showing import protected
from shoal.hierarchy.tree import ROOT_LABEL, Tree

MOST_CUTS = 200
_BARS = 60
_BEYOND = 100  # one in so many rows may be beyond the axis at each end
_ROUND = (1, 2, 5, 10)


@dataclass(frozen=True)
class Histogram:
    """Bars of equal width; the first and the last also contain everything beyond them.

    Parameters
    ----------
    edges : list of float
        The lower edge of each bar and the upper edge of the last.
    rows : list of int or None
        Rows of each bar, rounded down; None if they may not be shown.
    is_whole : bool
        Whether all values are integers.
    """

    edges: list[Number]
    rows: list[int | None]
    is_whole: bool


def by_cuts(values: Sequence[Number], cuts: Sequence[Number], column: str) -> Tree:
    """Group numbers into the intervals between cuts; a cut belongs to the interval above it.

    Parameters
    ----------
    values : sequence of int or float
        The column's values, finite.
    cuts : sequence of int or float
        Ascending, at least one.
    column : str
        Name of the column, for messages.

    Returns
    -------
    tree : Tree
        The first and the last interval are open, ``<18`` and ``>=65``: their ends would be the smallest and
        the largest value. Those between are ``[18, 64]`` for integers, and ``[18, 65]`` otherwise.

    Raises
    ------
    HierarchyError
        `hierarchy.build` for cuts that are not ascending numbers, or no cut between values.

    Examples
    --------
    >>> by_cuts([3, 17, 18, 70], [18, 65], "age").labels
    ('*', '<18', '3', '17', '[18, 64]', '18', '>=65', '70')
    """
    is_whole = _are_whole(values)
    places = checked_cuts(cuts, column)
    numbers = sorted(set(values))
    labels = _labels(places, is_whole)
    at = [bisect_right(places, number) for number in numbers]
    return Tree.from_paths(
        [(number_text(number), labels[place], ROOT_LABEL) for number, place in zip(numbers, at, strict=True)],
        column,
    )


def checked_cuts(cuts: Sequence[Number], column: str) -> list[Number]:
    """Return the cuts if they are ascending finite numbers."""
    places = list(cuts)
    if not places or len(places) > MOST_CUTS or not all(math.isfinite(place) for place in places):
        raise _refused(column, f"between 1 and {MOST_CUTS} numbers are needed as cuts")
    for number, (low, high) in enumerate(pairwise(places), 2):
        if high <= low:
            raise _refused(column, f"cut {number} is not above cut {number - 1}")
    return places


def rows_between(values: Sequence[Number], rows: Sequence[int], cuts: Sequence[Number]) -> list[int | None]:
    """Return the rows of each interval as they are shown; None if they may not be."""
    return protected(_sums(values, rows, cuts))


def histogram(values: Sequence[Number], rows: Sequence[int]) -> Histogram | None:
    """Count rows in up to 60 bars of round width.

    The axis leaves out a hundredth of the rows at each end, and at least ten, so it does not show the
    extremes. None if that leaves nothing to draw.

    Parameters
    ----------
    values : sequence of int or float
        Distinct, ascending.
    rows : sequence of int
        Of each value.
    """
    if sum(rows) < 2 * RARE:
        return None
    beyond = max(RARE, sum(rows) // _BEYOND)
    low = _value_of_row(values, rows, beyond)
    high = _value_of_row(values[::-1], rows[::-1], beyond)
    is_whole = _are_whole(values)
    if high <= low:
        return None
    width = _round_width((as_fraction(high) - as_fraction(low)) / _BARS, is_whole)
    first, last = math.floor(as_fraction(low) / width), math.floor(as_fraction(high) / width)
    edges = [_plain(at * width) for at in range(first, last + 2)]
    return Histogram(edges, protected(_sums(values, rows, edges[1:-1])), is_whole)


def suggested_cuts(values: Sequence[Number], rows: Sequence[int], parts: int = 4) -> list[Number]:
    """Return edges of the histogram that divide the rows into parts of about the same size."""
    drawn = histogram(values, rows)
    if drawn is None:
        return []
    sums = list(accumulate(rows, initial=0))
    inner = drawn.edges[1:-1]
    below = [sums[bisect_left(values, edge)] for edge in inner]
    wanted = [sums[-1] * part / parts for part in range(1, parts)]
    nearest = (min(zip(below, inner, strict=True), key=lambda one: abs(one[0] - goal)) for goal in wanted)
    return sorted({edge for _, edge in nearest}) if inner else []


def _sums(values: Sequence[Number], rows: Sequence[int], cuts: Sequence[Number]) -> list[int]:
    """Sum the rows between cuts; a cut belongs to the interval above it."""
    places = np.searchsorted(np.asarray(cuts, np.float64), np.asarray(values, np.float64), side="right")
    sums = np.bincount(places, weights=np.asarray(rows, np.float64), minlength=len(cuts) + 1)
    return [int(count) for count in sums]


def _labels(cuts: Sequence[Number], is_whole: bool) -> list[str]:
    texts = [number_text(_plain(as_fraction(cut))) for cut in cuts]
    ends = [number_text(math.ceil(as_fraction(cut)) - 1) for cut in cuts] if is_whole else texts
    starts = [number_text(math.ceil(as_fraction(cut))) for cut in cuts] if is_whole else texts
    between = [f"[{low}, {high}]" for low, high in zip(starts, ends[1:], strict=False)]
    return [f"<{starts[0]}", *between, f">={starts[-1]}"]


def _value_of_row(values: Sequence[Number], rows: Sequence[int], number: int) -> Number:
    """Return the value of the row with a number, counted from 1."""
    return next(value for value, so_far in zip(values, accumulate(rows), strict=True) if so_far >= number)


def _round_width(least: Fraction, is_whole: bool) -> Fraction:
    """Return the next larger of 1, 2 and 5 times a power of ten."""
    power = Fraction(10) ** (math.floor(math.log10(least)) - 1)
    while True:
        for digit in _ROUND:
            width = digit * power
            if width >= least and (not is_whole or width.denominator == 1):
                return width
        power *= 10


def _are_whole(values: Sequence[Number]) -> bool:
    return all(not isinstance(value, float) or value.is_integer() for value in values)


def _plain(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else float(number)


def _refused(column: str, reason: str) -> HierarchyError:
    return HierarchyError(
        "hierarchy.build",
        f"The hierarchy of column `{column}` cannot be built: {reason}.",
        "cuts are ascending numbers, such as 18, 40, 65",
    )
