"""Between which numbers the population uniques must lie, without a model of the population.

Let the population have S_F classes of F people. If each person is in the sample with probability f, the
expected number of classes with j people in the sample is the sum over F of S_F C(F, j) f^j (1 - f)^(F -
j). What was counted differs from that by chance: the number of classes in a group of sizes has a variance
of at most its mean, so with s counted the mean m satisfies (s - m)^2 <= z^2 m. The fewest and the most
S_1 that satisfy this for all groups, with as many people in all classes as the population has, are two
linear programs.

z is such that all groups together hold with a probability of about 95 %. For small f the range is wide,
because the sample then hardly says anything about classes that it has met once: any one number would rest
on the model alone.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist

import numpy as np

from shoal.arrays import FloatArray
from shoal.risks.linear import least

CONFIDENCE = 0.95
_EDGES = (1, 2, 3, 4, 5, 6, 8, 11, 15, 21)  # where groups of class sizes begin; the last has no end
_SINGLE, _STEPS = 40, 120  # sizes in the population: each up to 40, then so many in equal proportion


def possible_uniques(sizes: FloatArray, counts: FloatArray, fraction: float) -> tuple[float, float]:
    """Return the fewest and the most population uniques.

    Parameters
    ----------
    sizes, counts : ndarray of shape (n_sizes,)
        The class sizes that occur in the sample, and how many classes have each.
    fraction : float
        The share of the population that is in the sample.
    """
    people = float(counts @ sizes) / fraction
    group = np.searchsorted(_EDGES, sizes, side="right") - 1
    counted: FloatArray = np.bincount(group, weights=counts, minlength=len(_EDGES)).astype(np.float64)
    in_population = _population_sizes(float(sizes.max()) / fraction)
    chances = _chances(in_population, fraction)
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(_EDGES))
    while True:
        ends = [_extreme(sign, counted, z, in_population, chances, people) for sign in (1.0, -1.0)]
        if ends[0] is not None and ends[1] is not None:
            return max(0.0, ends[0]), min(people, -ends[1])
        z *= 1.5  # no such population: the sample is not one drawn at random


def _population_sizes(largest: float) -> FloatArray:
    wide = np.geomspace(_SINGLE, max(1.5 * largest, 2 * _SINGLE), _STEPS)
    return np.unique(np.concatenate([np.arange(1.0, _SINGLE + 1), np.rint(wide)]))


def _chances(sizes: FloatArray, fraction: float) -> FloatArray:
    """Return the probability that a class of each size in the population is in each group of the sample."""
    if fraction == 1:
        drawn = np.equal.outer(np.arange(_EDGES[-1]), sizes).astype(float)
    else:
        with np.errstate(divide="ignore"):
            drawn = np.array([_drawn(j, sizes, fraction) for j in range(_EDGES[-1])])
    below = [drawn[start:end].sum(axis=0) for start, end in pairwise(_EDGES)]
    return np.array([*below, np.maximum(0.0, 1 - drawn.sum(axis=0))])


def _drawn(j: int, sizes: FloatArray, fraction: float) -> FloatArray:
    """Return the binomial probability that j of each number of people are drawn."""
    falling = np.prod([np.maximum(0.0, sizes - i) for i in range(j)], axis=0) if j else np.ones(len(sizes))
    chances: FloatArray = falling * fraction**j * (1 - fraction) ** np.maximum(0, sizes - j) / _factorial(j)
    return chances


def _factorial(j: int) -> float:
    return float(np.prod(np.arange(1.0, j + 1)))


def _extreme(
    sign: float, counted: FloatArray, z: float, sizes: FloatArray, chances: FloatArray, people: float
) -> float | None:
    """Return the least sign * S_1. Unknown are the shares of the people that are in classes of each size."""
    slack = z * np.sqrt(counted + z * z / 4)
    middle = counted + z * z / 2
    most, fewest = middle + slack, np.maximum(0.0, middle - slack)
    n_groups = len(counted)
    by_share = chances / sizes * people  # classes that a share of all people makes
    scaled, width = by_share / most[:, None], (most - fewest) / most
    # scaled @ share + below == 1, and below + above == width: both ends of the range.
    rows = np.block(
        [
            [scaled, np.eye(n_groups), np.zeros((n_groups, n_groups))],
            [np.zeros((n_groups, len(sizes))), np.eye(n_groups), np.eye(n_groups)],
            [np.ones((1, len(sizes))), np.zeros((1, 2 * n_groups))],
        ]
    )
    right = np.concatenate([np.ones(n_groups), width, [1.0]])
    cost = np.zeros(rows.shape[1])
    cost[0] = sign
    found = least(cost, rows, right)
    return None if found is None else found * people
