"""Numba kernels: arrays in, arrays out.

Importing this package imports Numba, so it is imported late, by the code that runs a kernel. Each module is
loaded when something of it is used: `from shoal.kernels import goals`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numba
import numpy as np


@cache
def cache_folder() -> Path:
    """Return where compiled kernels are kept: one folder for each state of the sources.

    Numba notices a change in the file of a cached function, but not in a function that it calls
    from another file. A key made of all sources and versions can never be stale.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    digest.update(f"{numba.__version__} {np.__version__} {platform.python_version()}".encode())
    return _writable_home() / "shoal" / digest.hexdigest()[:16]


def _writable_home() -> Path:
    """Return the user's cache, or the system's temporary folder where there is none to write to."""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        (home / "shoal").mkdir(parents=True, exist_ok=True)
        if os.access(home / "shoal", os.W_OK):
            return home
    except (OSError, RuntimeError):  # no such place, or nobody's home
        pass
    return _private_temporary()


def _private_temporary() -> Path:
    """Return a folder in the temporary one that nobody else can put compiled code into."""
    if not hasattr(os, "getuid"):
        return Path(tempfile.mkdtemp(prefix="shoal-"))
    folder = Path(tempfile.gettempdir()) / f"shoal-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if is_ours else Path(tempfile.mkdtemp(prefix="shoal-"))


def n_threads() -> int:
    """Return how many threads kernels may use."""
    return int(numba.get_num_threads())


def is_compiled() -> bool:
    """Tell whether kernels were compiled before on this machine."""
    return any(cache_folder().glob("**/*.nbi"))


# A compiled function that calls a parallel one crashes when it comes from the cache and nothing has
# started Numba's threads yet (numba issue 8578). Asking for their number starts them.
numba.get_num_threads()
