"""The different values of one column, in canonical form, and how many rows have each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shoal.hierarchy.suggest import leaf_texts
from shoal.recipe import Column
from shoal.table.kinds import settle


@dataclass(frozen=True)
class ColumnValues:
    """What a column contains.

    Parameters
    ----------
    kind : str
        numeric, categorical, ordinal or date.
    values : list
        Its different values, ascending: numbers, dates or texts.
    rows : list of int
        How many rows have each.
    missing : int
        How many rows have none.
    """

    kind: str
    values: list[Any] = field(repr=False)
    rows: list[int] = field(repr=False)
    missing: int

    @property
    def texts(self) -> list[str]:
        """The values as leaves of a hierarchy."""
        return leaf_texts(self.values)


def count_values(values: pl.Series, column: Column) -> ColumnValues:
    """Settle the kind of a column and count its values."""
    kind, canonical = settle(values, column)
    counts = canonical.drop_nulls().alias("value").value_counts().sort("value")
    return ColumnValues(
        kind, counts["value"].to_list(), counts["count"].to_list(), int(canonical.null_count())
    )
