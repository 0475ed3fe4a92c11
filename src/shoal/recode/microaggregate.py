"""Publish one typical value per class: the mean or median of numbers, the mode of everything else."""

from __future__ import annotations

from fractions import Fraction
from math import floor, log10
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import IntArray
from shoal.recode.bounds import typed_dates
from shoal.table import forms
from shoal.table.columns import Line, QuasiColumn, RangeColumn, most_decimals


def microaggregate(
    column: QuasiColumn, labels: IntArray, n_classes: int, aggregate: Literal["mean", "median"]
) -> pl.Series:
    """Return the value of each class in one column.

    Means and medians ignore missing values; a class that has nothing else is published as missing.
    For a mode, missing is a value like any other. Ties go to the lowest value.
    """
    inside = labels >= 0
    if isinstance(column, RangeColumn) and column.kind == "numeric":
        inside &= column.codes != column.missing
        return _typical_numbers(column, column.codes[inside], labels[inside], n_classes, aggregate)
    return _modes(column, column.codes[inside], labels[inside], n_classes)


def _typical_numbers(
    column: RangeColumn, codes: IntArray, labels: IntArray, n_classes: int, aggregate: str
) -> pl.Series:
    # On points between 0 and 1, so that no sum of large numbers overflows.
    frame = pl.DataFrame({"class": labels, "point": column.points[codes]})
    point = pl.col("point").mean() if aggregate == "mean" else pl.col("point").median()
    found = frame.group_by("class").agg(point)
    typical = np.full(n_classes, np.nan)
    typical[found["class"].to_numpy()] = found["point"].to_numpy()
    low, high = map(float, column.ends or (0, 0))
    return _rounded(low * (1 - typical) + high * typical, _column_step(column))


def _column_step(column: RangeColumn) -> Fraction:
    """Return how coarsely the typical values of a column are rounded: by its values in the whole table."""
    if column.line is None:
        return rounding_step(column.numbers)
    return column_step(column.line)


def column_step(line: Line) -> Fraction:
    """Return how coarsely the typical values of a whole column are rounded."""
    return _step(line.low, line.high, line.decimals)


def rounding_step(numbers: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> Fraction:
    """Return how coarsely typical values are rounded.

    Never finer than the data itself, and never finer than about a thousandth of its range: a mean
    at full precision would publish the sum over the class, and an attacker who knows all members but
    one could compute the last one's exact value.
    """
    if len(numbers) < 2:
        return Fraction(1)
    return _step(numbers[0], numbers[-1], most_decimals(numbers))


def _step(low: float, high: float, decimals: int) -> Fraction:
    if low == high:
        return Fraction(1)
    thousandth = float(high) / 1000 - float(low) / 1000
    return max(Fraction(1, 10) ** min(decimals, 300), Fraction(10) ** floor(log10(thousandth)))


def _rounded(values: npt.NDArray[np.float64], step: Fraction) -> pl.Series:
    """Round to multiples of the step; whole numbers when the step is one."""
    present = ~np.isnan(values)
    steps = np.rint(np.where(present, values, 0.0) / float(step))
    if step >= 1 and np.abs(values[present]).max(initial=0) < 2**53:
        rounded = pl.Series(steps.astype(np.int64) * int(step))
    elif step >= 1:
        most = np.finfo(np.float64).max  # rounding up must not overflow
        with np.errstate(over="ignore"):
            rounded = pl.Series(np.clip(steps * float(step), -most, most))
    else:  # dividing by 10^n gives the nearest float to the decimal, multiplying by 10^-n does not
        rounded = pl.Series(steps / float(1 / step))
    return rounded.set(pl.Series(~present), None)


def _modes(column: QuasiColumn, codes: IntArray, labels: IntArray, n_classes: int) -> pl.Series:
    """Return the most frequent value of each class, the lowest of ties."""
    pairs, counts = np.unique(labels.astype(np.int64) << 32 | codes, return_counts=True)
    order = np.lexsort((pairs, -counts, pairs >> 32))
    first = np.unique((pairs >> 32)[order], return_index=True)[1]
    modes = (pairs & 0xFFFFFFFF)[order][first]
    texts = column.texts if isinstance(column, RangeColumn) else column.tree.leaf_labels
    distinct = np.unique(modes)
    written = [None if code == column.missing else forms.value_text(texts[code]) for code in distinct]
    series = pl.Series(written, dtype=pl.String).gather(np.searchsorted(distinct, modes))
    if isinstance(column, RangeColumn) and column.kind == "date":
        return typed_dates(column, series)
    return series
