"""How many released rows have each raw value of a quasi column: counted in cells, summed by Spark.

Cells know which rows are released. Where a numeric column has too many different values for the driver, they
count them in bins whose ends are multiples of a power of ten, as the ends of what a report shows are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, LongArray
from shoal.engine.spark.rows import SparkRows
from shoal.engine.spark.schema import COUNTED
from shoal.table.codebook import Book, RangeBook
from shoal.table.columns import Encoded, QuasiColumn, RangeColumn

MOST_VALUES = 20_000  # of a column that are counted one by one
_BINS = MOST_VALUES // 2
_DIGITS = 15  # that a float holds
_SCHEMA = "map<string, bigint>"
Bins = tuple[int | None, ...]  # for each quasi column the power of ten that is its bins' width; None without


@dataclass(frozen=True, repr=False)  # a repr would show values
class ValueRows:
    """The values of a quasi column in released rows.

    Parameters
    ----------
    column : RangeColumn or TreeColumn
        Of the whole table, without rows; its values are those that occur, or the middles of bins.
    counts : ndarray of int64
        Released rows that have each value and, last, none.
    width : float
        Of the bins; 0 where there are none.
    """

    column: QuasiColumn
    counts: LongArray
    width: float


def choose_bins(rows: SparkRows) -> Bins:
    """Choose the bins of numeric columns with too many different values."""
    from pyspark.sql import functions as f

    ranges = [book for book in rows.codebook.quasi if isinstance(book, RangeBook)]
    wide = {book.name: f"q{at}" for at, book in enumerate(ranges) if _may_have_many(book, rows.codebook.rows)}
    if not wide:
        return (None,) * len(rows.codebook.quasi)
    counted = rows.frame.agg(*(f.approx_count_distinct(q).alias(q) for q in wide.values())).collect()[0]
    many = {name for name, q in wide.items() if counted[q] > MOST_VALUES}
    return tuple(
        _power(book) if isinstance(book, RangeBook) and book.name in many else None
        for book in rows.codebook.quasi
    )


def _may_have_many(book: RangeBook, rows: int) -> bool:
    if rows <= MOST_VALUES or book.kind != "numeric":  # days and positions are never too many
        return False
    return book.is_float or book.line.high - book.line.low >= MOST_VALUES


def _power(book: RangeBook) -> int:
    """Return the width of bins that the whole line has few of, and that floats distinguish."""
    low, high = float(book.line.low), float(book.line.high)
    least = ceil(log10(max(high / _BINS - low / _BINS, 1e-300)))
    fine = ceil(log10(max(abs(low), abs(high)))) - _DIGITS
    return max(least, fine, -22 if book.is_float else 1)  # 10**22 is the last power that a float holds


def counted_values(encoded: Encoded, released: BoolArray, bins: Bins) -> dict[str, int]:
    """Count the values of a cell; a key is the number of a column, a colon, and a value, or nothing."""
    found: dict[str, int] = {}
    for at, (column, power) in enumerate(zip(encoded.columns, bins, strict=True)):
        counts = np.bincount(column.codes[released], minlength=column.missing + 1)
        present = np.flatnonzero(counts)
        present = present[present != column.missing]
        values = column.numbers[present] if isinstance(column, RangeColumn) else present
        if power is not None:
            bin_of, inverse = np.unique(_bins(values, power), return_inverse=True)
            values, counted = bin_of, np.bincount(inverse.ravel(), counts[present]).astype(np.int64)
        else:
            counted = counts[present]
        pairs = zip(values.tolist(), counted.tolist(), strict=True)
        found |= {f"{at}:{value!r}": n for value, n in pairs}
        if counts[column.missing]:
            found[f"{at}:"] = int(counts[column.missing])
    return found


def _bins(numbers: Any, power: int) -> LongArray:
    """Return the number of each number's bin. A number that is an end, as it is written, begins a bin."""
    if numbers.dtype.kind == "i":
        return np.asarray(numbers // 10**power, np.int64)
    at = np.floor(numbers / _end(np.ones(1), power))
    at += _end(at + 1, power) <= numbers
    at -= _end(at, power) > numbers
    return np.asarray(at, np.int64)


def _end(at: Any, power: int) -> Any:
    """Return where bins begin: the floats that are nearest to these multiples."""
    return at * 10.0**power if power >= 0 else at / 10.0**-power


def sum_values(counted: Any, quasi: Sequence[Book], bins: Bins) -> list[ValueRows]:
    """Sum what all cells counted; `counted` has one column, their counts as JSON."""
    from pyspark.sql import functions as f

    pairs = counted.select(f.explode(f.from_json(COUNTED, _SCHEMA)).alias("key", "n"))
    found: list[dict[str, int]] = [{} for _ in quasi]
    for row in pairs.groupBy("key").agg(f.sum("n").alias("n")).collect():
        at, _, value = row.key.partition(":")
        found[int(at)][value] = row.n
    return [_value_rows(*each) for each in zip(quasi, found, bins, strict=True)]


def _value_rows(book: Book, found: Mapping[str, int], power: int | None) -> ValueRows:
    missing = found.get("", 0)
    if not isinstance(book, RangeBook):
        counts = np.zeros(book.empty.tree.n_leaves + 1, np.int64)
        for leaf, n in found.items():
            counts[int(leaf) if leaf else book.empty.missing] = n
        return ValueRows(book.empty, counts, 0.0)
    as_number = int if power is not None or not book.is_float else float
    counted = sorted((as_number(value), n) for value, n in found.items() if value)
    numbers: list[int | float] = [number for number, _ in counted]
    if power is not None:
        numbers = [_middle(int(at), power, book.is_float) for at in numbers]
    dtype = pl.Float64 if book.is_float else pl.Int64
    column = book.view(pl.Series(numbers, dtype=dtype))
    counts = np.array([*(n for _, n in counted), missing], np.int64)
    return ValueRows(column, counts, 0.0 if power is None else 10.0**power)


def _middle(at: int, power: int, is_float: bool) -> int | float:
    return (at + 0.5) * 10.0**power if is_float else at * 10**power + 5 * 10 ** (power - 1)
