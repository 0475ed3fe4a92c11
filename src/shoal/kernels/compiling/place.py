"""Where compiled kernels are kept, so that later runs need not compile them again."""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numba
import numpy as np

_ROOM = 100 << 20  # bytes: what all kernels need, and some more


@dataclass(frozen=True)
class Place:
    """A folder for compiled kernels.

    Parameters
    ----------
    folder : Path
    is_kept : bool
        Whether the next run finds it again.
    refused : tuple of Path
        Folders that would have been better, but cannot be written to.
    """

    folder: Path
    is_kept: bool
    refused: tuple[Path, ...] = ()

    @property
    def complaint(self) -> str:
        """Why nothing is kept, and what to do; empty when all is well."""
        if self.is_kept:
            return ""
        tried = ", ".join(map(str, self.refused)) or "any folder that stays"
        return (
            f"compiled kernels cannot be kept (no room or no right to write: {tried}), so every run compiles "
            "them anew; set XDG_CACHE_HOME to a folder with 100 MB of room"
        )


@cache
def place() -> Place:
    """Return where compiled kernels are kept: one folder for each state of the sources.

    Numba notices a change in the file of a cached function, but not in a function that it calls
    from another file. A key made of all sources and versions can never be stale.
    """
    return find_place(_KEY)


def _key() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(source.read_bytes())
    digest.update(f"{numba.__version__} {np.__version__} {platform.python_version()}".encode())
    return digest.hexdigest()[:16]


_KEY = _key()  # of the sources as they are loaded


def is_current() -> bool:
    """Return whether the sources are those that were loaded: an update may replace them during a run."""
    return _key() == _KEY


def cache_folder() -> Path:
    """Return the folder of compiled kernels."""
    return place().folder


def find_place(key: str) -> Place:
    """Return the first folder that can be written to, by trying: the user's cache, else a temporary one.

    Permissions alone do not say so: a file system may be read-only or full, and a folder inside may
    belong to somebody else. Where nothing stays, a folder of this process is removed at its end.
    """
    refused: list[Path] = []
    for home in _homes():
        folder = home / "shoal" / key
        if _can_be_used(folder):
            return Place(folder, is_kept=True, refused=tuple(refused))
        refused.append(folder)
    passing = Path(tempfile.mkdtemp(prefix="shoal-"))
    atexit.register(shutil.rmtree, passing, ignore_errors=True)
    return Place(passing, is_kept=False, refused=tuple(refused))


def _homes() -> Iterator[Path]:
    """Yield the folders that stay, the best one first."""
    with suppress(RuntimeError):  # nobody's home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    private = _private_temporary()
    if private is not None:
        yield private


def _can_be_used(folder: Path) -> bool:
    """Return whether files can be made in a folder and there is room, unless kernels are there already."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"room?")
        return _has_kernels(folder) or shutil.disk_usage(folder).free >= _ROOM
    except OSError:
        return False


def _has_kernels(folder: Path) -> bool:
    return any(folder.glob("**/*.nbi"))


def _private_temporary() -> Path | None:
    """Return a folder in the temporary one that nobody else can put compiled code into, if there is one."""
    if not hasattr(os, "getuid"):
        return None
    folder = Path(tempfile.gettempdir()) / f"shoal-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if is_ours else None
