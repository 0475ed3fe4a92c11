"""One column of a release and of its original, in whole numbers.

Raw cells become *codes*, published ones *cells* that cover codes. The codes are ordered so that a cell
covers a contiguous run of them wherever possible: numbers and dates by size, the leaves of a tree
adjacent under each of its nodes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.verifier.cells.covers import OTHER, Cover, Key, Span

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Axis:
    """One column in codes.

    Parameters
    ----------
    codes : ndarray of shape (n_points,)
        The code of each raw row, or of each group of equal ones.
    cells : ndarray of shape (n_boxes,)
        The cell of each released row, or of each group of equal ones.
    low, high : ndarrays of shape (n_cells,)
        The lowest and highest code that a cell covers; `low` is above `high` where it covers none.
    size : int
        The number of codes.
    members : ndarray, optional
        Where some cells cover less than all codes between low and high: for each cell and each code that
        it covers, cell x `size` + code, sorted.
    """

    codes: Ints
    cells: Ints
    low: Ints
    high: Ints
    size: int
    members: Ints | None = None

    def covers(self, box: Ints, point: Ints) -> Flags:
        """Return, for each pair of a box and a point, whether the box covers the point."""
        codes, cells = self.codes[point], self.cells[box]
        inside: Flags = (self.low[cells] <= codes) & (codes <= self.high[cells])
        if self.members is not None:
            wanted = cells[inside] * self.size + codes[inside]
            inside[inside] = _is_in(wanted, self.members)
        return inside

    def of_boxes(self, which: Ints) -> Axis:
        """Return the axis of some of the boxes."""
        return replace(self, cells=self.cells[which])

    def of_points(self, which: Ints) -> Axis:
        """Return the axis of some of the points."""
        return replace(self, codes=self.codes[which])


def _is_in(wanted: Ints, members: Ints) -> Flags:
    at = np.searchsorted(members, wanted)
    found: Flags = at < len(members)
    found[found] = members[at[found]] == wanted[found]
    return found


def equal_axis(points: Ints, boxes: Ints, size: int) -> Axis:
    """Build the axis of a column that is published unchanged: each cell covers only its own code."""
    codes = np.arange(size)
    return Axis(points, boxes, codes, codes, size)


def covering_axis(keys: Sequence[Key], points: Ints, covers: Sequence[Cover], boxes: Ints) -> Axis:
    """Build the axis of a generalized column.

    Parameters
    ----------
    keys : sequence of Key
        The raw values, some of which may be equal.
    points : ndarray of shape (n_points,)
        Which of them each point has.
    covers : sequence of Cover
        What the distinct published cells cover.
    boxes : ndarray of shape (n_boxes,)
        Which of them each box has.
    """
    known = {key for key in keys if key is not None and key is not OTHER}
    spans = any(isinstance(cover, Span) for cover in covers)
    line = sorted(known) if spans else _side_by_side(known, covers)
    order = [*line, *(key for key in (None, OTHER) if key in set(keys))]
    code = {key: place for place, key in enumerate(order)}
    run = _run_on(line, code)
    runs = [run(cover) for cover in covers]
    members = None
    if any(inside is not None and len(inside) < high + 1 - low for low, high, inside in runs):
        listed = [
            cell * len(order) + place
            for cell, (low, high, inside) in enumerate(runs)
            for place in (range(low, high + 1) if inside is None else inside)
        ]
        members = np.array(sorted(listed), np.int64)
    return Axis(
        np.array([code[key] for key in keys], np.int64)[points],
        boxes,
        np.array([low for low, _, _ in runs], np.int64),
        np.array([high for _, high, _ in runs], np.int64),
        len(order),
        members,
    )


Run = tuple[int, int, list[int] | None]  # the lowest and highest code, and all of them where listed


def _run_on(line: Sequence[Any], code: dict[Key, int]) -> Callable[[Cover], Run]:
    """Return a function that finds the codes of a cover, given the codes of ordered keys."""

    def run(cover: Cover) -> Run:
        if cover is None:
            return 0, len(code) - 1, None
        if isinstance(cover, Span):
            begin = bisect_right(line, cover.low) if cover.without_low else bisect_left(line, cover.low)
            end = bisect_left(line, cover.high) if cover.without_high else bisect_right(line, cover.high)
            return begin, end - 1, None
        inside = sorted(code[key] for key in cover if key in code)
        return (inside[0], inside[-1], inside) if inside else (len(code), -1, None)

    return run


def _side_by_side(known: Collection[Any], covers: Sequence[Cover]) -> list[Any]:
    """Order keys so that those covered by the same sets are adjacent, largest sets first."""
    sets = {frozenset(cover) for cover in covers if cover is not None and not isinstance(cover, Span)}
    chain: dict[Any, list[int]] = {key: [] for key in known}
    for number, members in enumerate(sorted(sets, key=lambda each: (-len(each), sorted(map(str, each))))):
        for key in members:
            if key in chain:
                chain[key].append(number)
    return sorted(chain, key=lambda key: (chain[key], key))
