"""Put new rows under those of an earlier release, whose values do not change."""

from __future__ import annotations

import polars as pl

from shoal.recipe import Recipe
from shoal.table import frames
from shoal.table.shuffling import written_order


def together(earlier: pl.DataFrame, added: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Combine earlier and new rows in canonical order: sorted by what is published, or then shuffled."""
    names = [*recipe.quasi, *recipe.named("sensitive", "keep")]
    columns = {
        str(at): _stacked(frames.series(earlier, name), frames.series(added, name))
        for at, name in enumerate(names)
    }
    rows = pl.DataFrame(columns).sort(list(columns), nulls_last=True)
    shuffle = written_order(rows.height, recipe)
    rows = rows if shuffle is None else rows[shuffle]
    return pl.DataFrame({name: rows[str(names.index(name))] for name in earlier.columns})


def _stacked(earlier: pl.Series, added: pl.Series) -> pl.Series:
    """Append new values to earlier ones, which do not change; as texts where the types do not fit."""
    if added.null_count() == len(added):
        added = pl.repeat(None, len(added), dtype=earlier.dtype, eager=True)
    elif earlier.null_count() == len(earlier):
        earlier = pl.repeat(None, len(earlier), dtype=added.dtype, eager=True)
    elif earlier.dtype.is_numeric() and added.dtype.is_numeric():
        added = _in_type(added, earlier.dtype)
    if earlier.dtype != added.dtype:
        earlier, added = _as_texts(earlier), _as_texts(added)
    return pl.concat([earlier.alias("values"), added.alias("values")], rechunk=True)


def _in_type(numbers: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Convert numbers to another type if that changes none of them."""
    typed = numbers.cast(dtype, strict=False)
    return typed if typed.cast(numbers.dtype, strict=False).equals(numbers) else numbers


def _as_texts(values: pl.Series) -> pl.Series:
    """Format values as in a CSV file."""
    if values.dtype == pl.String:
        return values
    lines = pl.DataFrame({"values": values}).write_csv(include_header=False, quote_style="never")
    texts = pl.Series(lines.split("\n")[:-1], dtype=pl.String)
    return texts.set(values.is_null(), None)
