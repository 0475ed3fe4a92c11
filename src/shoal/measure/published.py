"""The cost of published values, from their texts and the raw table's ranges alone."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.measure.labels import read_labels
from shoal.table.columns import Encoded
from shoal.table.readings import Reading


def published_costs(encoded: Encoded, texts: pl.DataFrame, reading: Reading = "height") -> FloatArray:
    """Return the loss of each published class in each column, between 0 and 1.

    Parameters
    ----------
    encoded : Encoded
        The raw table: loss is relative to its ranges and trees.
    texts : polars.DataFrame
        One row for each class, one text column for each quasi column, null where a value is missing;
        or two columns of bounds, null where the value is lost.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_columns), float64
    """
    return read_labels(encoded, texts, np.ones(texts.height, np.int32)).costs(reading)
