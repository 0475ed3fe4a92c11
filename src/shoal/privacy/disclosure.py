"""delta-disclosure: a class changes no value's odds by a factor of e^delta or more [brickell2008]_.

|ln(q / p)| < delta for every value of the release. For a value that a class lacks it is infinite, so
every class has every value. One class of all rows changes nothing, so every table can meet every delta.

.. [brickell2008] Brickell, Shmatikov. The Cost of Privacy: Destruction of Data-Mining Utility in
   Anonymized Data Publishing. KDD 2008. doi:10.1145/1401890.1401904
"""

from __future__ import annotations

from math import exp

import numpy as np

from shoal.privacy.goal import Measure
from shoal.privacy.limits import Limits, Values
from shoal.recipe.goals import DeltaDisclosure

_MOST = 700.0  # its exponential is still a float


def measure(goal: DeltaDisclosure) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    return Measure(kernel.DELTA, goal.delta)


def limits(goal: DeltaDisclosure, values: Values) -> Limits:
    """Return what the values of every class keep to: all are there, and shares grow no further."""
    needed = 0 if values.has_missing else values.n_certain  # a class without any value is no problem
    return Limits(np.minimum(1.0, values.shares * exp(min(goal.delta, _MOST))), needed)
