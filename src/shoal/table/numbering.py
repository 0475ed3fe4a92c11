"""Number the distinct values of a column, whatever their type."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import LongArray
from shoal.table.sensitive import comparable


def value_codes(values: pl.Series) -> LongArray:
    """Number the distinct values of a column; -1 where one is missing.

    Values are equal if the verifier considers them equal: 1 and 1.0 are one value.
    """
    if values.dtype.is_float():
        values = values.fill_nan(None)
    texts = values.cast(pl.String)
    first, number = _distinct(texts)
    forms = comparable(texts.gather(first))  # of distinct texts only: it is slower than finding those
    codes = np.where(forms.is_null().to_numpy(), -1, _distinct(forms)[1])
    return codes[number]


def _distinct(values: pl.Series) -> tuple[LongArray, LongArray]:
    """Return the index of one row with each distinct value, and the number of each value.

    Values are compared by 64-bit hashes: among a million, a collision is all but impossible, and they are
    much faster to compare than texts.
    """
    number = (values.hash(seed=0).rank("dense").cast(pl.Int64) - 1).to_numpy()
    first = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]  # of several rows the first one is written last
    return first, number
