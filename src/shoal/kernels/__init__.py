"""Numba kernels: arrays in, arrays out.

Importing this package imports Numba, so it is imported late, by the code that runs a kernel. Each module is
loaded when something of it is used: `from shoal.kernels import goals`.
"""

from __future__ import annotations

import numba


def n_threads() -> int:
    """Return how many threads kernels may use."""
    return int(numba.get_num_threads())


# A compiled function that calls a parallel one crashes when it comes from the cache and nothing has
# started Numba's threads yet (numba issue 8578). Asking for their number starts them.
numba.get_num_threads()
