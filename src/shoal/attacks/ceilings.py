"""What the goals of a recipe promise about a guess of a sensitive value.

Each goal bounds the share q of a value among the rows of a class that have a value; p is its share in the
whole release. A guess in a class is right with probability q at most. A union of classes keeps the bound.

- l-diversity, distinct: l values, so q <= (s - l + 1) / s in a class of s rows;
- frequency: q <= 1 / l; alpha-k: q <= alpha;
- entropy: q is at most the share at which all other values, equally frequent, just reach ln l;
- recursive (c, l): q < c (1 - q), so q < c / (1 + c), for l >= 2;
- t-closeness with the distance equal: q <= p + t. The other distances make a move between close values so
  cheap that they bound no share;
- beta-likeness: q <= (1 + beta) p, enhanced q <= (1 + min(beta, -ln p)) p;
- delta-disclosure: q < p exp(delta).

A goal on several columns jointly says nothing about one of them, and a goal that counts people nothing about
rows.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from shoal.attacks.tables import Floats
from shoal.recipe import Recipe
from shoal.recipe.goals import AlphaK, BetaLikeness, DeltaDisclosure, Goal, LDiversity, TCloseness

_STEPS = 60  # of a bisection


def ceilings(recipe: Recipe, name: str, shares: Floats, sizes: Floats, n_values: int) -> Floats | None:
    """Return the highest promised share of each value in each class; None if nothing is promised.

    Parameters
    ----------
    recipe : Recipe
        The goals.
    name : str
        The sensitive column.
    shares : ndarray
        The share of the value in the whole release.
    sizes : ndarray
        For the same pairs of a class and a value, the rows of the class that have a value.
    n_values : int
        How many values the release has.
    """
    if recipe.subject is not None:
        return None
    goals = [goal for goal in recipe.privacy.column_goals if goal.columns == (name,)]
    found = [_ceiling(goal, shares, sizes, n_values) for goal in goals]
    known = [each for each in found if each is not None]
    anatomy = getattr(recipe.options, "l", None) if not recipe.shape.is_generalized else None
    if anatomy and name == recipe.named("sensitive")[0]:
        known.append(np.full(len(shares), 1 / int(anatomy)))
    if not known:
        return None
    lowest: Floats = np.minimum.reduce(known)
    return np.minimum(1.0, lowest)


def _ceiling(goal: Goal, p: Floats, sizes: Floats, n_values: int) -> Floats | None:
    match goal:
        case AlphaK():
            return np.full(len(p), goal.alpha)
        case LDiversity():
            return _diversity(goal, p, sizes, n_values)
        case BetaLikeness():
            gain: Floats = np.full(len(p), goal.beta)
            if goal.variant == "enhanced":
                gain = np.minimum(gain, -np.log(p))
            highest: Floats = p * (1 + gain)
            return highest
        case DeltaDisclosure():
            return p * exp(goal.delta)
        case TCloseness():
            return p + goal.t if goal.distance == "equal" else None
    return None


def _diversity(goal: LDiversity, p: Floats, sizes: Floats, n_values: int) -> Floats | None:
    if goal.variant == "distinct":
        return (sizes - goal.asked + 1) / np.maximum(1, sizes)
    if goal.variant == "frequency":
        return np.full(len(p), 1 / goal.asked)
    if goal.variant == "recursive":
        assert goal.c is not None
        return np.full(len(p), goal.c / (1 + goal.c)) if goal.asked >= 2 else None
    return np.full(len(p), _entropy_ceiling(float(goal.asked), n_values))


def _entropy_ceiling(l: float, n_values: int) -> float:  # noqa: E741 - the name in the literature
    """Return the highest share with an entropy of ln l; all that is left is spread over the other values."""
    others = max(1, n_values - 1)

    def entropy(q: float) -> float:
        rest = 1 - q
        return -(q * log(q) if q else 0) - (rest * log(rest / others) if rest else 0)

    low, high = 1 / (others + 1), 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if entropy(middle) >= log(l) - 1e-9 else (low, middle)
    return high
