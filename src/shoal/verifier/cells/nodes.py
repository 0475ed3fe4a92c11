"""The nodes of a hierarchy and the values below each, read independently from the recipe."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.errors import HierarchyError
from shoal.recipe import Recipe
from shoal.verifier.cells.codes import CODE_PATHS
from shoal.verifier.cells.dates import first_day

_QUOTED = re.compile(r'(?:^|(?<=[;,\t]))\s*"(?:[^"]|"")*(?:"|$)')
_UNITS: dict[str, Callable[[date], str]] = {
    "week": lambda day: "{:04}-W{:02}".format(*day.isocalendar()[:2]),
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}s",
}
UNIT_LABELS = {
    "week": re.compile(r"\d{4}-W\d\d", re.ASCII),
    "month": re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII),
    "quarter": re.compile(r"\d{4}-Q[1-4]", re.ASCII),
    "year": re.compile(r"\d{4}", re.ASCII),
    "decade": re.compile(r"\d{3}0s", re.ASCII),
}


def tree_nodes(
    recipe: Recipe, name: str, kind: str, keys: Iterable[str], leaf_key: Callable[[str], str]
) -> Mapping[str, frozenset[str]]:
    """Return the keys below each node, by its label; a leaf has its own key below it.

    Parameters
    ----------
    recipe : Recipe
        Defines the hierarchy: a file, a nested table, or how to build it from the values.
    name, kind : str
        The column.
    keys : iterable of str
        Its distinct values in the original.
    leaf_key : callable
        The key of a leaf that a file or table names.

    Raises
    ------
    HierarchyError
        When the hierarchy cannot be read or is not a tree.
    """
    below: dict[str, set[str]] = {}
    built = built_paths(recipe, name, kind, keys)
    for key, path in given_paths(recipe, name, leaf_key) if built is None else built:
        for label in path:
            below.setdefault(label, set()).add(key)
    return {label: frozenset(keys) for label, keys in below.items()}


Paths = list[tuple[str, list[str]]]


def built_paths(recipe: Recipe, name: str, kind: str, keys: Iterable[str]) -> Paths | None:
    """Return the path above each key, without the root, of a tree built from the values; otherwise None."""
    given = recipe.columns[name].tree
    if isinstance(given, str) and given in CODE_PATHS:
        return [(key, [key, *(CODE_PATHS[given](key) or ())]) for key in keys]
    if isinstance(given, dict) and isinstance(given.get("prefix"), int):
        return [(key, [key, *_masks(key, max(1, given["prefix"]))]) for key in keys]
    if isinstance(given, dict) and kind == "date" and isinstance(given.get("dates"), list):
        units = [_UNITS[unit] for unit in given["dates"] if unit in _UNITS]
        return [(key, [key, *(unit(first_day(key)) for unit in units)]) for key in keys]
    return None


def given_paths(recipe: Recipe, name: str, leaf_key: Callable[[str], str]) -> Paths:
    """Return the key and the path up to the root of each leaf that a file or table names."""
    given = recipe.columns[name].hierarchy
    paths = _read(recipe.resolve(given), name) if isinstance(given, str) else list(_nested_paths(given, name))
    _check(paths, name)
    return [(leaf_key(path[0]), path) for path in paths]


def _masks(text: str, step: int) -> list[str]:
    """List a code with more and more of its last characters masked, while one is left."""
    return [text[:kept].ljust(len(text), "*") for kept in range(len(text) - step, 0, -step)]


def _read(path: Path, name: str) -> list[list[str]]:
    """Read the paths of a file, leaf first: an ARX table, or nested tables."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix.lower() == ".json":
            return list(_nested_paths(json.loads(text, object_pairs_hook=_Pairs), name))
        if path.suffix.lower() == ".toml":
            return list(_nested_paths(tomllib.loads(text), name))
        return _table_paths(text)
    except HierarchyError:
        raise
    except OSError as error:
        reason = f"{path} cannot be opened ({error.strerror})"
        hint = "paths are relative to the recipe; a manifest names files without folders, so give --recipe"
        raise _unreadable(name, reason, hint) from None
    except (ValueError, RecursionError, csv.Error):
        pass  # the error may quote a cell, so it is not chained
    raise _unreadable(name)


class _Pairs(dict[str, Any]):
    """A JSON object in which no key may occur twice."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        if len(self) < len(pairs):
            raise ValueError("a key occurs twice")


def _table_paths(text: str) -> list[list[str]]:
    """Split an ARX table; the separator is the first of tab, semicolon and comma in its first line.

    A line before it may say where the hierarchy comes from.
    """
    if text.startswith("# shoal: "):
        text = "".join(text.splitlines(keepends=True)[1:])
    first = next((line for line in re.split(r"[\r\n]+", text) if line.strip()), "")
    bare = _QUOTED.sub("", first)
    separator = next((mark for mark in "\t;," if mark in bare), ";")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
    paths = []
    for line in lines:
        path = [_label(cell) for cell in line]
        while path and not path[-1]:
            path.pop()
        if any(left and not right for left, right in pairwise(path)):
            raise ValueError("an empty cell between others")
        if path:
            paths.append(path)
    return paths


def _nested_paths(given: object, name: str) -> Iterator[list[str]]:
    """Yield the path of each leaf of nested tables; a list is shorthand for empty tables."""
    waiting: list[tuple[list[str], object]] = [([], given)]
    while waiting:
        path, below = waiting.pop()
        if isinstance(below, list) and all(isinstance(leaf, str) for leaf in below):
            below = {leaf: {} for leaf in below}
        if not isinstance(below, Mapping):
            raise _unreadable(name)
        waiting += [([_label(label), *path], table) for label, table in below.items()]
        if path and not below:
            yield path


def _check(paths: Sequence[Sequence[str]], name: str) -> None:
    """Refuse what is not a tree: a node would cover more than it should."""
    above: dict[str, str | None] = {}
    leaves = {path[0] for path in paths}
    for path in paths:
        chain = [label for label, following in pairwise([*path, None]) if label != following]
        for label, parent in pairwise([*chain, None]):
            assert label is not None
            is_inner = label != path[0]
            if above.setdefault(label, parent) != parent or (is_inner and label in leaves):
                message = f"In the hierarchy of column `{name}` a label occurs in two places."
                raise HierarchyError("hierarchy.duplicate", message, "name every value once")


def _label(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def _unreadable(
    name: str, reason: str = "it is not a table of paths, JSON or TOML", hint: str = ""
) -> HierarchyError:
    message = f"The hierarchy of column `{name}` cannot be read: {reason}."
    return HierarchyError("hierarchy.unreadable", message, hint or "compare with `shoal hierarchy show`")
