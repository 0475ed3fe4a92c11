"""Take data frames of any common kind, and give the same kind back."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import DataError


def to_polars(data: Any) -> pl.DataFrame:
    """Convert a pandas, Polars or Arrow frame; a row index is not a column and is left behind."""
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
    try:
        table: pl.DataFrame = frame.to_polars()
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):
        # Their own texts quote cells.
        message = "Some column mixes values of different types."
        raise DataError("data.unreadable", message, "give every column one type") from None
    return table


def series(table: pl.DataFrame, name: str) -> pl.Series:
    """Return a column under a name that Polars does not take for a pattern.

    Even methods of a series fail when it is called `^a.*$`; a space more makes it a plain name.
    """
    column = table[name]
    return column.alias(name + " ") if name.startswith("^") and name.endswith("$") else column


def kind_of(data: Any) -> str:
    """Name the kind of frame: "pandas", "pyarrow", or "polars" for everything else."""
    import narwhals as nw

    if data is None or isinstance(data, pl.LazyFrame):
        return "polars"
    kind = nw.from_native(data, eager_only=True).implementation
    return "pandas" if kind.is_pandas() else "pyarrow" if kind.is_pyarrow() else "polars"


def as_kind(table: pl.DataFrame, kind: str) -> Any:
    """Convert a Polars frame to a kind that `kind_of` names."""
    if kind == "pandas":
        return table.to_pandas()
    return table.to_arrow() if kind == "pyarrow" else table
