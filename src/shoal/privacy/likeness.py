"""beta-likeness: no value is much more frequent in a class than in the whole release [cao2012]_.

For every value with q > p: *basic* (q - p) / p <= beta; *enhanced* (q - p) / p <= min(beta, -ln p), which
also bounds frequent values. Values that become rarer are not bounded. One class of all rows gains
nothing, so every table can meet every beta.

.. [cao2012] Cao, Karras. Publishing Microdata with a Robust Privacy Guarantee. PVLDB 5 (2012).
   doi:10.14778/2350229.2350255
"""

from __future__ import annotations

from shoal.privacy.goal import Measure
from shoal.recipe.goals import BetaLikeness


def measure(goal: BetaLikeness) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    return Measure(kernel.BASIC if goal.variant == "basic" else kernel.ENHANCED, goal.beta)
