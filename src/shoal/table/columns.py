"""The encoded table, on which clustering, recoding and measuring operate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray
from shoal.hierarchy.periods import Unit, unit_of
from shoal.hierarchy.tree import Tree


@dataclass(frozen=True, repr=False)  # a repr would show values
class Line:
    """What a cell of a table must know about the values of a whole column.

    Parameters
    ----------
    low, high : int or float
        The lowest and highest number of the whole table.
    decimals : int
        The most decimals that any of its numbers has.
    whole : bool
        Whether all of its numbers are whole.
    """

    low: int | float
    high: int | float
    decimals: int = 0
    whole: bool = True


@dataclass(frozen=True, repr=False)  # a repr would show values
class RangeColumn:
    """A numeric, ordinal or date column: values are points on a line, a class is an interval.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,), int32
        Rank of each row's value among the distinct values; `missing` for a missing value.
    points : ndarray of shape (n_values,), float64
        Position of each distinct value between the table's lowest (0) and highest (1).
    texts : tuple of str
        The published text of each distinct value.
    numbers : ndarray of shape (n_values,), int64 or float64
        Each distinct value as a number: the value itself, the number of a day, month or year, or a position
        in `order`.
    order : tuple of str
        All values of an ordinal column, from low to high; empty for other kinds.
    line : Line or None
        Of the whole table, where these rows are only a cell of it.
    unit : "day", "month" or "year"
        The precision of a date column.
    """

    name: str
    kind: str
    weight: float
    codes: IntArray
    points: npt.NDArray[np.float64]
    texts: tuple[str, ...]
    numbers: npt.NDArray[Any]
    order: tuple[str, ...] = ()
    line: Line | None = None
    unit: Unit = "day"

    @property
    def ends(self) -> tuple[int | float, int | float] | None:
        """The lowest and highest number of the whole table; None if it has no values."""
        if self.line is not None:
            return self.line.low, self.line.high
        return (self.numbers[0].item(), self.numbers[-1].item()) if len(self.numbers) else None

    def place(self, number: float) -> float:
        """Return the position of a number relative to the table's lowest (0) and highest (1) value."""
        low, high = map(float, self.ends or (0, 0))
        return 0.0 if low == high else (float(number) / 2 - low / 2) / (high / 2 - low / 2)

    def places(self, numbers: FloatArray) -> FloatArray:
        """Return the positions of many numbers."""
        low, high = map(float, self.ends or (0, 0))
        return np.zeros(len(numbers)) if low == high else (numbers / 2 - low / 2) / (high / 2 - low / 2)

    @property
    def missing(self) -> int:
        """The code of a missing value: above all others, so that it sorts last."""
        return len(self.points)

    def cost(self, low: IntArray, high: IntArray) -> npt.NDArray[np.float64]:
        """Return the width of the ranges from `low` to `high`, as shares of the table's range."""
        points = np.append(self.points, np.inf)  # missing and present values mixed: everything is lost
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
        Its last leaf is for missing values, if the column has any.
    is_flat : bool
        Whether no hierarchy was given: the tree is a root over all values, and classes publish sets.
    """

    name: str
    kind: str
    weight: float
    codes: IntArray
    tree: Tree
    has_missing: bool
    is_flat: bool

    @property
    def unit(self) -> Unit:
        """The precision of a date column."""
        return unit_of(self.tree.labels[self.tree.leaf_nodes[0]])

    @property
    def missing(self) -> int:
        """The code of a missing value, or an unused code if there is none."""
        return self.tree.n_leaves - 1 if self.has_missing else self.tree.n_leaves

    def cost(self, low: IntArray, high: IntArray) -> npt.NDArray[np.float64]:
        """Return the height of the lowest node over leaves `low` to `high`, as a share of the tree's."""
        heights = self.tree.height[self.tree.lca(low, high)]
        return heights / max(1, self.tree.total_height)


QuasiColumn = RangeColumn | TreeColumn


@dataclass(frozen=True, repr=False)  # a repr would show values
class SensitiveColumn:
    """The values that a privacy goal counts: those of one sensitive column, or combinations of several.

    Parameters
    ----------
    names : tuple of str
        The columns.
    codes : ndarray of shape (n_rows,), int32
        The value of each row, -1 if missing: its number among the distinct values, in order if the goal
        depends on an order; with a tree, its leaf.
    n_values : int
        One more than the highest possible code.
    tree : Tree or None
        The tree in which the goal measures distances, if any.
    whole : ndarray of shape (n_values,), int64, or None
        How many people of the whole table have each value, where these rows are only a cell of it.
    numbers : ndarray of shape (n_values,), float64, or None
        The values in units, ascending, if the goal depends on how far apart they are.
    units : float
        How many units are 1: 100 for numbers with two decimals, which are whole numbers then.
    """

    names: tuple[str, ...]
    codes: IntArray
    n_values: int
    tree: Tree | None = None
    whole: npt.NDArray[np.int64] | None = None
    numbers: FloatArray | None = None
    units: float = 1.0


@dataclass(frozen=True, repr=False)
class Encoded:
    """The quasi columns of a table as codes, rows in canonical order.

    Parameters
    ----------
    columns : tuple of RangeColumn or TreeColumn
        In recipe order.
    order : ndarray of shape (n_rows,), int64
        Position of each row in the input.
    label : ndarray of shape (n_rows,), int32, or None
        Codes of the class label, used by CM and the class penalty.
    label_missing : int
        The code of a missing label, or an unused code if there is none.
    sensitive : tuple of SensitiveColumn
        What each privacy goal counts, in recipe order.
    person : ndarray of shape (n_rows,), int32, or None
        The person of each row, according to the subject column; None if each row is a different person.
    table_rows : int or None
        The number of rows of the whole table, where these are only a cell of it.
    """

    columns: tuple[QuasiColumn, ...]
    order: npt.NDArray[np.int64]
    label: IntArray | None = None
    label_missing: int = -1
    sensitive: tuple[SensitiveColumn, ...] = ()
    person: IntArray | None = None
    table_rows: int | None = None

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
        """Number the distinct quasi tuples; rows with equal tuples are adjacent in canonical order."""
        differs = np.zeros(self.n_rows, dtype=bool)
        for column in self.columns:
            differs[1:] |= column.codes[1:] != column.codes[:-1]
        return np.cumsum(differs, dtype=np.int32)

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Encoded:
        """Return the rows marked or listed, with the ranges and trees of the whole table."""
        columns = tuple(replace(column, codes=column.codes[rows]) for column in self.columns)
        label = None if self.label is None else self.label[rows]
        sensitive = tuple(replace(column, codes=column.codes[rows]) for column in self.sensitive)
        person = None if self.person is None else self.person[rows]
        order = self.order[rows]
        return Encoded(columns, order, label, self.label_missing, sensitive, person, self.table_rows)

    def missing_rows(self) -> npt.NDArray[np.bool_]:
        """Mark the rows with a missing value in any quasi column."""
        marks = np.zeros(self.n_rows, dtype=bool)
        for column in self.columns:
            marks |= column.codes == column.missing
        return marks

    def in_input_order(self, labels: IntArray) -> IntArray:
        """Reorder the labels of the encoded rows to input order."""
        restored = np.empty_like(labels)
        restored[self.order] = labels
        return restored


def class_extremes(column: QuasiColumn, labels: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
    """Return the lowest and highest code of each class; rows labelled -1 are in no class."""
    low = np.full(n_classes, np.iinfo(np.int32).max, np.int32)
    high = np.full(n_classes, -1, np.int32)
    inside = labels >= 0
    np.minimum.at(low, labels[inside], column.codes[inside])
    np.maximum.at(high, labels[inside], column.codes[inside])
    return low, high


def numbered(classes: npt.NDArray[np.integer[Any]]) -> IntArray:
    """Number classes by their first rows, without gaps; rows in no class (below 0) get -1."""
    inside = np.flatnonzero(classes >= 0)
    _, first, inverse = np.unique(classes[inside], return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int32)
    number[np.argsort(first)] = np.arange(len(first))
    labels = np.full(len(classes), -1, np.int32)
    labels[inside] = number[inverse]
    return labels


def most_decimals(numbers: npt.NDArray[Any]) -> int:
    """Return the most decimals that any of the numbers is written with; whole numbers have none."""
    if numbers.dtype.kind != "f":
        return 0
    return max((_decimals(repr(number)) for number in numbers.tolist()), default=0)


def _decimals(text: str) -> int:
    mantissa, _, exponent = text.partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))


def are_whole(numbers: npt.NDArray[Any]) -> bool:
    """Return whether all numbers are whole, whatever type they have."""
    return numbers.dtype.kind == "i" or bool((numbers == np.rint(numbers)).all())
