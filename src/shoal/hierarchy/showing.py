"""What a page may show of a hierarchy: nodes with their rows, and nothing that few rows have.

Rows are shown in tens, rounded down, and never below 10. So neither the difference between two groups nor the
effect of a change reveals how many rows a rare value has. In addition, what is hidden below a group
has at least 10 rows together, or the rest of the group is hidden too.

The leaves of a tree that was made from the values of a column are raw data. Of such a tree, nodes that fewer
than 10 rows have are not shown one by one: below each group there is one line for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from shoal.arrays import BoolArray, LongArray
from shoal.hierarchy.picture import RARE, children_of
from shoal.hierarchy.tree import Tree

STEP = 10  # rows are shown in multiples of this
HIDDEN = "[…, …]"  # instead of the label of an interval whose ends are rare values
PAGE = 100  # children that are shown at first


@dataclass(frozen=True)
class Line:
    """A node of a tree as it is shown, or something that stands for several.

    Parameters
    ----------
    what : str
        "node"; "rare" for all rare nodes below a group; "more" for children of a group that are not listed.
    node : int
        Of the tree; for what is not a single node, the group above.
    depth : int
        0 for the root.
    label : str or None
        None for what is not a single node.
    rows : int or None
        Rounded down; None if it may not be shown.
    values : int
        How many leaves it has; for "more", how many children are not listed.
    place, siblings : int
        Which of how many lines below one group it is, from 1.
    is_leaf, is_open : bool
        Whether it is a value, or a group whose children follow.
    """

    what: Literal["node", "rare", "more"]
    node: int
    depth: int
    label: str | None
    rows: int | None
    values: int
    place: int = 1
    siblings: int = 1
    is_leaf: bool = False
    is_open: bool = False


class Showing:
    """A tree with the rows of its leaves.

    Parameters
    ----------
    tree : Tree
    rows : sequence of int
        The rows of each leaf, by leaf code.
    is_data : bool
        Whether its leaves are the values of the table. If not, as in a list of codes from elsewhere, all
        labels may be shown.
    hide_groups : bool, optional
        Whether to hide the labels between the root and the leaves.
    """

    def __init__(self, tree: Tree, rows: Sequence[int], *, is_data: bool, hide_groups: bool = False) -> None:
        self.tree = tree
        self._hide_groups = hide_groups
        n_rows = rows_below(tree, rows)
        is_rare = n_rows < RARE if is_data else np.zeros(tree.n_nodes, dtype=bool)
        is_rare[0] = False
        self._rare = is_rare
        children = children_of(tree)
        self._children = [[child for child in below if not is_rare[child]] for below in children]
        self._rare_children = [[child for child in below if is_rare[child]] for below in children]
        self._rows = self._shown_rows(n_rows)

    def label(self, node: int) -> str:
        """Return the label of a node, or what is shown instead."""
        is_group = node > 0 and int(self.tree.height[node]) > 0
        return HIDDEN if is_group and self._hide_groups else self.tree.labels[node]

    def rare_below(self, node: int) -> list[int]:
        """Return the children of a node that are not shown one by one."""
        return list(self._rare_children[node])

    def lines(self, opened: Mapping[int, int]) -> list[Line]:
        """List the root and what is below open groups, in the order of the tree.

        Parameters
        ----------
        opened : mapping of int to int
            The groups that are open, and how many of its children each should list at most.
        """
        listed: list[Line] = []
        stack = [self._line(0, 0, 1, 1, opened)]
        while stack:
            line = stack.pop()
            listed.append(line)
            if line.is_open:
                stack.extend(reversed(self._lines_below(line.node, line.depth + 1, opened)))
        return listed

    def groups(self, text: str, most: int) -> list[int]:
        """Return groups that may be shown and whose label contains a text, the root first."""
        wanted = text.casefold()
        found = (
            node
            for node in range(self.tree.n_nodes)
            if self.tree.height[node] > 0 and not self._rare[node] and (wanted in self.label(node).casefold())
        )
        return list(islice(found, most))

    def opened_for(self, opened: Mapping[int, int], node: int) -> dict[int, int]:
        """Return what is open, with as many children listed as it takes for a node to be among them."""
        above = int(self.tree.parent[node])
        if node == 0 or self._rare[node] or opened.get(above, 0) <= 0:
            return dict(opened)
        return {**opened, above: max(opened[above], self._children[above].index(node) + 1)}

    def visible(self, nodes: Iterable[int]) -> list[int]:
        """Return the nodes that may be shown; for another one, the lowest group above it that may."""
        found = []
        for node in nodes:
            at = node
            while self._rare[at]:
                at = int(self.tree.parent[at])
            found.append(at)
        return list(dict.fromkeys(found))

    def _lines_below(self, node: int, depth: int, opened: Mapping[int, int]) -> list[Line]:
        children, rare = self._children[node], self._rare_children[node]
        siblings = len(children) + bool(rare)
        # A line "1 more" is no shorter than the line that it replaces.
        n_listed = len(children) if len(children) <= opened[node] + 1 else opened[node]
        below = [
            self._line(child, depth, place, siblings, opened)
            for place, child in enumerate(children[:n_listed], 1)
        ]
        if n_listed < len(children):
            more = len(children) - n_listed
            below.append(Line("more", node, depth, None, None, more, n_listed + 1, siblings))
        if rare:
            n_values = sum(_n_leaves(self.tree, child) for child in rare)
            rows = self._rows.get((node, True))
            below.append(Line("rare", node, depth, None, rows, n_values, siblings, siblings))
        return below

    def _line(self, node: int, depth: int, place: int, siblings: int, opened: Mapping[int, int]) -> Line:
        is_leaf = int(self.tree.height[node]) == 0
        return Line(
            what="node",
            node=node,
            depth=depth,
            label=self.label(node),
            rows=self._rows.get((node, False)),
            values=_n_leaves(self.tree, node),
            place=place,
            siblings=siblings,
            is_leaf=is_leaf,
            is_open=opened.get(node, 0) > 0 and not is_leaf,
        )

    def _shown_rows(self, below: LongArray) -> dict[tuple[int, bool], int]:
        """Return the rows that may be shown, by node and whether it means the rare ones below the node."""
        hidden = np.array(below < RARE)
        hides_rare: BoolArray = np.zeros(self.tree.n_nodes, dtype=bool)
        found: dict[tuple[int, bool], int] = {}
        for node in range(self.tree.n_nodes):
            if self._rare[node]:
                continue
            lines = [(int(below[child]), child) for child in self._children[node]]
            if rare := self._rare_children[node]:
                lines.append((int(below[rare].sum()), -1))
            smaller = (
                _hidden([rows for rows, _ in lines], whole_is_hidden=bool(hidden[node])) if lines else ()
            )
            for at in smaller:
                if (child := lines[at][1]) < 0:
                    hides_rare[node] = True
                else:
                    hidden[child] = True
            if not hidden[node]:
                found[node, False] = rounded(int(below[node]))
            if rare and not hides_rare[node]:
                found[node, True] = rounded(int(below[rare].sum()))
        return found


def rounded(rows: int) -> int:
    """Return a number of rows as it is shown."""
    return rows // STEP * STEP


def protected(rows: Sequence[int]) -> list[int | None]:
    """Return the rows of parts whose sum is known, as they are shown; None if they may not be.

    >>> protected([500, 40, 3]), protected([500, 40]), protected([7, 8, 40])
    ([500, None, None], [500, 40], [None, None, 40])
    """
    hidden = _hidden(rows, whole_is_hidden=False)
    return [None if at in hidden else rounded(count) for at, count in enumerate(rows)]


def rows_below(tree: Tree, rows: Sequence[int]) -> LongArray:
    """Sum the rows of the leaves below each node, which are consecutive."""
    before = np.concatenate([[0], np.cumsum(np.asarray(rows, dtype=np.int64))])
    below: LongArray = before[tree.last_leaf + 1] - before[tree.first_leaf]
    return below


def first_open(tree: Tree) -> dict[int, int]:
    """Return what is open at first: the root."""
    return {0: PAGE} if tree.n_nodes > 1 else {}


def _hidden(rows: Sequence[int], *, whole_is_hidden: bool) -> set[int]:
    """Return which parts of a whole are hidden.

    Those are the small ones; and, smallest first, as many others as it takes for the hidden ones to have 10
    rows together. If the whole is hidden, something is hidden in any case: else the sum would be the whole.
    """
    hidden = {at for at, count in enumerate(rows) if count < RARE}
    if not hidden and not whole_is_hidden:
        return hidden
    n_rows = sum(rows[at] for at in hidden)
    for at in sorted(range(len(rows)), key=lambda at: (rows[at], at)):
        if n_rows >= RARE:
            break
        if at not in hidden:
            hidden.add(at)
            n_rows += rows[at]
    return hidden


def _n_leaves(tree: Tree, node: int) -> int:
    return int(tree.last_leaf[node] - tree.first_leaf[node]) + 1
