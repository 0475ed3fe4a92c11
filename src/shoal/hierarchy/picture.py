"""A picture of a hierarchy: its size, and a short outline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import IntArray
from shoal.hierarchy.tree import Tree

# A value or group with fewer rows is not shown: it could single somebody out.
RARE = 10

_SIBLINGS = 8
_LINES = 40
_LEVELS = 12


@dataclass(frozen=True)
class Shape:
    """The size of a tree; `levels` is the number of nodes at each depth, from the root."""

    leaves: int
    nodes: int
    height: int
    even: bool
    levels: list[int]
    shallowest: int

    def __str__(self) -> str:
        where = f"from {self.shallowest} to {self.height}"
        evenness = "even" if self.even else f"uneven: leaves at depths {where}"
        return f"{counted(self.leaves)}, {counted(self.nodes, 'node')}, height {self.height}, {evenness}"


@dataclass
class Branch:
    """A node of an outline: its visible children, and the number of hidden ones.

    If the label is None, it must not be shown. An inner node without visible children is closed.
    """

    node: int
    label: str | None
    n_leaves: int
    is_leaf: bool
    children: list[Branch] = field(default_factory=list)
    n_more: int = 0
    n_rarer: int = 0

    @property
    def is_closed(self) -> bool:
        """Whether the tree continues below this node but the outline does not."""
        return not (self.is_leaf or self.children or self.n_rarer)


def counted(number: int, one: str = "leaf") -> str:
    """Format a count with its noun.

    Examples
    --------
    >>> counted(1), counted(1200), counted(2, "node")
    ('1 leaf', '1,200 leaves', '2 nodes')
    """
    many = "leaves" if one == "leaf" else f"{one}s"
    return f"{number:,} {one if number == 1 else many}"


def shape(tree: Tree) -> Shape:
    """Measure a tree."""
    depths = [0] * tree.n_nodes
    for node, above in enumerate(tree.parent.tolist()):
        depths[node] = depths[above] + 1 if above >= 0 else 0
    of_leaves = [depths[leaf] for leaf in tree.leaf_nodes.tolist()]
    return Shape(
        leaves=tree.n_leaves,
        nodes=tree.n_nodes,
        height=tree.total_height,
        even=min(of_leaves) == max(of_leaves),
        levels=np.bincount(depths).tolist(),
        shallowest=min(of_leaves),
    )


def outline(
    tree: Tree, depth: int | None = None, rows: Sequence[int] | None = None, *, hide_groups: bool = False
) -> Branch:
    """Pick the nodes to show.

    Parameters
    ----------
    tree : Tree
    depth : int, optional
        Open every node down to this depth. By default, whole levels are opened while the outline is
        short, and only the first branch below them, so that one example reaches the leaves.
    rows : sequence of int, optional
        The number of rows of each leaf. Nodes with fewer than `RARE` rows are counted instead of shown:
        a small group reveals as much as a value.
    hide_groups : bool, optional
        Hide the labels between the root and the leaves.
    """
    children = children_of(tree)
    n_rows = None if rows is None else _rows_below(tree, rows)

    def branch(node: int) -> Branch:
        is_hidden = hide_groups and node > 0 and bool(children[node])
        n_leaves = int(tree.last_leaf[node] - tree.first_leaf[node]) + 1
        return Branch(node, None if is_hidden else tree.labels[node], n_leaves, not children[node])

    def open_up(opened: Branch) -> None:
        common = [n for n in children[opened.node] if n_rows is None or n_rows[n] >= RARE]
        # A line "1 more" is no shorter than the line that it replaces.
        n_shown = len(common) if len(common) <= _SIBLINGS + 1 else _SIBLINGS
        opened.children = [branch(node) for node in common[:n_shown]]
        opened.n_more = len(common) - n_shown
        n_common_leaves = sum(branch(node).n_leaves for node in common)
        opened.n_rarer = opened.n_leaves - n_common_leaves

    root = branch(0)
    level, n_lines = [root], 1
    for _ in range(_LEVELS if depth is None else depth):
        level = [one for one in level if not one.is_leaf]
        n_new = sum(min(len(children[one.node]), _SIBLINGS + 1) for one in level)
        if depth is None and n_lines + n_new > _LINES:
            level = level[:1]
        for one in level:
            open_up(one)
        level = [child for one in level for child in one.children]
        n_lines += len(level)
    return root


def is_cut(root: Branch) -> bool:
    """Return whether the outline leaves nodes closed."""
    stack = [root]
    while stack:
        one = stack.pop()
        if one.is_closed:
            return True
        stack.extend(one.children)
    return False


def children_of(tree: Tree) -> list[list[int]]:
    """List the children of each node, in order."""
    children: list[list[int]] = [[] for _ in tree.labels]
    for node, above in enumerate(tree.parent.tolist()):
        if above >= 0:
            children[above].append(node)
    return children


def _rows_below(tree: Tree, rows: Sequence[int]) -> IntArray:
    """Sum the rows of the leaves below each node, which are consecutive."""
    before = np.concatenate([[0], np.cumsum(np.asarray(rows, dtype=np.int64))])
    below: IntArray = before[tree.last_leaf + 1] - before[tree.first_leaf]
    return below
