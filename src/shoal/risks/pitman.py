"""Population uniques by Pitman's model, fitted by maximum likelihood [hoshino2001]_.

The people of a population arrive one after the other. After i people in u classes, the next one starts a
new class with probability (theta + u alpha) / (theta + i), and joins a class of j with probability (j -
alpha) / (theta + i). A sample of n people is the first n. The likelihood of s_j classes of size j depends
on

    sum over i < u of log(theta + i alpha) - sum over i < n of log(theta + i)
    + sum over j of s_j (sum over i < j of log(i - alpha))

and the expected number of uniques among N people is

    N Gamma(N + theta + alpha - 1) Gamma(theta + 1) / (Gamma(N + theta) Gamma(theta + alpha)).

For every alpha, the best theta is the zero of the derivative by theta, found by bisection; so is the best
alpha, between 0.001 (at 0 the model is Ewens's, which hardly differs) and 1.

.. [hoshino2001] Hoshino. Applying Pitman's sampling formula to microdata disclosure risk assessment.
   Journal of Official Statistics 17 (2001).
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray
from shoal.risks.special import digamma, log_gamma

_LEAST, _MOST = 1e-3, 1 - 1e-9  # of alpha
_THETA = (-30.0, 40.0)  # of log(theta + alpha)
_STEPS = 45


def population_uniques(sizes: FloatArray, counts: FloatArray, fraction: float) -> FloatArray:
    """Estimate the population uniques of several samples.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes,)
        The class sizes that occur.
    counts : ndarray of shape (n_samples, n_sizes)
        How many classes of each size a sample has.
    fraction : float
        The share of the population that is in the sample.
    """
    people = counts @ sizes / fraction
    all_unique = counts @ sizes == counts.sum(axis=1)
    theta, alpha = fit(sizes, counts)
    return np.where(all_unique, people, expected_uniques(people, theta, alpha))


def expected_uniques(people: FloatArray, theta: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return how many of so many people are expected to be alone in their class."""
    uniques: FloatArray = people * np.exp(
        log_gamma(people + theta + alpha - 1)
        - log_gamma(people + theta)
        + log_gamma(theta + 1)
        - log_gamma(theta + alpha)
    )
    return uniques


def fit(sizes: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return theta and alpha of the highest likelihood, for each sample."""
    low, high = np.full(len(counts), _LEAST), np.full(len(counts), _MOST)
    for _ in range(_STEPS):
        alpha = (low + high) / 2
        grows = _by_alpha(sizes, counts, _best_theta(sizes, counts, alpha), alpha) > 0
        low, high = np.where(grows, alpha, low), np.where(grows, high, alpha)
    alpha = (low + high) / 2
    return _best_theta(sizes, counts, alpha), alpha


def _best_theta(sizes: FloatArray, counts: FloatArray, alpha: FloatArray) -> FloatArray:
    rows, classes = counts @ sizes, counts.sum(axis=1)
    low, high = np.full(len(counts), _THETA[0]), np.full(len(counts), _THETA[1])
    for _ in range(_STEPS):
        middle = (low + high) / 2
        theta = np.exp(middle) - alpha
        grows = _inverses(theta / alpha, classes) / alpha > _inverses(theta, rows)
        low, high = np.where(grows, middle, low), np.where(grows, high, middle)
    best: FloatArray = np.exp((low + high) / 2) - alpha
    return best


def _inverses(x: FloatArray, n: FloatArray) -> FloatArray:
    """Return the sum of 1 / (x + i) for i from 1 to n - 1; x is above -1."""
    return digamma(x + n) - digamma(x + 1)


def _by_alpha(sizes: FloatArray, counts: FloatArray, theta: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the derivative of the log-likelihood by alpha."""
    classes = counts.sum(axis=1)
    # i / (theta + i alpha) = (1 - theta / (theta + i alpha)) / alpha
    new = (classes - 1 - theta / alpha * _inverses(theta / alpha, classes)) / alpha
    joined = digamma(sizes - alpha[:, None]) - digamma(1 - alpha)[:, None]
    slope: FloatArray = new - (counts * joined).sum(axis=1)
    return slope
