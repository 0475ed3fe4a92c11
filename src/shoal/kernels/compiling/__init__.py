"""How kernels are compiled, and where compiled kernels are kept."""

from shoal.kernels.compiling.decorators import Entry, entry, inner, listening, parallel

__all__ = ["Entry", "entry", "inner", "listening", "parallel"]
