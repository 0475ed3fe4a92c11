"""Where dangers are looked for: the raw table, the recipe, and what is published."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from shoal.arrays import BoolArray, IntArray, LongArray
from shoal.recipe import Recipe
from shoal.recode.publish import Published
from shoal.table.columns import Encoded
from shoal.table.frames import series
from shoal.table.numbering import value_codes

Codes = LongArray


@dataclass(frozen=True, repr=False)
class Values:
    """The columns of a table as numbers, each computed once."""

    table: pl.DataFrame
    _known: dict[str, Codes] = field(default_factory=dict)

    def codes(self, name: str) -> Codes:
        """Number the distinct values of a column, in the order of the input; -1 where one is missing.

        Values are equal if the verifier considers them equal: 1 and 1.0 are one value.
        """
        if name not in self._known:
            self._known[name] = value_codes(series(self.table, name))
        return self._known[name]


@dataclass(frozen=True, repr=False)
class Scene:
    """A release and what it was made from.

    Parameters
    ----------
    values : Values
        Of the raw table.
    encoded : Encoded
        The raw quasi columns, rows in canonical order.
    recipe : Recipe
        What was asked for.
    labels : ndarray of shape (n_rows,), int32
        The class of each encoded row, -1 for one that is left out.
    published : Published or None
        What is published of the quasi columns; None where they are released unchanged.
    word : str
        What the rows of one label are called: classes or groups.
    """

    values: Values
    encoded: Encoded
    recipe: Recipe
    labels: IntArray
    published: Published | None
    word: str = "classes"

    @cached_property
    def inside(self) -> BoolArray:
        """Mark the released rows, in canonical order."""
        return self.labels >= 0

    @cached_property
    def released(self) -> int:
        """The number of released rows."""
        return int(self.inside.sum())

    def codes(self, name: str) -> Codes:
        """Number the values of a column, in canonical order."""
        return self.values.codes(name)[self.encoded.order]

    @property
    def identifiers(self) -> list[str]:
        """The identifiers that could be read: a column that is not released may have any type."""
        return [name for name in self.recipe.named("identifier") if name in self.values.table.columns]

    @property
    def shown(self) -> list[str]:
        """The columns that are released unchanged."""
        return self.recipe.named("keep", "sensitive")
