"""The encoded table: what every clusterer, recoding and measure works on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray
from shoal.hierarchy.tree import Tree


@dataclass(frozen=True, repr=False)  # a repr would show values
class RangeColumn:
    """A numeric, ordinal or date column: values on a line, a class is an interval.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,), int32
        Rank of each row's value among the distinct values; `missing` for a missing value.
    points : ndarray of shape (n_values,), float64
        Where each distinct value lies between the table's lowest (0) and highest (1).
    texts : tuple of str
        The published text of each distinct value.
    numbers : ndarray of shape (n_values,), int64 or float64
        Each distinct value as a number: itself, a day's number, a position in `order`.
    order : tuple of str
        All values of an ordinal column, from low to high; empty for other kinds.
    """

    name: str
    kind: str
    weight: float
    codes: IntArray
    points: npt.NDArray[np.float64]
    texts: tuple[str, ...]
    numbers: npt.NDArray[Any]
    order: tuple[str, ...] = ()

    def place(self, number: float) -> float:
        """Return where a number lies between the table's lowest (0) and highest (1) value, or beyond them."""
        if len(self.numbers) < 2:
            return 0.0
        low, high = float(self.numbers[0]), float(self.numbers[-1])
        return (float(number) / 2 - low / 2) / (high / 2 - low / 2)

    @property
    def missing(self) -> int:
        """The code of a missing value: one above all others, so that it sorts last."""
        return len(self.points)

    def cost(self, low: IntArray, high: IntArray) -> npt.NDArray[np.float64]:
        """Return the width of the ranges from `low` to `high`, as shares of the table's range."""
        points = np.append(self.points, np.inf)  # a mix of missing and present: everything is lost
        whole = high == self.missing
        with np.errstate(invalid="ignore"):
            widths = points[high] - points[low]
        return np.where(whole, np.where(low == high, 0.0, 1.0), widths)


@dataclass(frozen=True, repr=False)  # a repr would show values
class TreeColumn:
    """A column with a tree: a class is a node.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,), int32
        Leaf of each row, in depth-first order; `missing` for a missing value.
    tree : Tree
        With a leaf for missing values, the last one, where the column has any.
    is_flat : bool
        No hierarchy was given: the tree is a root over all values, classes publish sets.
    """

    name: str
    kind: str
    weight: float
    codes: IntArray
    tree: Tree
    has_missing: bool
    is_flat: bool

    @property
    def missing(self) -> int:
        """The code of a missing value, or one that no row has."""
        return self.tree.n_leaves - 1 if self.has_missing else self.tree.n_leaves

    def cost(self, low: IntArray, high: IntArray) -> npt.NDArray[np.float64]:
        """Return the height of the lowest node over leaves `low` to `high`, as a share of the tree's."""
        heights = self.tree.height[self.tree.lca(low, high)]
        return heights / max(1, self.tree.total_height)


QuasiColumn = RangeColumn | TreeColumn


@dataclass(frozen=True, repr=False)  # a repr would show values
class SensitiveColumn:
    """The values that a privacy goal counts: of one sensitive column, or combinations of several.

    Parameters
    ----------
    names : tuple of str
        The columns.
    codes : ndarray of shape (n_rows,), int32
        The value of each row, -1 for a missing one: a number for each different value, in their order
        where the goal is about one; with a tree its leaf.
    n_values : int
        One above the highest code that there can be.
    tree : Tree or None
        Where the goal measures distances in one.
    """

    names: tuple[str, ...]
    codes: IntArray
    n_values: int
    tree: Tree | None = None


@dataclass(frozen=True, repr=False)
class Encoded:
    """The quasi columns of a table as codes, rows in canonical order.

    Parameters
    ----------
    columns : tuple of RangeColumn or TreeColumn
        In recipe order.
    order : ndarray of shape (n_rows,), int64
        Where each row stood in the input.
    label : ndarray of shape (n_rows,), int32, or None
        Codes of the class label, which CM and the class penalty use.
    label_missing : int
        The code of a missing label, or one that no row has.
    sensitive : tuple of SensitiveColumn
        What each privacy goal of the recipe counts, in their order.
    person : ndarray of shape (n_rows,), int32, or None
        Whose row it is, where a subject column tells; None when each row is a person of its own.
    """

    columns: tuple[QuasiColumn, ...]
    order: npt.NDArray[np.int64]
    label: IntArray | None = None
    label_missing: int = -1
    sensitive: tuple[SensitiveColumn, ...] = ()
    person: IntArray | None = None

    def __repr__(self) -> str:
        return f"Encoded({self.n_rows} rows, {len(self.columns)} quasi columns)"

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.order)

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """The weights of the columns."""
        return np.array([column.weight for column in self.columns])

    @cached_property
    def tuple_of_row(self) -> IntArray:
        """Number the distinct quasi tuples; rows of one tuple stand together in canonical order."""
        differs = np.zeros(self.n_rows, dtype=bool)
        for column in self.columns:
            differs[1:] |= column.codes[1:] != column.codes[:-1]
        return np.cumsum(differs, dtype=np.int32)

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Encoded:
        """Return the rows marked or listed; ranges and trees stay those of the whole table."""
        columns = tuple(replace(column, codes=column.codes[rows]) for column in self.columns)
        label = None if self.label is None else self.label[rows]
        sensitive = tuple(replace(column, codes=column.codes[rows]) for column in self.sensitive)
        person = None if self.person is None else self.person[rows]
        return Encoded(columns, self.order[rows], label, self.label_missing, sensitive, person)

    def missing_rows(self) -> npt.NDArray[np.bool_]:
        """Mark the rows that miss a value in some quasi column."""
        marks = np.zeros(self.n_rows, dtype=bool)
        for column in self.columns:
            marks |= column.codes == column.missing
        return marks

    def in_input_order(self, labels: IntArray) -> IntArray:
        """Bring one label for each encoded row back to the order of the input."""
        restored = np.empty_like(labels)
        restored[self.order] = labels
        return restored


def class_extremes(column: QuasiColumn, labels: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
    """Return the lowest and highest code of each class; rows labelled -1 are in none."""
    low = np.full(n_classes, np.iinfo(np.int32).max, np.int32)
    high = np.full(n_classes, -1, np.int32)
    inside = labels >= 0
    np.minimum.at(low, labels[inside], column.codes[inside])
    np.maximum.at(high, labels[inside], column.codes[inside])
    return low, high


def numbered(classes: npt.NDArray[np.integer[Any]]) -> IntArray:
    """Number classes by their first rows, without gaps; rows in none (below 0) get -1."""
    inside = np.flatnonzero(classes >= 0)
    _, first, inverse = np.unique(classes[inside], return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int32)
    number[np.argsort(first)] = np.arange(len(first))
    labels = np.full(len(classes), -1, np.int32)
    labels[inside] = number[inverse]
    return labels
