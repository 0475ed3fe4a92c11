"""Previews that are ready: the tables of the projects worked on last are kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.recipe import Recipe

if TYPE_CHECKING:
    from shoal.workflow.preview import Preview

_MOST = 2  # tables
_MOST_COLUMNS = 60  # of a table that is read whole; of a wider one, only the columns that are used


class Previews:
    """Previews by file and by how it is read, as long as the file stays the same."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, Preview] = OrderedDict()
        self._locks: dict[Path, Lock] = {}
        self._lock = Lock()

    def of(self, recipe: Recipe) -> Preview:
        """Return the preview of a recipe's table; several requests for it wait for the first."""
        path = recipe.files["the input"]
        with self._lock:
            lock = self._locks.setdefault(path, Lock())
        with lock:
            key = _key(path, recipe)
            found = self._found.get(key)
            needed = {name for name, column in recipe.columns.items() if column.role not in _UNUSED}
            if found is None or not needed <= set(found.table.columns):
                found = _read(recipe, () if found is None else found.table.columns)
            with self._lock:
                self._found[key] = found
                self._found.move_to_end(key)
                while len(self._found) > _MOST:
                    self._found.popitem(last=False)
        return found


_UNUSED = ("identifier", "drop")


def _read(recipe: Recipe, held: Collection[str]) -> Preview:
    from shoal.table.given import table_of
    from shoal.workflow.preview import Preview

    others = recipe.named("drop") if len(recipe.columns) <= _MOST_COLUMNS else ()
    also = {name for name in (*others, *held) if name in recipe.columns}
    try:
        return Preview(table_of(None, recipe, also=also))
    except DataError:  # a column that is dropped may have any type
        return Preview(table_of(None, recipe))


def _key(path: Path, recipe: Recipe) -> Any:
    try:
        state = path.stat()
    except OSError:  # reading will say what is wrong
        return path, None
    how = recipe.input.model_dump_json(exclude={"path"})
    return path, state.st_mtime_ns, state.st_size, state.st_ino, how
