"""Find which raw rows are inside which boxes, with a grid instead of comparing all pairs.

Identical raw rows are one *point*, identical released rows one *box*.

The grid has more bins on axes where boxes are narrow: the number of bins that a box touches, the
product over all axes of (width x bins + 1), is least when width x bins is the same everywhere. Points
are sorted by their bins, axis by axis, so that a box visits only bins that have points; these points are
then compared exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from shoal.verifier.originals.axis import Axis, Flags, Ints

_BINS_PER_POINT = 512  # nearly all of them are empty
_CHUNK = 1 << 22  # approximate number of pairs in memory during the search
_PAIRS = 1 << 25  # approximate number of pairs in the result


class Pairs(NamedTuple):
    """Boxes with points inside them, and for each box of the grid whether it may have more."""

    box: Ints
    point: Ints
    partial: Flags


class _Level(NamedTuple):
    """One axis of the grid: the bins of every box, their number, and the prefixes that have points."""

    low: Ints
    high: Ints
    radix: int
    prefixes: Ints


class Grid:
    """The points of a table, sorted so that those inside a box are found quickly."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        n_points = len(axes[0].codes)
        counts = [np.bincount(axis.codes, minlength=axis.size) for axis in axes]
        widths = [_width(axis, count) for axis, count in zip(axes, counts, strict=True)]
        n_bins = _share_out(widths, [axis.size for axis in axes], _BINS_PER_POINT * n_points)
        bins = [_bin_of_code(count, number) for count, number in zip(counts, n_bins, strict=True)]
        # Where a box touches a single bin, most points are ruled out without multiplying the pairs.
        order = sorted(range(len(axes)), key=lambda at: _touched(axes[at], bins[at]))
        self._build([axes[at] for at in order], [bins[at] for at in order])

    def _build(self, axes: Sequence[Axis], bins: Sequence[Ints]) -> None:
        """Sort the points by their bins."""
        radices = [int(of_code[-1]) + 1 if len(of_code) else 1 for of_code in bins]
        key = np.zeros(len(axes[0].codes), np.int64)
        for axis, of_code, radix in zip(axes, bins, radices, strict=True):
            key = key * radix + of_code[axis.codes]
        self._order = np.argsort(key, kind="stable")
        key = key[self._order]
        self._levels = [
            _Level(*_bins_of_boxes(axis, of_code), radix, _unique(key // prod(radices[at + 1 :])))
            for at, (axis, of_code, radix) in enumerate(zip(axes, bins, radices, strict=True))
        ]
        self._begins = np.append(np.searchsorted(key, self._levels[-1].prefixes), len(key))
        # What the bins already decide is not compared again.
        self._compared = [
            axis
            for axis, radix in zip(axes, radices, strict=True)
            if radix < axis.size or axis.members is not None
        ]

    def pairs(self, most: int | None = None) -> Pairs:
        """Return the points inside every box; where there are too many for memory, some of each box."""
        found = self._pairs(most)
        if found is None:
            found = self._pairs(max(64, _PAIRS // len(self._levels[0].low)))
        assert found is not None  # a limit per box was given
        return found

    def _pairs(self, most: int | None) -> Pairs | None:
        found, held, waiting = [], 0, np.arange(len(self._levels[0].low))
        while len(waiting):
            some, waiting = self.first_pairs(waiting, most)
            found.append(some)
            held += len(some.box)
            if held > _PAIRS and most is None:
                return None
        box, point, partial = zip(*found, strict=True)
        return Pairs(np.concatenate(box), np.concatenate(point), np.logical_or.reduce(partial))

    def first_pairs(self, boxes: Ints, most: int | None = None) -> tuple[Pairs, Ints]:
        """Return the points inside the first of these boxes, and the remaining boxes."""
        number = len(boxes)
        while (found := self._found(boxes[:number], most)) is None:
            number = (number + 1) // 2
        return found, boxes[number:]

    def _found(self, boxes: Ints, most: int | None) -> Pairs | None:
        """Return the pairs of these boxes, or None if there are too many for memory."""
        partial = np.zeros(len(self._levels[0].low), np.bool_)
        box, key, bins = boxes, np.zeros(len(boxes), np.int64), np.zeros(len(boxes), np.int64)
        for level in self._levels:
            begins = np.searchsorted(level.prefixes, key * level.radix + level.low[box])
            ends = np.searchsorted(level.prefixes, key * level.radix + level.high[box], side="right")
            if len(boxes) > 1 and np.maximum(ends - begins, 0).sum() > _CHUNK:
                return None
            box, bins = _reached(box, begins, ends, most, partial)
            key = level.prefixes[bins]
        begins, ends = self._begins[bins], self._begins[bins + 1]
        if len(boxes) > 1 and (ends - begins).sum() > _CHUNK:
            return None
        box, place = _reached(box, begins, ends, most, partial)
        point = self._order[place]
        for axis in self._compared:
            kept = axis.covers(box, point)
            box, point = box[kept], point[kept]
        return Pairs(box, point, partial)


def _reached(box: Ints, begins: Ints, ends: Ints, most: int | None, partial: Flags) -> tuple[Ints, Ints]:
    """Pair each box with all positions that it reaches; the boxes are sorted.

    A box with more than `most` positions gets that many, evenly spaced, and is marked in `partial`.
    """
    times = np.maximum(ends - begins, 0)
    last = np.cumsum(times)
    total = int(times.sum())
    places = np.arange(total) + np.repeat(begins - last + times, times)
    spread = np.repeat(box, times)
    firsts = np.flatnonzero(np.diff(spread, prepend=-1))
    sizes = np.diff(np.append(firsts, total))
    if most is None or not (sizes > most).any():
        return spread, places
    partial[spread[firsts[sizes > most]]] = True
    within, of_many = np.arange(total) - np.repeat(firsts, sizes), np.repeat(sizes, sizes)
    kept = (of_many <= most) | (within * most // of_many != (within - 1) * most // of_many)
    return spread[kept], places[kept]


def _width(axis: Axis, counts: Ints) -> float:
    """Return the share of the points between low and high of a box, on average."""
    below = np.append(0, np.cumsum(counts))
    inside = np.maximum(0, below[axis.high + 1] - below[np.minimum(axis.low, axis.size)])
    return max(1e-9, float(np.mean(inside[axis.cells])) / max(1, int(below[-1]))) if len(axis.cells) else 1.0


def _share_out(widths: Sequence[float], sizes: Sequence[int], most: int) -> list[int]:
    """Return how many bins each axis gets: more where boxes are narrower, about `most` in total."""

    def shares(touched: float) -> list[int]:
        return [max(1, min(size, round(touched / width))) for size, width in zip(sizes, widths, strict=True)]

    low, high = 0.0, float(max(sizes, default=1))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if prod(shares(middle)) > most else (middle, high)
    return shares(low)


def _bin_of_code(counts: Ints, number: int) -> Ints:
    """Return the bin of each code: runs of codes with about the same number of points."""
    if number >= len(counts):
        return np.arange(len(counts))
    below = np.cumsum(counts) - counts
    bins: Ints = np.unique(below * number // max(1, int(counts.sum())), return_inverse=True)[1]
    return bins


def _bins_of_boxes(axis: Axis, of_code: Ints) -> tuple[Ints, Ints]:
    """Return the first and last bin that each box touches; none if the last is before the first."""
    low = of_code[np.minimum(axis.low, axis.size - 1)]
    high = np.where(axis.low > axis.high, low - 1, of_code[np.maximum(axis.high, 0)])
    return low[axis.cells], high[axis.cells]


def _touched(axis: Axis, of_code: Ints) -> float:
    low, high = _bins_of_boxes(axis, of_code)
    return float(np.mean(high - low)) if len(low) else 0.0


def _unique(keys: Ints) -> Ints:
    """Return the distinct keys of a sorted array."""
    different: Ints = keys[np.append(True, keys[1:] != keys[:-1])]
    return different
