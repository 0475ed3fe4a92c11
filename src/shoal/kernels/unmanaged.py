"""How kernels are compiled that make no arrays.

Numba counts references to each array of each tuple that one function passes to another, with atomic
operations. For functions that do little and are called often, that would be most of the time. Those
that make no arrays can do without, because whoever called the first of them holds all arrays.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_untyped: Any = njit  # its stubs do not know `_nrt`
unmanaged = _untyped(cache=True, nogil=True, _nrt=False)
# Without a way in from Python, which takes as long to compile as a short function itself.
inner = _untyped(cache=True, nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# A function takes this over from the one that called it first, unless it says otherwise.
managed = _untyped(cache=True, nogil=True, _nrt=True)
