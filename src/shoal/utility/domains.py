"""The values that the labels of a release stand for, as known from the recipe or from the raw table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.hierarchy import files
from shoal.hierarchy.tree import Tree
from shoal.measure.numbers import Ends, number_of
from shoal.recipe import Recipe
from shoal.table.columns import QuasiColumn, RangeColumn
from shoal.table.frames import series
from shoal.table.kinds import stored_kind
from shoal.table.sensitive import canonical_list
from shoal.utility.labels import Texts, found_kind, read_leaves, read_line, values_in
from shoal.utility.spread import Spread, exact_leaves, exact_line

_BUILT = ("intervals", "prefix", "dates")
_ON_A_LINE = ("numeric", "date", "ordinal")


def released_names(frame: pl.DataFrame, name: str) -> list[str]:
    """Return the columns that a quasi column is published as: itself, its bounds, or none of them."""
    if name in frame.columns:
        return [name]
    bounds = [f"{name}_low", f"{name}_high"]
    return bounds if all(bound in frame.columns for bound in bounds) else []


def texts_of(frame: pl.DataFrame, name: str, recipe: Recipe) -> Texts:
    """Return the published texts of a quasi column."""
    columns = (series(frame, written) for written in released_names(frame, name))
    return Texts.of(*columns, missing=recipe.input.missing)


def spread_from_recipe(frame: pl.DataFrame, name: str, recipe: Recipe, kinds: Mapping[str, str]) -> Spread:
    """Read a quasi column of a release without the raw table.

    `kinds` are those in the manifest. What is neither there nor in the recipe is found from the labels.
    """
    column = recipe.columns[name]
    texts = texts_of(frame, name, recipe)
    tree = _given_tree(name, recipe)
    kind = column.kind or kinds.get(name) or stored_kind(pl.String(), column) or found_kind(texts)
    if kind in _ON_A_LINE:
        nodes = {} if tree is None else tree_ends(tree, kind)
        return read_line(name, texts, kind, canonical_list(column.order or []), nodes)
    leaves = values_in(texts) if tree is None else tree.leaf_labels
    return read_leaves(name, texts, leaves, tree)


def spread_from_table(frame: pl.DataFrame, column: QuasiColumn, recipe: Recipe) -> Spread:
    """Read a quasi column of a release; the raw column says which values there are.

    If everything is lost in all rows, each cell stands for all values of the raw column.
    """
    texts = texts_of(frame, column.name, recipe)
    if isinstance(column, RangeColumn):
        return read_line(column.name, texts, column.kind, column.order, all_of=column.ends)
    if column.kind in _ON_A_LINE:
        nodes = tree_ends(column.tree, column.kind)
        return read_line(column.name, texts, column.kind, (), nodes, all_of=nodes.get(column.tree.labels[0]))
    leaves = column.tree.leaf_labels[: column.tree.n_leaves - int(column.has_missing)]
    tree = None if column.is_flat else column.tree
    return read_leaves(column.name, texts, leaves, tree, all_of=range(len(leaves)))


def raw_spread(column: QuasiColumn) -> Spread:
    """Return a raw quasi column in the form of a released one."""
    if isinstance(column, RangeColumn):
        return exact_line(column.name, column.kind, column.codes, column.numbers, column.order)
    values = column.tree.n_leaves - int(column.has_missing)
    leaves = column.tree.leaf_labels[:values]
    if column.kind in _ON_A_LINE:
        number = number_of(column.kind)
        numbers = np.array([number(leaf) for leaf in leaves], np.float64)
        return exact_line(column.name, column.kind, column.codes, numbers)
    return exact_leaves(column.name, column.codes, leaves)


def _given_tree(name: str, recipe: Recipe) -> Tree | None:
    """Return the hierarchy of a column; None if it was built from raw values, which are not known."""
    given = recipe.columns[name].hierarchy
    if given is None or (isinstance(given, dict) and len(given) == 1 and next(iter(given)) in _BUILT):
        return None
    return (
        files.load(recipe.resolve(given), name) if isinstance(given, str) else files.from_nested(given, name)
    )


def tree_ends(tree: Tree, kind: str) -> dict[str, Ends]:
    """Return the ends of the nodes of a tree over numbers or dates: the lowest and highest leaf below."""
    number = number_of(kind)
    leaves = [number(leaf) for leaf in tree.leaf_labels]
    found: dict[str, Ends] = {}
    for node, label in enumerate(tree.labels):
        below = leaves[int(tree.first_leaf[node]) : int(tree.last_leaf[node]) + 1]
        known = [leaf for leaf in below if leaf is not None]
        if known:
            found.setdefault(label, (min(known), max(known)))
    return found
