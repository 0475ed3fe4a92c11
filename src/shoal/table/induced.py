"""Induce the hierarchies for which a recipe asks, from the counts of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.errors import HierarchyError, RecipeError
from shoal.hierarchy import files
from shoal.hierarchy.induce import induce
from shoal.hierarchy.tree import Tree
from shoal.recipe import Column, Recipe, omitted_faults
from shoal.recipe.trees import INDUCE
from shoal.table.encode import line_numbers
from shoal.table.forms import set_text
from shoal.table.frames import series
from shoal.table.kinds import settle

_VALUES = 32  # of another column that are distinguished; of categories, rarer ones count as one
_PARTS = 8  # of a line of more numbers than that, each with about as many rows
Parts = dict[str, Any]  # by column: the number of each row's part
_CATEGORICAL = Column(role="quasi", kind="categorical")


def with_induced(recipe: Recipe, table: pl.DataFrame) -> Recipe:
    """Return the recipe with an induced tree for each column that asks for one."""
    trees: dict[str, dict[str, Any]] = {}
    if recipe.induced and (faults := omitted_faults(recipe, quasi=True)):
        raise RecipeError.from_faults(faults)
    faults = []
    parts: Parts = {}
    for name in recipe.induced:
        if recipe.columns[name].role not in ("quasi", "sensitive"):
            continue
        try:
            tree = induced_tree(table, name, columns_for(name, recipe), recipe.columns, parts)
            trees[name] = files.to_nested(tree)
        except HierarchyError as error:
            faults += error.faults
    if faults:
        raise HierarchyError.from_faults(faults)
    return recipe.with_induced(trees) if trees else recipe


def columns_for(name: str, recipe: Recipe) -> list[str]:
    """Return the columns from which a hierarchy is induced: those named, or the other quasi columns."""
    asked = recipe.induced[name]
    named = asked[INDUCE] if isinstance(asked, dict) else recipe.quasi
    return [other for other in named if other != name]


def origin(name: str, others: Iterable[str]) -> str:
    """Say where an induced hierarchy comes from, for the file that it is written to."""
    return (
        f"Induced by shoal from how often the values of column {name} occur together with those of: "
        f"{', '.join(others)}. It lists every value of the column, and may be edited."
    )


def induced_tree(
    table: pl.DataFrame,
    name: str,
    others: list[str],
    columns: dict[str, Column],
    known: Parts | None = None,
) -> Tree:
    """Induce the tree of one column from others; `columns` describes those whose kind is known.

    `known` keeps the parts of columns from one call to the next.
    """
    known = {} if known is None else known
    if not others:
        message = (
            f"The hierarchy of column `{name}` cannot be induced: there is no other column to induce it from."
        )
        hint = 'name columns to induce it from: hierarchy = { induce = ["age", "sex"] }'
        raise HierarchyError("hierarchy.build", message, hint)
    texts = settle(series(table, name), _CATEGORICAL)[1].alias("value")
    rows = texts.drop_nulls().value_counts(name="rows").sort("value")
    codes = texts.replace_strict(rows["value"], pl.int_range(rows.height, eager=True), default=None)
    inside = codes.is_not_null()
    counts = [
        _counts(codes.filter(inside).to_numpy(), _known_parts(table, other, columns, inside, known))
        for other in others
    ]
    return induce(
        rows["value"].to_list(),
        rows["rows"].to_list(),
        np.concatenate(counts, axis=1),
        name,
        set_text=set_text,
    )


def _counts(codes: Any, parts: Any) -> FloatArray:
    """Count the rows with each pair of a value and a part."""
    shape = int(codes.max(initial=-1)) + 1, int(parts.max(initial=-1)) + 1
    flat = np.bincount(codes.astype(np.int64) * shape[1] + parts, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)


def _known_parts(
    table: pl.DataFrame, name: str, columns: dict[str, Column], inside: pl.Series, known: Parts
) -> Any:
    """Return the parts of a column, found only once for all columns that have a value in every row."""
    if not inside.all():
        return _parts(series(table, name), columns.get(name), inside)
    if name not in known:
        known[name] = _parts(series(table, name), columns.get(name), inside)
    return known[name]


def _parts(values: pl.Series, column: Column | None, inside: pl.Series) -> Any:
    """Number the parts of a column that are distinguished; missing values are one more."""
    kind, canonical = settle(values, column or Column(role="quasi"))
    canonical = canonical.filter(inside)
    if kind == "categorical":
        texts = canonical.alias("text")
        often = texts.drop_nulls().value_counts(name="rows").sort(["rows", "text"], descending=[True, False])
        named = often["text"].head(_VALUES)
        parts = texts.replace_strict(named, pl.int_range(len(named), eager=True), default=len(named))
        return parts.set(texts.is_null(), len(named) + 1).cast(pl.Int64).to_numpy()
    numbers = line_numbers(canonical, kind, column or Column(role="quasi"))
    if numbers.drop_nulls().n_unique() <= _VALUES:
        return (numbers.rank("dense") - 1).fill_null(_VALUES).cast(pl.Int64).to_numpy()
    middle = numbers.rank("average") - 0.5  # equal values are in one part
    parts = (middle * _PARTS / max(1, numbers.len() - numbers.null_count())).floor()
    return parts.fill_null(_PARTS).cast(pl.Int64).to_numpy()
