"""Change a hierarchy by hand: rename, move, group and dissolve nodes.

Each function takes a tree and returns another one with exactly the same leaves: they are the values of a
column, so they can be moved but neither renamed nor removed. Nodes are numbers in the tree that is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.errors import HierarchyError
from shoal.hierarchy.picture import children_of
from shoal.hierarchy.tree import Tree, normal_text

LONGEST = 200  # characters of a label


class EditError(HierarchyError):
    """A change to a hierarchy is not possible.

    Parameters
    ----------
    message, hint : str
        What is wrong and what to do; no label is quoted, since a label may be a rare value.
    nodes : sequence of int
        Where it is wrong, as nodes of the tree that should be changed.
    """

    def __init__(self, message: str, hint: str, nodes: Iterable[int]) -> None:
        super().__init__("hierarchy.edit", message, hint)
        self.nodes = tuple(nodes)


def rename(tree: Tree, node: int, label: str) -> Tree:
    """Give another label to the root or to a group.

    Examples
    --------
    >>> tree = Tree.from_paths([("a", "vowels", "*"), ("b", "*")], "letter")
    >>> rename(tree, 1, "front").labels
    ('*', 'front', 'a', 'b')
    """
    _check_nodes(tree, [node])
    if _is_leaf(tree, node):
        raise EditError(
            "A value of the column cannot be renamed.", "move it into a group, and rename the group", [node]
        )
    label = _checked_label(tree, label, node)
    return Tree.from_preorder((*tree.labels[:node], label, *tree.labels[node + 1 :]), tree.parent.tolist())


def move(tree: Tree, nodes: Sequence[int], target: int) -> Tree:
    """Move nodes, with all that is below them, to the end of another group.

    A group that loses everything is removed, since it would become a value.

    Examples
    --------
    >>> tree = Tree.from_paths([("a", "one", "*"), ("b", "one", "*"), ("c", "two", "*")], "letter")
    >>> move(tree, [2], 4).labels
    ('*', 'one', 'b', 'two', 'c', 'a')
    """
    _check_nodes(tree, [*nodes, target])
    moved = _topmost(tree, nodes)
    if not moved:
        raise EditError("Nothing is selected.", "select what should be moved", [])
    if moved[0] == 0:
        raise EditError(
            "The root cannot be moved: everything is below it.", "select groups or values below it", [0]
        )
    if _is_leaf(tree, target):
        raise EditError(
            "A value of the column cannot contain others.", "choose a group, or make a new one", [target]
        )
    if inside := [node for node in moved if _is_below(tree, target, node)]:
        raise EditError(
            "A group cannot be moved into itself or into a group below it.",
            "choose a group elsewhere",
            inside,
        )
    left = sorted({int(tree.parent[node]) for node in moved}, reverse=True)
    children = children_of(tree)
    leaving = set(moved)
    for parent in left:
        children[parent] = [node for node in children[parent] if node not in leaving]
    children[target] += moved
    for parent in left:
        _remove_empty(tree, children, parent)
    return _rebuilt(tree.labels, children)


def group(tree: Tree, nodes: Sequence[int], label: str) -> Tree:
    """Put siblings into a new group, at the place of the first of them.

    Examples
    --------
    >>> tree = Tree.from_paths([("a", "*"), ("b", "*"), ("c", "*")], "letter")
    >>> group(tree, [1, 3], "outer").labels
    ('*', 'outer', 'a', 'c', 'b')
    """
    _check_nodes(tree, nodes)
    grouped = sorted(set(nodes))
    if not grouped:
        raise EditError("Nothing is selected.", "select what should be grouped", [])
    above = {int(tree.parent[node]) for node in grouped}
    if len(above) > 1:
        raise EditError(
            f"What is selected is below {len(above)} different groups.",
            "select neighbours below one group, or move them there first",
            grouped,
        )
    parent = above.pop()
    children = children_of(tree)
    if parent < 0 or len(grouped) == len(children[parent]):
        raise EditError(
            "The new group would be the same as the group above it.",
            "leave something out, or rename the group above",
            grouped,
        )
    label = _checked_label(tree, label, None)
    at = children[parent].index(grouped[0])
    leaving = set(grouped)
    rest = [node for node in children[parent] if node not in leaving]
    children[parent] = [*rest[:at], tree.n_nodes, *rest[at:]]
    return _rebuilt((*tree.labels, label), [*children, grouped])


def dissolve(tree: Tree, node: int) -> Tree:
    """Split a group: what is in it takes its place in the group above.

    Examples
    --------
    >>> tree = Tree.from_paths([("a", "vowels", "*"), ("b", "*")], "letter")
    >>> dissolve(tree, 1).labels
    ('*', 'a', 'b')
    """
    _check_nodes(tree, [node])
    if node == 0:
        raise EditError("The root cannot be split: every tree has one.", "split a group below it", [0])
    if _is_leaf(tree, node):
        raise EditError("A value of the column cannot be split.", "split a group", [node])
    children = children_of(tree)
    siblings = children[int(tree.parent[node])]
    at = siblings.index(node)
    siblings[at : at + 1] = children[node]
    return _rebuilt(tree.labels, children)


def with_leaves(tree: Tree, values: Sequence[str], label: str) -> Tree:
    """Add values that a tree lacks, in a group of their own below the root; a single one has no group.

    Examples
    --------
    >>> with_leaves(Tree.from_paths([("a", "*"), ("b", "*")], "letter"), ["c", "d"], "others").labels
    ('*', 'a', 'b', 'others', 'c', 'd')
    """
    if tree.n_nodes == 1:
        raise EditError("The hierarchy has a single value and no groups.", "use another file", [0])
    known = set(tree.labels)
    taken = [value for value in values if value in known]
    if taken:
        raise EditError(
            f"{len(taken)} of the values to add are already in the hierarchy, as values or as groups.",
            "rename the groups that are called like values",
            [node for node, label in enumerate(tree.labels) if label in set(taken)],
        )
    parent = tree.parent.tolist()
    if len(values) == 1:
        return Tree.from_preorder((*tree.labels, *values), (*parent, 0))
    label = _checked_label(tree, label, None)
    return Tree.from_preorder((*tree.labels, label, *values), (*parent, 0, *(tree.n_nodes for _ in values)))


def unused_label(tree: Tree, wanted: str) -> str:
    """Return a label that no node has: the one wanted, or with a number after it."""
    labels = set(tree.labels)
    number = 1
    label = wanted
    while label in labels:
        number += 1
        label = f"{wanted} {number}"
    return label


def _checked_label(tree: Tree, given: str, node: int | None) -> str:
    """Return a label as it is written to files; refuse one that is empty, too long or taken."""
    label = normal_text(given)
    if not label or len(label) > LONGEST or not label.isprintable():
        raise EditError(
            f"A label has between 1 and {LONGEST} characters, all of them printable.",
            "choose another label",
            [] if node is None else [node],
        )
    if taken := [other for other, text in enumerate(tree.labels) if text == label and other != node]:
        raise EditError(
            "Another node already has this label, and a release could not distinguish the two.",
            "choose another label",
            taken if node is None else [node, *taken],
        )
    return label


def _check_nodes(tree: Tree, nodes: Iterable[int]) -> None:
    if not all(0 <= node < tree.n_nodes for node in nodes):
        raise EditError("The tree has no such node.", "load the tree again", [])


def _is_leaf(tree: Tree, node: int) -> bool:
    return int(tree.height[node]) == 0


def _is_below(tree: Tree, node: int, above: int) -> bool:
    """Return whether a node is another one or below it."""
    while node > above:
        node = int(tree.parent[node])
    return node == above


def _topmost(tree: Tree, nodes: Iterable[int]) -> list[int]:
    """Return the nodes that are below no other of them, ascending."""
    chosen: list[int] = []
    for node in sorted(set(nodes)):
        if not chosen or not _is_below(tree, node, chosen[-1]):  # a subtree is an interval of numbers
            chosen.append(node)
    return chosen


def _remove_empty(tree: Tree, children: list[list[int]], node: int) -> None:
    """Remove a group that has lost everything, and those above that contained nothing else."""
    while node > 0 and not children[node]:
        above = int(tree.parent[node])
        if node not in children[above]:  # already removed
            return
        children[above].remove(node)
        node = above


def _rebuilt(labels: Sequence[str], children: Sequence[Sequence[int]]) -> Tree:
    """Number the nodes in preorder again."""
    texts: list[str] = []
    parent: list[int] = []
    stack = [(0, -1)]
    while stack:
        node, above = stack.pop()
        number = len(texts)
        texts.append(labels[node])
        parent.append(above)
        stack.extend((child, number) for child in reversed(children[node]))
    return Tree.from_preorder(texts, parent)
