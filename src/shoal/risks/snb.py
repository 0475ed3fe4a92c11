"""Population uniques by the slide negative binomial model [chen1998]_.

The population has K classes, and a class has 1 + X people, where X is negative binomial:

    P(X = x) = C(a + x - 1, x) (1 - b)^x b^a.

If each person is in the sample with probability f, then with d = (1 - f)(1 - b) the expected numbers of
classes of one and of two people in the sample are

    s_1 = K f (b / (1 - d))^a (1 + a d / (1 - d))
    s_2 = K f^2 a (1 - b) b^a (2 - (1 - a) d) / (2 (1 - d)^(a + 2))

and the population uniques are K b^a. K is estimated first, by Shlosser's estimator as modified in
[haas1998]_. For every b, the ratio of the two equations is quadratic in a, with one positive solution;
the first equation is then solved for b by bisection.

.. [chen1998] Chen, Keller-McNulty. Estimation of identification disclosure risk in microdata. Journal of
   Official Statistics 14 (1998).
.. [haas1998] Haas, Stokes. Estimating the number of classes in a finite population. Journal of the American
   Statistical Association 93 (1998).
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import BoolArray, FloatArray

# b is searched between these, and first at so many places that its zeros are distinguished.
_LOGITS = np.linspace(-20.0, 20.0, 401)
_STEPS = 60


def population_uniques(sizes: FloatArray, counts: FloatArray, fraction: float) -> FloatArray:
    """Estimate the population uniques of several samples; NaN where the equations have no solution.

    Parameters are those for Pitman's model.
    """
    a, b, classes = fit(sizes, counts, fraction)
    with np.errstate(invalid="ignore"):
        return classes * b**a


def fit(sizes: FloatArray, counts: FloatArray, fraction: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a, b and K for each sample; NaN for a and b where there is no solution."""
    single, double = (counts[:, sizes == size].sum(axis=1) for size in (1, 2))
    classes = population_classes(sizes, counts, fraction)
    with np.errstate(all="ignore"):
        target, ratio = single / (classes * fraction), 2 * double / single
        low, high, found = _bracket(target, ratio, fraction)
        rises = _excess(low, target, ratio, fraction) < 0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            is_below = (_excess(middle, target, ratio, fraction) < 0) == rises
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        b = _logistic((low + high) / 2)
        a = _shape(b, ratio, fraction)
    nothing = ~found | ~(single > 0) | ~(double > 0)
    return np.where(nothing, np.nan, a), np.where(nothing, np.nan, b), classes


def population_classes(sizes: FloatArray, counts: FloatArray, fraction: float) -> FloatArray:
    """Estimate the number of classes in the population."""
    f, single = fraction, counts[:, sizes == 1].sum(axis=1)
    squared = counts @ (sizes * f**2 * (1 - f**2) ** (sizes - 1))
    unseen_twice = counts @ ((1 - f**2) ** sizes - (1 - f) ** sizes)
    unseen = counts @ (1 - f) ** sizes
    once = counts @ (sizes * f * (1 - f) ** (sizes - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        more = single * squared / unseen_twice * (unseen / once) ** 2
    classes: FloatArray = counts.sum(axis=1) + np.where(np.isfinite(more), more, 0.0)
    return classes


def _bracket(
    target: FloatArray, ratio: FloatArray, fraction: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return two neighbouring logits of b between which the first equation changes its sign."""
    signs = _excess(_LOGITS[:, None], target, ratio, fraction) > 0
    changes = signs[1:] != signs[:-1]
    # Of several solutions, the one with the most population uniques is at the largest b.
    at = len(changes) - 1 - np.argmax(changes[::-1], axis=0)
    return _LOGITS[at], _LOGITS[at + 1], changes.any(axis=0)


def _excess(logit: FloatArray, target: FloatArray, ratio: FloatArray, fraction: float) -> FloatArray:
    """Return by how much the first equation exceeds s_1, over K f."""
    b = _logistic(logit)
    a = _shape(b, ratio, fraction)
    d = (1 - fraction) * (1 - b)
    return (b / (1 - d)) ** a * (1 + a * d / (1 - d)) - target


def _shape(b: FloatArray, ratio: FloatArray, fraction: float) -> FloatArray:
    """Return the positive a for which the two equations have the ratio 2 s_2 / s_1."""
    d, g = (1 - fraction) * (1 - b), fraction * (1 - b)
    square, linear, constant = g * d, g * (2 - d) - ratio * (1 - d) * d, -ratio * (1 - d) ** 2
    root = np.sqrt(linear**2 - 4 * square * constant)
    # Whichever form does not subtract two numbers that are nearly equal.
    return np.where(linear > 0, -2 * constant / (linear + root), (root - linear) / (2 * square))


def _logistic(x: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-x))
