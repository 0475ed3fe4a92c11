"""Columns that have been counted, and trees that have been built: a table is read once for many requests."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import polars as pl

from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe
from shoal.table.column_values import ColumnValues
from shoal.workflow.column_tree import (
    ColumnTree,
    column_tree,
    natural_kind,
    needed_columns,
    read_columns,
    values_of,
)

_MOST = 64
_LARGEST = 256 << 20  # bytes of a table that is kept in memory

Found = TypeVar("Found")


class Counted:
    """What is known about columns, as long as their table and what the recipe says about them is the same."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, Any] = OrderedDict()
        self._locks: dict[Path, Lock] = {}
        self._lock = Lock()
        self._kept: tuple[Any, pl.DataFrame] | None = None  # the columns of the table that was read last

    def values(self, recipe: Recipe, table: Path, name: str, kind: str | None = None) -> ColumnValues:
        """Count the values of a column, as its kind or as another one."""
        column = recipe.columns[name]
        # With a kind, the hierarchy does not matter: an edit need not read the table again.
        read_as = kind or column.kind or _said(recipe, name)
        key = ("values", name, read_as, str(column.order), *_read(recipe, table))
        return self._once(
            table, key, lambda: values_of(recipe, self._columns(recipe, table, [name]), name, kind)
        )

    def natural_kind(self, recipe: Recipe, table: Path, name: str) -> str:
        """Return the kind that the values of a column have by themselves."""
        key = ("kind", name, *_read(recipe, table))
        return self._once(table, key, lambda: natural_kind(self._columns(recipe, table, [name]), name))

    def tree(
        self, recipe: Recipe, table: Path, name: str, content: bytes | None, is_data: bool
    ) -> ColumnTree:
        """Build or read the hierarchy of a column; `content` is that of its file."""
        needed = needed_columns(recipe, name)
        said = tuple(_said(recipe, one) for one in needed if one in recipe.columns)
        key = ("tree", name, said, content, is_data, *_read(recipe, table))
        found = self.values(recipe, table, name)

        def build() -> ColumnTree:
            frame = self._columns(recipe, table, needed) if len(needed) > 1 else None
            return column_tree(recipe, frame, name, found, is_data=is_data)

        return self._once(table, key, build)

    def _once(self, table: Path, key: Any, make: Callable[[], Found]) -> Found:
        """Return what was found before; several requests for the same table wait for the first."""
        with self._lock:
            lock = self._locks.setdefault(table, Lock())
        with lock:
            if key not in self._found:
                found = make()
                with self._lock:
                    self._found[key] = found
                    while len(self._found) > _MOST:
                        self._found.popitem(last=False)
            with self._lock:
                self._found.move_to_end(key)
                known: Found = self._found[key]
        return known

    def _columns(self, recipe: Recipe, table: Path, names: list[str]) -> pl.DataFrame:
        """Return columns of a table; those of the table that was read last are in memory."""
        key, kept = _read(recipe, table), self._kept
        if kept is None or kept[0] != key or not set(names) <= set(kept[1].columns):
            try:
                frame = read_columns(recipe, table, {*recipe.named("quasi", "sensitive"), *names})
            except DataError:  # perhaps because of another column
                frame = read_columns(recipe, table, names)
            if lacking := [name for name in names if name not in frame.columns]:
                message = f"The table has no column `{lacking[0]}`."
                raise RecipeError("recipe.unknown_column", message, "correct the name in the recipe")
            kept = key, frame
            self._kept = kept if frame.estimated_size() <= _LARGEST else None
        return kept[1]


def _said(recipe: Recipe, name: str) -> str:
    """Return what the recipe says about a column, as a text."""
    return json.dumps(recipe.columns[name].model_dump(), sort_keys=True, default=str)


def _read(recipe: Recipe, table: Path) -> tuple[Any, ...]:
    """Return a key that changes if the table changes, or the way it is read."""
    try:
        state = table.stat()
    except OSError:  # reading will say what is wrong
        return table, None
    return table, state.st_mtime_ns, state.st_size, state.st_ino, recipe.input.model_dump_json()
