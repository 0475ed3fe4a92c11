"""What a goal asks of the values of every class, as far as it can be said before there are classes.

Nothing is enforced by this. It says which classes cannot occur, and so how much loss is unavoidable with the
goal (`bound.goal_prices`). A class may keep to the limits and still fail the goal, never the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, LongArray
from shoal.hierarchy.tree import Tree

_ROUNDING = 1e-9  # by which limits may be exceeded, because shares are floats
_MOST_SIZES = 10_000  # of classes that are tried: with so many rows, limits hardly depend on the size


@dataclass(frozen=True, repr=False)  # a repr would show counts of values
class Values:
    """What a table has of the values that a goal counts, each row a person of its own.

    Parameters
    ----------
    counts : ndarray of shape (n_values,), int64
        How many rows have each value.
    may_leave_out : int
        How many rows may not be released.
    has_missing : bool
        Whether some rows have no value.
    tree : Tree or None
        The tree in which the goal measures distances, if any.
    """

    counts: LongArray
    may_leave_out: int = 0
    has_missing: bool = False
    tree: Tree | None = None

    @property
    def n(self) -> int:
        """How many values there may be."""
        return len(self.counts)

    @property
    def n_present(self) -> int:
        """How many values some row has."""
        return int((self.counts > 0).sum())

    @property
    def n_certain(self) -> int:
        """How many values every release has, whichever rows are left out."""
        return int((self.counts > self.may_leave_out).sum())

    @property
    def shares(self) -> FloatArray:
        """The greatest share that each value can have in a release."""
        released = int(self.counts.sum()) - self.may_leave_out
        found: FloatArray = self.counts / released if released > 0 else np.ones(self.n)
        return np.minimum(found, 1.0)


@dataclass(frozen=True, repr=False)  # a repr would show shares of values
class Limits:
    """What the values of every class keep to that meets a goal.

    Parameters
    ----------
    own : ndarray of shape (n_values,), float64
        The share of a class's rows that each value may have,
    beyond : float, default 0
        and the share that all values together may have beyond these.
    needed : int, default 0
        Different values that a class has at least.
    """

    own: FloatArray
    needed: int = 0
    beyond: float = 0.0

    @property
    def are_idle(self) -> bool:
        """Whether any class with one value keeps to them."""
        return self.needed <= 1 and not self.limit_shares

    @property
    def limit_shares(self) -> bool:
        """Whether some value may not have all rows of a class."""
        return bool((self.own + self.beyond < 1).any())

    def least_rows(self, k: int, values: Values) -> int:
        """Return how many rows a class has at least: k, or more if so few whole rows cannot keep to this."""
        least = max(k, self.needed)
        if values.has_missing:
            return least  # rows without a value may fill up a class
        own = np.where(values.counts > 0, self.own, 0.0)
        for size in range(least, least + _MOST_SIZES):
            if self._can_fill(own, size):
                return size
        return least + _MOST_SIZES

    def _can_fill(self, own: FloatArray, size: int) -> bool:
        """Return whether so many whole rows can keep to the limits, if there are enough of each value."""
        exact = own * size
        whole = np.floor(exact + _ROUNDING)
        lacking = size - int(whole.sum())
        if lacking <= 0:
            return True
        # One row more of a value takes from what all may have beyond their own, a part of a row at first.
        parts = np.sort(1 - np.maximum(0.0, exact - whole))[:lacking]
        return float(parts.sum()) + lacking - len(parts) <= self.beyond * size + _ROUNDING * (1 + size)
