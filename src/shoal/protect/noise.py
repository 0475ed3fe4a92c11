"""Noise: a normal random number is added to each number.

With noise of a standard deviation that is a share `a` of the column's own, the expected variance is
(1 + a^2) times the true one, and correlations with other columns shrink by 1 / sqrt(1 + a^2). Noise with the
covariances of several columns leaves the correlations among them as they are [kim1986]_.

References
----------
.. [kim1986] Kim. A Method for Limiting Disclosure in Microdata Based on Random Noise and Transformation.
   Proceedings of the Section on Survey Research Methods, American Statistical Association (1986) 370-374.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.arrays import FloatArray


def with_noise(values: FloatArray, share: float, random: np.random.Generator) -> FloatArray:
    """Add independent noise; missing values (nan) stay missing."""
    return values + share * _sd(values) * random.standard_normal(len(values))


def with_correlated_noise(
    columns: Sequence[FloatArray], share: float, random: np.random.Generator
) -> list[FloatArray]:
    """Add noise that has the covariances of the columns, measured on the rows in which none is missing."""
    values = np.column_stack(columns)
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        return list(columns)
    sizes, axes = np.linalg.eigh(np.atleast_2d(np.cov(complete, rowvar=False)))
    root = axes * np.sqrt(np.maximum(sizes, 0.0))  # root @ root.T is the covariance, even if it is singular
    noise = random.standard_normal((len(values), len(columns))) @ root.T
    return list((values + share * noise).T)


def _sd(values: FloatArray) -> float:
    present = values[~np.isnan(values)]
    return float(present.std(ddof=1)) if len(present) > 1 else 0.0
