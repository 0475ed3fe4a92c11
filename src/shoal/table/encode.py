"""The only conversion from tables to arrays: determine kinds, build trees, number values, sort rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import DataError, Fault, HierarchyError, RecipeError, ShoalError
from shoal.hierarchy import build
from shoal.hierarchy.periods import Unit, text_of, unit_of
from shoal.recipe import GRID_HINT, Column, Recipe, omitted_faults
from shoal.table.columns import Encoded, Line, QuasiColumn, RangeColumn
from shoal.table.frames import series
from shoal.table.kinds import settle
from shoal.table.sensitive import canonical_list, person_codes, sensitive_columns
from shoal.table.tree_columns import tree_column


def encode(table: pl.DataFrame, recipe: Recipe) -> Encoded:
    """Encode the quasi columns of a table that has the recipe's columns.

    Rows are sorted into canonical order: by the quasi columns in recipe order, then by a hash of the row's
    other values, keyed with the seed.
    """
    if faults := omitted_faults(recipe, quasi=True):
        raise RecipeError.from_faults(faults)
    columns = encoded_columns(table, recipe)
    label, label_missing = (None, -1) if recipe.label is None else label_codes(series(table, recipe.label))
    order = canonical_order(columns, row_hashes(table, recipe))
    sensitive, person = sensitive_columns(table, recipe), person_codes(table, recipe)
    rows = np.arange(table.height)
    return Encoded(tuple(columns), rows, label, label_missing, sensitive, person).take(order)


def kinds_of(encoded: Encoded, asked: Recipe) -> dict[str, dict[str, str | bool]]:
    """Return the kind of each quasi column, and whether it was detected or given in the recipe."""
    return {
        column.name: kind_entry(column.kind, column.unit, asked.columns[column.name].kind is None)
        for column in encoded.columns
    }


def kind_entry(kind: str, unit: Unit, is_found: bool) -> dict[str, str | bool]:
    """Return what is reported about the kind of a column; dates are days unless a precision is given."""
    precision = {"precision": unit} if kind == "date" and unit != "day" else {}
    return {"kind": kind, **precision, "found": is_found}


def encoded_columns(
    table: pl.DataFrame, recipe: Recipe, encode_one: Callable[..., QuasiColumn] | None = None
) -> list[QuasiColumn]:
    """Encode every quasi column, in the order of the input; collect all faults before reporting any.

    `encode_one` is called in place of `encoded_column`, for callers that keep what they have encoded.
    """
    encode_one = encode_one or encoded_column
    columns: list[QuasiColumn] = []
    errors: list[ShoalError] = []
    for name in recipe.quasi:
        try:
            columns.append(encode_one(name, series(table, name), recipe))
        except (DataError, HierarchyError) as error:
            errors.append(error)
    faults = [fault for error in errors for fault in error.faults]
    if recipe.privacy.missing == "error":
        faults += _missing_faults(columns)
    if recipe.output.bounds == "snapped":
        faults += _grid_faults(columns, recipe)
    if faults:
        kind = type(errors[0]) if errors else DataError
        raise kind.from_faults(faults)
    return columns


def _missing_faults(columns: list[QuasiColumn]) -> list[Fault]:
    counts = {column.name: int((column.codes == column.missing).sum()) for column in columns}
    hint = 'set missing = "category" or "suppress" in [privacy], or correct the data'
    return [
        Fault("data.missing", f"Column `{name}` has {count} missing values.", hint)
        for name, count in counts.items()
        if count
    ]


def _grid_faults(columns: list[QuasiColumn], recipe: Recipe) -> list[Fault]:
    """Refuse ranges that would silently stay tight: a detected kind is not known to recipe validation."""
    return [
        Fault("recipe.invalid", f"Column `{column.name}` has no grid for its bounds to snap to.", GRID_HINT)
        for column in columns
        if isinstance(column, RangeColumn) and recipe.columns[column.name].grid is None
    ]


def encoded_column(name: str, values: pl.Series, recipe: Recipe) -> QuasiColumn:
    """Encode one quasi column."""
    column = recipe.columns[name]
    kind, canonical = settle(values, column)
    if kind == "categorical" or column.hierarchy is not None:
        return tree_column(name, canonical, kind, recipe)
    return _range_column(name, canonical, kind, column)


def _range_column(name: str, values: pl.Series, kind: str, column: Column) -> RangeColumn:
    """Encode canonical values that lie on a line."""
    return range_column(name, line_numbers(values, kind, column), kind, column, unit=date_unit(values))


def line_numbers(values: pl.Series, kind: str, column: Column) -> pl.Series:
    """Return canonical values as numbers: themselves, positions in the order, or days, months or years."""
    if kind == "ordinal":
        order = canonical_list(column.order or [])
        return values.replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
    if kind == "date" and values.dtype == pl.String:
        year = values.str.slice(0, 4).cast(pl.Int64)
        return year if date_unit(values) == "year" else year * 12 + values.str.slice(5).cast(pl.Int64) - 1
    return values.cast(pl.Int32).cast(pl.Int64) if kind == "date" else values


def date_unit(values: pl.Series) -> Unit:
    """Return the precision of canonical dates: months and years are texts."""
    present = values.drop_nulls()
    return unit_of(present[0]) if values.dtype == pl.String and len(present) else "day"


def range_column(
    name: str,
    values: pl.Series,
    kind: str,
    column: Column,
    line: Line | None = None,
    unit: Unit = "day",
) -> RangeColumn:
    """Number the distinct numbers by size; with `line`, on the line of a table that these are a part of."""
    order = canonical_list(column.order or [])
    distinct = values.drop_nulls().unique().sort()
    # Polars ranks nulls as null; a missing value gets the code after the last one.
    codes = (values.rank("dense") - 1).cast(pl.Int32).fill_null(len(distinct))
    numbers = distinct.to_numpy()
    if kind == "ordinal":
        texts = [order[position] for position in numbers]
    elif kind == "date":
        texts = [text_of(number, unit) for number in distinct.to_list()]
    else:
        texts = build.number_texts(distinct.to_list())
    ends = (numbers[0], numbers[-1]) if line is None and len(numbers) else None
    low, high = ends or ((0, 0) if line is None else (line.low, line.high))
    return RangeColumn(
        name=name,
        kind=kind,
        weight=column.weight,
        codes=codes.to_numpy(),
        points=points_between(numbers, low, high),
        texts=tuple(texts),
        numbers=numbers,
        order=tuple(order),
        line=line,
        unit=unit,
    )


def points_between(numbers: npt.NDArray[Any], low: Any, high: Any) -> npt.NDArray[np.float64]:
    """Scale numbers so that `low` is 0 and `high` 1."""
    points = np.zeros(len(numbers))
    if low == high:
        return points
    if numbers.dtype.kind == "i" and int(high) - int(low) < 2**53:
        points[:] = (numbers - int(low)) / (int(high) - int(low))  # exact before the division
    else:
        halves, first = numbers.astype(np.float64) / 2, float(low) / 2  # a difference may overflow
        points[:] = (halves - first) / (float(high) / 2 - first)
    return points


def label_codes(values: pl.Series) -> tuple[npt.NDArray[np.int32], int]:
    """Number the class labels by text; a missing label is a separate label, the last.

    Returns the codes, and the code of a missing label.
    """
    ranks = (values.cast(pl.String).rank("dense") - 1).cast(pl.Int32)
    missing = values.drop_nulls().n_unique()
    return ranks.fill_null(missing).to_numpy(), missing


def row_hashes(table: pl.DataFrame, recipe: Recipe) -> npt.NDArray[np.uint64]:
    """Hash the non-quasi values of each row, keyed with the seed."""
    from shoal.kernels import hashing

    names = recipe.named("sensitive", "keep", "subject")
    if recipe.label is not None and recipe.label not in [*names, *recipe.quasi]:
        names.append(recipe.label)
    state = np.full(table.height, np.uint64(recipe.method.seed), dtype=np.uint64)
    for name in names:
        texts = series(table, name).cast(pl.String).rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
        present = series(table, name).is_not_null().to_numpy()
        _, offsets, data = texts.buffers()
        hashing.add_texts(
            state,
            np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1],
            np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8),
            present,
        )
    return state


def canonical_order(columns: list[QuasiColumn], hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Sort rows by their quasi codes, then by a hash that distinguishes even identical rows.

    Identical rows are counted, and the count is added to the hash. Without it, rows with equal quasi
    tuples would be in runs of one sensitive value; with it they are mixed. Since identical rows are
    interchangeable, the result is still independent of the input order.
    """
    from shoal.kernels import hashing

    codes = {str(at): column.codes for at, column in enumerate(columns)}
    order = _arg_sort({**codes, "hash": hashes})
    sorted_codes = [column.codes[order] for column in columns]
    tuples = _runs(sorted_codes)
    occurrence = _positions_in_runs(_runs([tuples, hashes[order]]))
    mixed = hashes[order]
    hashing.add_numbers(mixed, occurrence)
    return order[_arg_sort({"tuple": tuples, "hash": mixed})]


def _arg_sort(keys: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    frame = pl.DataFrame(keys)
    return frame.select(pl.arg_sort_by(frame.columns)).to_series().cast(pl.Int64).to_numpy()


def _runs(keys: list[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """Number the runs of rows that are equal in all keys."""
    differs = np.zeros(len(keys[0]), dtype=bool)
    for key in keys:
        differs[1:] |= key[1:] != key[:-1]
    return np.cumsum(differs, dtype=np.int64)


def _positions_in_runs(runs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the position of each row in its run."""
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    return np.arange(len(runs)) - starts[runs]
