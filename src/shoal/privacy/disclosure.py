"""delta-disclosure: a class changes no value's odds by a factor of e^delta or more [brickell2008]_.

|ln(q / p)| < delta for every value of the release. For a value that a class lacks it is infinite, so
every class has every value. One class of all rows changes nothing, so every table can meet every delta.

.. [brickell2008] Brickell, Shmatikov. The Cost of Privacy: Destruction of Data-Mining Utility in
   Anonymized Data Publishing. KDD 2008. doi:10.1145/1401890.1401904
"""

from __future__ import annotations

from shoal.privacy.goal import Measure
from shoal.recipe.goals import DeltaDisclosure


def measure(goal: DeltaDisclosure) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    return Measure(kernel.DELTA, goal.delta)
