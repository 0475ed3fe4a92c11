"""Random numbers that are the same on every machine: splitmix64."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import inner

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_BITS = 0  # all that the state is


@inner
def draw(state):
    """Return 64 random bits. Writes `state`, one uint64."""
    state[_BITS] += _STEP
    bits = state[_BITS]
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


@inner
def share(state):
    """Return a number from 0 to below 1."""
    return np.float64(draw(state) >> np.uint64(11)) * 2.0**-53


@inner
def below(state, limit):
    """Return a whole number from 0 to below `limit`."""
    return np.int64(share(state) * limit)
