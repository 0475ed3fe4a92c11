"""Functions of mathematics that NumPy lacks."""

from __future__ import annotations

from math import lgamma

import numpy as np

from shoal.arrays import FloatArray

log_gamma = np.vectorize(lgamma, otypes=[float])
_SHIFT = 8  # arguments are raised by this, where the series is accurate
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


def digamma(x: FloatArray) -> FloatArray:
    """Return the derivative of log gamma, for positive arguments."""
    raised = x + _SHIFT
    square = 1 / (raised * raised)
    series = np.zeros_like(raised)
    for coefficient in reversed(_SERIES):
        series = (series + coefficient) * square
    value: FloatArray = np.log(raised) - 1 / (2 * raised) - series
    for step in range(_SHIFT):
        value -= 1 / (x + step)
    return value
