"""Numba kernels: arrays in, arrays out.

Importing this package imports Numba, so it is imported late, by the code that runs a kernel.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import Any

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


def is_compiled() -> bool:
    """Tell whether kernels were compiled before on this machine."""
    return any(cache_folder().glob("**/*.nbi"))


# A compiled function that calls a parallel one crashes when it comes from the cache and nothing has
# started Numba's threads yet (numba issue 8578). Asking for their number starts them.
numba.get_num_threads()

# Numba reads its cache folder when a function is decorated. It is set for our own kernels only,
# and put back afterwards, so that other Numba code in the process is left alone.
_config: Any = numba.config
_before = _config.CACHE_DIR
_config.CACHE_DIR = str(cache_folder())
try:
    from shoal.kernels import (
        block,
        block_search,
        bound,
        cb,
        classes,
        cmeans,
        composition,
        cuts,
        diameter,
        draws,
        filling,
        goals,
        groups,
        growth,
        hashing,
        kaca,
        kmember,
        mondrian,
        oka,
        partition,
        passes,
        quoting,
        repair,
        smallest_box,
        space,
        start,
        steps,
        systematic,
        threshold,
        trees,
        unmanaged,
    )
finally:
    _config.CACHE_DIR = _before

__all__ = [
    "block",
    "block_search",
    "bound",
    "cache_folder",
    "cb",
    "classes",
    "cmeans",
    "composition",
    "cuts",
    "diameter",
    "draws",
    "filling",
    "goals",
    "groups",
    "growth",
    "hashing",
    "is_compiled",
    "kaca",
    "kmember",
    "mondrian",
    "n_threads",
    "oka",
    "partition",
    "passes",
    "place",
    "quoting",
    "repair",
    "smallest_box",
    "space",
    "start",
    "steps",
    "systematic",
    "threshold",
    "trees",
    "unmanaged",
]
