"""Published values as numbers for statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl

from shoal.errors import RecipeError
from shoal.recipe import Column, Recipe, omitted_faults
from shoal.table.frames import series
from shoal.table.kinds import TextCounts, settle
from shoal.utility.domains import released_names, spread_from_recipe
from shoal.utility.formula import AnalysisError
from shoal.utility.spread import LeafSpread, LineSpread

How = Literal["midpoint", "sample"]
_MOST_LEAVES = 1000


def published_values(
    released: pl.DataFrame,
    recipe: Recipe,
    kinds: Mapping[str, str],
    *,
    how: How = "midpoint",
    variance: bool = False,
    seed: int = 0,
) -> pl.DataFrame:
    """Turn the quasi columns of a released table into numbers; see `shoal.values`."""
    _check(released, recipe, how, variance)
    random = np.random.Generator(np.random.PCG64(seed))
    made: dict[str, dict[str, pl.Series]] = {}
    # Columns in recipe order, so that draws do not depend on the order of the frame's columns.
    for name in recipe.quasi:
        if released_names(released, name):
            column = spread_from_recipe(released, name, recipe, kinds)
            made[name] = _drawn(column, random) if how == "sample" else _expected(column, variance=variance)
    return pl.DataFrame(_in_place(released, recipe, made))


def _check(released: pl.DataFrame, recipe: Recipe, how: str, variance: bool) -> None:
    if how not in ("midpoint", "sample"):
        raise RecipeError("recipe.invalid", "There is no such way to make values.", "ways: midpoint, sample")
    if variance and (how == "sample" or recipe.output.values == "microaggregate"):
        what = "Drawn" if how == "sample" else "Typical"
        message = f"{what} values have no variance inside a range."
        raise RecipeError("recipe.invalid", message, "leave out variance")
    if not any(released_names(released, name) for name in recipe.quasi):
        message = "The table has none of the quasi columns of the recipe."
        raise RecipeError("recipe.unknown_column", message, "give a release and its own recipe")
    if faults := omitted_faults(recipe, quasi=True):
        raise RecipeError.from_faults(faults)


def _expected(column: LineSpread | LeafSpread, *, variance: bool) -> dict[str, pl.Series]:
    """Return the mean of what each cell stands for."""
    if isinstance(column, LeafSpread):
        return _weights(column)
    middle = pl.Series(column.means[column.label]).fill_nan(None)
    made = {column.name: middle.floor().cast(pl.Int32).cast(pl.Date) if column.kind == "date" else middle}
    if variance:
        made[f"{column.name}_variance"] = pl.Series(column.variances[column.label]).fill_nan(None)
    return made


def _weights(column: LeafSpread) -> dict[str, pl.Series]:
    """Return one column for each category: the weight of the category in each cell."""
    number = len(column.leaves)
    if number > _MOST_LEAVES:
        message = f"Column `{column.name}` has {number:,} categories, which would be as many columns."
        raise AnalysisError("analysis.data", message, "remove the column first, or draw values: how='sample'")
    weights = column.cells(np.arange(number, dtype=np.int32), number)[:, :number]
    weights = np.where(column.missing[:, None] > 0.5, np.nan, weights)
    return {
        f"{column.name}={leaf}": pl.Series(weights[column.label, at]).fill_nan(None)
        for at, leaf in enumerate(column.leaves)
    }


def _drawn(column: LineSpread | LeafSpread, random: np.random.Generator) -> dict[str, pl.Series]:
    """Return a value that each cell may stand for."""
    if isinstance(column, LeafSpread):
        drawn = pl.Series(column.draw(random))
        return {column.name: pl.Series(column.leaves, dtype=pl.String).gather(drawn.set(drawn < 0, None))}
    numbers = pl.Series(column.draw(random)).fill_nan(None)
    if column.kind == "ordinal":
        texts = pl.Series(column.order, dtype=pl.String)
        return {column.name: texts.gather(numbers.cast(pl.UInt32))}
    if column.kind == "date":
        return {column.name: numbers.cast(pl.Int32).cast(pl.Date)}
    return {column.name: numbers.cast(pl.Int64) if column.whole else numbers}


def _in_place(
    released: pl.DataFrame, recipe: Recipe, made: Mapping[str, Mapping[str, pl.Series]]
) -> dict[str, pl.Series]:
    """Put the new columns where the published ones are; other columns stay, numbers in texts as numbers."""
    origin = {written: name for name in recipe.quasi for written in released_names(released, name)}
    columns: dict[str, pl.Series] = {}
    for written in released.columns:
        columns |= (
            made[origin[written]] if written in origin else {written: _numbers(series(released, written))}
        )
    return columns


def _numbers(values: pl.Series) -> pl.Series:
    """Return texts as numbers if all of them are."""
    if values.dtype != pl.String:
        return values
    counts = TextCounts.of(values.drop_nulls())
    if not counts.cells or counts.numbers < counts.cells or counts.codes:
        return values
    return settle(values, Column(role="keep", kind="numeric"))[1]
