"""Cut a cell that is too large where that saves most loss, as local search does at its start, on a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray, LongArray
from shoal.cluster.local_search.cell import whole_cell
from shoal.engine.cells.tree import LEAF, Cut, Node
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, SensitiveColumn
from shoal.table.fixed import FixedColumns

SAMPLE_TUPLES = 60_000  # different rows in the sample of one cell
FEWEST_TUPLES = SAMPLE_TUPLES // 4  # below, the sample is drawn again with a larger share
_COPIES = 20_000  # at least, of all rows of a sample together
_FEWEST_ROWS = 400  # of a sample that is cut further: cuts of fewer are for the next round
_FULL = 0.85  # of what a cell may have, by the sample: counts will differ a little
_LEAST_SIDE = 50  # rows of the sample on each side of a cut
OPEN_LOW, OPEN_HIGH = int(np.iinfo(np.int32).min), int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Space:
    """The quasi columns as cuts see them: spans and trees, without rows."""

    unit: int
    span: IntArray
    trees: Any  # kernels.trees.Trees

    def fixed(self, codes: IntArray) -> FixedColumns:
        """Return the columns of some rows; `codes` has a row for each column, ranges first."""
        n_ranges = len(self.span)
        position, leaf = (np.ascontiguousarray(part) for part in (codes[:n_ranges], codes[n_ranges:]))
        return FixedColumns(self.unit, self.span, position, leaf, self.trees)


@dataclass(frozen=True)
class Sample:
    """Different rows of a cell, and how many rows of the table each represents.

    Parameters
    ----------
    codes : ndarray of shape (n_columns, n), int32
    sensitive : tuple of SensitiveColumn
        What the goals count, of these rows.
    weights : ndarray of shape (n,), int64
    rows : int
        Rows of the whole cell.
    """

    codes: IntArray
    sensitive: tuple[SensitiveColumn, ...]
    weights: LongArray
    rows: int


@dataclass(frozen=True)
class CutSample:
    """What a sample of a cell has shown.

    Parameters
    ----------
    cuts : Node
        A leaf where no cut was found.
    tuples : int
        Different rows in the sample.
    codes : tuple of int
        Those that most rows of the sample have.
    share : float
        Of the rows of the sample that have them.
    """

    cuts: Node
    tuples: int
    codes: tuple[int, ...]
    share: float


def sample_keys(codes: IntArray, seed: int) -> npt.NDArray[np.uint64]:
    """Hash the quasi values of each row; rows whose hash is below a limit are the sample.

    Equal rows are in it together or not at all, so that neither their order nor their place matters.
    """
    from shoal.kernels import hashing

    state = np.full(codes.shape[1], np.uint64(seed ^ 0x5AFE), np.uint64)
    for column in codes:
        hashing.add_numbers(state, column.astype(np.int64))
    return state


def key_limit(share: float) -> int:
    """Return the limit below which a share of all keys lies."""
    return min(2**64 - 1, ceil(share * 2**64))


def cut_sample(space: Space, sample: Sample, recipe: Recipe, cell_rows: int) -> Node:
    """Cut the cell of a sample down to parts of `cell_rows` rows, or as far as the sample suffices."""
    copies = _copies(sample.weights)
    chosen = np.repeat(np.arange(len(copies)), copies)
    rows_of_one = sample.rows / len(chosen)
    least = max(_LEAST_SIDE, ceil(recipe.privacy.k / rows_of_one))
    goals = _kernel_goals(sample, chosen, recipe, least)
    tally = _tally(goals)
    cell = whole_cell(space.fixed(sample.codes[:, chosen]), least, goals, tally)
    return _cut(cell, np.arange(len(chosen)), (0, len(chosen)), rows_of_one, cell_rows, tally)


def _copies(weights: LongArray) -> LongArray:
    """Return how often each row of the sample is taken, in proportion to what it represents."""
    wanted = max(_COPIES, len(weights))
    copies: LongArray = np.maximum(1, np.rint(weights * (wanted / weights.sum()))).astype(np.int64)
    return copies


def _kernel_goals(sample: Sample, chosen: LongArray, recipe: Recipe, least: int) -> Any:
    """Return the goals for the rows chosen, so that no cut is made whose sides cannot meet them."""
    if not recipe.privacy.column_goals:
        return None
    sensitive = tuple(replace(column, codes=column.codes[chosen]) for column in sample.sensitive)
    rows = Encoded((), np.arange(len(chosen)), sensitive=sensitive)
    return GoalSet(rows, recipe.privacy.column_goals, least).kernel


def _tally(goals: Any) -> Any:
    from shoal.kernels.goals import empty_tally

    return None if goals is None else empty_tally(goals)


def _cut(
    cell: Any, rows: LongArray, group: tuple[int, int], rows_of_one: float, cell_rows: int, tally: Any
) -> Node:
    """Cut a group of the sample; a group that is small enough, or that no cut parts, is a leaf."""
    from shoal.kernels.local_search.start import best_cut

    begin, end = group
    size = end - begin
    if size * rows_of_one <= _FULL * cell_rows or size < max(_FEWEST_ROWS, 2 * cell.k):
        return LEAF
    ends = _ends(cell.codes, rows[begin:end])
    middle, (column, low, high) = best_cut(cell, rows, begin, end, tally)
    if middle == end:
        return LEAF
    # Values beyond the sample's own ends belong to the nearer side.
    low = OPEN_LOW if low <= ends[0][column] else low
    high = OPEN_HIGH if high >= ends[1][column] else high
    inside = _cut(cell, rows, (begin, middle), rows_of_one, cell_rows, tally)
    return Cut(column, low, high, inside, _cut(cell, rows, (middle, end), rows_of_one, cell_rows, tally))


def _ends(codes: IntArray, rows: LongArray) -> tuple[IntArray, IntArray]:
    """Return the lowest and highest codes of some rows."""
    return codes[rows].min(axis=0), codes[rows].max(axis=0)


def most_frequent(sample: Sample) -> tuple[tuple[int, ...], float]:
    """Return the codes that most rows have, and their share of the sample."""
    tuples, inverse = np.unique(sample.codes, axis=1, return_inverse=True)
    weight = np.bincount(inverse.ravel(), sample.weights)
    most = int(weight.argmax())
    return tuple(int(code) for code in tuples[:, most]), float(weight[most] / weight.sum())


def sample_of(
    keys: IntArray, weights: LongArray, sensitive: tuple[SensitiveColumn, ...], size: int
) -> Sample:
    """Return the different rows of a sample, sorted.

    Parameters
    ----------
    keys : ndarray of shape (n_columns + n_goals, n), int32
        Codes, then what each goal counts.
    weights : ndarray of shape (n,), int64
        Rows of the table that each one represents.
    sensitive : tuple of SensitiveColumn
        Of the whole table.
    size : int
        Rows of the cell.
    """
    distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
    weight = np.bincount(inverse.ravel(), weights).astype(np.int64)
    n_codes = len(keys) - len(sensitive)
    columns = tuple(
        replace(column, codes=codes) for column, codes in zip(sensitive, distinct[n_codes:], strict=True)
    )
    return Sample(np.ascontiguousarray(distinct[:n_codes]), columns, weight, size)


def cut_by(space: Space, sample: Sample, recipe: Recipe, cell_rows: int) -> CutSample:
    """Cut a sample and describe it."""
    codes, share = most_frequent(sample)
    return CutSample(cut_sample(space, sample, recipe, cell_rows), len(sample.weights), codes, share)
