"""Rules between columns: which values of one column nearly always go with one value of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.dangers.scene import Codes

_DENSE = 1 << 22  # pairs of values that are counted in one array
_TIMES_SURER = 10  # a rule is wrong at most a tenth as often as always guessing its value


class Rules(NamedTuple):
    """For each value of a column, the one value of another column that goes with it, -1 for none."""

    value: Codes
    times: Codes  # how often each value occurs
    share: FloatArray  # of each value of the other column among all rows


def rules(codes: Codes, others: Codes | IntArray, fewest: int) -> Rules:
    """Find the rules from one column to another; a value with fewer rows than `fewest` has none.

    A rule may have exceptions, but it must be much more reliable than a guess: where nine of ten rows have
    one value anyway, 95 of 100 mean nothing.
    """
    n_values, width = int(codes.max(initial=-1)) + 1, int(others.max(initial=-1)) + 2
    # A missing value is counted before the first value: counting and dropping it is faster than a mask.
    keys = codes * width
    keys += others
    keys += width + 1
    pairs, counts = _counted(keys, (n_values + 1) * width)
    value, other = pairs // width - 1, pairs % width - 1
    share = np.bincount(other + 1, counts, minlength=width)[1:] / max(1, len(others))
    is_value = value >= 0
    value, other, counts = value[is_value], other[is_value], counts[is_value]
    times = np.bincount(value, counts, minlength=n_values).astype(np.int64)
    most = np.zeros(n_values, np.int64)
    np.maximum.at(most, value, counts)
    named = np.full(n_values, -1, np.int64)
    is_most = counts == most[value]
    named[value[is_most]] = other[is_most]
    with np.errstate(invalid="ignore"):
        wrong = 1 - most / times
    allowed = (1 - np.append(share, 1.0)[named]) / _TIMES_SURER
    holds = (times >= fewest) & (wrong <= allowed) & (named >= 0)
    return Rules(np.where(holds, named, -1), times, share)


def _counted(keys: Codes, n_keys: int) -> tuple[Codes, Codes]:
    """Count each key; return those that occur, and how often."""
    if n_keys <= _DENSE:
        counts = np.bincount(keys, minlength=n_keys)
        found = np.flatnonzero(counts)
        return found, counts[found]
    counted = pl.DataFrame({"key": keys}).group_by("key").len().sort("key")
    return counted["key"].to_numpy(), counted["len"].to_numpy().astype(np.int64)


def follows(found: Rules, codes: Codes, others: Codes | IntArray) -> BoolArray:
    """Mark the rows whose value in the other column is the one that the rule gives."""
    named = np.append(found.value, -1)[codes]  # a missing value, -1, takes the extra last entry
    marks: BoolArray = (named >= 0) & (named == others)
    return marks


def by_chance(found: Rules, codes: Codes, others: Codes | IntArray, fewest: int) -> float:
    """Return on how many of these rows a rule would hold if the columns were independent.

    A few rows agree easily: two rows with the same value in the first column agree in the second as often
    as any two rows do.
    """
    times = np.append(found.times, 0)[codes]
    counted = (times >= fewest) & (others >= 0)
    chances = found.share[others[counted]] ** (times[counted] - 1)
    return float(np.sort(chances).sum())
