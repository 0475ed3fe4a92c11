"""Cluster one cell, in the same way on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray, LongArray
from shoal.cluster.clusterer import ClusterResult
from shoal.cluster.registry import MethodInfo
from shoal.engine.cells.tree import cell_seed, is_alike
from shoal.engine.clustering import cluster
from shoal.engine.publishing import published_as
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, Line, RangeColumn, SensitiveColumn, are_whole, most_decimals

_SHARE_DIGITS = 9


def cluster_cell(encoded: Encoded, recipe: Recipe, method: MethodInfo, path: str) -> ClusterResult:
    """Label the rows of a cell, given as `cell_view` shows them, by a recipe of `recipe_of_cells`."""
    if is_alike(path):
        return ClusterResult(np.zeros(encoded.n_rows, np.int32))
    chosen = recipe.method.model_copy(update={"seed": cell_seed(recipe.method.seed, path)})
    found = cluster(encoded, recipe.model_copy(update={"method": chosen}), method)
    if encoded.person is None:
        return found
    # Classes that are published alike are one, and where they share people that one may miss a goal.
    return replace(found, labels=published_as(encoded, found, recipe).labels)


def recipe_of_cells(recipe: Recipe, rows: int, missing: int) -> Recipe:
    """Return the recipe for the cells of a table of which the rows that miss a value are left out already.

    What may still be suppressed is shared out among the cells. With a goal that compares a class with the
    whole table nothing is: each suppressed row would change what all other cells are compared with.
    """
    left = recipe.privacy.may_suppress(rows) - missing
    share = floor(10**_SHARE_DIGITS * max(0, left) / max(1, rows - missing)) / 10**_SHARE_DIGITS
    if any(goal.compares for goal in recipe.privacy.column_goals):
        share = 0.0
    changes = {"max_suppressed": share, "missing": "category"}
    return recipe.model_copy(update={"privacy": recipe.privacy.model_copy(update=changes)})


def cell_view(encoded: Encoded, rows: LongArray, whole: Sequence[SensitiveColumn], lines: Any) -> Encoded:
    """Return some rows of a table as a cell: values renumbered, with what a cell knows of the whole table."""
    part = encoded.take(rows)
    columns = tuple(
        _renumbered(column, lines[column.name]) if isinstance(column, RangeColumn) else column
        for column in part.columns
    )
    sensitive = tuple(
        replace(column, whole=of_all.whole) for column, of_all in zip(part.sensitive, whole, strict=True)
    )
    label, label_missing = _labels(part)
    person = None if part.person is None else _ranks(part.person)
    return Encoded(columns, part.order, label, label_missing, sensitive, person, encoded.n_rows)


def line_of(column: RangeColumn) -> Line:
    """Return what a cell must know about a column of the whole table."""
    low, high = column.ends or (0, 0)
    return Line(low, high, most_decimals(column.numbers), are_whole(column.numbers))


def _renumbered(column: RangeColumn, line: Line) -> RangeColumn:
    """Number the values that occur."""
    occurring, codes = np.unique(column.codes, return_inverse=True)
    present = occurring[occurring < column.missing]
    return replace(
        column,
        codes=codes.astype(np.int32).ravel(),
        points=column.points[present],
        texts=tuple(column.texts[code] for code in present),
        numbers=column.numbers[present],
        line=line,
    )


def _labels(part: Encoded) -> tuple[IntArray | None, int]:
    """Renumber the class labels; a missing one stays the last."""
    if part.label is None:
        return None, -1
    present = len(np.unique(part.label[part.label != part.label_missing]))
    return _ranks(part.label), present


def _ranks(codes: npt.NDArray[Any]) -> IntArray:
    """Number the codes that occur by size."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int32).ravel()
