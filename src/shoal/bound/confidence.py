"""A lower confidence limit of a mean that holds for every distribution of terms that are not negative."""

from __future__ import annotations

from math import log

import numpy as np
import numpy.typing as npt

_HALVINGS = 60  # of the interval in which the limit lies: to the last digit of a float


def lower_limit(terms: npt.NDArray[np.float64], error: float) -> float:
    """Return a number that the mean of the population exceeds, except with probability `error`.

    Parameters
    ----------
    terms : ndarray of shape (n,), float64
        Drawn independently, none negative, in the order of drawing.
    error : float
        How often the limit may be wrong.

    Notes
    -----
    By betting [waudby2024]_. Somebody who holds that the mean is at most m is bet against: before each draw a
    stake b <= 1 / (2 m) is laid, chosen from the draws before, and the capital is multiplied by 1 + b (x -
    m). That is never negative, and on average it does not grow if she is right: by Ville's inequality the
    capital then exceeds 1 / error with probability `error` at most. The limit is the least m for which it
    does not. Nothing is assumed about the shape: skewed terms make the limit lower, never wrong, as they can
    make a limit by Student's t. With stakes near the best ones it lies about three standard errors (at 1 %)
    below the sample's mean, where Student's lies 2.3.

    References
    ----------
    .. [waudby2024] Waudby-Smith, Ramdas. Estimating means of bounded random variables by betting.
       Journal of the Royal Statistical Society B 86 (2024). doi:10.1093/jrsssb/qkad009
    """
    stakes = _stakes(terms, error)
    low, high = 0.0, float(terms.mean())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _most_capital(terms, stakes, middle) > -log(error):
            low = middle
        else:
            high = middle
    return low


def _stakes(terms: npt.NDArray[np.float64], error: float) -> npt.NDArray[np.float64]:
    """Choose each stake by the mean and the variance of the draws before it."""
    n = np.arange(1, len(terms) + 1)
    # As if one draw of 0 had come first: there is a mean from the beginning, and no variance of 0 by chance.
    mean = np.cumsum(terms) / (n + 1)
    spread = np.cumsum((terms - mean) ** 2) / n
    before = np.append(np.inf, spread[:-1])
    stakes: npt.NDArray[np.float64] = np.sqrt(-2 * log(error) / (len(terms) * np.maximum(before, 1e-300)))
    return stakes


def _most_capital(terms: npt.NDArray[np.float64], stakes: npt.NDArray[np.float64], mean: float) -> float:
    """Return the logarithm of the greatest capital that betting against a mean ever reaches."""
    if mean <= 0:
        return np.inf
    return float(np.cumsum(np.log1p(np.minimum(stakes, 0.5 / mean) * (terms - mean))).max(initial=0.0))
