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

import numpy as np

from shoal.privacy.goal import Measure
from shoal.privacy.limits import Limits, Values
from shoal.recipe.goals import TCloseness


def measure(goal: TCloseness) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    kinds = {"equal": kernel.EQUAL, "ordered": kernel.ORDERED, "hierarchical": kernel.TREE}
    return Measure(kinds[goal.distance], goal.t)


def limits(goal: TCloseness, values: Values) -> Limits:
    """Return what the values of every class keep to: all shares together grow by no more than t.

    That is so if values are at a distance of 1. Elsewhere it is t over the least distance of two values.
    """
    if goal.distance == "equal":
        nearest = 1.0
    elif goal.distance == "ordered":
        nearest = 1 / max(1, values.n_present - 1)
    else:
        nearest = _nearest_leaves(values)
    return Limits(values.shares, beyond=goal.t / nearest if nearest > goal.t else 1.0)


def _nearest_leaves(values: Values) -> float:
    """Return the least distance of two leaves: none has a common node with another below its parent."""
    tree = values.tree
    if tree is None or tree.height[0] == 0:
        return 0.0
    above = tree.parent[tree.leaf_nodes[np.flatnonzero(values.counts)]]
    return float(tree.height[above].min(initial=tree.height[0]) / tree.height[0])
