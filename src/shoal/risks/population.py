"""Compare the classes of a table with a population: k-map [sweeney2001]_ and delta-presence [nergiz2007]_.

A person of the population matches a class if every published value of the class covers the person's own.
k-map asks that each class matches at least k people, whether they are in the table or not. delta-presence
asks that the share of the matching people who are in the table is neither too low nor too high, because
either says who is in it and who is not.

.. [sweeney2001] Sweeney. Computational disclosure control: a primer on data privacy protection. PhD thesis,
   MIT, 2001.
.. [nergiz2007] Nergiz, Atzori, Clifton. Hiding the presence of individuals from shared databases. SIGMOD
   2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray, LongArray
from shoal.errors import DataError
from shoal.table.boxes import Piece, pieces_of
from shoal.table.columns import Encoded, QuasiColumn
from shoal.table.frames import series


@dataclass(frozen=True)
class PopulationRisk:
    """How the classes of a table compare with a population.

    Parameters
    ----------
    people : int
        In the population.
    k : int
        The people whom the class with the fewest matches.
    classes_below_k, rows_below_k : int
        Classes that match fewer than the k asked for, and their rows.
    short : int
        Classes that match fewer people than they have in the table: the population lacks some of them.
    outside : int
        People of the population who match no class.
    delta_low, delta_high : float
        The lowest and the highest share of matching people who are in the table, of any class; at most 1.
    """

    people: int
    k: int
    classes_below_k: int
    rows_below_k: int
    short: int
    outside: int
    delta_low: float
    delta_high: float

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


def population_risk(
    sizes: LongArray, matching: LongArray, covered: int, people: int, k: int
) -> PopulationRisk:
    """Measure classes of these sizes that match so many people, of whom `covered` match any class."""
    share = np.minimum(1.0, sizes / np.maximum(1, matching))
    return PopulationRisk(
        people=people,
        k=int(matching.min()),
        classes_below_k=int((matching < k).sum()),
        rows_below_k=int(sizes[matching < k].sum()),
        short=int((matching < sizes).sum()),
        outside=people - covered,
        delta_low=float(share.min()),
        delta_high=float(share.max()),
    )


def count_matching(population: Encoded, classes: pl.DataFrame) -> tuple[LongArray, int]:
    """Count the people who match each class, and those who match any.

    Parameters
    ----------
    population : Encoded
        The quasi columns of the population.
    classes : polars.DataFrame
        For each class and each quasi column, the published text: a value, a range, a set, a node or `*`.
    """
    boxes = [_pieces(column, series(classes, column.name)) for column in population.columns]
    return _Counter(population).counted(boxes, classes.height)


def _pieces(column: QuasiColumn, texts: pl.Series) -> list[Piece]:
    """Read what each class publishes against the values of the population."""
    listed = texts.cast(pl.String).to_list()
    try:
        known = pieces_of(column, set(listed))
    except DataError:
        message = f"Column `{column.name}` is {column.kind} in the population, but not in the table."
        hint = f"set kind in [columns.{column.name}], or use a population with values of the same kind"
        raise DataError("data.kind", message, hint) from None
    return [known[text] for text in listed]


class _Counter:
    """The distinct people of a population, sorted by each column to find those inside a range quickly."""

    def __init__(self, population: Encoded) -> None:
        tuples = population.tuple_of_row
        first = np.flatnonzero(np.diff(tuples, prepend=-1))
        self.weights: LongArray = np.bincount(tuples) if population.person is None else _people(population)
        self.codes: list[IntArray] = [column.codes[first] for column in population.columns]
        self.orders = [np.argsort(codes, kind="stable") for codes in self.codes]
        self.sorted = [codes[order] for codes, order in zip(self.codes, self.orders, strict=True)]

    def counted(self, boxes: Sequence[Sequence[Piece]], n_classes: int) -> tuple[LongArray, int]:
        """Count the people in each box, and in any."""
        lows, highs = (
            np.array([[getattr(piece, end) for piece in pieces] for pieces in boxes])
            for end in ("low", "high")
        )
        begin = np.array([np.searchsorted(s, low) for s, low in zip(self.sorted, lows, strict=True)])
        end = np.array(
            [np.searchsorted(s, high, "right") for s, high in zip(self.sorted, highs, strict=True)]
        )
        narrowest = np.argsort(end - begin, axis=0, kind="stable")
        matching, covered = np.zeros(n_classes, np.int64), np.zeros(len(self.weights), dtype=bool)
        for number in range(n_classes):
            columns = narrowest[:, number].tolist()
            place = columns[0]
            inside = self.orders[place][begin[place, number] : end[place, number]]
            for at in columns:
                inside = inside[self._holds(boxes[at][number], at, inside)]
            matching[number] = self.weights[inside].sum()
            covered[inside] = True
        return matching, int(self.weights[covered].sum())

    def _holds(self, piece: Piece, at: int, people: LongArray) -> BoolArray:
        return piece.holds(self.codes[at][people])


def _people(population: Encoded) -> LongArray:
    """Count the different people of each tuple."""
    assert population.person is not None
    width = int(population.person.max()) + 1
    pairs = np.unique(population.tuple_of_row.astype(np.int64) * width + population.person)
    return np.bincount(pairs // width)
