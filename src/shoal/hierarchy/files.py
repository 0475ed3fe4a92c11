"""Hierarchies in files: ARX tables (leaf;parent;...;root), nested TOML and JSON.

Labels are trimmed and converted to Unicode NFC. Nothing in a file is ever executed.
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

# Most reliable first: a label may contain a comma, but hardly ever a tab.
SEPARATORS = ("\t", ";", ",")
ARX_EXTENSIONS = (".csv", ".tsv", ".txt")
NESTED_EXTENSIONS = (".toml", ".json")

# The first line of a file may say where the hierarchy comes from.
ORIGIN = "# shoal: "

_FIRST_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_QUOTED_CELL = re.compile(r'(?:^|(?<=[;,\t]))\s*"(?:[^"]|"")*(?:"|$)')


def load(path: str | Path, column: str) -> Tree:
    """Read a hierarchy from a file, in the format of its extension.

    Parameters
    ----------
    path : str or Path
        ``.csv``, ``.tsv`` and ``.txt`` are ARX tables, ``.toml`` and ``.json`` nested tables.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.unreadable`, or an error in the tree.
    """
    _refuse_unknown(Path(path).suffix.lower(), column)
    return from_bytes(_read_bytes(path, column), Path(path).suffix, column)


def from_bytes(content: bytes, extension: str, column: str) -> Tree:
    """Read a hierarchy from the content of a file with this extension; see `load`."""
    extension = extension.lower()
    _refuse_unknown(extension, column)
    text = _decoded(content, column)
    if extension in ARX_EXTENSIONS:
        return _from_arx(text, column, None)
    return from_nested(
        _parse_json(text, column) if extension == ".json" else _parse_toml(text, column), column
    )


def _refuse_unknown(extension: str, column: str) -> None:
    if extension in (*ARX_EXTENSIONS, *NESTED_EXTENSIONS):
        return
    known = ", ".join((*ARX_EXTENSIONS, *NESTED_EXTENSIONS))
    words = "induce, postcode, icd10, nuts, isco or age"
    raise _unreadable(column, "unknown file extension", f"known extensions: {known}; without a file: {words}")


def read_arx(path: str | Path, column: str, separator: str | None = None) -> Tree:
    """Read a hierarchy in ARX layout: one line per leaf, from the leaf to the root, without a header.

    Lines may differ in length, or be padded with repeated labels or trailing empty cells. Cells may be
    quoted. An empty first cell is a leaf for the empty text. A first line that begins with ``# shoal:`` says
    where the hierarchy comes from, and is skipped.

    Parameters
    ----------
    path : str or Path
        UTF-8, with or without a byte order mark.
    column : str
        Name of the column, for messages.
    separator : str, optional
        One character. Default: the first of tab, semicolon and comma that occurs in the first line.

    Raises
    ------
    HierarchyError
        `hierarchy.unreadable`, or an error in the tree.
    """
    return _from_arx(_read_text(path, column), column, separator)


def _from_arx(text: str, column: str, separator: str | None) -> Tree:
    text = without_origin(text)
    separator = find_separator(text) if separator is None else separator
    lines = [cells for line in csv_lines(text, separator, column) if (cells := trimmed(line))]
    n_holes = sum(has_hole(cells) for cells in lines)
    if n_holes:
        raise _unreadable(
            column,
            f"{n_holes} of its {len(lines)} lines have an empty cell between others",
            "to skip a level, repeat the label to the left of the empty cell",
        )
    return Tree.from_paths(lines, column)


def origin_of(path: str | Path, column: str) -> str:
    """Return where a hierarchy file says that it comes from; an empty text if it does not say."""
    return origin_in(_read_text(path, column))


def origin_in(text: str) -> str:
    """Return where the text of a hierarchy file says that it comes from."""
    first, _, _ = text.partition("\n")
    return first.removeprefix(ORIGIN).strip() if first.startswith(ORIGIN) else ""


def without_origin(text: str) -> str:
    """Return the text of a file without the line that says where the hierarchy comes from."""
    return text.partition("\n")[2] if text.startswith(ORIGIN) else text


def read_nested(path: str | Path, column: str) -> Tree:
    """Read a hierarchy from nested tables in TOML or JSON; see `from_nested`.

    Parameters
    ----------
    path : str or Path
        UTF-8; a file without the extension ``.json`` is read as TOML.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.unreadable`, or an error in the tree.
    """
    text = _read_text(path, column)
    if Path(path).suffix.lower() == ".json":
        return from_nested(_parse_json(text, column), column)
    return from_nested(_parse_toml(text, column), column)


def from_nested(nested: Mapping[str, Any], column: str) -> Tree:
    """Build a tree from nested mappings, as in a recipe, a TOML file or a JSON file.

    Parameters
    ----------
    nested : mapping
        Its only key is the root; each key maps to a mapping of its children, which is empty for a leaf.
        A list of texts is shorthand for a mapping of leaves.
    column : str
        Name of the column, for messages.

    Raises
    ------
    HierarchyError
        `hierarchy.build` for anything but mappings and lists of texts, or an error in the tree.

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
    """Return the tree as nested dictionaries with the root as the only key, the inverse of `from_nested`."""
    tables: list[dict[str, Any]] = [{} for _ in tree.labels]
    for node, above in enumerate(tree.parent.tolist()):
        if above >= 0:
            tables[above][tree.labels[node]] = tables[node]
    return {tree.labels[0]: tables[0]}


def arx_text(tree: Tree) -> str:
    """Format the tree in ARX layout, separated by semicolons, for `read_arx`.

    As ARX requires, every line has a cell for each height from 0 to that of the root: where a path skips a
    height, the label below is repeated.
    """
    # Quote everything if a label could confuse the detection of the separator or of line ends
    # (Python 3.11 does not quote a bare carriage return).
    is_misleading = any(mark in label for label in tree.labels for mark in (*SEPARATORS, "\r", "\n"))
    lines = io.StringIO(newline="")
    writer = csv.writer(
        lines,
        delimiter=";",
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if is_misleading else csv.QUOTE_MINIMAL,
    )
    writer.writerows(_padded_path(tree, leaf) for leaf in tree.leaf_nodes.tolist())
    return lines.getvalue()


def write_arx(tree: Tree, path: str | Path) -> None:
    """Write the tree in ARX layout; see `arx_text`.

    Raises
    ------
    OutputError
        `output.unwritable`.
    """
    try:
        Path(path).write_bytes(arx_text(tree).encode())
    except (OSError, ValueError):
        raise OutputError(
            "output.unwritable",
            "The hierarchy cannot be written.",
            "check that the folder exists and is writable",
        ) from None


def _padded_path(tree: Tree, node: int) -> list[str]:
    """Return for each height the highest ancestor of a leaf up to that height."""
    cells: list[str] = []
    while node >= 0:
        above = int(tree.parent[node])
        top = tree.height[above] if above >= 0 else len(cells) + 1
        cells.extend([tree.labels[node]] * int(top - len(cells)))
        node = above
    return cells


def _read_text(path: str | Path, column: str) -> str:
    """Read a whole UTF-8 file."""
    return _decoded(_read_bytes(path, column), column)


def _decoded(content: bytes, column: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(column, "the file is not UTF-8", "save it as UTF-8") from None


def _read_bytes(path: str | Path, column: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = f"the file cannot be opened ({error.strerror})"
    except ValueError:
        reason = "the file name is not valid"
    raise _unreadable(column, reason, "hierarchy paths are relative to the recipe")


def find_separator(text: str) -> str:
    """Return the separator that occurs outside quoted cells in the first non-blank line."""
    line = _FIRST_LINE.search(text)
    bare = _QUOTED_CELL.sub("", line.group()) if line else ""
    return next((mark for mark in SEPARATORS if mark in bare), ";")


def csv_lines(text: str, separator: str, column: str) -> list[list[str]]:
    """Split the text into cells, strictly: an open quote would silently swallow the rest of the file."""
    if len(separator) != 1 or separator in '"\r\n ':
        raise _unreadable(column, "the separator is not one character", "for example ; or ,")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
    try:
        return list(lines)
    except csv.Error:
        raise _unreadable(
            column,
            f"line {lines.line_num} cannot be split into cells",
            'a cell that starts with a quote must end with one; write a quote inside it as ""',
        ) from None


def trimmed(line: Sequence[str]) -> list[str]:
    """Return the labels of a line, without trailing empty cells."""
    cells = [normal_text(cell) for cell in line]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def has_hole(cells: Sequence[str]) -> bool:
    """Return whether an empty cell follows a non-empty one; a leading one is the leaf for the empty text."""
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
    """Return the children in a nested table or a list of leaves."""
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
    """Raise if siblings have the same label: JSON would keep only the last, and paths would merge them."""
    n_repeats = len(labels) - len(set(labels))
    if n_repeats:
        raise HierarchyError(
            "hierarchy.duplicate",
            f"In the hierarchy of column `{column}`, {n_repeats} labels repeat the label of a sibling.",
            "list every value once",
        )


def _not_nested(column: str) -> HierarchyError:
    return HierarchyError(
        "hierarchy.build",
        f"The hierarchy of column `{column}` must contain only tables and lists of texts.",
        "the root is a table; write values in quotes; a leaf is an empty table, or a text in a list",
    )


def _unreadable(column: str, reason: str, hint: str) -> HierarchyError:
    return HierarchyError(
        "hierarchy.unreadable", f"The hierarchy of column `{column}` cannot be read: {reason}.", hint
    )
