"""The versions of a column's hierarchy, for undo and redo; they are kept in a folder until it is deleted.

A version is what the recipe says about the column, and the bytes of the hierarchy file if it names one. Since
files list the values of the column, only their owner may read them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST = 100  # versions that are kept
OUTSIDE = "a change outside this page"  # note of a version that was found, not made

_STATE = "versions.json"
_PRIVATE = 0o600


@dataclass(frozen=True)
class Version:
    """The hierarchy of a column at one time.

    Parameters
    ----------
    hierarchy : str, mapping or None
        What the recipe says.
    kind : str or None
        What the recipe says about the kind of the column.
    content : bytes or None
        Of the file that the recipe names.
    is_data : bool
        Whether the leaves were taken from the table.
    note : str
        What changed, in words without labels.
    """

    hierarchy: Any
    kind: str | None = None
    content: bytes | None = field(default=None, repr=False)
    is_data: bool = False
    note: str = ""

    @property
    def key(self) -> str:
        """A text that differs between versions whose recipe or file differs."""
        said = json.dumps([self.hierarchy, self.kind], sort_keys=True).encode()
        return hashlib.sha256(said + b"\n" + (self.content or b"")).hexdigest()[:16]


class History:
    """Versions in a folder, and which of them is current.

    Parameters
    ----------
    folder : Path
        Created with the first version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at, self._listed = self._read()

    @property
    def current(self) -> Version | None:
        """The current version; None if there is none yet."""
        return self._load(self._at) if self._listed else None

    @property
    def undoes(self) -> str | None:
        """What an undo would take back; None if there is nothing."""
        return str(self._listed[self._at]["note"]) if self._at > 0 else None

    @property
    def redoes(self) -> str | None:
        """What a redo would do again; None if there is nothing."""
        return str(self._listed[self._at + 1]["note"]) if self._at + 1 < len(self._listed) else None

    @property
    def made(self) -> set[str]:
        """The files that were written for versions, as the recipe names them."""
        return {entry["hierarchy"] for entry in self._listed if entry["file"] and entry["note"] != OUTSIDE}

    def record(self, version: Version) -> None:
        """Add a version after the current one; those that were undone are forgotten."""
        kept = [*self._listed[: self._at + 1], self._stored(version)][-MOST:]
        self._write(len(kept) - 1, kept)

    def undo(self) -> Version | None:
        """Go back by one version, and return it; None if there is none."""
        return self._go(self._at - 1)

    def redo(self) -> Version | None:
        """Go forward by one version, and return it; None if there is none."""
        return self._go(self._at + 1)

    def _go(self, at: int) -> Version | None:
        if not 0 <= at < len(self._listed):
            return None
        version = self._load(at)
        self._write(at, self._listed)
        return version

    def _load(self, at: int) -> Version:
        entry = self._listed[at]
        content = None if entry["file"] is None else (self._folder / Path(entry["file"]).name).read_bytes()
        return Version(entry["hierarchy"], entry["kind"], content, entry["is_data"], entry["note"])

    def _stored(self, version: Version) -> dict[str, Any]:
        """Store the content under its digest, so that equal files are stored once."""
        name = None
        if version.content is not None:
            name = f"{hashlib.sha256(version.content).hexdigest()}.tree"
            if not (self._folder / name).exists():
                write_private(self._folder / name, version.content)
        return {
            "hierarchy": version.hierarchy,
            "kind": version.kind,
            "file": name,
            "is_data": version.is_data,
            "note": version.note,
        }

    def _read(self) -> tuple[int, list[dict[str, Any]]]:
        """Read the list of versions; an unreadable one is like none: the current file is what counts."""
        try:
            state = json.loads((self._folder / _STATE).read_bytes())
            listed = [dict(entry) for entry in state["versions"]]
            at = int(state["at"])
            whole = all(
                {"hierarchy", "kind", "file", "is_data", "note"} <= entry.keys()
                and (entry["file"] is None or (self._folder / Path(entry["file"]).name).is_file())
                for entry in listed
            )
        except (OSError, ValueError, KeyError, TypeError):
            return 0, []
        return (at, listed) if whole and 0 <= at < len(listed) else (0, [])

    def _write(self, at: int, listed: Sequence[dict[str, Any]]) -> None:
        """Write the list, then remove files that no version uses."""
        state = json.dumps({"at": at, "versions": list(listed)}, indent=1)
        write_private(self._folder / _STATE, state.encode())
        self._at, self._listed = at, list(listed)
        used = {entry["file"] for entry in listed}
        for file in self._folder.glob("*.tree"):
            if file.name not in used:
                file.unlink(missing_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, in one step."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # has mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, _PRIVATE)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
