"""Take data frames of any common kind, and give the same kind back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import DataError
from shoal.table.orders import NO_ORDERS, arrow_orders, in_order, pandas_orders
from shoal.table.pandas_types import plain_types

Choose = Callable[[list[str]], Collection[str]]  # from the columns of a table, those that are used

# What a conversion may raise. Their own texts quote cells.
_FAILURES = (
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    OverflowError,
)


def to_polars(data: Any, choose: Choose | None = None) -> pl.DataFrame:
    """Convert a pandas, Polars or Arrow frame; a row index is not a column and is left behind.

    Columns that `choose` does not name are left out unseen: they may be of any type. A categorical of
    texts with an order becomes an Enum.
    """
    import narwhals as nw

    try:
        frame = nw.from_native(data.collect() if isinstance(data, pl.LazyFrame) else data, eager_only=True)
    except TypeError:
        message = f"Data of type {type(data).__name__} cannot be used."
        hint = "give a pandas, Polars or Arrow table, or a Recipe that names a file"
        raise DataError("data.unreadable", message, hint) from None
    except nw.exceptions.NarwhalsError:
        raise DataError("data.duplicate_column", "Column names stand twice.", "rename the columns") from None
    except pl.exceptions.PolarsError:
        raise DataError(
            "data.unreadable", "The lazy frame cannot be collected.", "collect it before"
        ) from None
    names = list(frame.columns)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        message = "Column names stand twice or are not texts."
        raise DataError("data.duplicate_column", message, "give every column a text of its own as its name")
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
    """Convert an Arrow table whose columns have names of their own."""
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
    message = f"Column {failing} mixes values of different types, or has a type that cannot be used."
    raise DataError("data.unreadable", message, "give every column one type: numbers, texts, dates or times")


def _is_convertible(frame: Any) -> bool:
    try:
        frame.to_polars()
    except _FAILURES:
        return False
    return True


def series(table: pl.DataFrame, name: str) -> pl.Series:
    """Return a column under a name that Polars does not take for a pattern.

    Even methods of a series fail when it is called `^a.*$`; a space more makes it a plain name.
    """
    column = table[name]
    return column.alias(name + " ") if name.startswith("^") and name.endswith("$") else column


def kind_of(data: Any) -> str:
    """Name the kind of frame: "pandas", "pyarrow", or "polars" for everything else."""
    if data is None or isinstance(data, pl.LazyFrame):
        return "polars"
    import narwhals as nw

    kind = nw.from_native(data, eager_only=True).implementation
    return "pandas" if kind.is_pandas() else "pyarrow" if kind.is_pyarrow() else "polars"


def as_kind(table: pl.DataFrame, kind: str) -> Any:
    """Convert a Polars frame to a kind that `kind_of` names."""
    if kind == "pandas":
        return table.to_pandas()
    return table.to_arrow() if kind == "pyarrow" else table
