"""t-closeness: the values of every class are distributed as in the whole release, within t.

The earth mover's distance between the two distributions is at most t [li2007]_. *Equal*: half the sum
of |q - p|. *Ordered*: the sum of |cumulative q - p|, over m - 1 for m values of the release, and 0 for
m = 1. *Hierarchical*: the distance of two values is the height of their lowest common ancestor, over
the tree's; the flow is balanced from the leaves up. One class of all rows has distance 0, so every
table can meet every t.

.. [li2007] Li, Li, Venkatasubramanian. t-Closeness: Privacy Beyond k-Anonymity and l-Diversity. ICDE 2007.
   doi:10.1109/ICDE.2007.367856
"""

from __future__ import annotations

from shoal.privacy.goal import Measure
from shoal.recipe.goals import TCloseness


def measure(goal: TCloseness) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    kinds = {"equal": kernel.EQUAL, "ordered": kernel.ORDERED, "hierarchical": kernel.TREE}
    return Measure(kinds[goal.distance], goal.t)
