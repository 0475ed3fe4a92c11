"""Numba kernels: arrays in, arrays out.

Importing this package imports Numba, so it is imported late, by the code that runs a kernel. Each module is
loaded when something of it is used: `from shoal.kernels import goals`.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

import numba
import numpy as np

from shoal.cache import Place, find_place


@cache
def place() -> Place:
    """Return where compiled kernels are kept: one folder for each state of the sources.

    Numba notices a change in the file of a cached function, but not in a function that it calls
    from another file. A key made of all sources and versions can never be stale.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    digest.update(f"{numba.__version__} {np.__version__} {platform.python_version()}".encode())
    return find_place(digest.hexdigest()[:16])


def cache_folder() -> Path:
    """Return the folder of compiled kernels."""
    return place().folder


def n_threads() -> int:
    """Return how many threads kernels may use."""
    return int(numba.get_num_threads())


# A compiled function that calls a parallel one crashes when it comes from the cache and nothing has
# started Numba's threads yet (numba issue 8578). Asking for their number starts them.
numba.get_num_threads()
