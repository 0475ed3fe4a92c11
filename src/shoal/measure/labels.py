"""Published labels, column by column: what each means, how it was read, and which are invalid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.errors import DataError, Fault
from shoal.measure import foreign
from shoal.measure.lines import LineReader
from shoal.measure.meaning import Meaning
from shoal.measure.nodes import FlatReader, NodeReader
from shoal.table.columns import Encoded, QuasiColumn, RangeColumn
from shoal.table.frames import series
from shoal.table.readings import Reading, node_costs

_HINTS = {
    "line": "each cell should be a value of the raw column, or a range that holds one, such as [20, 29], "
    "[20, 30[ or >=20, or *; if the release was made with a hierarchy, give it",
    "tree": "each cell should be a node of the column's hierarchy, or *; give the hierarchy that the release "
    "was made with",
    "flat": "each cell should be a value of the raw column, a set of them such as {a, b}, or *; if the "
    "release was made with a hierarchy, give it",
}

Reader = LineReader | NodeReader | FlatReader
Sizes = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, repr=False)  # a repr would show values
class ColumnLabels:
    """The labels of one column.

    Parameters
    ----------
    column : RangeColumn or TreeColumn
        Of the raw table.
    ranges : ndarray of shape (n_labels,), float64
        What the plain ranges among the different labels cost, which may be very many; nan for all others.
    sets : ndarray of shape (n_labels, 2), int64
        The first and the last leaf of the plain sets among them; -1 for all others.
    meanings : dict of int to Meaning
        Of the others, by the number of the label.
    label_of_class : ndarray of shape (n_classes,), int32
        Which of them each class has.
    cells : dict of str to int
        How many cells were read in each foreign style.
    """

    column: QuasiColumn
    ranges: FloatArray
    sets: LongArray
    meanings: dict[int, Meaning]
    label_of_class: IntArray
    cells: dict[str, int]

    def costs(self, reading: Reading) -> FloatArray:
        """Return the loss of each class, between 0 and 1."""
        by_label, by_node = self.ranges.copy(), self._node_costs(reading)
        is_set = self.sets[:, 0] >= 0
        by_label[is_set] = _set_costs(self.column, self.sets[is_set], reading)
        for at, meaning in self.meanings.items():
            node = meaning.node
            by_label[at] = _cost(self.column, meaning, reading) if node is None else by_node[node]
        found: FloatArray = by_label[self.label_of_class]
        return found

    def _node_costs(self, reading: Reading) -> FloatArray:
        if isinstance(self.column, RangeColumn):
            return np.zeros(1)
        return node_costs(self.column, reading)


def _cost(column: QuasiColumn, meaning: Meaning, reading: Reading) -> float:
    """Return the cost of a label that is no node: a range, a lost value, or leaves under a single root."""
    if meaning.leaves is None:
        return meaning.cost
    return float(_set_costs(column, np.array([meaning.leaves]), reading)[0])


def _set_costs(column: QuasiColumn, ends: LongArray, reading: Reading) -> FloatArray:
    """Return the costs of sets of leaves under a single root, given their first and last ones."""
    apart = ends[:, 1] - ends[:, 0]
    if isinstance(column, RangeColumn) or reading != "order":
        return (apart > 0).astype(np.float64)  # under a single root any two are at the maximum distance
    domain = column.tree.n_leaves - int(column.has_missing)
    costs: FloatArray = apart / max(1, domain - 1)
    return costs


@dataclass(frozen=True, repr=False)
class Labels:
    """All labels of a release, in the order of the quasi columns."""

    columns: list[ColumnLabels]

    def costs(self, reading: Reading = "height") -> FloatArray:
        """Return the loss of each class in each column, of shape (n_classes, n_columns)."""
        return np.array([column.costs(reading) for column in self.columns]).T.reshape(-1, len(self.columns))

    @property
    def read_as(self) -> dict[str, list[dict[str, str | int]]]:
        """The styles of other tools, for each column that has any, most frequent first."""
        return {
            labels.column.name: [
                {"style": style, "cells": cells}
                for style, cells in sorted(labels.cells.items(), key=lambda item: (-item[1], item[0]))
            ]
            for labels in self.columns
            if labels.cells
        }


def read_labels(encoded: Encoded, texts: pl.DataFrame, sizes: Sizes, missing: Collection[str] = ()) -> Labels:
    """Read what each class publishes.

    Parameters
    ----------
    encoded : Encoded
        The raw table: its values, ranges and trees define what a label can mean.
    texts : polars.DataFrame
        One row for each class, one column for each quasi column, null where a value is missing; or two
        columns of bounds, null where the value is lost.
    sizes : ndarray of shape (n_classes,), int
        How many rows each class has.
    missing : collection of str
        Texts that mean missing in the raw table.

    Raises
    ------
    DataError
        `data.labels` for invalid labels, of all columns at once.
    """
    blanks = {*missing, *foreign.BLANKS, ""}
    found = [_column_labels(column, texts, sizes, blanks) for column in encoded.columns]
    faults = [labels for labels in found if isinstance(labels, Fault)]
    if faults:
        raise DataError.from_faults(faults)
    return Labels([labels for labels in found if isinstance(labels, ColumnLabels)])


def _column_labels(
    column: QuasiColumn, texts: pl.DataFrame, sizes: Sizes, blanks: Collection[str]
) -> ColumnLabels | Fault:
    """Read each distinct label once."""
    reader = _reader(column)
    if column.name in texts.columns or not isinstance(reader, LineReader):
        distinct, label_of_class = _numbered(series(texts, column.name).to_frame())
        ranges, sets, meanings = _read(reader, distinct.to_series(), blanks)
    else:
        bounds = [f"{column.name}_{end}" for end in ("low", "high")]
        distinct, label_of_class = _numbered(texts.select(series(texts, name) for name in bounds))
        ranges, sets = _no_ranges(distinct.height), _no_sets(distinct.height)
        meanings = {at: reader.bounds(low, high) for at, (low, high) in enumerate(distinct.rows())}
    rows = np.bincount(label_of_class, weights=sizes, minlength=len(ranges)).astype(np.int64)
    unread = [int(rows[at]) for at, meaning in meanings.items() if meaning is None]
    if unread:
        return _fault(column, sum(unread), len(unread))
    read = {at: meaning for at, meaning in meanings.items() if meaning is not None}
    settled, cells = _blanks_settled(column, read, rows)
    return ColumnLabels(column, ranges, sets, settled, label_of_class, cells)


def _no_ranges(n_labels: int) -> FloatArray:
    return np.full(n_labels, np.nan)


def _no_sets(n_labels: int) -> LongArray:
    return np.full((n_labels, 2), -1)


def _reader(column: QuasiColumn) -> Reader:
    if isinstance(column, RangeColumn):
        return LineReader(column)
    return FlatReader(column) if column.is_flat else NodeReader(column)


def _numbered(columns: pl.DataFrame) -> tuple[pl.DataFrame, IntArray]:
    """Return the different texts and which of them each row has."""
    plain = pl.DataFrame({str(at): column.cast(pl.String) for at, column in enumerate(columns)})
    distinct = plain.unique(maintain_order=True).with_row_index("label")
    found = plain.join(distinct, on=plain.columns, how="left", nulls_equal=True, maintain_order="left")
    return distinct.drop("label"), found["label"].to_numpy().astype(np.int32)


def _read(
    reader: Reader, texts: pl.Series, blanks: Collection[str]
) -> tuple[FloatArray, LongArray, dict[int, Meaning | None]]:
    """Read labels: ranges together, and sets, as a column may have very many, and others one by one."""
    ranges = reader.range_costs(texts) if isinstance(reader, LineReader) else _no_ranges(len(texts))
    sets = reader.set_ends(texts) if isinstance(reader, FlatReader) else _no_sets(len(texts))
    others = np.flatnonzero(np.isnan(ranges) & (sets[:, 0] < 0))
    read = [_meaning(reader, text, blanks) for text in texts.gather(others).to_list()]
    return ranges, sets, dict(zip(others.tolist(), read, strict=True))


def _meaning(reader: Reader, text: str | None, blanks: Collection[str]) -> Meaning | None:
    """Read one label: our own forms first, then blanks, then other tools' forms."""
    if text is None:
        return Meaning(foreign.SUPPRESSED)
    own = reader.own(text)
    if own is not None:
        return own
    return Meaning(foreign.MISSING) if text in blanks else reader.foreign(text)


def _blanks_settled(
    column: QuasiColumn, meanings: dict[int, Meaning], rows: LongArray
) -> tuple[dict[int, Meaning], dict[str, int]]:
    """Work out what blank cells cost, and count the cells of each foreign style.

    As many blanks as the raw column has missing values may be those values, which lose nothing; any others
    had a value that is lost. Since it is unknown which is which, each blank costs the share that is lost.
    """
    cells: Counter[str] = Counter()
    for at, meaning in meanings.items():
        if meaning.style is not None:
            cells[meaning.style] += int(rows[at])
    empty, marked = cells.pop(foreign.SUPPRESSED, 0), cells.pop(foreign.MISSING, 0)
    was_missing = int((column.codes == column.missing).sum())
    lost = max(0, empty + marked - was_missing)
    if lost:
        cells[foreign.SUPPRESSED] = lost
    if marked and empty + marked > lost:
        cells[foreign.MISSING] = empty + marked - lost
    blank = Meaning(cost=lost / max(1, empty + marked))
    styles = (foreign.SUPPRESSED, foreign.MISSING)
    settled = {at: blank if meaning.style in styles else meaning for at, meaning in meanings.items()}
    return settled, dict(cells)


def _fault(column: QuasiColumn, n_cells: int, n_labels: int) -> Fault:
    kind = "line" if isinstance(column, RangeColumn) else "flat" if column.is_flat else "tree"
    cells, labels = counted(n_cells, "cell"), counted(n_labels, "label")
    message = f"Column `{column.name}` of the release has {cells} with {labels} that cannot be read."
    return Fault("data.labels", message, _HINTS[kind])


def counted(number: int, word: str) -> str:
    """Format a number with its noun."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
