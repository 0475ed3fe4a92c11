"""Find kinds, ranges and dictionaries of a Spark table by aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from shoal.engine.spark.frame import SparkTable
from shoal.engine.spark.survey import Dictionary, count_values, take_survey
from shoal.errors import DataError, Fault, HierarchyError, RecipeError, ShoalError
from shoal.recipe import GRID_HINT, Recipe, omitted_faults
from shoal.table.codebook import Book, Codebook, RangeBook, sensitive_book, tree_book
from shoal.table.columns import Line
from shoal.table.kinds import stored_kind
from shoal.table.sensitive import canonical_list
from shoal.table.statistics import Statistics, found_kind, line_of, unit_of_dates


def find_codebook(table: SparkTable, recipe: Recipe) -> Codebook:
    """Find what one must know of the whole table to encode its rows; report all faults at once."""
    if faults := omitted_faults(recipe, quasi=True):
        raise RecipeError.from_faults(faults)
    dtypes = _dtypes(table)
    assumed = _assumed(recipe, dtypes)
    survey = take_survey(table, assumed, _listed(assumed))
    rows, found = survey.rows, survey.statistics
    if rows == 0:
        raise DataError("data.empty", "The table has no rows.", "use a table with at least k rows")
    known, as_stored = _with_kinds(dtypes, recipe, found)
    listed = _listed(known)
    if as_stored or survey.dictionaries is None or not _is_confirmed(assumed, known):
        dictionaries = count_values(table, known, listed, as_stored)
    else:
        of_columns = dict(zip(_listed(assumed), survey.dictionaries, strict=False))
        dictionaries = [of_columns[name] for name in listed]
        dictionaries += survey.dictionaries[len(of_columns) :]
    quasi = _books(known, found, dict(zip(listed, dictionaries, strict=False)), as_stored)
    faults = _missing_faults(known, found) + _grid_faults(quasi, known)
    if faults:
        raise DataError.from_faults(faults)
    goals = zip(known.privacy.column_goals, dictionaries[len(listed) :], strict=True)
    sensitive = tuple(
        replace(
            sensitive_book(goal, counted.values, any(found[name].missing for name in goal.columns), known),
            as_stored=as_stored,
        )
        for goal, counted in goals
    )
    return Codebook(known, quasi, sensitive, rows)


def _dtypes(table: SparkTable) -> dict[str, pl.DataType]:
    stored = pl.DataFrame(pl.from_arrow(table.frame.limit(0).toArrow())).dtypes
    return dict(zip(table.names, stored, strict=True))


def _assumed(recipe: Recipe, dtypes: Mapping[str, pl.DataType]) -> Recipe:
    """Return the recipe with the kinds that its columns probably have: texts are taken for categories."""
    columns = dict(recipe.columns)
    for name in _with_kind(recipe):
        column = columns[name]
        kind = column.kind or stored_kind(dtypes[name], column) or "categorical"
        columns[name] = column.model_copy(update={"kind": kind})
    return recipe.model_copy(update={"columns": columns})


def _is_confirmed(assumed: Recipe, known: Recipe) -> bool:
    """Return whether the columns that need a dictionary, or distances, have the kinds assumed."""
    names = [*_listed(known), *_measured_by_kind(known)]
    return all(assumed.columns[name].kind == known.columns[name].kind for name in names)


def _with_kind(recipe: Recipe) -> list[str]:
    """Return the columns that have a kind: quasi columns, and those whose distances a goal measures."""
    return list(dict.fromkeys([*recipe.quasi, *_measured_by_kind(recipe)]))


def _listed(recipe: Recipe) -> list[str]:
    return [name for name in recipe.quasi if _needs_dictionary(recipe, name)]


def _with_kinds(
    dtypes: Mapping[str, pl.DataType], recipe: Recipe, found: dict[str, Statistics]
) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe with the kind of every column that needs one.

    Then those columns of categories that are stored as numbers which are not all whole.
    """
    columns = dict(recipe.columns)
    faults: list[Fault] = []
    as_stored = []
    for name in _with_kind(recipe):
        dtype, counted = dtypes[name], found[name]
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
    return [name for goal in recipe.privacy.column_goals if goal.needs_kind for name in goal.columns]


def _needs_dictionary(recipe: Recipe, name: str) -> bool:
    column = recipe.columns[name]
    return column.kind in ("categorical", "ordinal") or column.hierarchy is not None


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
