"""A lower confidence limit for a mean, valid for every distribution of non-negative terms."""

from __future__ import annotations

from math import log

import numpy as np
import numpy.typing as npt

_HALVINGS = 60  # of the interval that contains the limit: to the last digit of a float


def lower_limit(terms: npt.NDArray[np.float64], error: float, most_staked: float = 0.5) -> float:
    """Return a number that the population mean exceeds, except with probability `error`.

    Parameters
    ----------
    terms : ndarray of shape (n,), float64
        Drawn independently, none negative, in the order of drawing.
    error : float
        Probability that the limit is wrong.
    most_staked : float, default 0.5
        The share of the capital that is lost at most if a term is 0. More leads to a higher limit if there
        are few terms that differ little, and to a lower one if they are skewed.

    Notes
    -----
    By betting [waudby2024]_ against the hypothesis that the mean is at most m. Before each draw a stake b is
    chosen from the previous draws, `most_staked` / m at most, and the capital is multiplied by 1 + b (x - m).
    The capital is never negative, and if the hypothesis is true it does not grow in expectation: by Ville's
    inequality it then exceeds 1 / error with probability at most `error`. The limit is the least m for which
    it does not. Nothing is assumed about the shape of the distribution: skewed terms lower the limit but
    never make it wrong, as they can with Student's t. With near-optimal stakes it is about three standard
    errors below the sample mean (at 1 %), compared with 2.3 for Student's t.

    References
    ----------
    .. [waudby2024] Waudby-Smith, Ramdas. Estimating means of bounded random variables by betting.
       Journal of the Royal Statistical Society B 86 (2024). doi:10.1093/jrsssb/qkad009
    """
    stakes = _stakes(terms, error)
    low, high = 0.0, float(terms.mean())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _most_capital(terms, stakes, most_staked, middle) > -log(error):
            low = middle
        else:
            high = middle
    return low


def _stakes(terms: npt.NDArray[np.float64], error: float) -> npt.NDArray[np.float64]:
    """Choose each stake from the mean and the variance of the previous draws."""
    n = np.arange(1, len(terms) + 1)
    # As if the first draw were 0: there is a mean from the start, and no variance of 0 by chance.
    mean = np.cumsum(terms) / (n + 1)
    spread = np.cumsum((terms - mean) ** 2) / n
    before = np.append(np.inf, spread[:-1])
    stakes: npt.NDArray[np.float64] = np.sqrt(-2 * log(error) / (len(terms) * np.maximum(before, 1e-300)))
    return stakes


def _most_capital(
    terms: npt.NDArray[np.float64], stakes: npt.NDArray[np.float64], most_staked: float, mean: float
) -> float:
    """Return the logarithm of the highest capital that betting against a mean ever reaches."""
    if mean <= 0:
        return np.inf
    gains = np.log1p(np.minimum(stakes, most_staked / mean) * (terms - mean))
    return float(np.cumsum(gains).max(initial=0.0))
