"""Find which rows of another table are inside the classes of a release, from published values alone."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.table import frames
from shoal.table.boxes import pieces_of
from shoal.table.columns import Encoded


def narrowest_class(encoded: Encoded, frozen: pl.DataFrame) -> IntArray:
    """Return the narrowest earlier class that contains each row, -1 for none."""
    texts = [frames.series(frozen, column.name).to_list() for column in encoded.columns]
    pieces = [pieces_of(column, set(given)) for column, given in zip(encoded.columns, texts, strict=True)]
    boxes = [[known[text] for text in given] for known, given in zip(pieces, texts, strict=True)]
    widths = [sum(piece.cost for piece in box) for box in zip(*boxes, strict=True)]
    box_of_row = np.full(encoded.n_rows, -1, np.int32)
    waiting = np.arange(encoded.n_rows)
    # The sort is stable and classes are in canonical order: ties go to the first.
    for at in sorted(range(frozen.height), key=widths.__getitem__):
        rows = waiting
        for column, of_column in zip(encoded.columns, boxes, strict=True):
            rows = rows[of_column[at].holds(column.codes[rows])]
        if len(rows):
            box_of_row[rows] = at
            waiting = waiting[box_of_row[waiting] < 0]
    return box_of_row
