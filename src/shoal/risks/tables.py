"""The tables that risk is measured on: their quasi columns under any names, and populations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import RecipeError
from shoal.recipe import Input, Recipe, column_faults
from shoal.table import frames
from shoal.table.coding import code_ends
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.table.forms import LOST, range_text, value_text
from shoal.table.orders import with_orders
from shoal.table.read import mark_missing, read


def published_columns(quasi: Iterable[str], present: Collection[str]) -> dict[str, list[str]]:
    """Return under which names a table has each quasi column: its own, or two bounds."""
    named = {}
    for name in quasi:
        bounds = [f"{name}_low", f"{name}_high"]
        named[name] = bounds if name not in present and set(bounds) <= set(present) else [name]
    return named


def needed_columns(
    recipe: Recipe, columns: Mapping[str, Sequence[str]], also: Collection[str], present: list[str]
) -> set[str]:
    """Return the columns to read; report those that are missing.

    Whatever else the recipe names may be missing: a release has neither identifiers nor a subject.
    """
    quasi = [name for names in columns.values() for name in names]
    roles = {name: {"role": "keep"} for name in also} | {name: {"role": "quasi"} for name in quasi}
    wanted = Recipe.from_dict({"columns": {**roles, "default": "drop"}, "privacy": {"k": 2}})
    if faults := column_faults(wanted, present):
        raise RecipeError.from_faults(faults)
    return {*roles, *(name for name in recipe.named("subject", "identifier") if name in present)}


def load_population(given: Any, recipe: Recipe, *, by_row: bool = False) -> Encoded:
    """Read and encode a population, a file or a frame.

    If it has the recipe's subject column, people are counted by it, unless every row is one (`by_row`).
    """
    present: list[str] = []

    def choose(names: list[str]) -> Collection[str]:
        present.extend(names)
        return needed_columns(recipe, {name: [name] for name in recipe.quasi}, (), names)

    if isinstance(given, (str, Path)):
        table = read(Path(given), Input(missing=recipe.input.missing), choose)
    else:
        table = mark_missing(frames.to_polars(given, choose), recipe.input.missing)
    roles = ("quasi",) if by_row else ("quasi", "subject")
    used = [name for name in recipe.named(*roles) if name in present]
    sections = {"columns": {name: recipe.columns[name].model_dump(exclude_unset=True) for name in used}}
    restricted = Recipe.from_dict({**sections, "privacy": {"k": 2}}, base=recipe.resolve(""))
    restricted = with_orders(restricted, table)
    return encode(code_ends(table, restricted), restricted)


def box_texts(classes: pl.DataFrame, columns: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return what classes publish of each quasi column; bounds in two columns become ranges."""
    return pl.DataFrame({name: _texts(classes, names) for name, names in columns.items()})


def _texts(classes: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    parts = [frames.series(classes, name).cast(pl.String).to_list() for name in names]
    if len(parts) == 1:
        return pl.Series(parts[0], dtype=pl.String)
    joined = [
        LOST if low is None or high is None else value_text(low) if low == high else range_text(low, high)
        for low, high in zip(*parts, strict=True)
    ]
    return pl.Series(joined, dtype=pl.String)
