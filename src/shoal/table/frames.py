"""Convert data frames of pandas, Polars and Arrow to Polars and back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import DataError
from shoal.table.orders import NO_ORDERS, arrow_orders, in_order, pandas_orders
from shoal.table.pandas_types import plain_types

Choose = Callable[[list[str]], Collection[str]]  # maps a table's columns to those that are used

# What a conversion may raise. The messages may quote cells, so they are not shown.
_FAILURES = (
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    OverflowError,
)


def to_polars(data: Any, choose: Choose | None = None) -> pl.DataFrame:
    """Convert a pandas, Polars or Arrow frame; a row index is dropped.

    Columns that `choose` does not return are dropped before conversion, so they may have any type. An
    ordered categorical of texts becomes an Enum.
    """
    import narwhals as nw

    try:
        frame = nw.from_native(data.collect() if isinstance(data, pl.LazyFrame) else data, eager_only=True)
    except TypeError:
        message = f"Data of type {type(data).__name__} is not supported."
        hint = "pass a pandas, Polars or Arrow table, or a Recipe that names a file"
        raise DataError("data.unreadable", message, hint) from None
    except nw.exceptions.NarwhalsError:
        raise DataError("data.duplicate_column", "Duplicate column names.", "rename the columns") from None
    except pl.exceptions.PolarsError:
        raise DataError(
            "data.unreadable", "The lazy frame cannot be collected.", "collect it first"
        ) from None
    names = list(frame.columns)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        message = "Column names are duplicates or not strings."
        raise DataError("data.duplicate_column", message, "give every column a different string as its name")
    if choose is not None and names:
        used = choose(names)
        frame = frame[[name for name in names if name in used]]
    native, orders = frame.to_native(), NO_ORDERS
    if frame.implementation.is_pandas():
        native = plain_types(native)
        orders = pandas_orders(native)
    elif frame.implementation.is_pyarrow():
        orders = arrow_orders(native)
    return in_order(_converted(nw.from_native(native, eager_only=True)), orders)


def from_arrow(table: pa.Table) -> pl.DataFrame:
    """Convert an Arrow table with unique column names."""
    import narwhals as nw

    return in_order(_converted(nw.from_native(table, eager_only=True)), arrow_orders(table))


def _converted(frame: Any) -> pl.DataFrame:
    try:
        table: pl.DataFrame = frame.to_polars()
    except _FAILURES:
        pass
    else:
        return table
    failing = ", ".join(f"`{name}`" for name in frame.columns if not _is_convertible(frame[[name]]))
    message = f"Column {failing} mixes values of different types, or has an unsupported type."
    raise DataError("data.unreadable", message, "give every column one type: numbers, texts, dates or times")


def _is_convertible(frame: Any) -> bool:
    try:
        frame.to_polars()
    except _FAILURES:
        return False
    return True


def series(table: pl.DataFrame, name: str) -> pl.Series:
    """Return a column under a name that Polars does not treat as a regular expression.

    Even methods of a series fail if its name is `^a.*$`; an added space makes it a plain name.
    """
    column = table[name]
    return column.alias(name + " ") if name.startswith("^") and name.endswith("$") else column


def kind_of(data: Any) -> str:
    """Return the kind of a frame: "pandas", "pyarrow", or "polars" for everything else."""
    if data is None or isinstance(data, pl.LazyFrame):
        return "polars"
    import narwhals as nw

    kind = nw.from_native(data, eager_only=True).implementation
    return "pandas" if kind.is_pandas() else "pyarrow" if kind.is_pyarrow() else "polars"


def as_kind(table: pl.DataFrame, kind: str) -> Any:
    """Convert a Polars frame to a kind returned by `kind_of`."""
    if kind == "pandas":
        return table.to_pandas()
    return table.to_arrow() if kind == "pyarrow" else table
