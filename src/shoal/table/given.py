"""The raw table: a frame that a caller gives, or the file that the recipe names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import polars as pl

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.table import frames
from shoal.table.coding import code_ends
from shoal.table.orders import leaves_kind_open
from shoal.table.read import mark_missing, read, used_columns


def table_of(data: Any, recipe: Recipe, *, also: Collection[str] = (), code: bool = True) -> pl.DataFrame:
    """Read or convert the table and compare its columns with the recipe's.

    Columns that the recipe does not use are dropped here, whatever their type, except for those named
    in `also`. A quasi column whose type has an order keeps that type, for `with_orders`. Without `code`,
    values beyond top and bottom codes stay.
    """
    choose = used_columns(recipe, also)
    if data is not None:
        table = mark_missing(frames.to_polars(data, choose), recipe.input.missing)
    elif recipe.source is not None:
        table = read(recipe.source, recipe.reading, choose)
    else:
        raise RecipeError("recipe.invalid", "The recipe names no input.", 'add [input] path = "..."')
    ordered = [name for name in recipe.quasi if leaves_kind_open(recipe, name)]
    columns = {name: frames.series(table, name) for name in table.columns}
    settled = pl.DataFrame(
        {
            name: values.cast(pl.String) if values.dtype == pl.Enum and name not in ordered else values
            for name, values in columns.items()
        }
    )
    return code_ends(settled, recipe) if code else settled
