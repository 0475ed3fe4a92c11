"""Interpretations ("readings") of the cost of a tree node: three of NCP, and weighted hierarchical distance.

For numbers, ordinal values and dates, all readings are the width of the range. For trees, the cost of a
node is its height (ours), the leaves below it (as in ARX), the range of its positions in the order of
leaves ([he2012] assumes such an order on every domain), or the weights of the levels between leaf and
node ([li2006]).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.arrays import FloatArray
from shoal.table.columns import TreeColumn


@dataclass(frozen=True)
class Whd:
    """Weighted hierarchical distance, definition 5 of [li2006]_.

    Levels are numbered from 1 (root) to H + 1 (leaf). Going up from level j to j - 1 costs
    w(j, j-1); a generalization costs the sum of its steps divided by the sum of all steps. In an uneven
    tree, a step that skips levels costs all the weights that it skips.

    Parameters
    ----------
    scheme : "uniform", "height" or tuple of float
        All weights 1; 1 / (j - 1) ** beta; or custom weights, from w(2, 1) at the root down.
    beta : float, at least 1
        For "height": the larger, the cheaper the steps near the leaves.

    Examples
    --------
    A birth date {day, month, year, decade, age group, *} up to its year, and by height up to its month:

    >>> Whd().between(6, 4, height=5)
    0.4
    >>> round(Whd("height").between(6, 5, height=5), 4)
    0.0876

    References
    ----------
    .. [li2006] Li, Wong, Fu, Pei. Achieving k-Anonymity by Clustering in Attribute Hierarchical
       Structures. DaWaK 2006.
    """

    scheme: Literal["uniform", "height"] | tuple[float, ...] = "uniform"
    beta: float = 1.0

    def weights(self, height: int) -> FloatArray:
        """Return w(j, j-1) for j = 2 .. H + 1."""
        levels = np.arange(2, height + 2, dtype=np.float64)
        if self.scheme == "uniform":
            return np.ones(height)
        if self.scheme == "height":
            return 1 / (levels - 1) ** self.beta
        if len(self.scheme) != height:
            raise ValueError(f"{len(self.scheme)} weights given for a tree of height {height}")
        return np.array(self.scheme, dtype=np.float64)

    def between(self, low: int, high: int, *, height: int) -> float:
        """Return WHD(low, high): from level `low` up to level `high`, which is nearer the root."""
        weights = self.weights(height)
        return float(weights[high - 1 : low - 1].sum() / weights.sum())

    def from_leaf(self, height: int) -> FloatArray:
        """Return the distance from a leaf to a node of each height 0 .. H."""
        climbed = np.concatenate([[0.0], np.cumsum(self.weights(height)[::-1])])
        # Divided by the last sum itself, so that the root costs exactly 1 despite rounding.
        found: FloatArray = climbed / (climbed[-1] or 1.0)
        return found


Reading = Literal["height", "leaves", "order"] | Whd


def node_costs(column: TreeColumn, reading: Reading) -> FloatArray:
    """Return the cost of each node of a column's tree: 1 for the root, 0 for a leaf."""
    tree = column.tree
    if isinstance(reading, Whd):
        return reading.from_leaf(tree.total_height)[tree.height]
    if reading == "height":
        return tree.height / max(1, tree.total_height)
    # The leaf for missing values is not a value, so it does not enlarge the domain.
    domain = tree.n_leaves - int(column.has_missing)
    costs: FloatArray = (tree.last_leaf - tree.first_leaf) / max(1, domain - 1)
    costs[0] = 1.0 if tree.n_nodes > 1 else 0.0
    return costs
