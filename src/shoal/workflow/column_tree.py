"""The hierarchy of one column with its table: what it is now, how it is built, and what a change gives.

The command line builds hierarchies and writes them to files; a page changes them step by step. Here is what
the page calls. Nothing is written: a change returns a `Version`, which says what the recipe and the file of
the column should contain.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from shoal.errors import DataError, HierarchyError
from shoal.hierarchy import build, cuts, editing, files
from shoal.hierarchy.history import Version
from shoal.hierarchy.picture import RARE
from shoal.hierarchy.showing import Showing
from shoal.hierarchy.tree import Tree
from shoal.hierarchy.writing import file_bytes
from shoal.recipe import Column, Recipe
from shoal.recipe.codes import CODES
from shoal.recipe.trees import INDUCE, is_file, is_induced
from shoal.table.column_values import ColumnValues, count_values
from shoal.table.frames import series
from shoal.table.induced import columns_for, induced_tree, origin
from shoal.table.read import read
from shoal.table.tree_columns import given_tree

Builder = Literal["none", "flat", "intervals", "cuts", "prefix", "dates", "codes", "induce"]

UNGROUPED = "not in the file"  # label of the group of values that an imported hierarchy lacks


@dataclass(frozen=True)
class ColumnTree:
    """The hierarchy of a column, and the values of the column.

    Parameters
    ----------
    name : str
        Of the column.
    found : ColumnValues
        Its values and their rows.
    tree : Tree or None
        None if the recipe gives no hierarchy.
    is_data : bool
        Whether the leaves are the values of the table and nothing else, so that a rare one reveals
        something about a person. It is so for trees that are built from the table.
    origin : str
        Where the tree comes from, for the first line of its file.
    """

    name: str
    found: ColumnValues
    tree: Tree | None
    is_data: bool = True
    origin: str = ""

    @cached_property
    def showing(self) -> Showing | None:
        """What may be shown of the tree."""
        if self.tree is None:
            return None
        rows = dict(zip(self.found.texts, self.found.rows, strict=True))
        by_leaf = [rows.get(leaf, 0) for leaf in self.tree.leaf_labels]
        hide_groups = self.is_data and ends_are_rare(self.tree, self.found)
        return Showing(self.tree, by_leaf, is_data=self.is_data, hide_groups=hide_groups)

    @cached_property
    def uncovered(self) -> list[str]:
        """The values of the column that are not leaves."""
        return [] if self.tree is None else _uncovered(self.tree, self.found)


def read_columns(recipe: Recipe, path: Path, names: Collection[str]) -> pl.DataFrame:
    """Read columns of a recipe's table."""
    return read(path, recipe.input, lambda present: {name for name in names if name in present})


def values_of(recipe: Recipe, table: pl.DataFrame, name: str, kind: str | None = None) -> ColumnValues:
    """Count the values of a column as the recipe says how to read it, or as another kind."""
    column = recipe.columns[name]
    if kind is not None and kind != column.kind:
        column = column.model_copy(update={"kind": kind, "hierarchy": None})
    return count_values(series(table, name), column)


def natural_kind(table: pl.DataFrame, name: str) -> str:
    """Return the kind that the values of a column have by themselves; categorical if they are mixed."""
    try:
        return count_values(series(table, name), Column(role="quasi")).kind
    except DataError:
        return "categorical"


def needed_columns(recipe: Recipe, name: str) -> list[str]:
    """Return the columns of which the hierarchy of a column depends."""
    return [name, *columns_for(name, recipe)] if is_induced(recipe.columns[name].hierarchy) else [name]


def column_tree(
    recipe: Recipe, table: pl.DataFrame | None, name: str, found: ColumnValues, *, is_data: bool = False
) -> ColumnTree:
    """Build or read the hierarchy that a recipe gives a column.

    Parameters
    ----------
    table : polars.DataFrame or None
        With the `needed_columns`; not used if that is the column alone.
    found : ColumnValues
        Of the column.
    is_data : bool
        Whether a file is known to have been made from the table.
    """
    hierarchy = recipe.columns[name].hierarchy
    if hierarchy is None:
        return ColumnTree(name, found, None)
    if is_induced(hierarchy):
        assert table is not None or len(needed_columns(recipe, name)) == 1
        others = columns_for(name, recipe)
        tree = induced_tree(pl.DataFrame() if table is None else table, name, others, recipe.columns)
        return ColumnTree(name, found, tree, origin=origin(name, others))
    tree = given_tree(name, pl.Series(found.values), found.kind, recipe)
    said = ""
    is_own = not _is_nested(hierarchy)
    if isinstance(hierarchy, str) and is_file(hierarchy):
        said, is_own = files.origin_of(recipe.resolve(hierarchy), name), False
    return ColumnTree(name, found, tree, is_data or is_own or lists_data(tree, found), said)


def lists_data(tree: Tree, found: ColumnValues) -> bool:
    """Return whether all leaves are values of the column: the tree was probably made from the table."""
    return set(tree.leaf_labels) <= set(found.texts)


def ends_are_rare(tree: Tree, found: ColumnValues) -> bool:
    """Return whether intervals begin at the smallest value, or end at the largest, and few rows have it.

    So do intervals that divide the range of a column into equal parts, and their labels reveal the ends
    of that range. Intervals that are aligned at 0 reveal nothing.
    """
    if found.kind not in ("numeric", "date") or not found.values:
        return False
    low, high = found.texts[0], found.texts[-1]
    ends = [_INTERVAL.fullmatch(label) for label in tree.labels]
    starts = [end for end in ends if end and end["low"] == low and not _is_aligned(end["low"], end["high"])]
    stops = [end for end in ends if end and end["high"] == high and not _is_whole(high)]
    return bool(found.rows[0] < RARE and starts) or bool(found.rows[-1] < RARE and stops)


_INTERVAL = re.compile(r"\[(?P<low>[^,]+), (?P<high>[^,]+)\]")


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def _is_aligned(low: str, high: str) -> bool:
    """Return whether an interval of integers begins at a multiple of its width."""
    if not (_is_whole(low) and _is_whole(high)):
        return False
    width = int(high) - int(low) + 1
    return width > 0 and int(low) % width == 0


def built(column: ColumnTree, builder: Builder, levels: Sequence[Any], file: str) -> Version:
    """Return the version of a column's hierarchy that is built by a rule, or with chosen cuts.

    Parameters
    ----------
    column : ColumnTree
        As it is now; its values are of the kind that the builder needs.
    builder : str
        How it is built: none, flat, intervals, cuts, prefix, dates, codes, induce.
    levels : sequence
        Widths, cuts, the number of characters, units, the name of a code, or columns.
    file : str
        For a hierarchy that a recipe cannot describe in a line: path of its file in the recipe.

    Raises
    ------
    HierarchyError
        If it cannot be built.
    """
    name, found = column.name, column.found
    kind = kind_for(builder, levels) or found.kind
    if kind in ("numeric", "date") and kind != found.kind:
        raise HierarchyError(
            "hierarchy.build",
            f"The hierarchy of column `{name}` cannot be built: the column is {found.kind}, not {kind}.",
            "change its kind first, or build another hierarchy",
        )
    if builder == "flat":
        return _as_file(column, build.flat(found.texts, name), file, _NOTES[builder])
    if builder == "cuts":
        return _as_file(column, cuts.by_cuts(found.values, levels, name), file, _NOTES[builder])
    return Version(rule(builder, levels, name), kind, is_data=True, note=_NOTES[builder])


def kind_for(builder: Builder, levels: Sequence[Any] = ()) -> str | None:
    """Return the kind that a column has with a builder; None if any will do."""
    if builder == "codes":
        return "numeric" if list(levels) == ["age"] else "categorical"
    kinds = {"intervals": "numeric", "cuts": "numeric", "dates": "date"}
    kinds |= dict.fromkeys(("prefix", "induce"), "categorical")
    return kinds.get(builder)


def rule(builder: Builder, levels: Sequence[Any], name: str) -> str | dict[str, Any] | None:
    """Return a hierarchy as it is written in a recipe."""
    if builder == "none":
        return None
    if builder == "induce":
        return {INDUCE: list(levels)} if levels else INDUCE
    if builder in ("codes", "prefix"):
        if len(levels) != 1 or (builder == "codes" and levels[0] not in CODES):
            raise HierarchyError(
                "hierarchy.build",
                f"The hierarchy of column `{name}` cannot be built: one level is needed.",
                f"one of {', '.join(CODES)}" if builder == "codes" else "for example { prefix = 1 }",
            )
        return str(levels[0]) if builder == "codes" else {"prefix": levels[0]}
    return {builder: list(levels)}


_NOTES: dict[Builder, str] = {
    "none": "removing the hierarchy",
    "flat": "starting with all values in one list",
    "intervals": "intervals of equal width",
    "cuts": "intervals between cuts",
    "prefix": "masking characters",
    "dates": "calendar periods",
    "codes": "the structure of codes",
    "induce": "inducing the hierarchy",
}


def edited(column: ColumnTree, tree: Tree, note: str, file: str) -> Version:
    """Return the version in which a column has an edited tree."""
    return _as_file(column, tree, file, note)


def imported(column: ColumnTree, content: bytes, extension: str, file: str, *, complete: bool) -> Version:
    """Return the version in which a column has a hierarchy from elsewhere.

    Parameters
    ----------
    content : bytes
        Of the file; it is kept as it is if it covers the column.
    extension : str
        Of the file.
    file : str
        Path in the recipe, with an extension of `hierarchy.writing.EXTENSIONS`.
    complete : bool
        Whether to add values of the column that the file lacks, in a group of their own.

    Raises
    ------
    HierarchyError
        If the file is not a hierarchy, or does not cover the column.
    """
    tree = files.from_bytes(content, extension, column.name)
    missing = _uncovered(tree, column.found)
    if missing and complete:
        tree = editing.with_leaves(tree, missing, editing.unused_label(tree, UNGROUPED))
        content = file_bytes(tree, Path(file).suffix, column.name)
    tree.codes(column.found.texts, column.name)
    is_data = lists_data(tree, column.found)
    return Version(file, column.found.kind, content, is_data=is_data, note="importing a file")


def _as_file(column: ColumnTree, tree: Tree, file: str, note: str) -> Version:
    content = file_bytes(tree, Path(file).suffix, column.name, column.origin)
    return Version(file, column.found.kind, content, is_data=column.is_data, note=note)


def _uncovered(tree: Tree, found: ColumnValues) -> list[str]:
    leaves = set(tree.leaf_labels)
    return [
        text
        for text in found.texts
        if text not in leaves and unicodedata.normalize("NFC", text) not in leaves
    ]


def _is_nested(hierarchy: object) -> bool:
    rules = ("intervals", "prefix", "dates", INDUCE)
    return isinstance(hierarchy, Mapping) and not any(one in hierarchy for one in rules)
