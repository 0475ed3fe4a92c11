"""Codebooks: what one must know of a whole table to encode any of its rows.

A table in memory is encoded at once (`table.encode`). If no machine has all rows, kinds, ranges, trees and
dictionaries are found first, for the whole table; with these, each part is encoded as the whole would be.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.hierarchy.periods import Unit
from shoal.recipe import Column, Recipe
from shoal.recipe.goals import Goal, ValueRange
from shoal.table.columns import Encoded, Line, QuasiColumn, RangeColumn, SensitiveColumn, TreeColumn
from shoal.table.encode import canonical_order, label_codes, line_numbers, points_between, range_column
from shoal.table.fixed import fixed_columns
from shoal.table.frames import series
from shoal.table.kinds import settle
from shoal.table.sensitive import (
    comparable,
    distinct_numbers,
    in_units,
    ordered_positions,
    refuse_without_numbers,
    without_empty,
)
from shoal.table.tree_columns import build_tree

UNKNOWN = -2  # in place of a value that the table did not have when its dictionary was made
_SEPARATOR = "\x1f"  # between the texts of a combination; those are escaped
_ESCAPES = {"\\": "\\", "u": _SEPARATOR}


def settled(values: pl.Series, column: Column, *, as_stored: bool) -> pl.Series:
    """Return cleaned cells of a part of a column in canonical form.

    The text of a category that is stored as a float depends on the whole column: 1 if all its numbers are
    whole, 1.0 if some are not. `as_stored` says so, since a part cannot know.
    """
    return settle(values.cast(pl.String) if as_stored else values, column)[1]


@dataclass(frozen=True, repr=False)  # a repr would show values
class RangeBook:
    """A numeric, ordinal or date column of a whole table.

    Parameters
    ----------
    column : Column
        Of the recipe, with its kind.
    line : Line
    is_float : bool
        Whether its numbers are floats.
    as_stored : bool
        See `settled`.
    unit : "day", "month" or "year"
        The precision of a date column.
    """

    name: str
    column: Column
    line: Line
    is_float: bool
    as_stored: bool = False
    unit: Unit = "day"

    @property
    def kind(self) -> str:
        """The kind of the column."""
        return str(self.column.kind)

    def numbers(self, values: pl.Series) -> pl.Series:
        """Return cleaned cells as numbers."""
        canonical = settled(values, self.column, as_stored=self.as_stored)
        numbers = line_numbers(canonical, self.kind, self.column)
        return numbers.cast(pl.Float64 if self.is_float else pl.Int64)

    def view(self, numbers: pl.Series) -> RangeColumn:
        """Return some rows as an encoded column."""
        return range_column(self.name, numbers, self.kind, self.column, self.line, self.unit)

    def is_unknown(self, numbers: pl.Series) -> BoolArray:
        """Mark numbers that the whole table did not have when its range was found."""
        found = numbers.fill_null(self.line.low).to_numpy()
        return np.asarray((found < self.line.low) | (found > self.line.high))

    def positions(self, numbers: pl.Series, span: int) -> IntArray:
        """Return the fixed-point positions of some rows, as `fixed_columns` does."""
        found = numbers.fill_null(0).to_numpy()
        points = points_between(found, self.line.low, self.line.high)
        return np.where(numbers.is_null().to_numpy(), 2 * span, np.rint(points * span)).astype(np.int32)


@dataclass(frozen=True, repr=False)
class TreeBook:
    """A column with a tree, of a whole table.

    Parameters
    ----------
    column : Column
        Of the recipe, with its kind.
    distinct : polars.Series
        All values, in canonical form.
    empty : TreeColumn
        The encoded column, without rows.
    leaves : ndarray of int32
        The leaf of each value.
    as_stored : bool
        See `settled`.
    """

    name: str
    column: Column
    distinct: pl.Series
    empty: TreeColumn
    leaves: IntArray
    as_stored: bool = False

    def codes(self, values: pl.Series) -> pl.Series:
        """Return the leaves of cleaned cells; `UNKNOWN` for those that the whole table did not have."""
        canonical = settled(values, self.column, as_stored=self.as_stored)
        missing = self.empty.missing if self.empty.has_missing else UNKNOWN
        return _numbered(canonical.cast(self.distinct.dtype), self.distinct, self.leaves, missing)

    def view(self, codes: pl.Series) -> TreeColumn:
        """Return some rows as an encoded column."""
        return replace(self.empty, codes=codes.to_numpy().astype(np.int32))


Book = RangeBook | TreeBook


def tree_book(name: str, distinct: pl.Series, has_missing: bool, recipe: Recipe) -> TreeBook:
    """Build the tree of a column from its distinct values."""
    column = recipe.columns[name]
    tree, leaves = build_tree(name, distinct, str(column.kind), recipe)
    if has_missing:
        tree = tree.with_missing()
    nobody = np.zeros(0, np.int32)
    empty = TreeColumn(
        name, str(column.kind), column.weight, nobody, tree, has_missing, column.hierarchy is None
    )
    return TreeBook(name, column, distinct, empty, np.asarray(leaves, np.int32))


@dataclass(frozen=True, repr=False)
class SensitiveBook:
    """What a goal counts, of a whole table.

    Parameters
    ----------
    goal : Goal
    keys : polars.Series
        The texts of all values, or combinations of values, that occur.
    empty : SensitiveColumn
        The encoded column, without rows.
    numbers : ndarray of int32
        The number of each key.
    as_stored : collection of str
        Columns of which `settled` must know it.
    """

    goal: Goal
    keys: pl.Series
    empty: SensitiveColumn
    numbers: IntArray
    as_stored: Collection[str] = ()

    def codes(self, frame: pl.DataFrame, recipe: Recipe) -> pl.Series:
        """Return the number of each row's value, -1 for a missing one; `UNKNOWN` as in `TreeBook.codes`."""
        keys = sensitive_keys(frame, self.goal, recipe, self.as_stored)
        return _numbered(keys, self.keys, self.numbers, -1)

    def view(self, codes: pl.Series) -> SensitiveColumn:
        """Return some rows as an encoded column."""
        return replace(self.empty, codes=codes.to_numpy().astype(np.int32))


def _numbered(values: pl.Series, known: pl.Series, numbers: IntArray, missing: int) -> pl.Series:
    """Return the number of each value; those of missing and of unknown values are never in a dictionary."""
    if len(known):
        found = values.replace_strict(known, pl.Series(numbers), default=UNKNOWN, return_dtype=pl.Int32)
    else:
        found = pl.repeat(UNKNOWN, len(values), dtype=pl.Int32, eager=True)
    return found.set(values.is_null(), missing)


def sensitive_keys(
    frame: pl.DataFrame, goal: Goal, recipe: Recipe, as_stored: Collection[str] = ()
) -> pl.Series:
    """Return a text for each value, or combination of values, that a goal counts; null if one is missing."""
    columns = [series(frame, name) for name in goal.columns]
    if goal.needs_kind:
        (name,) = goal.columns
        values = without_empty(columns[0])
        return settled(values, recipe.columns[name], as_stored=name in as_stored).cast(pl.String)
    texts = [comparable(values).alias(str(at)) for at, values in enumerate(columns)]
    if len(texts) == 1:
        return texts[0]
    escaped = [text.str.replace_all("\\", "\\\\", literal=True) for text in texts]
    escaped = [text.str.replace_all(_SEPARATOR, "\\u", literal=True) for text in escaped]
    return (
        pl.DataFrame(escaped)
        .select(pl.concat_str(pl.all(), separator=_SEPARATOR, ignore_nulls=False))
        .to_series()
    )


def sensitive_book(goal: Goal, keys: list[str], has_missing: bool, recipe: Recipe) -> SensitiveBook:
    """Number the values that a goal counts, as `sensitive_columns` does."""
    nobody = np.zeros(0, np.int32)
    if not goal.needs_kind:
        ordered = sorted(keys, key=_unescaped)
        numbers = np.arange(len(ordered), dtype=np.int32)
        empty = SensitiveColumn(goal.columns, nobody, len(ordered))
        return SensitiveBook(goal, pl.Series(ordered, dtype=pl.String), empty, numbers)
    (name,) = goal.columns
    texts = pl.Series(sorted(keys), dtype=pl.String)
    kind, canonical = settle(texts.alias(name), recipe.columns[name])
    if isinstance(goal, ValueRange):
        refuse_without_numbers(kind, canonical, name)
        lasting, units = in_units(distinct_numbers(canonical))
        ranks = (canonical.rank("dense") - 1).cast(pl.Int32).to_numpy()
        empty = SensitiveColumn((name,), nobody, len(lasting), numbers=lasting, units=units)
        return SensitiveBook(goal, texts, empty, ranks)
    if goal.form == "ordered":
        positions = ordered_positions(canonical, kind, name, recipe)
        numbers = (positions.rank("dense") - 1).cast(pl.Int32).to_numpy()
        empty = SensitiveColumn((name,), nobody, int(numbers.max(initial=-1)) + 1)
        return SensitiveBook(goal, texts, empty, numbers)
    distinct = canonical.unique().sort()
    tree, leaves = build_tree(name, distinct, kind, recipe)
    numbers = canonical.replace_strict(distinct, pl.Series(leaves), return_dtype=pl.Int32).to_numpy()
    tree = tree.with_missing() if has_missing else tree
    return SensitiveBook(goal, texts, SensitiveColumn((name,), nobody, tree.n_leaves, tree), numbers)


def _unescaped(key: str) -> list[str]:
    """Return the texts of a combination, in whose order combinations are numbered."""
    texts = key.split(_SEPARATOR)
    if len(texts) == 1:
        return texts
    return [re.sub(r"\\(.)", lambda found: _ESCAPES[found[1]], text) for text in texts]


@dataclass(frozen=True, repr=False)
class Codebook:
    """Everything one must know of a whole table to encode its rows.

    Parameters
    ----------
    recipe : Recipe
        With the kind of every quasi column.
    quasi : tuple of RangeBook or TreeBook
        In recipe order.
    sensitive : tuple of SensitiveBook
        One for each goal.
    rows : int
        Rows of the table.
    """

    recipe: Recipe
    quasi: tuple[Book, ...]
    sensitive: tuple[SensitiveBook, ...]
    rows: int

    def empty(self) -> Encoded:
        """Return the encoded table without rows."""
        columns = [
            book.view(pl.Series([], dtype=pl.Float64 if book.is_float else pl.Int64))
            if isinstance(book, RangeBook)
            else book.empty
            for book in self.quasi
        ]
        sensitive = tuple(book.empty for book in self.sensitive)
        return Encoded(tuple(columns), np.zeros(0, np.int64), sensitive=sensitive, table_rows=self.rows)

    def fixed(self) -> Any:
        """Return spans and trees, without rows; range columns come first."""
        return fixed_columns(self.empty(), np.zeros(0, np.int64))

    def encode(
        self,
        quasi: list[pl.Series],
        sensitive: list[pl.Series],
        hashes: npt.NDArray[np.uint64],
        *,
        label: pl.Series | None,
        person: pl.Series | None,
        whole: list[npt.NDArray[np.int64]],
    ) -> Encoded:
        """Encode some rows, given as numbers, leaves and numbers of values, in canonical order."""
        columns: list[QuasiColumn] = [book.view(v) for book, v in zip(self.quasi, quasi, strict=True)]
        counted = tuple(
            replace(book.view(codes), whole=counts)
            for book, codes, counts in zip(self.sensitive, sensitive, whole, strict=True)
        )
        order = canonical_order(columns, hashes)
        labels, missing = (None, -1) if label is None else label_codes(label)
        people = None if person is None else (person.rank("dense") - 1).cast(pl.Int32).to_numpy()
        rows = np.arange(len(hashes))
        return Encoded(tuple(columns), rows, labels, missing, counted, people, self.rows).take(order)
