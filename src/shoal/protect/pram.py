"""Post-randomization (PRAM): categories are changed at random, with known probabilities.

The probability that category i is released as category j is p_ij. Anyone who knows the matrix can estimate
the true counts from the released ones: t = (P')^-1 x, where P' is its transpose [gouweleeuw1998]_. In the
invariant form t P = t, so that released counts are unbiased as they are.

References
----------
.. [gouweleeuw1998] Gouweleeuw, Kooiman, Willenborg, de Wolf. Post Randomisation for Statistical Disclosure
   Control: Theory and Implementation. Journal of Official Statistics 14 (1998) 463-478.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from shoal.arrays import LongArray
from shoal.recipe import Pram


def transition(counts: Sequence[int], pram: Pram) -> list[list[Fraction]]:
    """Return the matrix of probabilities, given how many cells have each category.

    Examples
    --------
    >>> [[str(p) for p in row] for row in transition([6, 2, 2], Pram(change=0.5))]
    [['1/2', '1/4', '1/4'], ['1/4', '1/2', '1/4'], ['1/4', '1/4', '1/2']]
    >>> [[str(p) for p in row] for row in transition([6, 4], Pram(change=0.5, invariant=True))]
    [['4/5', '1/5'], ['3/10', '7/10']]
    """
    size, cells = len(counts), sum(counts)
    stay, move = 1 - pram.share, pram.share
    if pram.invariant:
        return [
            [stay * (i == j) + move * Fraction(counts[j], cells) for j in range(size)] for i in range(size)
        ]
    return [[stay if i == j else move / (size - 1) for j in range(size)] for i in range(size)]


def limits(counts: Sequence[int], pram: Pram) -> tuple[int, int]:
    """Return how many equally likely whole numbers there are to decide on a change, and on its target."""
    return pram.share.denominator, sum(counts) if pram.invariant else len(counts) - 1


def changed_codes(
    codes: LongArray, counts: Sequence[int], pram: Pram, chances: LongArray, targets: LongArray
) -> LongArray:
    """Change categories as two whole numbers for each cell, below the two `limits`, decide.

    With every pair of numbers equally likely, the probabilities are exactly those of `transition`.
    """
    if pram.invariant:  # the category of a cell of the column, whichever it is
        drawn = np.searchsorted(np.cumsum(counts), targets, side="right")
    else:  # any category but its own
        drawn = targets + (targets >= codes)
    return np.where(chances < pram.share.numerator, drawn, codes)


def randomized(codes: LongArray, counts: Sequence[int], pram: Pram, random: np.random.Generator) -> LongArray:
    """Draw the released category of each cell."""
    n_chances, n_targets = limits(counts, pram)
    chances, targets = random.integers(0, n_chances, len(codes)), random.integers(0, n_targets, len(codes))
    return changed_codes(codes, counts, pram, chances, targets)
