"""The cells of a column as what perturbation works on: codes of categories, or numbers on a line."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, LongArray
from shoal.errors import DataError
from shoal.recipe import Column
from shoal.table.encode import line_numbers
from shoal.table.kinds import settle


def cell_codes(values: pl.Series) -> tuple[LongArray, pl.Series]:
    """Number the different cells by their texts, -1 for missing; also returns a cell of each."""
    texts = values.cast(pl.String)
    codes = (texts.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy().copy()
    first = np.unique(codes, return_index=True)[1][int((codes < 0).any()) :]
    return codes, values.gather(first)


def on_line(values: pl.Series, name: str, column: Column, key: str) -> FloatArray:
    """Return the values as numbers, nan for missing; categories have none."""
    kind, canonical = settle(values, column)
    if kind == "categorical" or (kind != "numeric" and key == "noise"):
        wanted = "numbers" if key == "noise" else "numbers, dates or ordered values"
        message = f"Column `{name}` is {kind}, but `{key}` is for {wanted}."
        raise DataError(
            "data.perturb", message, f"use `pram` for categories, or correct the kind of `{name}`"
        )
    return line_numbers(canonical, kind, column).cast(pl.Float64).fill_null(float("nan")).to_numpy()
