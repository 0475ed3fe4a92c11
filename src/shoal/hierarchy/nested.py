"""Hierarchies as nested tables in JSON and TOML, formatted for editing by hand."""

from __future__ import annotations

import json
from typing import Any

from shoal.errors import printable
from shoal.hierarchy.files import ORIGIN
from shoal.hierarchy.picture import children_of
from shoal.hierarchy.tree import Tree

_LINE = 100  # length of a TOML list; a longer one is written with one line per value


def json_text(tree: Tree) -> str:
    """Format a tree as nested JSON objects; a node with only leaves is a list."""
    tables: list[dict[str, Any]] = [{} for _ in tree.labels]
    children = children_of(tree)
    root: dict[str, Any] = {}
    for node, above in enumerate(tree.parent.tolist()):
        parent = root if above < 0 else tables[above]
        leaves = [tree.labels[child] for child in children[node]] if tree.height[node] == 1 else None
        parent[tree.labels[node]] = tables[node] if leaves is None else leaves
    return json.dumps(root, indent=2, ensure_ascii=False) + "\n"


def toml_text(tree: Tree) -> str:
    """Format a tree with one line per node that has only leaves, and per leaf with siblings that are not.

    Dotted keys preserve the order of siblings; tables with headers would follow all plain keys.
    """
    lines = []
    children = children_of(tree)
    for node, above in enumerate(tree.parent.tolist()):
        if tree.height[node] == 1:
            leaves = [quoted(tree.labels[child]) for child in children[node]]
            listed = f"[{', '.join(leaves)}]"
            if len(listed) > _LINE:
                listed = "\n    ".join(["[", *(f"{leaf}," for leaf in leaves)]) + "\n]"
            lines.append(f"{_toml_key(tree, node)} = {listed}")
        elif tree.height[node] == 0 and (above < 0 or tree.height[above] > 1):
            lines.append(f"{_toml_key(tree, node)} = {{}}")
    return "\n".join(lines) + "\n"


def with_origin(text: str, origin: str) -> str:
    """Put the origin of a hierarchy in front of its TOML or CSV text, as a comment."""
    return f"{ORIGIN}{printable(origin)}\n{text}"


def _toml_key(tree: Tree, node: int) -> str:
    path = []
    while node >= 0:
        path.append(quoted(tree.labels[node]))
        node = int(tree.parent[node])
    return ".".join(reversed(path))


def quoted(text: str) -> str:
    """Quote a text for TOML, which differs from JSON in one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
