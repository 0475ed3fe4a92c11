"""The part of a recipe that a manifest and a report may show: no folders, and no values of the table.

An order and the leaves of a nested hierarchy list values of a column, including values that only one
person has. Only their number is shown, because a digest of them would let an attacker test guesses.
Inner nodes are omitted with the leaves, since a tree without leaves is useless.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.recipe.recipe import Recipe
from shoal.recipe.shape import Shape
from shoal.recipe.trees import INDUCE

_UNITS = {"week", "month", "quarter", "year", "decade"}


def shareable(recipe: Recipe) -> dict[str, Any]:
    """Return the sections of a recipe that may be published.

    They form a valid recipe; omitted values must be supplied where they are needed.
    """
    data = recipe.to_dict()
    for key in ("path", "query"):  # a query may contain values
        data.get("input", {}).pop(key, None)
    if recipe.input.catalog is not None:
        data["input"]["catalog"] = Path(recipe.input.catalog).name
    for key in ("path", "table", "ledger"):
        data.get("output", {}).pop(key, None)
    data.pop("secrets", None)
    if recipe.shape is Shape.TWO_TABLES:
        data["method"].pop("seed", None)  # it determines the groups, which are secret
    for name, column in data.get("columns", {}).items():
        if isinstance(column, dict):
            if name in recipe.induced:
                column["hierarchy"] = recipe.induced[name]
            _omit_values(column)
    for goal in data.get("privacy", {}).get("goal", []):
        if "population" in goal:
            goal["population"] = Path(goal["population"]).name
    return {name: section for name, section in data.items() if section}


def shared_digest(shared: Mapping[str, Any]) -> str:
    """Return a digest of the published sections, which identifies releases of the same recipe.

    [about] is left out: a release with another date or recipient replaces the earlier one.
    """
    text = json.dumps(
        {name: section for name, section in shared.items() if name != "about"},
        sort_keys=True,
        ensure_ascii=False,
    )
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _omit_values(column: dict[str, Any]) -> None:
    """Replace the values in a column's section by their number."""
    omitted = dict(column.pop("omitted", {}))
    order, tree = column.get("order"), column.get("hierarchy")
    if order is not None:
        omitted["order"] = len(column.pop("order"))
    if isinstance(tree, str):
        column["hierarchy"] = Path(tree).name
    elif tree is not None and not _is_built(tree):
        omitted["hierarchy"] = _count_leaves(column.pop("hierarchy"))
    if omitted:
        column["omitted"] = omitted


def _is_built(tree: Mapping[str, Any]) -> bool:
    """Return whether a hierarchy is only a rule for building a tree, which names no values."""
    if len(tree) != 1:
        return False
    ((rule, given),) = tree.items()
    levels = given if isinstance(given, list) else [given]
    if rule == INDUCE:  # names of columns
        return isinstance(given, list)
    if rule == "dates":
        return all(isinstance(level, str) and level in _UNITS for level in levels)
    return rule in ("intervals", "prefix") and all(isinstance(level, int | float) for level in levels)


def _count_leaves(tree: Any) -> int:
    leaves = 0
    waiting = [tree]
    while waiting:
        below = waiting.pop()
        if isinstance(below, Mapping) and below:
            waiting += below.values()
        else:
            leaves += len(below) if isinstance(below, list) else 1
    return leaves
