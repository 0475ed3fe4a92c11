"""Build hierarchies from the values of a column: flat, intervals, prefixes, dates.

For a column without values, each of them is a tree with a single node, the root.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from shoal.errors import HierarchyError
from shoal.hierarchy.periods import unit_of
from shoal.hierarchy.tree import ROOT_LABEL, Tree

Number = int | float
NumberText = Callable[[Number], str]

# The levels of the default interval tree divide the range into this many parts, finest first.
DEFAULT_PARTS = (16, 8, 4, 2)


def number_text(value: Number) -> str:
    """Format a number in canonical form.

    Examples
    --------
    >>> [number_text(value) for value in (7, 3.0, -0.0, 0.1)]
    ['7', '3', '0', '0.1']
    """
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return "0" if value == 0 else repr(float(value)).removesuffix(".0")


def number_texts(values: Iterable[Number]) -> list[str]:
    """Format many numbers as `number_text` does, all whole or none, as those of a column are.

    Examples
    --------
    >>> number_texts([3.0, -0.0, 0.1]), number_texts([7, 12])
    (['3', '0', '0.1'], ['7', '12'])
    """
    texts = [text.removesuffix(".0") for text in map(repr, values)]
    return ["0" if text == "-0" else text for text in texts] if "-0" in texts else texts


def flat(values: Iterable[str], column: str) -> Tree:
    """Put all values, sorted by text, directly under the root.

    Parameters
    ----------
    values : iterable of str
        Any texts; one that equals the root's label is an ordinary leaf.
    column : str
        Not used: nothing can fail, but all builders have the same signature.
    """
    leaves = sorted(set(values))
    return Tree.from_preorder((ROOT_LABEL, *leaves), (-1, *[0] * len(leaves)))


def intervals(
    values: Sequence[Number], widths: Sequence[Number], column: str, *, text: NumberText = number_text
) -> Tree:
    """Group numbers into nested intervals aligned at 0.

    Parameters
    ----------
    values : sequence of int or float
        The column's values, finite. They become the leaves, in ascending order.
    widths : sequence of int or float
        Width of the intervals of each level, finest first: positive, each a multiple of the previous one.
    column : str
        Name of the column, for messages.
    text : callable, optional
        Formats a number, as a leaf and as the end of an interval.

    Returns
    -------
    tree : Tree
        Intervals are ``[low, high]``. If all numbers are integers, both ends are included, ``[20, 24]``;
        otherwise neighbours share an end, ``[20, 25]``, which belongs to the upper one.

    Raises
    ------
    HierarchyError
        `hierarchy.build` for bad widths or values that are not finite.

    Notes
    -----
    Numbers are read as decimals and compared as integers: 0.3 is the start of an interval of width 0.1,
    although 0.3 // 0.1 is 2 in floating point.

    Examples
    --------
    >>> tree = intervals([21, 24, 38], [5, 20], "age")
    >>> tree.labels
    ('*', '[20, 39]', '[20, 24]', '21', '24', '[35, 39]', '38')
    """
    steps = _checked_widths(widths, column)
    numbers = _distinct(values, column)
    exact = [as_fraction(value) for value in numbers]
    scale = math.lcm(*(number.denominator for number in (*exact, *steps)))
    grid = _Grid(0, tuple(_scaled(steps, scale)), scale, text)
    return grid.tree(numbers, _scaled(exact, scale), column)


def default_intervals(
    values: Sequence[Number],
    column: str,
    *,
    text: NumberText = number_text,
    ends: tuple[Number, Number] | None = None,
    whole: bool = True,
) -> Tree:
    """Group numbers into intervals of 1/16, 1/8, 1/4 and 1/2 of their range, counted from the smallest.

    Parameters
    ----------
    values : sequence of int or float
        The column's values, finite; also ordinal positions or day numbers, with a suitable `text`.
    column : str
        Name of the column, for messages.
    text : callable, optional
        Formats a number. An integer end may exceed the largest value.
    ends : pair of int or float, optional
        The smallest and largest value of the whole column, where `values` are only some of it.
    whole : bool, default True
        False where some value of the whole column is not an integer, although all of `values` may be.

    Notes
    -----
    The range of integers is the number of integers from smallest to largest, inclusive. Widths are rounded
    up to the next integer that is a multiple of the previous one; a width of 1 is omitted, since its
    intervals are the leaves.

    Examples
    --------
    >>> default_intervals([17, 30, 90], "age").labels[1:5]
    ('[17, 56]', '[17, 36]', '[17, 26]', '[17, 21]')
    """
    numbers = _distinct(values, column)
    if not numbers:
        return flat((), column)
    exact = [as_fraction(value) for value in numbers]
    low, high = (as_fraction(end) for end in ends or (numbers[0], numbers[-1]))
    scale = math.lcm(*(number.denominator for number in (*exact, low, high)))
    if scale > 1 or not whole:
        return _default_fractional(numbers, exact, (low, high), scale * DEFAULT_PARTS[0], text, column)
    first, last = _scaled((low, high), scale)
    grid = _Grid(first, _whole_widths(last - first + 1), 1, text)
    return grid.tree(numbers, _scaled(exact, scale), column)


def prefix(values: Iterable[str], step: int, column: str) -> Tree:
    """Mask `step` more characters from the right at each level, up to the root.

    Parameters
    ----------
    values : iterable of str
        Codes such as postcodes; lengths may differ.
    step : int
        Characters masked per level, at least 1.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.build` for a bad step, `hierarchy.duplicate` if a value looks like another one masked.

    Examples
    --------
    >>> prefix(["47918", "47906"], 2, "zip").labels
    ('*', '4****', '479**', '47906', '47918')
    """
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise _unbuildable(column, "the number of characters to mask per level is not a positive integer")
    leaves = sorted(set(values))
    if not leaves:
        return flat((), column)
    paths = [(leaf, *_masks(leaf, step), ROOT_LABEL) for leaf in leaves]
    n_masks = len(set(leaves).intersection(label for path in paths for label in path[1:]))
    if n_masks:
        raise HierarchyError(
            "hierarchy.duplicate",
            f"Column `{column}` contains {n_masks} values that end in * and look like masked values.",
            "use a hierarchy file for the column, or clean these values",
        )
    return Tree.from_paths(paths, column)


def dates(values: Iterable[datetime.date | str], units: Sequence[str], column: str) -> Tree:
    """Group dates by calendar units.

    Parameters
    ----------
    values : iterable of datetime.date, or of str
        Days, or the ISO texts of months or years, all of one precision. They become the leaves, as ISO texts
        in ascending order.
    units : sequence of str
        ``["week"]``, or some of month, quarter, year and decade in this order. Weeks are ISO 8601 weeks;
        they cross month and year boundaries, so they do not nest. None is finer than the values.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.build` for units that are unknown, do not nest, or are finer than the values.

    Examples
    --------
    >>> dates([datetime.date(2024, 3, 5)], ["month", "quarter", "decade"], "birth").labels
    ('*', '2020s', '2024-Q1', '2024-03', '2024-03-05')
    >>> dates(["1952-09", "1953-02"], ["year"], "birth").labels
    ('*', '1952', '1952-09', '1953', '1953-02')
    """
    _check_units(units, column)
    leaves = sorted({str(value) for value in values})
    if not leaves:
        return flat((), column)
    _refuse_finer(units, leaves, column)
    # A month is also its own first level if months are grouped by month: repeats are one node.
    paths = [(leaf, *(_DATE_LABELS[unit](_first_day(leaf)) for unit in units), ROOT_LABEL) for leaf in leaves]
    return Tree.from_paths(paths, column)


@dataclass(frozen=True)
class _Grid:
    """Nested intervals over numbers stored as integers in units of 1 / scale, without rounding."""

    origin: int
    widths: tuple[int, ...]
    scale: int
    text: NumberText

    def tree(self, numbers: Sequence[Number], points: Sequence[int], column: str) -> Tree:
        """Build the tree over `numbers`, which are at `points` on the grid."""
        if not numbers:
            return flat((), column)
        levels = [self._level(points, width) for width in self.widths]
        leaves = [self.text(number) for number in numbers]
        return Tree.from_paths(zip(leaves, *levels, [ROOT_LABEL] * len(leaves), strict=True), column)

    def _level(self, points: Sequence[int], width: int) -> list[str]:
        """Return the label of each point's interval."""
        lows = [point - (point - self.origin) % width for point in points]
        labels = {low: self._label(low, width) for low in set(lows)}
        return [labels[low] for low in lows]

    def _label(self, low: int, width: int) -> str:
        # On an integer grid the upper end is the last value inside; otherwise there is no last value.
        high = low + width - 1 if self.scale == 1 else low + width
        return f"[{self._end(low)}, {self._end(high)}]"

    def _end(self, end: int) -> str:
        whole, rest = divmod(end, self.scale)
        return self.text(end / self.scale if rest else whole)


def _default_fractional(
    numbers: Sequence[Number],
    exact: Sequence[Fraction],
    ends: tuple[Fraction, Fraction],
    scale: int,
    text: NumberText,
    column: str,
) -> Tree:
    """Build the default tree of non-integers; `scale` makes 1/16 of the range an integer."""
    points = _scaled(exact, scale)
    low, high = _scaled(ends, scale)
    widths = tuple((high - low) // parts for parts in DEFAULT_PARTS) if high > low else ()
    # Include the largest value in the last interval; otherwise it would start one of its own.
    inside = [min(point, high - 1) for point in points]
    return _Grid(low, widths, scale, text).tree(numbers, inside, column)


def _whole_widths(n_steps: int) -> tuple[int, ...]:
    """Return the default widths for `n_steps` integers, each a multiple of the previous one."""
    width = 1
    widths = []
    for parts in DEFAULT_PARTS:
        width *= math.ceil(Fraction(n_steps, parts * width))
        widths.append(width)
    # No other width can occur twice, and none covers the whole range.
    return tuple(width for width in widths if width > 1)


def _distinct(values: Sequence[Number], column: str) -> list[Number]:
    """Return the distinct values in ascending order; refuse values that are not finite."""
    distinct = set(values)
    n_bad = sum(not _is_finite(value) for value in distinct)
    if n_bad:
        raise _unbuildable(column, f"{n_bad} of the values are not finite numbers")
    return sorted(distinct)


def _is_finite(value: object) -> bool:
    """Return whether `value` is a finite number; integers of any size are."""
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool)
    return isinstance(value, (float, np.floating)) and math.isfinite(value)


def as_fraction(value: Number) -> Fraction:
    """Return a number as the decimal it is written as: 0.1 is one tenth, not the nearest float."""
    return Fraction(int(value) if isinstance(value, (int, np.integer)) else Decimal(repr(float(value))))


def _scaled(exact: Sequence[Fraction], scale: int) -> list[int]:
    """Return the numbers as integers in units of 1 / scale."""
    return [number.numerator * (scale // number.denominator) for number in exact]


def _checked_widths(widths: Sequence[Number], column: str) -> list[Fraction]:
    """Return the widths as fractions, or raise if they cannot be nested."""
    if not widths or not all(_is_finite(width) and width > 0 for width in widths):
        raise _unbuildable(column, "the interval widths are not a list of positive numbers")
    steps = [as_fraction(width) for width in widths]
    for level, (finer, wider) in enumerate(pairwise(steps), 2):
        if wider <= finer or wider % finer:
            raise _unbuildable(column, f"width number {level} is not a larger multiple of the previous one")
    return steps


def _masks(value: str, step: int) -> list[str]:
    """Return `value` masked at each level, while at least one character is visible."""
    return [value[:kept] + "*" * (len(value) - kept) for kept in range(len(value) - step, 0, -step)]


def _first_day(text: str) -> datetime.date:
    """Return the first day of a day, month or year."""
    return datetime.date.fromisoformat(text + "-01" * ((10 - len(text)) // 3))


def _month(day: datetime.date) -> str:
    return f"{day.year:04}-{day.month:02}"


def _quarter(day: datetime.date) -> str:
    return f"{day.year:04}-Q{(day.month + 2) // 3}"


def _year(day: datetime.date) -> str:
    return f"{day.year:04}"


def _decade(day: datetime.date) -> str:
    return f"{day.year // 10 * 10:04}s"


def _week(day: datetime.date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


# In nesting order; weeks do not nest.
_NESTING_UNITS = ("month", "quarter", "year", "decade")
_DATE_LABELS: dict[str, Callable[[datetime.date], str]] = {
    "week": _week,
    "month": _month,
    "quarter": _quarter,
    "year": _year,
    "decade": _decade,
}


def _check_units(units: Sequence[str], column: str) -> None:
    """Raise unless the units are known and nest in ascending order."""
    if list(units) == ["week"]:
        return
    if not units or list(units) != [unit for unit in _NESTING_UNITS if unit in units]:
        raise HierarchyError(
            "hierarchy.build",
            f"The hierarchy of column `{column}` cannot be built: its {len(units)} units do not nest.",
            'use ["week"] alone, or some of month, quarter, year, decade in this order',
        )


def _refuse_finer(units: Sequence[str], leaves: Sequence[str], column: str) -> None:
    """Raise if a unit is finer than the dates themselves."""
    precision = unit_of(leaves[0])
    allowed = {"day": units, "month": _NESTING_UNITS, "year": _NESTING_UNITS[2:]}[precision]
    if not set(units) <= set(allowed):
        raise HierarchyError(
            "hierarchy.build",
            f"The hierarchy of column `{column}` cannot be built: its values are {precision}s, "
            "which cannot be divided.",
            f"use some of {', '.join(allowed)}",
        )


def _unbuildable(column: str, reason: str) -> HierarchyError:
    return HierarchyError(
        "hierarchy.build",
        f"The hierarchy of column `{column}` cannot be built: {reason}.",
        "for example { intervals = [5, 10, 20] } or { prefix = 1 }",
    )
