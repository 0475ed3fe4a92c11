"""Hierarchies given in Python: a frame in ARX layout, or a function from a value to its generalizations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from shoal.errors import HierarchyError
from shoal.hierarchy.files import to_nested
from shoal.hierarchy.tree import Tree
from shoal.recipe import Column
from shoal.table.frames import to_polars
from shoal.table.kinds import settle
from shoal.table.tree_columns import leaf_texts

ROOT = "*"  # added above the widest generalizations of a function if they differ


def from_frame(frame: Any, column: str) -> dict[str, Any]:
    """Return the nested table that a frame describes.

    As in a file in ARX layout, each row contains a leaf and its ancestors, from the leaf to the root. The
    frame's column names are ignored. Missing cells at the end of a row are skipped.
    """
    table = to_polars(frame)
    texts = [_cells(table.to_series(at)) for at in range(table.width)]
    paths = [_without_padding(path) for path in zip(*texts, strict=True)]
    n_gaps = sum(not all(path) for path in paths)
    if n_gaps:
        message = f"The hierarchy of column `{column}` has missing cells between others in {n_gaps} rows."
        hint = "to skip a level, repeat the label to the left of the missing cell"
        raise HierarchyError("hierarchy.build", message, hint)
    return to_nested(Tree.from_paths(paths, column))


def from_function(
    function: Callable[[Any], str | Sequence[str]], values: pl.Series, column: Column
) -> dict[str, Any]:
    """Return the nested table that a function describes for the values of a column.

    The function is called once for each distinct value of the table. It returns the value's generalizations
    from narrow to wide, or a single one. If the widest differ, a common root is added.
    """
    distinct = values.drop_nulls().unique().sort()
    leaves = leaf_texts(settle(distinct, column)[1])
    found = [_generalizations(function(value), values.name) for value in distinct.to_list()]
    paths = dict.fromkeys((leaf, *above) for leaf, above in zip(leaves, found, strict=True))
    if len({path[-1] for path in paths}) > 1:
        paths = dict.fromkeys((*path, ROOT) for path in paths)
    return to_nested(Tree.from_paths(paths, values.name))


def _cells(values: pl.Series) -> list[str]:
    """Return the texts of a frame column; a missing cell is an empty string."""
    present = values.drop_nulls()
    texts = iter(leaf_texts(present))
    return ["" if is_missing else next(texts).strip() for is_missing in values.is_null()]


def _without_padding(path: Sequence[str]) -> tuple[str, ...]:
    """Drop empty cells at the end of a path."""
    length = max((at for at, text in enumerate(path, 1) if text), default=0)
    return tuple(path[:length])


def _generalizations(given: object, column: str) -> tuple[str, ...]:
    levels = [given] if isinstance(given, str) else given
    if not isinstance(levels, Sequence) or not levels or not all(isinstance(one, str) for one in levels):
        message = f"The function for the hierarchy of column `{column}` did not return strings."
        hint = "return the generalizations of a value from narrow to wide, such as ['20-29', '20-39', '*']"
        raise HierarchyError("hierarchy.build", message, hint)
    return tuple(levels)
