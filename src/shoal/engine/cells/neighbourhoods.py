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
from typing import NamedTuple

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


class Neighbourhoods:
    """The neighbourhoods of some rows of a table, for cells of any size.

    Parameters
    ----------
    fixed : FixedColumns
        The quasi columns of all rows.
    draws : Draws
        Of the same rows.
    number : int
        How many rows are drawn.
    """

    def __init__(self, fixed: FixedColumns, draws: Draws, number: int) -> None:
        self.codes, self.draws, self.number = _codes(fixed), draws, number
        self.anchors = self.codes[:, draws.rows(number)]
        self._cell = whole_cell(fixed, _LEAST_SIDE, None, None)
        self._chains: dict[int, list[list[Neighbourhood]]] = {}
        self._parted: dict[tuple[bool, ...], _Parted | None] = {}

    def chains(self, room: int) -> list[list[Neighbourhood]]:
        """Cut the table around the rows drawn, into cells of about `room` rows or more.

        Returns the chains of the smallest cells, each from the whole table down.
        """
        if room not in self._chains:
            self._chains[room] = self._cut_down(room, self.draws.order, np.arange(self.number), (), [])
        return self._chains[room]

    def _cut_down(
        self, room: int, rows: LongArray, drawn: LongArray, path: tuple[bool, ...], above: list[Neighbourhood]
    ) -> list[list[Neighbourhood]]:
        """Cut a cell as long as it is large; return the chain of each smallest cell with rows drawn."""
        parted = None if len(rows) < 2 * room else self._part(room, rows, path)
        expected = float(self.draws.chance[rows].sum())
        if parted is None:
            return [[*above, Neighbourhood(rows, drawn, expected, ())]]
        lies_inside = parted.cut.has(self.anchors[:, drawn])
        chain, found = [*above, Neighbourhood(rows, drawn, expected, parted.sides)], []
        for below, is_inside in zip(parted.sides, (True, False), strict=True):
            lies_here = lies_inside == is_inside
            if lies_here.any():
                found += self._cut_down(room, below, drawn[lies_here], (*path, is_inside), chain)
        return found

    def _part(self, room: int, rows: LongArray, path: tuple[bool, ...]) -> _Parted | None:
        """Part a cell by the cut that saves most; None if there is none.

        A cell that is large beside `room` is parted in the same way for every room, as those above it
        are, so this is kept.
        """
        least = max(_LEAST_SIDE, ceil(room * min(_CUT_ROWS, len(rows)) / len(rows)))
        if least > _LEAST_SIDE:
            return self._parted_at(rows, least)
        if path not in self._parted:
            self._parted[path] = self._parted_at(rows, least)
        return self._parted[path]

    def _parted_at(self, rows: LongArray, least: int) -> _Parted | None:
        from shoal.kernels.local_search.start import best_cut

        chosen = evenly(rows, _CUT_ROWS).copy()
        middle, found = best_cut(self._cell._replace(k=least), chosen, 0, len(chosen), None)
        if middle == len(chosen):
            return None
        cut = _Cut(*found)
        is_inside = cut.has(self.codes, rows)
        return _Parted(cut, (rows[is_inside], rows[~is_inside]))


class _Cut(NamedTuple):
    """A column, and the codes of it that lie inside."""

    column: int
    low: int
    high: int

    def has(self, codes: IntArray, rows: LongArray | slice = slice(None)) -> BoolArray:
        """Return which rows lie inside."""
        values = codes[self.column, rows]
        inside: BoolArray = (values >= self.low) & (values <= self.high)
        return inside


class _Parted(NamedTuple):
    """A cut, and the rows inside and outside of it."""

    cut: _Cut
    sides: tuple[LongArray, LongArray]


def _codes(fixed: FixedColumns) -> IntArray:
    codes: IntArray = np.concatenate([fixed.position, fixed.leaf])
    return codes


def evenly(rows: LongArray, most: int) -> LongArray:
    """Return at most so many of some rows, evenly spaced."""
    if len(rows) <= most:
        return rows
    return rows[((np.arange(most) + 0.5) * (len(rows) / most)).astype(np.int64)]
