"""A hierarchy as flat arrays, numbered so that every subtree is an interval of leaf codes.

Nodes are numbered in depth-first preorder with the root as 0, leaves in the same order from 0. The lowest
common ancestor of a set of leaves is then that of its smallest and largest code.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray
from shoal.errors import HierarchyError

ROOT_LABEL = "*"
MISSING_LABEL = ""


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The hierarchy of one column.

    Create one with `from_paths`, `from_parents`, or the functions of `build` and `files`, which check that it
    is a tree. The arrays are shared, not copied: do not write to them.

    Parameters
    ----------
    labels : tuple of str, length n_nodes
        Text of each node. Unique, except for a leaf with the root's label (`build.flat`) and the leaf for
        missing values (`with_missing`).
    parent : ndarray of shape (n_nodes,), int32
        Parent of each node, -1 for the root.
    height : ndarray of shape (n_nodes,), int32
        Longest path from the node down to a leaf; 0 for a leaf.
    first_leaf, last_leaf : ndarray of shape (n_nodes,), int32
        Smallest and largest leaf code below the node, both included.
    leaf_nodes : ndarray of shape (n_leaves,), int32
        Node of each leaf code, ascending.

    Examples
    --------
    >>> paths = [("USA", "America", "*"), ("Iran", "Asia", "*"), ("India", "Asia", "*")]
    >>> tree = Tree.from_paths(paths, "country")
    >>> tree.leaf_labels
    ('USA', 'Iran', 'India')
    >>> tree.labels[tree.lca(np.array([1]), np.array([2]))[0]]
    'Asia'
    """

    labels: tuple[str, ...]
    parent: IntArray
    height: IntArray
    first_leaf: IntArray
    last_leaf: IntArray
    leaf_nodes: IntArray

    @classmethod
    def from_parents(cls, parent: Mapping[str, str | None], column: str) -> Tree:
        """Build a tree from the parent of each label.

        Parameters
        ----------
        parent : mapping of str to str or None
            None for the root. A label that occurs only as a parent is also a root. Siblings keep the
            order of the mapping.
        column : str
            Name of the column, for messages.

        Raises
        ------
        HierarchyError
            `hierarchy.cycle` or `hierarchy.roots`.
        """
        links: dict[str, Collection[str]] = {
            label: () if above is None else (above,) for label, above in parent.items()
        }
        for above in parent.values():
            if above is not None:
                links.setdefault(above, ())
        _refuse_cycle(links, column)
        roots = [label for label, above in links.items() if not above]
        _refuse_roots(len(roots), column)
        return _unfold(roots[0], links)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]], column: str) -> Tree:
        """Build a tree from the path of each leaf, leaf first and root last.

        Consecutive repeats of a label are one node, so that uneven trees can be padded to equal length.

        Parameters
        ----------
        paths : iterable of sequences of str
            One per leaf. Siblings keep the order in which they first appear. Empty paths are skipped.
        column : str
            Name of the column, for messages.

        Raises
        ------
        HierarchyError
            `hierarchy.cycle`, `hierarchy.roots` (the paths do not all end with the same label) or
            `hierarchy.duplicate` (a label has two parents, or a leaf has two paths or is also an inner node).
        """
        chains = [chain for path in paths if (chain := _collapse(path))]
        links = _links(chains)
        _refuse_cycle(links, column)
        ends = {chain[-1] for chain in chains}
        _refuse_roots(len(ends), column)
        _refuse_duplicates(_count_duplicates(chains, links), column)
        return _unfold(ends.pop(), links)

    @classmethod
    def from_preorder(cls, labels: Sequence[str], parent: Sequence[int]) -> Tree:
        """Build a tree from labels and parents that are already in depth-first preorder, unchecked."""
        above = np.asarray(parent, dtype=np.int32)
        is_leaf = np.ones(len(labels), dtype=bool)
        is_leaf[above[1:]] = False
        first_leaf = np.cumsum(is_leaf) - is_leaf
        leaves, inner = np.flatnonzero(is_leaf), np.flatnonzero(~is_leaf)
        # There may be a million leaves, so their parents learn of all of them at once.
        lowest, highest = np.zeros(len(labels), np.int32), first_leaf.copy()
        below = leaves[leaves > 0]
        lowest[above[below]] = 1
        np.maximum.at(highest, above[below], first_leaf[below])
        height, last_leaf = lowest.tolist(), highest.tolist()
        # In reverse order children precede their parents, so one pass computes both without recursion.
        for node, parent_node in zip(inner[:0:-1].tolist(), above[inner][:0:-1].tolist(), strict=True):
            height[parent_node] = max(height[parent_node], height[node] + 1)
            last_leaf[parent_node] = max(last_leaf[parent_node], last_leaf[node])
        arrays = (above, height, first_leaf, last_leaf, leaves)
        return cls(tuple(labels), *(np.asarray(array, dtype=np.int32) for array in arrays))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_nodes)

    @property
    def total_height(self) -> int:
        """H, the height of the root; 0 for a tree of one node."""
        return int(self.height[0])

    @property
    def leaf_labels(self) -> tuple[str, ...]:
        """Labels of the leaves, by leaf code."""
        return tuple(map(self.labels.__getitem__, self.leaf_nodes.tolist()))

    def with_missing(self) -> Tree:
        """Return the tree with an additional last leaf for missing values, directly under the root.

        Its label is the empty text. A tree of one node gets a new root above both, so that missing and
        present values together are the root and cost 1.
        """
        if self.n_nodes == 1:
            labels = (ROOT_LABEL, *self.labels, MISSING_LABEL)
            return Tree.from_preorder(labels, (-1, 0, 0))
        return Tree.from_preorder((*self.labels, MISSING_LABEL), (*self.parent.tolist(), 0))

    def lca(self, low: npt.NDArray[np.integer[Any]], high: npt.NDArray[np.integer[Any]]) -> IntArray:
        """Return the lowest common ancestor of two leaves, for many pairs at once.

        Takes one array operation per level climbed.

        Parameters
        ----------
        low, high : ndarray of shape (n,), integers
            Leaf codes: the smallest and the largest of each class, in either order.

        Returns
        -------
        nodes : ndarray of shape (n,), int32

        Raises
        ------
        IndexError
            If a code is outside the tree (climbing from there would not end).
        """
        low, high = np.minimum(low, high), np.maximum(low, high)
        if low.size and (low.min() < 0 or high.max() >= self.n_leaves):
            raise IndexError("leaf codes outside the tree")
        nodes: IntArray = self.leaf_nodes[low]
        climbing = np.flatnonzero(self.last_leaf[nodes] < high)
        while climbing.size:
            nodes[climbing] = self.parent[nodes[climbing]]
            climbing = climbing[self.last_leaf[nodes[climbing]] < high[climbing]]
        return nodes

    def codes(self, values: Sequence[str], column: str) -> IntArray:
        """Map texts to leaf codes.

        A text that is not a leaf is looked up in Unicode NFC, the form of labels read from files. If both a
        value of the data and the leaf for missing values are the empty text, it means the value.

        Parameters
        ----------
        values : sequence of str
            Any length, repeats allowed.
        column : str
            Name of the column, for messages.

        Returns
        -------
        codes : ndarray of shape (n_values,), int32

        Raises
        ------
        HierarchyError
            `hierarchy.uncovered` if some values are not leaves of the tree.
        """
        # Of equal labels the first one counts.
        code_of = dict(zip(reversed(self.leaf_labels), range(self.n_leaves - 1, -1, -1), strict=True))
        codes = np.fromiter(map(code_of.get, values, repeat(-1)), dtype=np.int32, count=len(values))
        for at in np.flatnonzero(codes < 0).tolist():
            codes[at] = code_of.get(unicodedata.normalize("NFC", values[at]), -1)
        uncovered = np.flatnonzero(codes < 0).tolist()
        if uncovered:
            raise _uncovered(len({values[at] for at in uncovered}), len(set(values)), column)
        return codes

    def __eq__(self, other: object) -> bool:
        """Compare labels and parents, which determine all other fields."""
        if not isinstance(other, Tree):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        # Labels are values of the data: a repr must not leak them to a log.
        return f"Tree(n_leaves={self.n_leaves}, n_nodes={self.n_nodes}, total_height={self.total_height})"


def normal_text(text: str) -> str:
    """Return a label in the form of hierarchies read from files: trimmed, in Unicode NFC."""
    return unicodedata.normalize("NFC", text).strip()


def _collapse(path: Sequence[str]) -> tuple[str, ...]:
    """Drop each label that repeats the previous one."""
    return tuple(label for place, label in enumerate(path) if place == 0 or label != path[place - 1])


def _links(chains: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    """Return the parents of each label, labels in order of first appearance."""
    links: dict[str, set[str]] = {}
    for chain in chains:
        for label, above in pairwise(chain):
            links.setdefault(label, set()).add(above)
        links.setdefault(chain[-1], set())
    return links


def _count_duplicates(chains: Sequence[Sequence[str]], links: Mapping[str, Collection[str]]) -> int:
    """Count the labels that occur more than once in the tree."""
    inner = {above for parents in links.values() for above in parents}
    times = Counter(chain[0] for chain in chains)
    duplicates = {label for label, parents in links.items() if len(parents) > 1}
    duplicates.update(leaf for leaf, n in times.items() if n > 1 or leaf in inner)
    return len(duplicates)


def _children(links: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Invert the links: return the children of each label, in order of first appearance."""
    children: dict[str, list[str]] = defaultdict(list)
    for label, parents in links.items():
        for above in parents:
            children[above].append(label)
    return children


def _unfold(root: str, links: Mapping[str, Collection[str]]) -> Tree:
    """Number the labels in preorder."""
    children = _children(links)
    labels: list[str] = []
    parent: list[int] = []
    stack = [(root, -1)]  # no recursion: a chain may be deeper than Python's stack
    while stack:
        label, above = stack.pop()
        node = len(labels)
        labels.append(label)
        parent.append(above)
        stack.extend((child, node) for child in reversed(children.get(label, ())))
    return Tree.from_preorder(labels, parent)


def _refuse_cycle(links: Mapping[str, Collection[str]], column: str) -> None:
    """Raise if repeatedly removing roots (Kahn's algorithm) leaves labels over."""
    children = _children(links)
    waiting = {label: len(parents) for label, parents in links.items()}
    free = [label for label, n in waiting.items() if n == 0]
    n_left = len(links)
    while free:
        n_left -= 1
        for child in children.get(free.pop(), ()):
            waiting[child] -= 1
            if waiting[child] == 0:
                free.append(child)
    if n_left:
        raise HierarchyError(
            "hierarchy.cycle",
            f"The hierarchy of column `{column}` contains a cycle: {n_left} of its {len(links)} values are "
            "on it or below it.",
            "every path up must end at the root; look for a value that is its own ancestor",
        )


def _refuse_roots(n_roots: int, column: str) -> None:
    """Raise unless there is exactly one root."""
    if n_roots != 1:
        raise HierarchyError(
            "hierarchy.roots",
            f"The hierarchy of column `{column}` has {n_roots} roots instead of 1.",
            "every path must end at the same value, for example *; in a file, check the separator",
        )


def _refuse_duplicates(n_duplicates: int, column: str) -> None:
    """Raise if any label occurs more than once."""
    if n_duplicates:
        raise HierarchyError(
            "hierarchy.duplicate",
            f"In the hierarchy of column `{column}`, {n_duplicates} values occur more than once.",
            "every value has one parent, every leaf one line, and no leaf is also a group of other values",
        )


def _uncovered(n_uncovered: int, n_distinct: int, column: str) -> HierarchyError:
    return HierarchyError(
        "hierarchy.uncovered",
        f"Column `{column}`: {n_uncovered} of {n_distinct} distinct values are not leaves of its hierarchy.",
        "add them to the hierarchy as leaves, or list the texts that mean missing in [input] missing",
    )
