"""Find which rows of another table are inside the classes of a release, from published values alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from shoal.arrays import IntArray, LongArray
from shoal.table import frames
from shoal.table.boxes import Piece, pieces_of
from shoal.table.columns import Encoded


class PublishedBoxes:
    """The published values of classes, read so that they can be compared with the rows of a table.

    Parameters
    ----------
    encoded : Encoded
        The rows.
    frozen : polars.DataFrame
        The published values: a row for each class, with all quasi columns.
    """

    def __init__(self, encoded: Encoded, frozen: pl.DataFrame) -> None:
        self.encoded, self.count = encoded, frozen.height
        texts = [frames.series(frozen, column.name).to_list() for column in encoded.columns]
        pieces = [pieces_of(column, set(given)) for column, given in zip(encoded.columns, texts, strict=True)]
        self._pieces: list[list[Piece]] = [
            [known[text] for text in given] for known, given in zip(pieces, texts, strict=True)
        ]

    def inside(self, box: int, rows: LongArray) -> LongArray:
        """Return those of the rows that a box contains."""
        for column, of_column in zip(self.encoded.columns, self._pieces, strict=True):
            rows = rows[of_column[box].holds(column.codes[rows])]
        return rows

    def widths(self) -> list[Fraction]:
        """Return the cost of each box in this table."""
        return [sum((piece.cost for piece in box), Fraction(0)) for box in zip(*self._pieces, strict=True)]


def narrowest_class(encoded: Encoded, frozen: pl.DataFrame) -> IntArray:
    """Return the narrowest earlier class that contains each row, -1 for none."""
    boxes = PublishedBoxes(encoded, frozen)
    box_of_row = np.full(encoded.n_rows, -1, np.int32)
    waiting = np.arange(encoded.n_rows)
    for box in by_width(boxes.widths()):
        rows = boxes.inside(box, waiting)
        if len(rows):
            box_of_row[rows] = box
            waiting = waiting[box_of_row[waiting] < 0]
    return box_of_row


def by_width(widths: list[Fraction]) -> list[int]:
    """Return the boxes from narrow to wide; ties stay in canonical order."""
    return sorted(range(len(widths)), key=widths.__getitem__)  # stable


def published_classes(table: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """Return the classes of a release in canonical order, quasi columns in the order given."""
    # Numbers as names: Polars would take a column called "*" or "^a.*$" for a pattern.
    plain = pl.DataFrame({str(at): frames.series(table, name) for at, name in enumerate(quasi)})
    classes = plain.unique().sort(plain.columns, nulls_last=True)
    return pl.DataFrame({name: classes[str(at)] for at, name in enumerate(quasi)})
