"""(alpha, k)-anonymity: in every class each value has a share of at most alpha [wong2006]_.

.. [wong2006] Wong, Li, Fu, Wang. (alpha, k)-Anonymity: An Enhanced k-Anonymity Model for Privacy Preserving
   Data Publishing. KDD 2006. doi:10.1145/1150402.1150499
"""

from __future__ import annotations

from math import ceil

import numpy as np

from shoal.privacy.goal import Counts, Measure, Obstacle, share_obstacle
from shoal.privacy.limits import Limits, Values
from shoal.recipe.goals import AlphaK


def measure(goal: AlphaK) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    return Measure(kernel.ALPHA, goal.alpha)


def limits(goal: AlphaK, values: Values) -> Limits:
    """Return what the values of every class keep to: no share is above alpha."""
    return Limits(np.full(values.n, goal.alpha))


def obstacle(goal: AlphaK, name: str, counts: Counts) -> Obstacle:
    """Return what in the table makes the goal infeasible."""
    needed = ceil(1000 * int(counts.max()) / int(counts.sum())) / 1000
    return share_obstacle(f"alpha = {goal.alpha}", name, counts, f"raise alpha to {needed}")
