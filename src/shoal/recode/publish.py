"""From labels to published classes, in the shape that the recipe asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.recipe import Recipe
from shoal.recode.bounds import as_columns, as_text
from shoal.recode.generalize import node_texts
from shoal.recode.levels import level_texts
from shoal.recode.microaggregate import microaggregate
from shoal.table.columns import Encoded, IntArray, QuasiColumn, RangeColumn, class_extremes


@dataclass(frozen=True, repr=False)  # a repr would show values
class Published:
    """The published classes, numbered in the order of what is published.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int32
        Published class of each encoded row, -1 for a suppressed one. Clusters that are published
        alike are one class.
    classes : polars.DataFrame
        One row for each class; null where a value is missing.
    names : mapping of str to list of str
        For each quasi column the columns of `classes` that it is published as.
    """

    labels: IntArray
    classes: pl.DataFrame
    names: Mapping[str, list[str]]


def publish(
    encoded: Encoded, labels: IntArray, recipe: Recipe, levels: Sequence[int] | None = None
) -> Published:
    """Turn labels into published classes; with `levels`, each column at one level of its tree."""
    n_clusters = int(labels.max(initial=-1)) + 1
    of_column: Sequence[int | None] = levels or [None] * len(encoded.columns)
    published = {
        column.name: _published(column, labels, n_clusters, recipe, level)
        for column, level in zip(encoded.columns, of_column, strict=True)
    }
    names = {quasi: list(columns) for quasi, columns in published.items()}
    every = {name: values for columns in published.values() for name, values in columns.items()}
    classes, class_of_cluster = _merged(pl.DataFrame(every))
    # A suppressed row keeps -1: it indexes the extra last entry.
    return Published(np.append(class_of_cluster, np.int32(-1))[labels], classes, names)


def _published(
    column: QuasiColumn, labels: IntArray, n_clusters: int, recipe: Recipe, level: int | None
) -> dict[str, pl.Series]:
    """Return the published columns of one quasi column, a value for each cluster."""
    output = recipe.output
    if output.values == "microaggregate":
        return {column.name: microaggregate(column, labels, n_clusters, output.aggregate)}
    low, high = class_extremes(column, labels, n_clusters)
    snaps = output.bounds == "snapped" and isinstance(column, RangeColumn)
    if level is not None and not snaps:
        text = level_texts(column, low, level)
    elif isinstance(column, RangeColumn):
        text = as_text(column, low, high, recipe.columns[column.name].grid if snaps else None)
    else:
        text = node_texts(column, labels, low, high)
    if isinstance(column, RangeColumn) and output.bounds_as == "columns":
        return as_columns(column, text)
    return {column.name: text}


def _merged(clusters: pl.DataFrame) -> tuple[pl.DataFrame, IntArray]:
    """Merge clusters that are published alike and number them in the order of their texts.

    Returns the classes and the class of each cluster.
    """
    # Numbers for names: Polars would take a column called "*" or "^a.*$" for a pattern.
    names = [str(at) for at in range(clusters.width)]
    plain = clusters.rename(dict(zip(clusters.columns, names, strict=True)))
    grouped = plain.with_row_index("cluster").group_by(names).agg("cluster").sort(names, nulls_last=True)
    members = grouped["cluster"]
    class_of_cluster = np.empty(clusters.height, np.int32)
    numbers = np.repeat(np.arange(grouped.height, dtype=np.int32), members.list.len().to_numpy())
    class_of_cluster[members.explode().to_numpy()] = numbers
    classes = pl.DataFrame({name: grouped[at] for name, at in zip(clusters.columns, names, strict=True)})
    return classes, class_of_cluster
