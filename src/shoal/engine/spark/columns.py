"""Find kinds, ranges and dictionaries of a Spark table by aggregates."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import polars as pl

from shoal.engine.spark import tasks
from shoal.engine.spark.frame import SparkTable
from shoal.errors import DataError, Fault, HierarchyError, RecipeError, ShoalError
from shoal.recipe import GRID_HINT, Recipe, omitted_faults
from shoal.recipe.goals import TCloseness
from shoal.table.codebook import Book, Codebook, RangeBook, sensitive_book, tree_book
from shoal.table.columns import Line
from shoal.table.sensitive import canonical_list
from shoal.table.statistics import Statistics, found_kind, line_of, unit_of_dates

MAX_VALUES = 200_000  # of one dictionary: every worker holds it


@dataclass(frozen=True)
class Dictionary:
    """The different values of a column, and how many rows have each."""

    values: list[str]
    counts: list[int]


def find_codebook(table: SparkTable, recipe: Recipe) -> Codebook:
    """Find what one must know of the whole table to encode its rows; report all faults at once."""
    if faults := omitted_faults(recipe, quasi=True):
        raise RecipeError.from_faults(faults)
    rows, found = _statistics(table, recipe)
    if rows == 0:
        raise DataError("data.empty", "The table has no rows.", "use a table with at least k rows")
    known, as_stored = _with_kinds(table, recipe, found)
    listed = [name for name in known.quasi if _needs_dictionary(known, name)]
    dictionaries = _dictionaries(table, known, listed, as_stored)
    quasi = _books(known, found, dict(zip(listed, dictionaries, strict=False)), as_stored)
    faults = _missing_faults(known, found) + _grid_faults(quasi, known)
    if faults:
        raise DataError.from_faults(faults)
    goals = zip(known.privacy.goal, dictionaries[len(listed) :], strict=True)
    sensitive = tuple(
        replace(
            sensitive_book(goal, counted.values, any(found[name].missing for name in goal.columns), known),
            as_stored=as_stored,
        )
        for goal, counted in goals
    )
    return Codebook(known, quasi, sensitive, rows)


def _statistics(table: SparkTable, recipe: Recipe) -> tuple[int, dict[str, Statistics]]:
    """Count rows, and what the cells of the columns that are encoded look like."""
    names = dict.fromkeys([*recipe.quasi, *(name for goal in recipe.privacy.goal for name in goal.columns)])
    task = tasks.Statistics(table.names, tuple(names), tuple(recipe.input.missing))
    parts = [json.loads(row.found) for row in table.frame.mapInArrow(task, "found string").collect()]
    found: dict[str, Statistics] = {name: Statistics(0, 0) for name in names}
    for part in parts:
        for name, counts in part["columns"].items():
            found[name] = found[name].joined(Statistics.from_dict(counts))
    return sum(part["rows"] for part in parts), found


def _with_kinds(
    table: SparkTable, recipe: Recipe, found: dict[str, Statistics]
) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe with the kind of every column that needs one.

    Then those columns of categories that are stored as numbers which are not all whole.
    """
    dtypes = pl.DataFrame(pl.from_arrow(table.frame.limit(0).toArrow())).dtypes
    columns = dict(recipe.columns)
    faults: list[Fault] = []
    as_stored = []
    for name in dict.fromkeys([*recipe.quasi, *_measured_by_kind(recipe)]):
        dtype, counted = dtypes[table.names.index(name)], found[name]
        try:
            kind = found_kind(name, dtype, counted, recipe.columns[name])
            columns[name] = recipe.columns[name].model_copy(update={"kind": kind})
        except DataError as error:
            faults += error.faults
            continue
        in_texts = kind in ("categorical", "ordinal")
        if in_texts and (dtype.is_float() or dtype.is_decimal()) and not counted.all_exact:
            as_stored.append(name)
    if faults:
        raise DataError.from_faults(faults)
    return recipe.model_copy(update={"columns": columns}), tuple(as_stored)


def _measured_by_kind(recipe: Recipe) -> list[str]:
    """Return the sensitive columns whose values have distances; others are texts that differ or not."""
    goals = [goal for goal in recipe.privacy.goal if isinstance(goal, TCloseness)]
    return [name for goal in goals if goal.distance != "equal" for name in goal.columns]


def _needs_dictionary(recipe: Recipe, name: str) -> bool:
    column = recipe.columns[name]
    return column.kind in ("categorical", "ordinal") or column.hierarchy is not None


def _dictionaries(
    table: SparkTable, recipe: Recipe, columns: list[str], as_stored: tuple[str, ...]
) -> list[Dictionary]:
    """Return the values of each column listed, then of what each goal counts."""
    from pyspark.sql import functions as f

    titles = [f"`{name}`" for name in columns]
    titles += [", ".join(f"`{name}`" for name in goal.columns) for goal in recipe.privacy.goal]
    if not titles:
        return []
    task = tasks.Dictionaries(table.names, tuple(recipe.input.missing), recipe, tuple(columns), as_stored)
    parts = table.frame.mapInArrow(task, "book int, key string, n bigint")
    counted = parts.groupBy("book", "key").agg(f.sum("n").alias("n")).persist()
    try:
        sizes = {row.book: row["count"] for row in counted.groupBy("book").count().collect()}
        large = {titles[book]: size for book, size in sizes.items() if size > MAX_VALUES}
        if large:
            raise DataError.from_faults([_too_many(title, size) for title, size in large.items()])
        found: list[list[tuple[str, int]]] = [[] for _ in titles]
        for row in counted.orderBy("book", "key").toLocalIterator():
            found[row.book].append((row.key, row.n))
    finally:
        counted.unpersist()
    return [Dictionary([key for key, _ in pairs], [n for _, n in pairs]) for pairs in found]


def _too_many(title: str, size: int) -> Fault:
    message = f"Column {title} has {size:,} different values; a dictionary may have {MAX_VALUES:,}."
    hint = 'drop it, shorten its values, or give it kind = "numeric" or "date" if that is what it is'
    return Fault("data.too_many_values", message, hint)


def _books(
    recipe: Recipe,
    found: dict[str, Statistics],
    dictionaries: dict[str, Dictionary],
    as_stored: tuple[str, ...],
) -> tuple[Book, ...]:
    books: list[Book] = []
    errors: list[ShoalError] = []
    for name in recipe.quasi:
        try:
            book = _book(recipe, name, found[name], dictionaries.get(name))
            books.append(replace(book, as_stored=name in as_stored))
        except (DataError, HierarchyError) as error:
            errors.append(error)
    if errors:
        raise type(errors[0]).from_faults([fault for error in errors for fault in error.faults])
    return tuple(books)


def _book(recipe: Recipe, name: str, found: Statistics, dictionary: Dictionary | None) -> Book:
    column = recipe.columns[name]
    if dictionary is None:
        line, is_float = line_of(str(column.kind), found)
        return RangeBook(name, column, line, is_float, unit=unit_of_dates(found))
    if column.kind == "ordinal":
        positions = _positions(recipe, name, dictionary)
        if column.hierarchy is None:
            return RangeBook(name, column, Line(min(positions, default=0), max(positions, default=0)), False)
    return tree_book(name, _typed(dictionary.values, str(column.kind), found), found.missing > 0, recipe)


def _positions(recipe: Recipe, name: str, dictionary: Dictionary) -> list[int]:
    """Return the positions in its order of the values that an ordinal column has."""
    order = {text: at for at, text in enumerate(canonical_list(recipe.columns[name].order or []))}
    counted = zip(dictionary.values, dictionary.counts, strict=True)
    outside = sum(count for value, count in counted if value not in order)
    if outside:
        message = f"Column `{name}` has {outside} cells that its order does not list."
        raise DataError("data.order", message, "list every value in `order`, or mark it as missing")
    return [order[value] for value in dictionary.values]


def _typed(values: list[str], kind: str, found: Statistics) -> pl.Series:
    """Return distinct canonical values in their canonical type, sorted."""
    texts = pl.Series(values, dtype=pl.String)
    if kind == "numeric":
        _, is_float = line_of(kind, found)
        texts = texts.cast(pl.Float64)  # a part of the table may have written 1 where another wrote 1.0
        texts = texts if is_float else pl.Series(values, dtype=pl.String).cast(pl.Int64)
    elif kind == "date" and unit_of_dates(found) == "day":
        texts = texts.str.to_date("%Y-%m-%d")
    return texts.unique().sort()


def _missing_faults(recipe: Recipe, found: dict[str, Statistics]) -> list[Fault]:
    if recipe.privacy.missing != "error":
        return []
    hint = 'set missing = "category" or "suppress" in [privacy], or fix the data'
    return [
        Fault("data.missing", f"Column `{name}` has {found[name].missing} missing values.", hint)
        for name in recipe.quasi
        if found[name].missing
    ]


def _grid_faults(books: tuple[Book, ...], recipe: Recipe) -> list[Fault]:
    if recipe.output.bounds != "snapped":
        return []
    return [
        Fault("recipe.invalid", f"Column `{book.name}` has no grid for its bounds to snap to.", GRID_HINT)
        for book in books
        if isinstance(book, RangeBook) and book.column.grid is None
    ]
