"""How a table is parted into cells: by a tree of cuts, apart from groups of equal rows that fill a cell.

Rows are compared by their codes: fixed-point positions in range columns, then leaves in tree columns, as
`table.fixed` gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, IntArray, LongArray


@dataclass(frozen=True)
class Leaf:
    """A cell."""


@dataclass(frozen=True)
class Cut:
    """Rows whose code in one column is between `low` and `high` go inside, all others outside."""

    column: int
    low: int
    high: int
    inside: Node
    outside: Node


Node = Leaf | Cut
LEAF = Leaf()
_INSIDE, _OUTSIDE, _ALIKE = "i", "o", "="


@dataclass(frozen=True)
class Partition:
    """The cells of a table.

    Parameters
    ----------
    cuts : Node
        The tree whose leaves are cells.
    alike : tuple of tuples of int
        The codes of groups of equal rows that are cells of their own. They come before all cuts.
    """

    cuts: Node = LEAF
    alike: tuple[tuple[int, ...], ...] = ()

    @property
    def paths(self) -> list[str]:
        """The cells in the order of their numbers, each by the sides of the cuts from the root down to it."""
        return [*(f"{_ALIKE}{at}" for at in range(len(self.alike))), *_paths(self.cuts)]

    def route(self, codes: IntArray) -> IntArray:
        """Return the number of each row's cell; `codes` has a row for each column."""
        cells = np.zeros(codes.shape[1], np.int32)
        waiting = np.ones(codes.shape[1], dtype=bool)
        for number, group in enumerate(self.alike):
            equal = waiting & _are_equal(codes, group)
            cells[equal] = number
            waiting &= ~equal
        rows = np.flatnonzero(waiting)
        _route(self.cuts, codes, rows, cells, len(self.alike))
        return cells


def is_alike(path: str) -> bool:
    """Return whether all rows of a cell have the same quasi values: there is nothing to cluster."""
    return path.startswith(_ALIKE)


def _paths(node: Node, above: str = "") -> Iterator[str]:
    if isinstance(node, Leaf):
        yield above
    else:
        yield from _paths(node.inside, above + _INSIDE)
        yield from _paths(node.outside, above + _OUTSIDE)


def _are_equal(codes: IntArray, group: tuple[int, ...]) -> BoolArray:
    equal = np.ones(codes.shape[1], dtype=bool)
    for column, code in zip(codes, group, strict=True):
        equal &= column == code
    return equal


def _route(node: Node, codes: IntArray, rows: LongArray, cells: IntArray, number: int) -> None:
    """Number the cells of the rows listed, from `number` on. Writes `cells`."""
    waiting: list[tuple[Node, LongArray]] = [(node, rows)]
    while waiting:
        at, there = waiting.pop()
        if isinstance(at, Leaf):
            cells[there] = number
            number += 1
            continue
        found = codes[at.column][there]
        inside = (found >= at.low) & (found <= at.high)
        waiting += [(at.outside, there[~inside]), (at.inside, there[inside])]  # the last is the next


def replaced(node: Node, change: Callable[[str], Node], above: str = "") -> Node:
    """Return a tree with other nodes in place of its leaves."""
    if isinstance(node, Leaf):
        return change(above)
    inside = replaced(node.inside, change, above + _INSIDE)
    outside = replaced(node.outside, change, above + _OUTSIDE)
    return Cut(node.column, node.low, node.high, inside, outside)


def without(node: Node, failing: frozenset[str], above: str = "") -> Node:
    """Return a tree without the cuts that made failing cells: their rows go where the sibling's cuts lead.

    Where both siblings fail, their parent becomes the cell.
    """
    if isinstance(node, Leaf):
        return node
    sides = {_INSIDE: node.inside, _OUTSIDE: node.outside}
    failed = [side for side, below in sides.items() if isinstance(below, Leaf) and above + side in failing]
    if len(failed) == len(sides):
        return LEAF
    if failed:
        (kept,) = [side for side in sides if side not in failed]
        return without(sides[kept], failing, above + kept)
    inside, outside = (without(below, failing, above + side) for side, below in sides.items())
    return Cut(node.column, node.low, node.high, inside, outside)


def cell_seed(seed: int, path: str) -> int:
    """Return the seed of a cell, from the recipe's and the cell's path; of the whole table, the recipe's."""
    if not path:
        return seed
    digest = blake2b(f"{seed}/{path}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # seeds are below 2^63


def to_lists(node: Node) -> list[Any]:
    """Return a tree as nested lists, for JSON."""
    if isinstance(node, Leaf):
        return []
    return [node.column, node.low, node.high, to_lists(node.inside), to_lists(node.outside)]


def from_lists(lists: list[Any]) -> Node:
    """Return the tree that `to_lists` made lists of."""
    if not lists:
        return LEAF
    return Cut(lists[0], lists[1], lists[2], from_lists(lists[3]), from_lists(lists[4]))
