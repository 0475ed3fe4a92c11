"""Hierarchies in files: ARX tables (leaf;parent;...;root), nested TOML and JSON.

Labels are trimmed and brought to Unicode normal form C. Nothing in a file is ever executed.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.errors import HierarchyError, OutputError
from shoal.hierarchy.tree import Tree, normal_text

# In the order of trust: a label may well contain a comma, hardly ever a tab.
SEPARATORS = ("\t", ";", ",")
ARX_ENDINGS = (".csv", ".tsv", ".txt")
NESTED_ENDINGS = (".toml", ".json")

_FIRST_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_QUOTED_CELL = re.compile(r'(?:^|(?<=[;,\t]))\s*"(?:[^"]|"")*(?:"|$)')


def load(path: str | Path, column: str) -> Tree:
    """Read a hierarchy from a file whose ending says how.

    Parameters
    ----------
    path : str or Path
        ``.csv``, ``.tsv`` and ``.txt`` are ARX tables, ``.toml`` and ``.json`` nested tables.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.unreadable`, or what is wrong with the tree.
    """
    ending = Path(path).suffix.lower()
    if ending in ARX_ENDINGS:
        return read_arx(path, column)
    if ending in NESTED_ENDINGS:
        return read_nested(path, column)
    known = ", ".join((*ARX_ENDINGS, *NESTED_ENDINGS))
    raise _unreadable(column, "the ending of the file's name is not known", f"known endings: {known}")


def read_arx(path: str | Path, column: str, separator: str | None = None) -> Tree:
    """Read a hierarchy in ARX layout: one line per leaf, from the leaf to the root, without a header.

    Lines may differ in length, or be padded by repeating a label or by empty cells at the end. Cells may be
    quoted. An empty first cell is a leaf for the empty text.

    Parameters
    ----------
    path : str or Path
        UTF-8, with or without its mark.
    column : str
        Name of the column, for messages.
    separator : str, optional
        One character. Otherwise the first of tab, semicolon and comma that the first line has.

    Raises
    ------
    HierarchyError
        `hierarchy.unreadable`, or what is wrong with the tree.
    """
    text = _read_text(path, column)
    separator = _find_separator(text) if separator is None else separator
    lines = [cells for line in _csv_lines(text, separator, column) if (cells := _trimmed(line))]
    n_holes = sum(_has_hole(cells) for cells in lines)
    if n_holes:
        raise _unreadable(
            column,
            f"{n_holes} of its {len(lines)} lines have an empty cell between others",
            "repeat the label on the left of an empty cell to skip a level",
        )
    return Tree.from_paths(lines, column)


def read_nested(path: str | Path, column: str) -> Tree:
    """Read a hierarchy from nested tables in TOML or JSON; see `from_nested`.

    Parameters
    ----------
    path : str or Path
        UTF-8; a file that does not end in ``.json`` is taken for TOML.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.unreadable`, or what is wrong with the tree.
    """
    text = _read_text(path, column)
    if Path(path).suffix.lower() == ".json":
        return from_nested(_parse_json(text, column), column)
    return from_nested(_parse_toml(text, column), column)


def from_nested(nested: Mapping[str, Any], column: str) -> Tree:
    """Build a tree from nested mappings, as they stand in a recipe, a TOML or a JSON file.

    Parameters
    ----------
    nested : mapping
        Its only key is the root; each key maps to the mapping of its children, an empty one for a leaf.
        A list of texts is short for a mapping of leaves.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.build` when something else than mappings and lists of texts is found, or what is wrong with
        the tree.

    Examples
    --------
    >>> from_nested({"all": {"heart": ["I20", "I21"], "other": {}}}, "diagnosis").leaf_labels
    ('I20', 'I21', 'other')
    """
    if not isinstance(nested, Mapping):
        raise _not_nested(column)
    paths: list[tuple[str, ...]] = []
    stack: list[tuple[tuple[str, ...], object]] = [((), nested)]
    while stack:
        path, below = stack.pop()
        children = _children(below, column)
        if not children:
            paths.append(path)
        stack.extend(((label, *path), table) for label, table in reversed(children))
    return Tree.from_paths(paths, column)


def to_nested(tree: Tree) -> dict[str, Any]:
    """Return the tree as nested dictionaries, the root as only key; `from_nested` reads them back."""
    tables: list[dict[str, Any]] = [{} for _ in tree.labels]
    for node, above in enumerate(tree.parent.tolist()):
        if above >= 0:
            tables[above][tree.labels[node]] = tables[node]
    return {tree.labels[0]: tables[0]}


def write_arx(tree: Tree, path: str | Path) -> None:
    """Write the tree in ARX layout, separated by semicolons; `read_arx` reads it back.

    Every line has a cell for each height from 0 to that of the root, as ARX wants it: where a path skips a
    height, the label below is repeated.

    Raises
    ------
    OutputError
        `output.unwritable`.
    """
    # Quotes everywhere as soon as a label might mislead the search for the separator or the end of a line
    # (Python 3.11 leaves a bare carriage return unquoted).
    is_misleading = any(mark in label for label in tree.labels for mark in (*SEPARATORS, "\r", "\n"))
    lines = io.StringIO(newline="")
    writer = csv.writer(
        lines,
        delimiter=";",
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if is_misleading else csv.QUOTE_MINIMAL,
    )
    writer.writerows(_padded_path(tree, leaf) for leaf in tree.leaf_nodes.tolist())
    try:
        Path(path).write_bytes(lines.getvalue().encode())
    except (OSError, ValueError):
        raise OutputError(
            "output.unwritable",
            "The hierarchy cannot be written.",
            "check that the folder exists and is writable",
        ) from None


def _padded_path(tree: Tree, node: int) -> list[str]:
    """Return for each height the highest ancestor of a leaf that does not exceed it."""
    cells: list[str] = []
    while node >= 0:
        above = int(tree.parent[node])
        top = tree.height[above] if above >= 0 else len(cells) + 1
        cells.extend([tree.labels[node]] * int(top - len(cells)))
        node = above
    return cells


def _read_text(path: str | Path, column: str) -> str:
    """Read a whole UTF-8 file."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(column, "the file is not UTF-8", "save it as UTF-8") from None
    except OSError as error:
        reason = f"the file cannot be opened ({error.strerror})"
    except ValueError:
        reason = "the file's name is not one that a file can have"
    raise _unreadable(column, reason, "paths of hierarchies are relative to the recipe")


def _find_separator(text: str) -> str:
    """Return the separator of the first line that is not blank, as it stands outside quoted cells."""
    line = _FIRST_LINE.search(text)
    bare = _QUOTED_CELL.sub("", line.group()) if line else ""
    return next((mark for mark in SEPARATORS if mark in bare), ";")


def _csv_lines(text: str, separator: str, column: str) -> list[list[str]]:
    """Split the text into cells. Strict: an open quote would else swallow the rest of the file unseen."""
    if len(separator) != 1 or separator in '"\r\n ':
        raise _unreadable(column, "the separator is not one character", "for example ; or ,")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
    try:
        return list(lines)
    except csv.Error:
        raise _unreadable(
            column,
            f"line {lines.line_num} cannot be split into cells",
            'a cell that begins with a quote must end with one; a quote inside is written ""',
        ) from None


def _trimmed(line: Sequence[str]) -> list[str]:
    """Return the labels of a line, without the empty cells at its end."""
    cells = [normal_text(cell) for cell in line]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _has_hole(cells: Sequence[str]) -> bool:
    """Say whether an empty cell follows one that is not; leading ones are the leaf of the empty text."""
    return any(left and not right for left, right in pairwise(cells))


def _parse_toml(text: str, column: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable(column, "the file is not TOML", "a repeated key is an error in TOML too") from None


def _parse_json(text: str, column: str) -> Any:
    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _refuse_repeats([key for key, _ in pairs], column)
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=table)
    except HierarchyError:
        raise
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise _unreadable(
            column, f"the file is not JSON{place}", "check commas, quotes and brackets"
        ) from None


def _children(below: object, column: str) -> list[tuple[str, object]]:
    """Return the children that a nested table, or a list of leaves, names."""
    pairs: list[tuple[Any, object]] | None = None
    if isinstance(below, Mapping):
        pairs = list(below.items())
    elif isinstance(below, list):
        pairs = [(leaf, {}) for leaf in below]
    if pairs is None or not all(isinstance(label, str) for label, _ in pairs):
        raise _not_nested(column)
    children = [(normal_text(label), table) for label, table in pairs]
    _refuse_repeats([label for label, _ in children], column)
    return children


def _refuse_repeats(labels: Sequence[str], column: str) -> None:
    """Raise if siblings share a label: JSON would keep the last one, a path would merge them."""
    n_repeats = len(labels) - len(set(labels))
    if n_repeats:
        raise HierarchyError(
            "hierarchy.duplicate",
            f"In the hierarchy of column `{column}`, {n_repeats} labels repeat a sibling's.",
            "name every value once",
        )


def _not_nested(column: str) -> HierarchyError:
    return HierarchyError(
        "hierarchy.build",
        f"The hierarchy of column `{column}` holds something else than tables and lists of texts.",
        "the root is a table; write values in quotes; a leaf is an empty table, or a text in a list",
    )


def _unreadable(column: str, reason: str, hint: str) -> HierarchyError:
    return HierarchyError(
        "hierarchy.unreadable", f"The hierarchy of column `{column}` cannot be read: {reason}.", hint
    )
