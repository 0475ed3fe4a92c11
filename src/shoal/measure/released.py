"""Measure a release from its published columns and the raw table's ranges alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.measure.loss import Loss, loss
from shoal.measure.published import published_costs
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, IntArray
from shoal.table.frames import series


def measure_release(encoded: Encoded, released: pl.DataFrame, recipe: Recipe) -> Loss:
    """Return the losses of a released table, rows in any order.

    `encoded` is the raw table: its ranges and trees are the yardstick, and the rows that it has
    more than the release are the suppressed ones.
    """
    names = published_names(released, recipe)
    classes, numbers = classes_of(released, names)
    boxes = recipe.output.values == "generalize"
    costs = published_costs(encoded, classes) if boxes else None
    labels = _padded(numbers, encoded.n_rows)
    label = None
    if recipe.label is not None and recipe.label in recipe.named("sensitive", "keep"):
        ranks = series(released, recipe.label).cast(pl.String).fill_null("").rank("dense")
        label = _padded(ranks.cast(pl.Int32).to_numpy(), encoded.n_rows)
    return loss(replace(encoded, label=label), labels, costs, recipe.privacy.k)


def published_names(released: pl.DataFrame, recipe: Recipe) -> list[str]:
    """List the columns that the quasi columns are published as."""
    names = []
    for name in recipe.quasi:
        bounds = [f"{name}_low", f"{name}_high"]
        names += [name] if name in released.columns else bounds
    return names


def classes_of(table: pl.DataFrame, names: list[str]) -> tuple[pl.DataFrame, IntArray]:
    """Return the different combinations of the columns, and which one each row has."""
    plain = pl.DataFrame({str(at): series(table, name) for at, name in enumerate(names)})
    grouped = plain.with_row_index("row").group_by(plain.columns, maintain_order=True).agg("row")
    sizes = grouped["row"].list.len().to_numpy()
    numbers = np.empty(table.height, np.int32)
    numbers[grouped["row"].explode().to_numpy()] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return pl.DataFrame({name: grouped[str(at)] for at, name in enumerate(names)}), numbers


def _padded(numbers: npt.NDArray[np.int32], n_rows: int) -> IntArray:
    """Put -1 for the rows that were suppressed."""
    padded = np.full(n_rows, -1, np.int32)
    padded[: len(numbers)] = numbers
    return padded
