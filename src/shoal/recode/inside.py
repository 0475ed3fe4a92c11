"""Find which rows of another table are inside the classes of a release, from published values alone."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.table import frames
from shoal.table.boxes import Piece, pieces_of
from shoal.table.columns import Encoded


def narrowest_class(encoded: Encoded, frozen: pl.DataFrame) -> IntArray:
    """Return the narrowest earlier class that contains each row, -1 for none."""
    boxes = _boxes(encoded, frozen)
    return _first_that_holds(encoded, boxes, _by_width(boxes))


def first_class(encoded: Encoded, frozen: pl.DataFrame, order: Iterable[int]) -> IntArray:
    """Return the first class, in this order, that contains each row, -1 for none."""
    return _first_that_holds(encoded, _boxes(encoded, frozen), order)


def by_width(encoded: Encoded, frozen: pl.DataFrame) -> list[int]:
    """Order classes from narrow to wide, by their cost in this table; ties stay in canonical order."""
    return _by_width(_boxes(encoded, frozen))


def _boxes(encoded: Encoded, frozen: pl.DataFrame) -> list[list[Piece]]:
    """Parse the published values of each column, a piece for each class."""
    texts = [frames.series(frozen, column.name).to_list() for column in encoded.columns]
    pieces = [pieces_of(column, set(given)) for column, given in zip(encoded.columns, texts, strict=True)]
    return [[known[text] for text in given] for known, given in zip(pieces, texts, strict=True)]


def _by_width(boxes: list[list[Piece]]) -> list[int]:
    widths = [sum((piece.cost for piece in box), Fraction(0)) for box in zip(*boxes, strict=True)]
    return sorted(range(len(widths)), key=widths.__getitem__)  # stable: ties go to the first


def _first_that_holds(encoded: Encoded, boxes: list[list[Piece]], order: Iterable[int]) -> IntArray:
    box_of_row = np.full(encoded.n_rows, -1, np.int32)
    waiting = np.arange(encoded.n_rows)
    for at in order:
        rows = waiting
        for column, of_column in zip(encoded.columns, boxes, strict=True):
            rows = rows[of_column[at].holds(column.codes[rows])]
        if len(rows):
            box_of_row[rows] = at
            waiting = waiting[box_of_row[waiting] < 0]
    return box_of_row
