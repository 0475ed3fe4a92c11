"""Counting groups of rows that are published alike."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def group_keys(leaf, code, begin, radix, keys):
    """Number what each tuple is published as; equal keys are equal tuples. Writes `keys`.

    leaf: (n_columns, n) leaves. code: the code of each leaf at each level, one after the other;
    begin: (n_columns) where the codes of the chosen level begin. radix: (n_columns) number of codes.
    """
    keys[:] = 0
    for col in range(leaf.shape[0]):
        codes = code[begin[col] :]
        for at in range(keys.shape[0]):
            keys[at] = keys[at] * radix[col] + codes[leaf[col, at]]


@njit(cache=True)
def rows_in_small_groups(keys, sizes, k, table_key, table_rows):
    """Return how many rows are in groups of fewer than k.

    The tables are scratch, of a power of two entries, at least twice as many as there are keys.
    """
    mask = table_key.shape[0] - 1
    table_key[:] = -1
    table_rows[:] = 0
    for at in range(keys.shape[0]):
        key = keys[at]
        slot = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
        slot = np.int64(slot & np.uint64(mask))
        while table_key[slot] != key and table_key[slot] >= 0:
            slot = (slot + 1) & mask
        table_key[slot] = key
        table_rows[slot] += sizes[at]
    small = np.int64(0)
    for slot in range(mask + 1):
        if table_rows[slot] < k:
            small += table_rows[slot]
    return small
