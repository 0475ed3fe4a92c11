"""A partition, its rows class by class: what it loses, and where its classes lie."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.space import box_cost, set_box, widen_box


@njit(cache=True, nogil=True)
def partition_loss(cell, rows, ends):
    """Return the sum of size x D over all classes."""
    d = cell.codes.shape[1]
    low, high = np.empty((1, d), np.int32), np.empty((1, d), np.int32)
    only, loss, begin = np.int64(0), np.int64(0), 0
    for end in ends:
        set_box(cell, low, high, only, rows[begin])
        for at in range(begin + 1, end):
            widen_box(cell, low, high, only, rows[at])
        loss += (end - begin) * box_cost(cell, low, high, only)
        begin = end
    return loss


@njit(cache=True, nogil=True)
def class_centres(cell, rows, ends, scale):
    """Return the mean code of each class in each column, times `scale`."""
    n_classes, d = ends.shape[0], cell.codes.shape[1]
    centres = np.zeros((n_classes, d))
    begin = 0
    for c in range(n_classes):
        for at in range(begin, ends[c]):
            for col in range(d):
                centres[c, col] += cell.codes[rows[at], col]
        for col in range(d):
            centres[c, col] *= scale[col] / (ends[c] - begin)
        begin = ends[c]
    return centres
