"""Functions that are compiled only as parts of the functions that Python calls.

Numba optimises every function by itself and makes machine code of it, with all functions that it calls,
and those again with all that they call: the deeper a function is, the more often it is compiled. A
*part* is only translated to LLVM's language; it is optimised where it is used, together with the entry.

The compiler of parts (`part_compiler`) is used with the versions of Numba that it was tested with. Any other
compiles parts as it compiles everything, which gives the same results after several times the time. To take
up a new version, add it to `TESTED` and run the tests.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numba

TESTED = ("0.68",)


def part_options() -> dict[str, Any]:
    """Return further options to compile a part with; none where this Numba has not been tested."""
    if not is_tested():
        return {}
    from shoal.kernels.compiling.part_compiler import PartCompiler

    return {"pipeline_class": PartCompiler}


def entry_options() -> dict[str, Any]:
    """Return the same for an entry."""
    if not is_tested():
        return {}
    from shoal.kernels.compiling.part_compiler import EntryCompiler

    return {"pipeline_class": EntryCompiler}


def quick_typing() -> AbstractContextManager[None]:
    """Return a context in which kernels are typed in less time, where this Numba has been tested."""
    if not is_tested():
        return nullcontext()
    from shoal.kernels.compiling.part_compiler import quick_typing

    return quick_typing()


def is_tested() -> bool:
    """Return whether parts can be compiled as such with the Numba that is installed."""
    return numba.__version__.rpartition(".")[0] in TESTED
