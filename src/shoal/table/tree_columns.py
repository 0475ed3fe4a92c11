"""Columns with a tree: the tree specified by the recipe, and each row's leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.errors import HierarchyError
from shoal.hierarchy import build, codes, files
from shoal.hierarchy.tree import Tree
from shoal.recipe import Recipe
from shoal.recipe.codes import CODES, ICD10, ISCO, ISCO_SUB_MAJOR, OLDEST, RULES
from shoal.table.columns import TreeColumn


def tree_column(name: str, values: pl.Series, kind: str, recipe: Recipe) -> TreeColumn:
    """Encode a column by the leaves of its tree, which must cover every value."""
    column = recipe.columns[name]
    present = values.drop_nulls()
    distinct = present.unique().sort()
    tree, leaves = build_tree(name, distinct, kind, recipe)
    has_missing = len(present) < len(values)
    if has_missing:
        tree = tree.with_missing()
    codes = values.replace_strict(
        distinct, pl.Series(leaves), default=tree.n_leaves - 1, return_dtype=pl.Int32
    )
    return TreeColumn(
        name, kind, column.weight, codes.to_numpy(), tree, has_missing, column.hierarchy is None
    )


def build_tree(name: str, distinct: pl.Series, kind: str, recipe: Recipe) -> tuple[Tree, IntArray]:
    """Return the tree of a column and the leaf of each distinct value."""
    tree = given_tree(name, distinct, kind, recipe)
    return tree, np.asarray(tree.codes(leaf_texts(distinct), name), np.int32)


def leaf_texts(distinct: pl.Series) -> list[str]:
    """Return the leaf labels of canonical values."""
    if distinct.dtype.is_numeric():
        return build.number_texts(distinct.to_list())
    return [str(value) for value in distinct.to_list()]


def given_tree(name: str, distinct: pl.Series, kind: str, recipe: Recipe) -> Tree:
    """Build or load the tree that the recipe specifies for a column."""
    given = recipe.columns[name].hierarchy
    if given is None:
        return build.flat(distinct.to_list(), name)
    if isinstance(given, str) and given in CODES:
        return code_tree(given, distinct.to_list() if kind == "numeric" else leaf_texts(distinct), name)
    if isinstance(given, str):
        return files.load(recipe.resolve(given), name)
    if "intervals" in given and kind == "numeric":
        return build.intervals(distinct.to_list(), _list_of(given["intervals"], name), name)
    if "prefix" in given and isinstance(given["prefix"], int):
        return build.prefix(leaf_texts(distinct), given["prefix"], name)
    if "dates" in given and kind == "date":
        return build.dates(distinct.to_list(), _list_of(given["dates"], name), name)
    return files.from_nested(given, name)


def code_tree(system: str, values: Sequence[Any], name: str) -> Tree:
    """Build the tree of codes that carry their own structure."""
    rule = RULES.get(system, {})
    if system == "age":
        return codes.ages(values, rule["intervals"], OLDEST, name)
    if system == "postcode":
        return codes.postcodes(values, rule["prefix"], name)
    paths = {
        "icd10": lambda code: codes.icd10_path(code, ICD10),
        "nuts": codes.nuts_path,
        "isco": lambda code: codes.isco_path(code, ISCO, ISCO_SUB_MAJOR),
    }
    return codes.by_path(values, paths[system], CODES[system], name)


def _list_of(given: Any, name: str) -> list[Any]:
    if not isinstance(given, list) or not given:
        message = f"The hierarchy of column `{name}` should be a list of levels, from narrow to wide."
        raise HierarchyError("hierarchy.build", message, "for example { intervals = [5, 10, 20] }")
    return given
