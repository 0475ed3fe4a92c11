"""The folder that is served. Nothing outside of it is read or written, links included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from shoal.recipe import MANIFEST_SUFFIX
from shoal.table.formats import READABLE
from shoal.web.refusals import Refusal

EXTENSIONS = tuple(READABLE)  # of tables that the page opens
_DEEPEST, _MOST = 2, 200  # folders below the served one, and files that are listed


class Folder:
    """The folder that is served."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def inside(self, *parts: str | Path) -> Path:
        """Return a path below the folder with all links followed; refuse one that leads outside."""
        try:
            found = self.path.joinpath(*parts).resolve()
        except (OSError, ValueError, RuntimeError):  # a null byte, a name that is too long, a circle of links
            raise _outside() from None
        if not found.is_relative_to(self.path):
            raise _outside()
        return found

    def relative(self, path: Path) -> str:
        """Return a path as seen from the folder."""
        return path.relative_to(self.path).as_posix()

    def tables(self) -> list[Path]:
        """List the files that may be tables; those of projects and of releases are left out."""
        found = []
        for file in self._files(self.path, 0):
            if file.suffix.lower() in EXTENSIONS and not file.with_name(file.name + MANIFEST_SUFFIX).exists():
                found.append(file)
            if len(found) == _MOST:
                break
        return found

    def _files(self, folder: Path, depth: int) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_file():
                yield Path(entry.path)
            elif entry.is_dir() and depth < _DEEPEST and not (Path(entry.path) / "recipe.toml").exists():
                yield from self._files(Path(entry.path), depth + 1)


def _outside() -> Refusal:
    message = "The path leads out of the folder that is served."
    return Refusal(
        403, "web.outside", message, "move the file into the folder, or start shoal web with --folder"
    )
