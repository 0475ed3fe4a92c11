"""The risk of a row in a sample, given how many people of the population it stands for [benedetti1998]_.

A class of f rows in the sample has F people in the population, and an attacker who knows the population
finds the right one with probability 1 / F. F is unknown. If each of the F was drawn with probability p, then
given f it follows the negative binomial distribution

    P(F = h | f) = C(h - 1, f - 1) p^f (1 - p)^(h - f),  h = f, f + 1, ...

and the risk is the mean of 1 / F. For p, the class's own f / (sum of its sampling weights) is taken, as in
mu-Argus and sdcMicro.

The mean is the integral of p u^(f-1) / (p + q u) over u from 0 to 1, with q = 1 - p. For p below 1/2 and few
rows, I(f), the same without its factor p, follows from I(1) = log(1/p) / q and q I(f+1) = 1/f - p I(f); each
step shrinks the error by p / q. Otherwise a series of positive terms converges fast:

    (p / f) (1 + q 1/(f+1) + q^2 1*2/((f+1)(f+2)) + ...)

.. [benedetti1998] Benedetti, Franconi. Statistical and technological solutions for controlled data
   dissemination. New Techniques and Technologies for Statistics 1998.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, LongArray

_FEW = 100  # rows of a class, up to which the recursion is used
_TERMS = 64  # of the series: more than enough for q <= 1/2, or for f > 100


def individual_risk(rows: LongArray, people: FloatArray) -> FloatArray:
    """Return the mean of 1 / F for classes of `rows` in the sample, which stand for `people`."""
    p = np.minimum(1.0, rows / people)
    risks = np.empty(len(rows))
    by_steps = (p < 0.5) & (rows <= _FEW)
    risks[by_steps] = _by_steps(rows[by_steps], p[by_steps])
    risks[~by_steps] = _by_series(rows[~by_steps], p[~by_steps])
    return risks


def _by_steps(rows: LongArray, p: FloatArray) -> FloatArray:
    integral = -np.log(p) / (1 - p)
    for f in range(1, int(rows.max(initial=1))):
        integral = np.where(f < rows, (1 / f - p * integral) / (1 - p), integral)
    return p * integral


def _by_series(rows: LongArray, p: FloatArray) -> FloatArray:
    total, term = np.ones(len(rows)), np.ones(len(rows))
    for j in range(1, _TERMS):
        term = term * (1 - p) * j / (rows + j)
        total += term
    return p / rows * total
