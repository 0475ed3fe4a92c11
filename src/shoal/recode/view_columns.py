"""Several views of one table: what each of them publishes [bhaladhare2016].

A view is a separate table: some quasi columns with all sensitive ones. Nothing else may link two views.
So there is no row number, and kept columns go only into the first view: a rare kept value would act as
a row number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.recipe import Column, Output, Recipe
from shoal.table.columns import Encoded

_OF_ALL = ("path", "views", "views_by", "ledger")  # keys of [output] that concern all views together


def view_recipes(recipe: Recipe) -> list[Recipe]:
    """Return the recipe of each view, as if it were the whole table: other quasi columns are dropped."""
    return [_view_recipe(recipe, names, is_first=at == 0) for at, names in enumerate(recipe.views)]


def narrowed(encoded: Encoded, names: Sequence[str]) -> Encoded:
    """Return some columns of a table, with the rows in the order of the full table.

    Equal rows are then not adjacent: the result is for publishing and measuring, not for clustering.
    """
    return replace(encoded, columns=tuple(column for column in encoded.columns if column.name in names))


def _view_recipe(recipe: Recipe, names: Sequence[str], *, is_first: bool) -> Recipe:
    others = [name for name in recipe.quasi if name not in names]
    left_out = [*others, *([] if is_first else recipe.named("keep"))]
    columns = {
        name: Column(role="drop") if name in left_out else column for name, column in recipe.columns.items()
    }
    method = recipe.method.model_copy(update={"options": _options(recipe.method.options, others)})
    given = recipe.output.model_dump(exclude_unset=True)
    output = Output(**{key: value for key, value in given.items() if key not in _OF_ALL})
    return recipe.model_copy(update={"columns": columns, "method": method, "output": output})


def _options(options: Mapping[str, Any], others: Sequence[str]) -> dict[str, Any]:
    """Remove the quasi columns of other views from the options that list columns.

    A name that is no quasi column at all stays: the method rejects it.
    """
    return {
        key: {name: given for name, given in value.items() if name not in others}
        if isinstance(value, Mapping)
        else value
        for key, value in options.items()
    }
