"""The columns of a raw table and of its release side by side, on a common footing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.recipe import Column, Recipe
from shoal.table.columns import Encoded
from shoal.table.encode import line_numbers
from shoal.table.frames import series
from shoal.table.kinds import settle
from shoal.table.read import cleaned
from shoal.table.sensitive import canonical_list
from shoal.utility.domains import raw_spread, released_names, spread_from_table
from shoal.utility.spread import LeafSpread, LineSpread, Spread, exact_leaves, exact_line


@dataclass(frozen=True, repr=False)  # a repr would show values
class Pair:
    """A column before and after.

    Parameters
    ----------
    raw, released : LineSpread or LeafSpread
        Of the same kind, with the same leaves.
    is_quasi : bool
        Whether the column was generalized; otherwise it is released unchanged.
    """

    name: str
    raw: Spread
    released: Spread
    is_quasi: bool


def paired_columns(
    table: pl.DataFrame, encoded: Encoded, released: pl.DataFrame, recipe: Recipe
) -> dict[str, Pair]:
    """Pair all columns that a release has: first quasi, then sensitive, then kept ones.

    Rows of the raw table are in the order of `encoded`, those of the release in its own.
    """
    pairs = {
        column.name: Pair(column.name, raw_spread(column), spread_from_table(released, column, recipe), True)
        for column in encoded.columns
        if released_names(released, column.name)
    }
    for name in recipe.named("sensitive", "keep"):
        if name in released.columns:
            before = series(table, name).gather(encoded.order)
            after = cleaned(pl.DataFrame({"values": series(released, name)}), recipe.input.missing)["values"]
            pairs[name] = _unchanged(name, before, after, recipe.columns[name])
    return pairs


def _unchanged(name: str, raw: pl.Series, released: pl.Series, column: Column) -> Pair:
    try:
        kind, before = settle(raw, column)
        _, after = settle(released, column.model_copy(update={"kind": kind}))
        if kind != "categorical":
            raw_line, line = (
                _line(name, line_numbers(values, kind, column), kind, column) for values in (before, after)
            )
            return Pair(name, raw_line, line, is_quasi=False)
    except DataError:  # mixed values are compared as texts
        texts = Column(role=column.role, kind="categorical")
        before, after = settle(raw, texts)[1], settle(released, texts)[1]
    leaves = pl.concat([before.alias("v"), after.alias("v")]).drop_nulls().unique().sort().to_list()
    return Pair(name, _leaves(name, before, leaves), _leaves(name, after, leaves), is_quasi=False)


def _line(name: str, numbers: pl.Series, kind: str, column: Column) -> LineSpread:
    distinct = numbers.drop_nulls().unique().sort()
    codes = (numbers.rank("dense") - 1).cast(pl.Int32).fill_null(len(distinct)).to_numpy()
    return exact_line(name, kind, codes, distinct.to_numpy(), tuple(canonical_list(column.order or [])))


def _leaves(name: str, texts: pl.Series, leaves: list[str]) -> LeafSpread:
    codes = texts.replace_strict(leaves, np.arange(len(leaves)), default=len(leaves), return_dtype=pl.Int32)
    return exact_leaves(name, codes.to_numpy(), leaves)
