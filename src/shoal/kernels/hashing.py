"""A keyed hash of text columns, row by row, the same on every machine and in every version."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import entry, inner

_OFFSET = np.uint64(0xCBF29CE484222325)  # FNV-1a, 64 bits
_PRIME = np.uint64(0x100000001B3)
_MISSING = np.uint64(0x9E3779B97F4A7C15)


@inner
def mixed(value):
    """Spread every bit of a 64-bit number over all bits (the finalizer of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@entry
def add_texts(state, offsets, data, present):
    """Fold one text column into the running hash of every row.

    `offsets` and `data` are the buffers of an Arrow large string array. Writes `state`.
    """
    for row in range(state.shape[0]):
        value = _MISSING
        if present[row]:
            value = _OFFSET
            for at in range(offsets[row], offsets[row + 1]):
                value = (value ^ np.uint64(data[at])) * _PRIME
        state[row] = mixed(state[row] ^ mixed(value))


@entry
def add_numbers(state, numbers):
    """Fold one number into the running hash of every row. Writes `state`."""
    for row in range(state.shape[0]):
        state[row] = mixed(state[row] ^ mixed(np.uint64(numbers[row])))
