"""Neighbourhoods of a table: a few cells of it with all their rows, which stand for the whole.

A class is made of rows that lie close together, so what a row loses depends on how dense the table is around
it. Rows drawn one by one lie further apart than those of the table, and lose more. A cell of the table is as
dense as the table is there. So rows are drawn, and each brings the cell that it lies in.

The table is cut from above as local search cuts it, but only where one of the rows drawn lies. Each row thus
has a chain of ever smaller cells, from the whole table down, and a search takes the one that fits.

Most rows of a large table lie among many like them and lose little; a few rare ones lose most. So rare rows
are drawn more often, and count less: a sum over a cell is divided by the number of draws to expect in it,
which gives the sum over the table, whatever the chances are (Hansen and Hurwitz, 1943).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray, LongArray
from shoal.cluster.local_search.cell import whole_cell
from shoal.engine.cells.sample import sample_keys
from shoal.table.fixed import FixedColumns

_CUT_ROWS = 2000  # rows on which a cut is chosen
_LEAST_SIDE = 40  # of these on each side of a cut
_SEED = 20240229  # arbitrary, but fixed: a table has one set of neighbourhoods
_BINS = 32  # parts of a range in which rows are counted
_LIKE = 10  # other rows with which a row counts as frequent
_EVEN = 0.3  # of the mean chance that every row has


class Draws:
    """The rows of a table, in an order and with chances that do not depend on the order of the input.

    Parameters
    ----------
    fixed : FixedColumns
        The quasi columns of all rows.

    Attributes
    ----------
    order : ndarray of int64
        The rows from frequent to rare, and as good as random otherwise; equal rows are together.
    chance : ndarray of float64
        The chance that one draw hits each row, by row.
    """

    def __init__(self, fixed: FixedColumns) -> None:
        lost = _lost_bits(fixed)
        self.order: LongArray = np.lexsort([sample_keys(_codes(fixed), _SEED), lost])
        # Sums in this order are the same for any order of the input, to the last bit.
        chance = lost + _EVEN * max(float(lost[self.order].mean()), 1e-9)
        self.chance: FloatArray = chance / chance[self.order].sum()
        self._sums = np.cumsum(self.chance[self.order])

    def rows(self, number: int) -> LongArray:
        """Draw so many rows, with their chances: evenly spaced along the sum of the chances."""
        at = np.searchsorted(self._sums, (np.arange(number) + 0.5) / number * self._sums[-1])
        drawn: LongArray = self.order[np.minimum(at, len(self.order) - 1)]
        return drawn


def _lost_bits(fixed: FixedColumns) -> FloatArray:
    """Return how much each row must probably lose: how rare its values make it, beyond some rows alike.

    Values are taken as independent of each other. This only guides the draws: what is estimated is correct
    for any chances.
    """
    n = (fixed.position if len(fixed.position) else fixed.leaf).shape[1]
    bits = np.zeros(n)
    for position, span in zip(fixed.position, fixed.span, strict=True):
        bits += _bits(position // max(1, int(span) // _BINS))
    for leaf in fixed.leaf:
        bits += _bits(leaf)
    lost: FloatArray = np.maximum(0.0, bits - np.log2(max(1.0, n / _LIKE)))
    return lost


def _bits(codes: IntArray) -> FloatArray:
    counts = np.bincount(codes)
    bits: FloatArray = -np.log2(np.maximum(counts, 1) / len(codes))[codes]
    return bits


@dataclass(frozen=True, repr=False)
class Neighbourhood:
    """A cell of a table.

    Parameters
    ----------
    rows : ndarray of int64
        Its rows; the order of the input shows only in the order of equal ones.
    drawn : ndarray of int64
        Which draws hit it, by number.
    expected : float
        The share of all draws that was to be expected.
    sides : tuple of ndarray of int64
        The rows on both sides of the cut that parts it; none for a cell that is not cut.
    """

    rows: LongArray
    drawn: LongArray
    expected: float
    sides: tuple[LongArray, ...]


def neighbourhoods(fixed: FixedColumns, draws: Draws, number: int, room: int) -> list[list[Neighbourhood]]:
    """Draw so many rows and cut the table around them, into cells of about `room` rows or more.

    Returns the chains of the smallest cells, each from the whole table down.
    """
    anchors = _codes(fixed)[:, draws.rows(number)]
    cell = whole_cell(fixed, _LEAST_SIDE, None, None)
    table = _Table(_codes(fixed), cell, draws.chance, anchors, room)
    return table.chains(draws.order, np.arange(number), [])


def _codes(fixed: FixedColumns) -> IntArray:
    codes: IntArray = np.concatenate([fixed.position, fixed.leaf])
    return codes


@dataclass(frozen=True, repr=False)
class _Table:
    """A table that is cut around some rows."""

    codes: IntArray
    cell: Any  # kernels.local_search.space.Cell
    chance: FloatArray
    anchors: IntArray  # codes of the rows drawn
    room: int

    def chains(
        self, rows: LongArray, drawn: LongArray, above: list[Neighbourhood]
    ) -> list[list[Neighbourhood]]:
        """Cut a cell as long as it is large; return the chain of each smallest cell with rows drawn."""
        cut = None if len(rows) < 2 * self.room else self._cut(rows)
        expected = float(self.chance[rows].sum())
        if cut is None:
            return [[*above, Neighbourhood(rows, drawn, expected, ())]]
        column, low, high = cut
        is_inside = _between(self.codes[column, rows], low, high)
        sides = rows[is_inside], rows[~is_inside]
        lies_inside = _between(self.anchors[column, drawn], low, high)
        chain, found = [*above, Neighbourhood(rows, drawn, expected, sides)], []
        for below, lies_here in zip(sides, (lies_inside, ~lies_inside), strict=True):
            if lies_here.any():
                found += self.chains(below, drawn[lies_here], chain)
        return found

    def _cut(self, rows: LongArray) -> tuple[int, int, int] | None:
        """Return the column and the codes of the cut that saves most; None if there is none."""
        from shoal.kernels.local_search.start import best_cut

        chosen = evenly(rows, _CUT_ROWS).copy()
        least = max(_LEAST_SIDE, ceil(self.room * len(chosen) / len(rows)))
        middle, cut = best_cut(self.cell._replace(k=least), chosen, 0, len(chosen), None)
        return None if middle == len(chosen) else cut


def evenly(rows: LongArray, most: int) -> LongArray:
    """Return at most so many of some rows, evenly spaced."""
    if len(rows) <= most:
        return rows
    return rows[((np.arange(most) + 0.5) * (len(rows) / most)).astype(np.int64)]


def _between(codes: IntArray, low: int, high: int) -> BoolArray:
    inside: BoolArray = (codes >= low) & (codes <= high)
    return inside
