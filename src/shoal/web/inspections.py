"""Inspections that have been made: a page that is opened again does not inspect the table again."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.inspection import Inspection
    from shoal.recipe import Input

_MOST = 8  # an inspection holds numbers and names, not the table


class Inspections:
    """Inspections by file and by how it is read, as long as the file stays the same."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, Inspection] = OrderedDict()
        self._locks: dict[Path, Lock] = {}
        self._lock = Lock()

    def of(self, path: Path, given: Input | None = None) -> Inspection:
        """Inspect a file, or return what was found before; several requests for it wait for the first."""
        from shoal.inspection import inspect

        with self._lock:
            lock = self._locks.setdefault(path, Lock())
        with lock:
            key = _key(path, given)
            found = self._found.get(key) or self._read_alike(path, given)
            if found is None:
                found = inspect(path, **_options(given))
            with self._lock:
                self._found[key] = found
                self._found.move_to_end(key)
                while len(self._found) > _MOST:
                    self._found.popitem(last=False)
        return found

    def _read_alike(self, path: Path, given: Input | None) -> Inspection | None:
        """Return the inspection of a file without settings if it has found out the settings given."""
        found = None if given is None else self._found.get(_key(path, None))
        if found is None or given is None:
            return None
        same = found.given.model_dump(exclude={"path"}) == given.model_dump(exclude={"path"})
        return found if same else None


def _key(path: Path, given: Input | None) -> Any:
    try:
        state = path.stat()
    except OSError:  # reading will say what is wrong
        return path, None
    how = given.model_dump_json(exclude={"path"}) if given else ""
    return path, state.st_mtime_ns, state.st_size, state.st_ino, how


def _options(given: Input | None) -> dict[str, Any]:
    """Return what a recipe says about reading the table, for `inspect`."""
    if given is None:
        return {}
    header = None if "header" not in given.model_fields_set else given.header
    return {
        "missing": [text for text in given.missing if text],
        "names": given.names,
        "header": header,
        "separator": given.separator,
        "encoding": given.encoding,
        "table": given.table,
        "labels": given.labels,
    }
