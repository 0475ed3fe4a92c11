"""Positions of sensitive values, in an order or as leaves of a tree, read independently from the recipe."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from shoal.errors import HierarchyError
from shoal.recipe import Recipe
from shoal.verifier.cells.covers import OTHER, decimal, found_kind, leaf_key, line_key, text_key
from shoal.verifier.cells.nodes import built_paths, given_paths
from shoal.verifier.verdict import Problem, count

_CODE = "verify.distance"
_LONGEST = 2**62  # so that differences of two are whole numbers of 64 bits
_ROOT = ("root",)  # above all nodes of a tree that is made from values; no label is a tuple

Chain = Sequence[Hashable]


def order(recipe: Recipe, name: str, texts: Collection[str], stored: str) -> dict[str, int] | Problem:
    """Number the values of a column from low to high; texts for one value have one number.

    Numbers are ordered by size, dates by day, ordinal values as the recipe lists them.
    """
    column = recipe.columns[name]
    kind = column.kind or found_kind(texts, column, stored)
    key = line_key(column, kind, texts, stored)
    if key is None and texts:
        return Problem(_CODE, f"Column `{name}` has no order, which the distance ordered needs.")
    keys = {text: key(text) for text in texts} if key else {}
    strange = sum(found is OTHER for found in keys.values())
    if strange:
        values = count(strange, "different value")
        return Problem(_CODE, f"Column `{name}` has {values} not in its order.")
    numbers = {found: number for number, found in enumerate(sorted(set(keys.values())))}
    return {text: numbers[found] for text, found in keys.items()}


class Units(NamedTuple):
    """The numbers of a column in units so small that all are whole."""

    places: dict[str, int]  # of each text
    per_one: int


def units(recipe: Recipe, name: str, texts: Collection[str], stored: str) -> Units | Problem:
    """Read the numbers of a column exactly as they are written."""
    column = recipe.columns[name]
    kind = column.kind or found_kind(texts, column, stored)
    if kind != "numeric" and texts:
        return Problem(_CODE, f"Column `{name}` is not numeric, which the goal range needs.")
    key = line_key(column, "numeric", texts, stored)
    keys = {text: key(text) for text in texts} if key else {}
    strange = sum(found is OTHER for found in keys.values())
    if strange:
        return Problem(_CODE, f"Column `{name}` has {count(strange, 'different value')} not numeric.")
    numbers = {text: Fraction(decimal(found)) for text, found in keys.items()}
    per_one = lcm(*(number.denominator for number in numbers.values()))
    largest = max(map(abs, numbers.values()), default=Fraction(0))
    while per_one > 1 and largest * per_one > _LONGEST:
        per_one = max(1, per_one // 10)
    return Units({text: round(number * per_one) for text, number in numbers.items()}, per_one)


@dataclass(frozen=True)
class Tree:
    """The part of a tree that is above the values of a column.

    Parameters
    ----------
    places : dict of str to int
        The leaf of each text.
    above : dict of int to list of (int, int, int)
        For each of these leaves, the nodes above it, each with the child on the path to the leaf, and with
        its height: the longest path down to any leaf, not only these.
    height : int
        That of the root.
    """

    places: dict[str, int]
    above: dict[int, list[tuple[int, int, int]]]
    height: int

    def columns(self) -> list[tuple[int, ...]]:
        """Return leaf, node, child and height of every such step, column by column."""
        steps = [(leaf, *step) for leaf, path in self.above.items() for step in path]
        return list(zip(*steps, strict=True)) if steps else [()] * 4


def tree(recipe: Recipe, name: str, texts: Collection[str], stored: str) -> Tree | Problem:
    """Find the leaves of a column's values in its hierarchy."""
    column = recipe.columns[name]
    kind = column.kind or found_kind(texts, column, stored)
    keys, chains = chains_of(recipe, name, kind, texts, stored)
    inner = {node for chain in chains.values() for node in chain[1:]}
    strange = sum(key not in chains or chains[key][0] in inner for key in keys.values())
    if strange:
        values = count(strange, "different value")
        return Problem(_CODE, f"Column `{name}` has {values} not among the leaves of its hierarchy.")
    if len({chain[-1] for chain in chains.values()}) > 1:
        message = f"The hierarchy of column `{name}` has several roots."
        raise HierarchyError("hierarchy.roots", message, "end all paths with one label")
    height = heights(chains.values())
    number = {node: place for place, node in enumerate(height)}
    places = {text: number[chains[key][0]] for text, key in keys.items()}
    above = {
        number[chain[0]]: [(number[n], number[chain[i]], height[n]) for i, n in enumerate(chain[1:])]
        for chain in map(chains.__getitem__, keys.values())
    }
    return Tree(places, above, max(height.values(), default=0))


def heights(chains: Collection[Chain]) -> dict[Hashable, int]:
    """Return the longest path below each node."""
    height: dict[Hashable, int] = {}
    for chain in chains:
        for steps, node in enumerate(chain):
            height[node] = max(steps, height.get(node, 0))
    return height


def chains_of(
    recipe: Recipe, name: str, kind: str, texts: Collection[str], stored: str
) -> tuple[Mapping[str, Any], dict[Any, Chain]]:
    """Return the key of each text, and the nodes from each leaf's key up to the root."""
    widths = recipe.columns[name].tree
    widths = widths.get("intervals") if isinstance(widths, dict) and kind == "numeric" else None
    key = leaf_key(kind, texts, stored)
    keys = {text: key(text) for text in texts}
    known = {found for found in keys.values() if found is not OTHER}
    if isinstance(widths, list):
        return keys, {found: _intervals(found, widths) for found in known}
    built = built_paths(recipe, name, kind, known)
    if built is not None:
        return keys, {found: _collapsed([*path, _ROOT]) for found, path in built}
    given = given_paths(recipe, name, text_key(stored) if kind == "categorical" else str)
    return keys, {found: _collapsed(path) for found, path in given}


def _intervals(text: str, widths: Sequence[float]) -> Chain:
    """Return the nested intervals, aligned at 0, that contain a number."""
    number = decimal(float(text) if not text.lstrip("-").isdigit() else int(text))
    steps = [decimal(width) for width in widths]
    return _collapsed([text, *((number // step, step) for step in steps), _ROOT])


def _collapsed(path: Sequence[Hashable]) -> Chain:
    """Treat a label that is repeated to make paths equally long as one node."""
    return [node for i, node in enumerate(path) if i == 0 or node != path[i - 1]]
