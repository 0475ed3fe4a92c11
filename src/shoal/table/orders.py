"""Orders defined by a table's data types: an ordered categorical of texts is an ordinal column.

All such types are converted to the Polars type Enum until the order is copied to the recipe. A
categorical of numbers or dates is ordered by its values, so the order of its type is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.recipe import Recipe

Orders = Mapping[str, list[str]]  # by column, from low to high
NO_ORDERS: Orders = {}


def pandas_orders(frame: Any) -> Orders:
    """Return the orders of a pandas frame."""
    types = {name: frame[name].dtype for name in frame.columns}
    return {
        name: list(dtype.categories)
        for name, dtype in types.items()
        if getattr(dtype, "ordered", False) and _are_texts(dtype.categories)
    }


def arrow_orders(table: pa.Table) -> Orders:
    """Return the orders of an Arrow table; a column whose chunks disagree has none."""
    orders = {}
    for name in table.column_names:
        column = table[name]
        if not pa.types.is_dictionary(column.type) or not column.type.ordered:
            continue
        listed = [chunk.dictionary.to_pylist() for chunk in column.chunks]
        if listed and all(order == listed[0] for order in listed) and _are_texts(listed[0]):
            orders[name] = listed[0]
    return orders


def _are_texts(categories: Iterable[Any]) -> bool:
    return all(isinstance(category, str) for category in categories)


def in_order(frame: pl.DataFrame, orders: Orders) -> pl.DataFrame:
    """Cast columns to the type Enum, with these orders."""
    if not orders:
        return frame
    columns = {name: frame[name] for name in frame.columns}
    for name, order in orders.items():
        # Without its name: methods of a series fail if the name looks like a regular expression.
        columns[name] = columns[name].alias("").cast(pl.String).cast(pl.Enum(order))
    return pl.DataFrame(columns)


def with_orders(recipe: Recipe, table: pl.DataFrame) -> Recipe:
    """Return the recipe with the orders of the table's data types, for columns whose kind it leaves open.

    Reading the released values requires the order, so from here on the recipe must contain it as if the
    user had written it.
    """
    columns = dict(recipe.columns)
    for name in recipe.quasi:
        dtype = table[name].dtype
        if leaves_kind_open(recipe, name) and isinstance(dtype, pl.Enum) and len(dtype.categories):
            order = dtype.categories.to_list()
            columns[name] = columns[name].model_copy(update={"kind": "ordinal", "order": order})
    return recipe.model_copy(update={"columns": columns})


def leaves_kind_open(recipe: Recipe, name: str) -> bool:
    """Return whether the kind of a column must be detected."""
    column = recipe.columns[name]
    return column.kind is None and column.hierarchy is None
