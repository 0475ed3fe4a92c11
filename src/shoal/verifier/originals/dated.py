"""Which columns of the original are dates, where the recipe leaves it open."""

from __future__ import annotations

from shoal.recipe import Recipe
from shoal.verifier.cells.covers import found_kind
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.reading.value import bare


def with_dates(session: Session, original: Loaded, recipe: Recipe) -> Recipe:
    """Return the recipe with the kind of quasi columns that are dates.

    A cell alone does not show it: 10.1952 may be a number or a month.
    """
    columns = dict(recipe.columns)
    for name in filter(original.has_once, recipe.quasi):
        column = columns[name]
        if column.kind is None:
            cell = bare(original.column(name), marked=False)
            found = session.rows(f"SELECT DISTINCT {cell} FROM {original.table} WHERE {cell} <> ''")
            texts = {text for (text,) in found} - set(recipe.input.missing)
            if found_kind(texts, column, original.stored(name)) == "date":
                columns[name] = column.model_copy(update={"kind": "date"})
    return recipe.model_copy(update={"columns": columns})
