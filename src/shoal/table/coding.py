"""Top and bottom codes: values beyond a code are replaced by it, before anything else sees them.

The code then means "this or more", or "this or less". It is a value like any other, so that ranges, typical
values and every reader of a release treat it as they treat other values.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import Fault, RecipeError
from shoal.hierarchy.build import number_text
from shoal.recipe import Column, Recipe, code_kind
from shoal.table.encode import date_unit, line_numbers
from shoal.table.frames import series
from shoal.table.kinds import settle

_UNITS = ("year", "month", "day")


def code_ends(table: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Return the table with the values beyond the top and bottom codes of its columns replaced by them."""
    coded = {
        name: coded_values(series(table, name), name, recipe.columns[name])
        for name in _present(table, recipe)
    }
    if not coded:
        return table
    return pl.DataFrame({name: coded.get(name, table[name]) for name in table.columns})


def _present(table: pl.DataFrame, recipe: Recipe) -> list[str]:
    return [name for name in recipe.coded if name in table.columns]


def coded_values(values: pl.Series, name: str, column: Column) -> pl.Series:
    """Replace the values beyond the codes of one column; it keeps its data type."""
    kind, canonical = settle(values, column.model_copy(update={"kind": code_kind(column)}))
    numbers = line_numbers(canonical, kind, column)
    if numbers.null_count() == len(numbers):
        return values
    if kind == "date":
        _check_precision(column, canonical, name)
    for code, is_top in ((column.bottom, False), (column.top, True)):
        if code is not None:
            limit = code_number(code, kind, column)
            beyond = numbers > limit if is_top else numbers < limit
            values = _replaced(values, beyond.fill_null(False), _cell(code, kind, values.dtype, name))
    return values


def _check_precision(column: Column, canonical: pl.Series, name: str) -> None:
    unit = date_unit(canonical)
    given = {_unit(code) for code in (column.bottom, column.top) if code is not None}
    if given != {unit}:
        message = f"The codes of column `{name}` are {' and '.join(given)}s, but its dates are {unit}s."
        raise RecipeError("recipe.invalid", message, f"give {unit}s")


def _unit(code: Any) -> str:
    return _UNITS[str(code).count("-")]


def code_number(code: Any, kind: str, column: Column) -> Any:
    """Return a code as a number on the line of its column."""
    if kind == "date":
        of_type: Any = datetime.date.fromisoformat(code) if _unit(code) == "day" else str(code)
        return line_numbers(pl.Series([of_type]), kind, column).item()
    if kind == "ordinal":
        _, written = settle(pl.Series([code]), column)
        return line_numbers(written, kind, column).item()
    return code


def _cell(code: Any, kind: str, dtype: pl.DataType, name: str) -> pl.Series:
    """Return the code as a cell of its column."""
    if dtype == pl.String:
        return pl.Series([number_text(code) if kind == "numeric" else str(code)])
    if dtype.is_temporal():
        day = pl.Series([datetime.date.fromisoformat(code)])
        zone = getattr(dtype, "time_zone", None)
        return (day.cast(pl.Datetime).dt.replace_time_zone(zone) if zone else day).cast(dtype)
    if dtype.is_integer() and code != int(code):
        message = f"The codes of column `{name}` must be whole: its values are whole numbers."
        raise RecipeError.from_faults([Fault("recipe.invalid", message, "give whole numbers")])
    return pl.Series([code]).cast(dtype)


def _replaced(values: pl.Series, beyond: pl.Series, cell: pl.Series) -> pl.Series:
    rows = np.where(beyond.to_numpy(), len(values), np.arange(len(values)))
    return pl.concat([values, cell.alias(values.name)]).gather(rows)
