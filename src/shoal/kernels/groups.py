"""Counting groups of rows that are published alike."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import entry, inner


@inner
def group_keys(leaf, code, begin, radix, keys):
    """Number what each tuple is published as; equal keys are equal tuples. Writes `keys`."""
    for at in range(keys.shape[0]):
        keys[at] = 0
    for col in range(leaf.shape[0]):
        for at in range(keys.shape[0]):
            keys[at] = keys[at] * radix[col] + code[begin[col] + leaf[col, at]]


@entry
def rows_in_small_groups(leaf, code, begin, radix, keys, sizes, k, table_key, table_rows):
    """Return how many rows are in groups of fewer than k.

    leaf: (n_columns, n) leaves. code: the code of each leaf at each level, one after the other; begin:
    (n_columns) where the codes of the chosen level begin; radix: (n_columns) number of codes. Without
    columns the groups are numbered by `keys` already; else it is written. The tables are scratch, of a power
    of two entries, at least twice as many as there are keys.
    """
    if leaf.shape[0] > 0:
        group_keys(leaf, code, begin, radix, keys)
    mask = table_key.shape[0] - 1
    for slot in range(mask + 1):
        table_key[slot], table_rows[slot] = -1, 0
    for at in range(keys.shape[0]):
        key = keys[at]
        spread = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
        slot = np.int64(spread & np.uint64(mask))
        while table_key[slot] != key and table_key[slot] >= 0:
            slot = (slot + 1) & mask
        table_key[slot] = key
        table_rows[slot] += sizes[at]
    small = np.int64(0)
    for slot in range(mask + 1):
        if table_rows[slot] < k:
            small += table_rows[slot]
    return small
