"""From labels to published classes, in the shape that the recipe asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import IntArray
from shoal.recipe import Recipe
from shoal.recode.bounds import as_columns, as_text
from shoal.recode.generalize import node_texts
from shoal.recode.levels import level_texts
from shoal.recode.microaggregate import microaggregate
from shoal.recode.ring import Ring
from shoal.table.coding import code_number
from shoal.table.columns import Encoded, QuasiColumn, RangeColumn, class_extremes
from shoal.table.forms import LOST


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
        For each quasi column, the columns of `classes` that it is published as.
    partner : ndarray of shape (n_rows,), int64
        For each encoded row, the one whose other values are published with it: itself, unless a
        secret shift has mixed them.
    suppressed_cells : Mapping of str to int
        For each quasi column, in how many rows its cell was suppressed; none without such rows.
    """

    labels: IntArray
    classes: pl.DataFrame
    names: Mapping[str, list[str]]
    partner: npt.NDArray[np.int64]
    suppressed_cells: Mapping[str, int] = field(default_factory=dict)


def publish(
    encoded: Encoded,
    labels: IntArray,
    recipe: Recipe,
    levels: Sequence[int] | None = None,
    hidden: npt.NDArray[np.bool_] | None = None,
) -> Published:
    """Turn labels into published classes; with `levels`, each column at one level of its tree.

    `hidden` marks the columns that each cluster publishes as `*`, one row for each cluster.
    """
    n_clusters = int(labels.max(initial=-1)) + 1
    of_column: Sequence[int | None] = levels or [None] * len(encoded.columns)
    published = {
        column.name: published_column(
            column, labels, n_clusters, recipe, level, None if hidden is None else hidden[:, at]
        )
        for at, (column, level) in enumerate(zip(encoded.columns, of_column, strict=True))
    }
    names, classes, class_of_cluster = _classes(published)
    # A suppressed row keeps -1: it indexes the extra last entry.
    found = np.append(class_of_cluster, np.int32(-1))[labels]
    cells = {} if hidden is None else _rows_without(encoded, labels, hidden)
    return Published(found, classes, names, np.arange(encoded.n_rows), cells)


def _rows_without(encoded: Encoded, labels: IntArray, hidden: npt.NDArray[np.bool_]) -> dict[str, int]:
    """Count the rows in which each column is hidden."""
    sizes = np.bincount(labels[labels >= 0], minlength=len(hidden))
    counts = {each.name: int(sizes @ hidden[:, at]) for at, each in enumerate(encoded.columns)}
    return {name: rows for name, rows in counts.items() if rows}


def publish_ring(
    encoded: Encoded,
    labels: IntArray,
    recipe: Recipe,
    width: int,
    *,
    random: np.random.Generator | None = None,
) -> Published:
    """Publish a box for each row, over `width` neighbours of its group, with a neighbour's other values.

    Tests draw the shifts with `random`; otherwise they are secret.
    """
    ring = Ring.of(labels, width)
    published = {column.name: _boxes(column, ring, recipe) for column in encoded.columns}
    names, classes, class_of_entry = _classes(published)
    found = np.full(encoded.n_rows, -1, np.int32)
    found[ring.rows] = class_of_entry
    partner = np.arange(encoded.n_rows)
    partner[ring.rows] = ring.partners(random)
    return Published(found, classes, names, partner)


def published_column(
    column: QuasiColumn,
    labels: IntArray,
    n_clusters: int,
    recipe: Recipe,
    level: int | None = None,
    hidden: npt.NDArray[np.bool_] | None = None,
) -> dict[str, pl.Series]:
    """Return the published columns of one quasi column, a value for each cluster."""
    output = recipe.output
    if output.values == "microaggregate":
        return {column.name: microaggregate(column, labels, n_clusters, output.aggregate)}
    low, high = class_extremes(column, labels, n_clusters)
    snaps = output.bounds == "snapped" and isinstance(column, RangeColumn)
    if level is not None and not snaps:
        texts = level_texts(column, low, level, _code_limits(column, recipe))
    elif isinstance(column, RangeColumn):
        texts = as_text(column, low, high, _grid(column, recipe))
    else:
        texts = node_texts(column, labels, low, high, output.max_set)
    return _shaped(column, texts if hidden is None else texts.set(pl.Series(hidden), LOST), recipe)


def _boxes(column: QuasiColumn, ring: Ring, recipe: Recipe) -> dict[str, pl.Series]:
    """Return the published columns of one quasi column, a value for each entry of the ring."""
    low, high = ring.extremes(column)
    if isinstance(column, RangeColumn):
        return _shaped(column, as_text(column, low, high, _grid(column, recipe)), recipe)
    return _shaped(column, ring.node_texts(column, low, high, recipe.output.max_set), recipe)


def _code_limits(column: QuasiColumn, recipe: Recipe) -> tuple[Fraction | None, Fraction | None]:
    """Return the bottom and the top code of a column as numbers."""
    given = recipe.columns[column.name]
    low, high = (
        None if code is None else Fraction(str(code_number(code, column.kind, given)))
        for code in (given.bottom, given.top)
    )
    return low, high


def _grid(column: RangeColumn, recipe: Recipe) -> float | None:
    return recipe.columns[column.name].grid if recipe.output.bounds == "snapped" else None


def _shaped(column: QuasiColumn, text: pl.Series, recipe: Recipe) -> dict[str, pl.Series]:
    """Return one text column, or two columns of bounds where the recipe asks for them."""
    if isinstance(column, RangeColumn) and recipe.output.bounds_as == "columns":
        return as_columns(column, text)
    return {column.name: text}


def _classes(
    published: Mapping[str, Mapping[str, pl.Series]],
) -> tuple[dict[str, list[str]], pl.DataFrame, IntArray]:
    """Combine the columns; return what each is published as, the classes, and the class of each cluster."""
    names = {quasi: list(columns) for quasi, columns in published.items()}
    every = {name: values for columns in published.values() for name, values in columns.items()}
    return names, *_merged(pl.DataFrame(every))


def _merged(clusters: pl.DataFrame) -> tuple[pl.DataFrame, IntArray]:
    """Merge clusters with identical published values and number them in the order of their texts.

    Returns the classes and the class of each cluster.
    """
    # Numbers as names: Polars would take a column called "*" or "^a.*$" for a pattern.
    names = [str(at) for at in range(clusters.width)]
    plain = clusters.rename(dict(zip(clusters.columns, names, strict=True)))
    grouped = plain.with_row_index("cluster").group_by(names).agg("cluster").sort(names, nulls_last=True)
    members = grouped["cluster"]
    class_of_cluster = np.empty(clusters.height, np.int32)
    numbers = np.repeat(np.arange(grouped.height, dtype=np.int32), members.list.len().to_numpy())
    class_of_cluster[members.explode().to_numpy()] = numbers
    classes = pl.DataFrame({name: grouped[at] for name, at in zip(clusters.columns, names, strict=True)})
    return classes, class_of_cluster
