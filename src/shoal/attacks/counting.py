"""How many released rows may be a person's: those whose boxes contain the person.

For a few columns, all people are counted at once on the grid of their values: each box adds its rows at its
corners, and running sums along every axis turn the corners into counts (a summed-area table). For all
columns, or on a large grid, people are compared with boxes, as bits; of many people a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from shoal.attacks.bits import Choice, rows_containing, runs
from shoal.attacks.tables import Floats, Ints, together
from shoal.verifier.originals.axis import Axis

Bits = npt.NDArray[np.uint8]

GRID = 1 << 24  # values of a grid
CORNERS = 1 << 24  # boxes after sets are split into runs
WORK = 1 << 31  # pairs of a box and a person to compare
_LITTLE = 1 << 28  # the same for one of many choices of columns
_ROOM = 1 << 23  # numbers of candidates that are kept at a time
_GRID_WORK = 64  # pairs that are compared in the time that one value of a grid takes
_PIECE = 1 << 25  # pairs of a cell and a person at a time
_SEED = 0


@dataclass(frozen=True)
class Crowds:
    """For each person who was looked at, how many rows may be theirs.

    Parameters
    ----------
    candidates : ndarray
        One number for each kind of person, 0 for a person in no box.
    weights : ndarray
        How many people of each kind there are.
    sampled : bool
        Whether these are a sample of all people.
    """

    candidates: Ints
    weights: Ints
    sampled: bool = False

    @property
    def people(self) -> int:
        """How many people were looked at."""
        return int(self.weights.sum())

    @property
    def success(self) -> float:
        """The share of people whose row is found by picking one of the candidates."""
        inside = self.candidates > 0
        return float((self.weights[inside] / self.candidates[inside]).sum()) / max(1, self.people)

    @property
    def smallest(self) -> int:
        """The fewest candidates that a person has; 0 if nobody is in a box."""
        inside = self.candidates[(self.candidates > 0) & (self.weights > 0)]
        return int(inside.min()) if len(inside) else 0

    def below(self, k: int) -> int:
        """Return how many people have candidates, but fewer than k."""
        return int(self.weights[(self.candidates > 0) & (self.candidates < k)].sum())

    @property
    def outside(self) -> int:
        """How many people are in no box."""
        return int(self.weights[self.candidates == 0].sum())


def crowds(axes: Sequence[Axis], sizes: Ints) -> Crowds:
    """Count the candidates of everybody, or of a sample.

    Parameters
    ----------
    axes : sequence of Axis
        The columns that the attacker knows: codes of people, cells of boxes.
    sizes : ndarray of shape (n_boxes,)
        How many rows are published as each box.
    """
    found = on_grid(axes, sizes) if len(axes) <= 3 else None
    if found is not None:
        return found
    sample = people_sample(axes, len(sizes))
    (candidates,) = rows_containing(sample.of_points(axes), [tuple(range(len(axes)))], sizes)
    return Crowds(candidates, sample.weights, sample.sampled)


def crowds_by_choice(axes: Sequence[Axis], choices: Sequence[Choice], sizes: Ints) -> Iterator[Crowds]:
    """Yield the same as `crowds` for many choices of columns, which are numbered, in this order.

    People are compared with boxes where that is less work than a grid, unless a grid can count everybody and
    comparing only a sample.
    """
    sample = people_sample(axes, len(sizes), work=_LITTLE)
    largest = GRID if sample.sampled else len(sample.first) * len(sizes) // _GRID_WORK
    points, step = sample.of_points(axes), max(1, _ROOM // max(1, len(sample.first)))
    for begin in range(0, len(choices), step):
        part = choices[begin : begin + step]
        grids = {choice: on_grid([axes[at] for at in choice], sizes, largest) for choice in part}
        others = [choice for choice, found in grids.items() if found is None]
        counted = dict(zip(others, rows_containing(points, others, sizes), strict=True)) if others else {}
        for choice, found in grids.items():
            yield found or _combined(counted[choice], sample)


def _combined(candidates: Ints, sample: Sample) -> Crowds:
    """Return the crowds of a sample, people with the same number of candidates combined."""
    times = np.bincount(candidates, sample.weights).astype(np.int64)
    there = np.flatnonzero(times)
    return Crowds(there, times[there], sample.sampled)


# On the grid.


def on_grid(axes: Sequence[Axis], sizes: Ints, largest: int = GRID) -> Crowds | None:
    """Count everybody on the grid; None if it would have more than `largest` values."""
    shape = tuple(axis.size for axis in axes)
    if prod(size + 1 for size in shape) > min(largest, len(axes[0].codes) * len(sizes)):
        return None  # too large, or so large that comparing all pairs is less work
    split = _split(axes, sizes)
    if split is None:
        return None
    lows, highs, rows = split
    place = np.zeros(len(axes[0].codes), np.int64)
    for axis in axes:
        place = place * axis.size + axis.codes
    weights = np.bincount(place, minlength=prod(shape))
    there = np.flatnonzero(weights)
    candidates = _running_sums(lows, highs, rows, shape)[np.unravel_index(there, shape)]
    return Crowds(np.rint(candidates).astype(np.int64), weights[there])


def _split(axes: Sequence[Axis], sizes: Ints) -> tuple[list[Ints], list[Ints], Ints] | None:
    """Return the distinct boxes as ranges of codes; a set of separate codes becomes several ranges."""
    label = together([(axis.cells, len(axis.low)) for axis in axes], len(sizes))
    first = np.empty(int(label.max(initial=-1)) + 1, np.int64)
    first[label] = np.arange(len(label))
    rows = np.bincount(label, sizes, len(first))
    at = np.arange(len(first))
    ranges: list[Ints] = []
    for axis in axes:
        begins, low, high = runs(axis)
        cell = axis.cells[first]
        number = begins[cell + 1] - begins[cell]
        if int(number[at].sum()) > CORNERS >> len(axes):
            return None
        times = number[at]
        which = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        ranges = [np.repeat(known, times) for known in ranges]
        at = np.repeat(at, times)
        which += begins[cell[at]]
        ranges += [low[which], high[which]]
    return ranges[::2], ranges[1::2], rows[at]


def _running_sums(lows: list[Ints], highs: list[Ints], rows: Ints, shape: tuple[int, ...]) -> Floats:
    """Return, for each place of the grid, the rows of the boxes that contain it."""
    padded = tuple(size + 1 for size in shape)
    corners, signs = [], []
    for ends in product((0, 1), repeat=len(shape)):
        corner = np.zeros(len(rows), np.int64)
        for size, end, low, high in zip(padded, ends, lows, highs, strict=True):
            corner = corner * size + (high + 1 if end else low)
        corners.append(corner)
        signs.append(-rows if sum(ends) % 2 else rows)
    counts = np.bincount(np.concatenate(corners), np.concatenate(signs), prod(padded))
    sums = np.asarray(counts, np.float64).reshape(padded)
    for at in range(len(shape)):
        np.cumsum(sums, axis=at, out=sums)
    return sums


def raw_crowds(axes: Sequence[Axis]) -> Crowds:
    """Count the people with the same raw values: the candidates if the raw table were released."""
    n = len(axes[0].codes)
    times = np.bincount(together([(axis.codes, axis.size) for axis in axes], n))
    return Crowds(times, times)


# Person by person.


@dataclass(frozen=True, repr=False)
class Sample:
    """Kinds of people, equal ones combined: one of each, and how many are looked at."""

    first: Ints
    weights: Ints
    sampled: bool

    def of_points(self, axes: Sequence[Axis]) -> list[Axis]:
        """Return the axes of these people."""
        return [axis.of_points(self.first) for axis in axes]


def people_sample(
    axes: Sequence[Axis], n_boxes: int, more: Sequence[tuple[Ints, int]] = (), *, work: int = WORK
) -> Sample:
    """Choose the people to look at: all if that is little work, otherwise a sample.

    The choice does not depend on the order of the input: people are drawn in the order of their values.

    Parameters
    ----------
    axes : sequence of Axis
        The columns that the attacker knows.
    n_boxes : int
        How many boxes each of them is compared with.
    more : sequence of (ndarray, int)
        Other columns by which people differ, with their numbers of values.
    work : int
        How many pairs may be compared.
    """
    n = len(axes[0].codes)
    kind = together([*((axis.codes, axis.size) for axis in axes), *more], n)
    times = np.bincount(kind)
    first = np.empty(len(times), np.int64)
    first[kind] = np.arange(n)
    most = max(1000, work // max(1, n_boxes))
    if len(times) <= most:
        return Sample(first, times, sampled=False)
    drawn = np.random.Generator(np.random.PCG64(_SEED)).choice(n, most, replace=False)
    of_kind = np.bincount(np.searchsorted(np.cumsum(times), drawn, side="right"), minlength=len(times))
    chosen = np.flatnonzero(of_kind)
    return Sample(first[chosen], of_kind[chosen], sampled=True)


def pairs(boxes: Sequence[Axis], points: Sequence[Axis]) -> Iterator[tuple[Ints, Ints]]:
    """Yield boxes with points inside them, for some of the points at a time.

    The axes differ in their codes only. All boxes of a point are in one piece.
    """
    found: list[tuple[Ints, Ints]] = []
    now = 0
    for begin, box, bits in _hits(boxes, points):
        if begin != now and found:
            yield _joined(found)
            found = []
        now = begin
        row, place = np.nonzero(np.unpackbits(bits, axis=1))
        found.append((box[row], place + begin))
    if found:
        yield _joined(found)


def _joined(found: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    box, point = zip(*found, strict=True)
    return np.concatenate(box), np.concatenate(point)


def _hits(boxes: Sequence[Axis], points: Sequence[Axis]) -> Iterator[tuple[int, Ints, Bits]]:
    """Yield, for some of the points at a time, the boxes that contain any, with one bit for each point."""
    n_points = len(points[0].codes)
    used = [np.unique(axis.cells, return_inverse=True) for axis in boxes]
    n_cells = max(len(cells) for cells, _ in used)
    step = max(64, min(4096, _PIECE // max(1, n_cells, len(boxes[0].cells) // 8)) // 8 * 8)
    for begin in range(0, n_points, step):
        bits: Bits | None = None
        for box, point, (cells, of_box) in zip(boxes, points, used, strict=True):
            inside = np.packbits(_inside(box, cells, point.codes[begin : begin + step]), axis=1)[of_box]
            bits = inside if bits is None else bits & inside
        assert bits is not None
        hit = np.flatnonzero(bits.any(axis=1))
        room = max(1, _PIECE // step)
        for at in range(0, len(hit), room):
            yield begin, hit[at : at + room], bits[hit[at : at + room]]


def _inside(axis: Axis, cells: Ints, codes: Ints) -> npt.NDArray[np.bool_]:
    """Return, for each of some cells and each code, whether the cell covers the code."""
    covered = (axis.low[cells][:, None] <= codes) & (codes <= axis.high[cells][:, None])
    if axis.members is None:
        return covered
    cell, at = np.nonzero(covered)
    wanted = cells[cell] * axis.size + codes[at]
    place = np.minimum(np.searchsorted(axis.members, wanted), len(axis.members) - 1)
    covered[cell, at] = axis.members[place] == wanted
    return covered
