"""The numbers that a regression or a classifier takes, from a raw table or a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray
from shoal.hierarchy.build import number_text
from shoal.utility.columns import Pair
from shoal.utility.formula import AnalysisError, Formula
from shoal.utility.spread import LeafSpread, LineSpread, Spread

SMALLEST = 10  # rows that a category must have to be named
MOST_LEVELS = 50
OTHERS = "(all others)"  # categories with fewer rows


@dataclass(frozen=True)
class Levels:
    """The categories that a column is split into: frequent ones by name, all others together.

    Parameters
    ----------
    names : tuple of str
        The most frequent one first: predictors are compared with it.
    group_of_leaf : ndarray of int
        The position in `names` of each leaf.
    """

    names: tuple[str, ...]
    group_of_leaf: IntArray


def levels_of(raw: LeafSpread) -> Levels:
    """Find the categories of a raw column that have enough rows."""
    rows = raw.rows_of_leaf
    named = [int(leaf) for leaf in np.argsort(-rows, kind="stable") if rows[leaf] >= SMALLEST]
    names = [raw.leaves[leaf] for leaf in named]
    groups = np.full(len(raw.leaves), len(named), np.int32)
    groups[named] = np.arange(len(named))
    if rows[groups == len(named)].sum() > 0:
        names.append(OTHERS)
    if len(names) > MOST_LEVELS:
        message = f"Column `{raw.name}` has {len(names)} categories; an analysis takes up to {MOST_LEVELS}."
        raise AnalysisError("analysis.data", message, "leave it out of the formula")
    return Levels(tuple(names), groups)


def level_shares(column: LeafSpread, levels: Levels) -> FloatArray:
    """Return the share of each row in each category; NaN where the cell is missing or in none of them."""
    shares = column.cells(levels.group_of_leaf, len(levels.names) + 1)[:, : len(levels.names)]
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, np.nan)
    return shares[column.label]


@dataclass(frozen=True, repr=False)  # a repr would show values
class Design:
    """The predictors of all rows and their names: raw and released designs have the same columns."""

    names: tuple[str, ...]
    raw: FloatArray
    released: FloatArray


def design(formula: Formula, pairs: dict[str, Pair]) -> Design:
    """Return one column for a number, and one for each category but the most frequent."""
    names: list[str] = []
    sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for name in formula.predictors:
        pair = pairs[name]
        if isinstance(pair.raw, LeafSpread):
            levels = levels_of(pair.raw)
            names += [f"{name}={level}" for level in levels.names[1:]]
            for side, column in zip(sides, (pair.raw, pair.released), strict=True):
                assert isinstance(column, LeafSpread)
                side.append(level_shares(column, levels)[:, 1:])
        else:
            names.append(name)
            for side, line in zip(sides, (pair.raw, pair.released), strict=True):
                side.append(line_values(line)[:, None])
    return Design(tuple(names), np.hstack(sides[0]), np.hstack(sides[1]))


@dataclass(frozen=True, repr=False)  # a repr would show values
class Outcome:
    """The outcome of all rows: numbers in one column, or the share of each row in each class.

    Parameters
    ----------
    classes : tuple of str, or None
        The name of each class, `OTHERS` for one with few rows; None for numbers.
    """

    classes: tuple[str, ...] | None
    raw: FloatArray
    released: FloatArray


def outcome_of(pair: Pair) -> Outcome:
    """Return an outcome in classes if it is a category or has two values only, else in numbers."""
    raw, released = pair.raw, pair.released
    if isinstance(raw, LineSpread) and isinstance(released, LineSpread):
        values = raw.low[raw.known & (raw.counts > 0)]
        if len(values) != 2:
            return Outcome(None, line_values(raw)[:, None], line_values(released)[:, None])
        few = raw.counts[raw.known & (raw.counts > 0)] < SMALLEST
        names = tuple(OTHERS if rare else _value_text(v, raw) for v, rare in zip(values, few, strict=True))
        return Outcome(names, _halves(raw, values[0]), _halves(released, values[0]))
    assert isinstance(raw, LeafSpread)
    assert isinstance(released, LeafSpread)
    levels = _outcome_levels(raw)
    return Outcome(levels.names, level_shares(raw, levels), level_shares(released, levels))


def _outcome_levels(raw: LeafSpread) -> Levels:
    """Return two categories in the order of their texts; several by frequency, without the rarest."""
    present = [int(leaf) for leaf in np.flatnonzero(raw.rows_of_leaf)]
    if len(present) != 2:
        levels = levels_of(raw)
        few = raw.rows_of_leaf[levels.group_of_leaf == len(levels.names) - 1].sum() < SMALLEST
        return Levels(levels.names[:-1], levels.group_of_leaf) if few else levels
    present.sort(key=lambda leaf: raw.leaves[leaf])
    groups = np.full(len(raw.leaves), 2, np.int32)
    groups[present] = [0, 1]
    named = [raw.leaves[leaf] if raw.rows_of_leaf[leaf] >= SMALLEST else OTHERS for leaf in present]
    return Levels(tuple(named), groups)


def _value_text(value: float, column: LineSpread) -> str:
    return column.order[int(value)] if column.kind == "ordinal" else number_text(value)


def _halves(column: LineSpread, low: float) -> FloatArray:
    """Return the share of each row that is at most `low`, and the rest; NaN where the cell is missing."""
    below = np.where(column.missing > 0.5, np.nan, column.up_to(low))
    return np.column_stack([below, 1 - below])[column.label]


def line_values(column: Spread) -> FloatArray:
    """Return the middle of each row's range; NaN where the cell is missing."""
    assert isinstance(column, LineSpread)
    return column.means[column.label]


def complete(*columns: FloatArray) -> npt.NDArray[np.bool_]:
    """Mark the rows that miss nothing."""
    return np.asarray(np.isfinite(np.column_stack(columns)).all(axis=1))
