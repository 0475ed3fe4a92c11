"""How far protection moves a column: what changed, what statistics of it became, and what can be linked.

All numbers are rounded to three digits: at full precision they would be a digest of the raw column.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, LongArray

FEW = 10  # counts of fewer raw rows are not shown


def rounded(number: float) -> float:
    """Round to three significant digits."""
    return round(number, 2 - floor(log10(abs(number)))) + 0.0 if number and abs(number) > 1e-12 else 0.0


def share_changed(before: LongArray, after: LongArray) -> float:
    """Return the share of cells whose value changed, given as codes, -1 for missing."""
    present = before >= 0
    return rounded(float((before != after)[present].mean())) if present.any() else 0.0


def moved_counts(before: LongArray, after: LongArray, size: int) -> float:
    """Return the total variation distance: the share of cells by which category counts differ."""
    counts = [np.bincount(codes[codes >= 0], minlength=size) for codes in (before, after)]
    total = max(1, int(counts[0].sum()))
    return rounded(float(np.abs(counts[0] - counts[1]).sum()) / 2 / total)


def moved_numbers(before: FloatArray, after: FloatArray) -> dict[str, float | None]:
    """Return how far mean and standard deviation moved, and how alike both columns are.

    The shift of the mean is in standard deviations of the raw column.
    """
    present = ~np.isnan(before)
    old, new = before[present], after[present]
    sd = float(old.std()) if len(old) else 0.0
    if not sd:
        return {"mean_shift": None, "sd_ratio": None, "correlation": None}
    other = float(new.std())
    together = float(np.corrcoef(old, new)[0, 1]) if other else None
    return {
        "mean_shift": rounded(float(new.mean() - old.mean()) / sd),
        "sd_ratio": rounded(other / sd),
        "correlation": None if together is None else rounded(together),
    }


def linked(before: FloatArray, after: FloatArray) -> float | None:
    """Return the share of rows that somebody who knows all true values would link to the right one.

    They take the true value that is nearest to the released one, and guess where several are.
    """
    present = ~np.isnan(before)
    old, new = before[present], after[present]
    if not len(old):
        return None
    different, times = np.unique(old, return_counts=True)
    above = np.searchsorted(different, new)
    low, high = np.clip(above - 1, 0, None), np.clip(above, None, len(different) - 1)
    to_low, to_high = np.abs(new - different[low]), np.abs(different[high] - new)
    nearest = np.minimum(to_low, to_high)
    candidates = np.where(to_low == nearest, times[low], 0)
    candidates += np.where((to_high == nearest) & (high != low), times[high], 0)
    return rounded(float(np.where(np.abs(new - old) == nearest, 1 / candidates, 0.0).mean()))


def moved_correlation(
    name: str, before: Mapping[str, FloatArray], after: Mapping[str, FloatArray]
) -> dict[str, Any] | None:
    """Return the correlation of a column with another released column that changed most."""
    most: dict[str, Any] | None = None
    for other in before:
        old, new = _correlation(before[name], before[other]), _correlation(after[name], after[other])
        if other == name or old is None or new is None:
            continue
        if most is None or abs(new - old) > abs(most["after"] - most["before"]):
            most = {"with": other, "before": old, "after": new}
    return most and {**most, "before": round(most["before"], 3) + 0.0, "after": round(most["after"], 3) + 0.0}


def _correlation(left: FloatArray, right: FloatArray) -> float | None:
    both = ~(np.isnan(left) | np.isnan(right))
    if both.sum() < FEW or not left[both].std() or not right[both].std():
        return None
    return float(np.corrcoef(left[both], right[both])[0, 1])
