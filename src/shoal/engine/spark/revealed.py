"""What cells report about dangers: counts that add up over cells.

Rules between columns are learned in each cell from its rows alone. What only shows in the whole table is
missed: a value that repeats in the table but in no cell, and a column that duplicates the one by which the
table was cut, if each cell has a single value of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.dangers.duplicate import DuplicateCount, duplicate_counts
from shoal.dangers.recoverable import RecoverableCount, recoverable_counts
from shoal.dangers.scene import Scene, Values
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, QuasiColumn, RangeColumn

if TYPE_CHECKING:
    from shoal.recode.publish import Published


def revealed(
    frame: pl.DataFrame, encoded: Encoded, published: Published, recipe: Recipe, *, learns: bool
) -> dict[str, Any]:
    """Count what a cell shows, one list of numbers for each pair of columns.

    Without `learns`, nothing is learned from these rows, they are only counted.
    """
    values = Values(_table(frame, encoded, recipe))
    scene = Scene(values, encoded, recipe, published.labels, published)
    duplicates, sources = list(duplicate_counts(scene)), list(recoverable_counts(scene))
    if not learns:
        duplicates = [DuplicateCount(count.rows) for count in duplicates]
        sources = [RecoverableCount(count.hidden) for count in sources]
    return {"duplicate": duplicates, "recoverable": sources}


def _table(frame: pl.DataFrame, encoded: Encoded, recipe: Recipe) -> pl.DataFrame:
    """Return the columns of a cell under their real names; of quasi columns, the canonical texts."""
    others = {name: frame[f"o{at}"] for at, name in enumerate(recipe.named("sensitive", "keep"))}
    quasi = {column.name: _texts(column, encoded) for column in encoded.columns}
    return pl.DataFrame({**others, **quasi})


def _texts(column: QuasiColumn, encoded: Encoded) -> pl.Series:
    if isinstance(column, RangeColumn):
        texts: list[str | None] = [*column.texts, None]
    else:
        texts = [*column.tree.leaf_labels, None]
        texts[column.missing] = None
    codes = np.minimum(encoded.in_input_order(column.codes), len(texts) - 1)
    return pl.Series(texts, dtype=pl.String).gather(codes)


def duplicates_of(reports: Sequence[dict[str, Any]]) -> list[DuplicateCount]:
    """Return what all cells show about each sensitive and each quasi column."""
    return [DuplicateCount(*numbers) for numbers in _summed(reports, "duplicate")]


def recoverable_of(reports: Sequence[dict[str, Any]]) -> list[RecoverableCount]:
    """Return what all cells show about each source and each quasi column."""
    return [RecoverableCount(*numbers) for numbers in _summed(reports, "recoverable")]


def _summed(reports: Sequence[dict[str, Any]], danger: str) -> list[list[Any]]:
    """Sum the numbers of all cells for each pair of columns, exactly, in whatever order the cells are."""
    by_pair = zip(*(report[danger] for report in reports), strict=True)
    return [[_sum(numbers) for numbers in zip(*counts, strict=True)] for counts in by_pair]


def _sum(numbers: Sequence[Any]) -> int | float:
    return fsum(numbers) if isinstance(numbers[0], float) else sum(numbers)
