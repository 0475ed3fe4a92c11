"""Population uniques by the probability that a sample unique is a population unique [zayatz1991]_.

The classes of the population are taken to have the sizes of those of the sample, s_j classes of size j. A
class of j people in a population of N has exactly one in a sample of n with the hypergeometric
probability

    P_j = j C(N - j, n - 1) / C(N, n).

So a class that has one in the sample has one in the population with probability s_1 P_1 / (sum of s_j P_j),
which, for all s_1 of them and over the sampling fraction, gives the population uniques.

.. [zayatz1991] Zayatz. Estimation of the percent of unique population elements on a microdata file using the
   sample. Statistical Research Division Report 91/08, U.S. Bureau of the Census, 1991.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray
from shoal.risks.special import log_gamma


def population_uniques(sizes: FloatArray, counts: FloatArray, fraction: float) -> FloatArray:
    """Estimate the population uniques of several samples; parameters as for Pitman's model."""
    rows = counts @ sizes
    people = np.rint(rows / fraction)
    single = counts[:, sizes == 1].sum(axis=1)
    seen_once = (counts * _once(sizes, rows[:, None], people[:, None])).sum(axis=1)
    conditional = single * (rows / people) / np.where(seen_once > 0, seen_once, 1)
    uniques: FloatArray = single * conditional / fraction
    return uniques


def _once(sizes: FloatArray, rows: FloatArray, people: FloatArray) -> FloatArray:
    """Return the probability that exactly one of `sizes` people is among the `rows` drawn of all."""
    others = people - sizes - rows + 1  # people who are neither drawn nor of the class, apart from one
    possible = others >= 0
    others = np.where(possible, others, 0)
    chance = (
        log_gamma(np.maximum(0, people - sizes) + 1) - log_gamma(rows) - log_gamma(others + 1)
        - log_gamma(people + 1) + log_gamma(rows + 1) + log_gamma(people - rows + 1)
    )  # fmt: skip
    return np.where(possible, sizes * np.exp(chance), 0.0)
