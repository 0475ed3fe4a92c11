"""How many originals fit each row of a release, and how many rows each original fits.

A row is a box: in each quasi column it covers some values. An original fits it when the box covers
its values in every column. Sets of originals are integers with one bit for each original.

Up to `LIMIT` pairs of a box and an original, only *consistent* pairs count: those in some
one-to-one assignment of rows to originals. A box may contain an original that another row needs,
and an attacker who knows all originals can find that out. Above the limit, a set for each box would
take too much memory: all pairs count, chunk by chunk, and no assignment is looked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import or_
from typing import Any

from shoal.verifier.cells.covers import OTHER, Cover, Key, Span
from shoal.verifier.originals.matching import assign, consistent

LIMIT = 1 << 31  # pairs of a distinct box and an original, each a bit: 256 MB
_PIECE = 1 << 14  # originals per chunk


@dataclass(frozen=True)
class Boxes:
    """The distinct rows of a release.

    Parameters
    ----------
    covers : list of list of Cover
        For each quasi column, what its distinct cells cover.
    cells : list of tuple of int
        For each box and column, which of these cells it has.
    sizes : list of int
        How many rows are published as each box.
    """

    covers: list[list[Cover]]
    cells: list[tuple[int, ...]]
    sizes: list[int]


@dataclass(frozen=True)
class Counts:
    """The numbers of both sides.

    Parameters
    ----------
    of_box : list of int
        Originals that fit each box.
    of_original : list of int
        Rows that each original fits.
    assignable : bool
        Whether every row can have an original of its own; above the limit, judged by the numbers of rows.
    """

    of_box: list[int]
    of_original: list[int]
    assignable: bool


def count_fits(boxes: Boxes, originals: Sequence[tuple[Key, ...]], *, limit: int = LIMIT) -> Counts:
    """Count both sides; `originals` has one tuple of values for each original."""
    if len(boxes.cells) * len(originals) > limit:
        return _contained(boxes, originals)
    fits = [0] * len(boxes.cells)
    for begin, _, piece in _pieces(boxes, originals):
        for box, bits in piece:
            fits[box] |= bits << begin
    box_of = [box for box, size in enumerate(boxes.sizes) for _ in range(size)]
    of_row = [fits[box] for box in box_of]
    original_of = assign(of_row, len(originals))
    if original_of is None:
        return Counts([0] * len(fits), [0] * len(originals), assignable=False)
    of_box = [0] * len(fits)
    tally = Tally()
    for row, behind in consistent(of_row, original_of, len(originals)):
        of_box[box_of[row]] = behind.bit_count()
        tally.add(behind)
    return Counts(of_box, tally.counts(len(originals)), assignable=True)


def count_contained(boxes: Boxes, people: Sequence[tuple[Key, ...]]) -> list[int]:
    """Count the people inside each box, whatever other boxes contain."""
    return _contained(boxes, people).of_box


def _contained(boxes: Boxes, originals: Sequence[tuple[Key, ...]]) -> Counts:
    """Count all pairs of a row and an original inside its box."""
    of_box = [0] * len(boxes.cells)
    of_original = []
    for _, length, piece in _pieces(boxes, originals):
        tally = Tally()
        for box, bits in piece:
            of_box[box] += bits.bit_count()
            tally.add(bits, boxes.sizes[box])
        of_original += tally.counts(length)
    return Counts(of_box, of_original, assignable=sum(boxes.sizes) <= len(originals))


def _pieces(
    boxes: Boxes, originals: Sequence[tuple[Key, ...]]
) -> Iterator[tuple[int, int, Iterator[tuple[int, int]]]]:
    """Yield the originals chunk by chunk: where it begins, its length, its boxes with bits."""
    for begin in range(0, len(originals), _PIECE):
        piece = originals[begin : begin + _PIECE]
        columns = zip(*piece, strict=True)
        inside = [column_bits(covers, keys) for covers, keys in zip(boxes.covers, columns, strict=True)]
        yield begin, len(piece), _boxes_with_bits(boxes, inside)


def _boxes_with_bits(boxes: Boxes, inside: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield each box that contains originals, with their bits."""
    for box, cells in enumerate(boxes.cells):
        bits = -1
        for column, cell in zip(inside, cells, strict=True):
            bits &= column[cell]
            if not bits:
                break
        else:
            yield box, bits


def column_bits(covers: Sequence[Cover], keys: Sequence[Key]) -> list[int]:
    """Return, for each cell of a column, which of the originals it covers.

    Examples
    --------
    >>> [f"{bits:03b}" for bits in column_bits([Span(2, 3), {1, None}, None], [1, 3, None])]
    ['010', '101', '111']
    """
    with_key: dict[Any, int] = {}
    for place, key in enumerate(keys):
        with_key[key] = with_key.get(key, 0) | 1 << place
    all_originals = (1 << len(keys)) - 1
    line = (
        sorted(key for key in with_key if key is not None and key is not OTHER) if _has_span(covers) else []
    )
    up_to = list(accumulate((with_key[key] for key in line), or_, initial=0))

    def bits(cover: Cover) -> int:
        if cover is None:
            return all_originals
        if isinstance(cover, Span):
            begin = bisect_right(line, cover.low) if cover.without_low else bisect_left(line, cover.low)
            end = bisect_left(line, cover.high) if cover.without_high else bisect_right(line, cover.high)
            return up_to[end] & ~up_to[begin]
        return _with_any(cover, with_key)

    return [bits(cover) for cover in covers]


def _has_span(covers: Sequence[Cover]) -> bool:
    return any(isinstance(cover, Span) for cover in covers)


def _with_any(cover: frozenset[Any] | set[Any], with_key: Mapping[Any, int]) -> int:
    few, many = (cover, with_key) if len(cover) < len(with_key) else (with_key, cover)
    found = 0
    for key in few:
        if key in many:
            found |= with_key[key]
    return found


class Tally:
    """A counter for each bit, all incremented at once: the n-th integer has the n-th digit of each."""

    def __init__(self) -> None:
        self._digits: list[int] = []

    def add(self, bits: int, times: int = 1) -> None:
        """Count the bits that are set, `times` times."""
        digit = 0
        while times >> digit:
            if times >> digit & 1:
                self._carry(bits, digit)
            digit += 1

    def _carry(self, bits: int, digit: int) -> None:
        while bits:
            if digit >= len(self._digits):
                self._digits += [0] * (digit + 1 - len(self._digits))
            self._digits[digit], bits = self._digits[digit] ^ bits, self._digits[digit] & bits
            digit += 1

    def counts(self, length: int) -> list[int]:
        """Return the count of each bit."""
        counts = [0] * length
        for digit, bits in enumerate(self._digits):
            for place, bit in enumerate(reversed(f"{bits:b}")):
                if bit == "1":
                    counts[place] += 1 << digit
        return counts
