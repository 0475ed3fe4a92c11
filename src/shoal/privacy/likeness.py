"""beta-likeness: no value is much more frequent in a class than in the whole release [cao2012]_.

For every value with q > p: *basic* (q - p) / p <= beta; *enhanced* (q - p) / p <= min(beta, -ln p), which
also bounds frequent values. Values that become rarer are not bounded. One class of all rows gains
nothing, so every table can meet every beta.

.. [cao2012] Cao, Karras. Publishing Microdata with a Robust Privacy Guarantee. PVLDB 5 (2012).
   doi:10.14778/2350229.2350255
"""

from __future__ import annotations

import numpy as np

from shoal.privacy.goal import Measure
from shoal.privacy.limits import Limits, Values
from shoal.recipe.goals import BetaLikeness


def measure(goal: BetaLikeness) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    return Measure(kernel.BASIC if goal.variant == "basic" else kernel.ENHANCED, goal.beta)


def limits(goal: BetaLikeness, values: Values) -> Limits:
    """Return what the values of every class keep to: shares that grow no further."""
    share = values.shares
    if goal.variant == "basic":
        return Limits(np.minimum(1.0, share * (1 + goal.beta)))
    # p (1 - ln p) grows with p, so the greatest share that a value can have allows most.
    surprise = -np.log(np.where(share > 0, share, 1.0))
    return Limits(share * (1 + np.minimum(goal.beta, surprise)))
