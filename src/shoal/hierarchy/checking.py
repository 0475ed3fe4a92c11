"""Where a hierarchy file is wrong, line by line; no label is quoted, since it may be a rare value."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from shoal.hierarchy.files import ARX_EXTENSIONS, find_separator, has_hole, trimmed, without_origin

MOST = 20  # lines that are named

_AT_LINE = re.compile(r"\(at line ([0-9]+)")


@dataclass(frozen=True)
class LineFault:
    """What is wrong in a line of a file, counted from 1."""

    line: int
    message: str


def line_faults(content: bytes, extension: str) -> list[LineFault]:
    r"""Return what is wrong in the lines of a file; of several faults in a line, the first.

    An empty list does not mean that the file is a tree: what concerns no single line is not found here.

    Examples
    --------
    >>> line_faults(b"a;x;*\nb;y;*\na;y;*\n", ".csv")
    [LineFault(line=3, message='its value is already on line 1')]
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return [LineFault(content[: error.start].count(b"\n") + 1, "it is not UTF-8")]
    extension = extension.lower()
    if extension in ARX_EXTENSIONS:
        return _arx_faults(text)[:MOST]
    return _json_fault(text) if extension == ".json" else _toml_fault(text)


def _arx_faults(text: str) -> list[LineFault]:
    rest = without_origin(text)
    skipped = int(rest != text)
    numbered, broken = _numbered_lines(rest, skipped)
    roots = Counter(cells[-1] for _, cells in numbered if not has_hole(cells))
    root = roots.most_common(1)[0][0] if roots else ""
    check = _Lines(root)
    found = [
        LineFault(number, message) for number, cells in numbered if (message := check.fault(number, cells))
    ]
    return found + broken


def _numbered_lines(text: str, skipped: int) -> tuple[list[tuple[int, list[str]]], list[LineFault]]:
    """Split a text into lines with labels, and say where that ends."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=find_separator(text), strict=True, skipinitialspace=True
    )
    numbered: list[tuple[int, list[str]]] = []
    last = 0
    try:
        for line in reader:
            if cells := trimmed(line):
                numbered.append((last + 1 + skipped, cells))
            last = reader.line_num
    except csv.Error:
        return numbered, [
            LineFault(last + 1 + skipped, "a cell that starts with a quote does not end with one")
        ]
    return numbered, []


class _Lines:
    """Compares each line with those before it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._leaves: dict[str, int] = {}
        self._above: dict[str, tuple[str, int]] = {}
        self._groups: dict[str, int] = {}

    def fault(self, number: int, cells: list[str]) -> str | None:
        if has_hole(cells):
            return "it has an empty cell between others: repeat the label to its left to skip a level"
        path = [cell for at, cell in enumerate(cells) if at == 0 or cell != cells[at - 1]]
        if path[-1] != self._root:
            return "it does not end with the same label as the other lines"
        if len(set(path)) < len(path):
            return "a label is repeated, but not side by side"
        if path[0] in self._leaves:
            return f"its value is already on line {self._leaves[path[0]]}"
        if path[0] in self._groups:
            return f"its value is a group on line {self._groups[path[0]]}"
        for at, (label, above) in enumerate(pairwise(path)):
            if at and label in self._leaves:
                return f"cell {cells.index(label) + 1} is a value on line {self._leaves[label]}"
            known, where = self._above.setdefault(label, (above, number))
            if known != above:
                return f"cell {cells.index(label) + 1} is below another group on line {where}"
        self._leaves[path[0]] = number
        for label in path[1:]:
            self._groups.setdefault(label, number)
        return None


def _toml_fault(text: str) -> list[LineFault]:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # its message quotes the text, so only the place is taken
        found = _AT_LINE.search(str(error))
        return [LineFault(int(found[1]), "it is not valid TOML")] if found else []
    except RecursionError:
        return []
    return []


def _json_fault(text: str) -> list[LineFault]:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return [LineFault(error.lineno, "it is not valid JSON")]
    except RecursionError:
        return []
    return []
