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
_MOST_SIZES = 10_000  # of classes that are tried: less is proved if none of them does, and still holds


@dataclass(frozen=True, repr=False)  # a repr would show counts of values
class Values:
    """What the rows of a table have of the values that a goal counts.

    Goals count people, so shares are those that they compare with only where each row is a person of its own.
    Which values there are, and which are certain, holds where people have several rows as well.

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
        size = max(k, self.needed)
        if values.has_missing:
            return size  # rows without a value may fill up a class
        n_rows = int(values.counts.sum())
        own, n_alike = np.unique(self.own[values.counts > 0], return_counts=True)
        for _ in range(_MOST_SIZES):
            lacking = self._lacking(own, n_alike, size)
            if lacking <= 0 or size > n_rows:  # no class has more rows than the table
                break
            # Suppose that j rows more can keep to this, and take any j away. What is left may have fewer:
            # of each value j times its share, and j times `beyond` of all. So it lacks that much at most. If
            # more is lacking here, j rows more cannot keep to this either.
            each = float((own * n_alike).sum()) + self.beyond + _ROUNDING
            size += max(1, int((lacking - _ROUNDING * (size + n_alike.sum())) / each))
        return size

    def _lacking(self, own: FloatArray, n_alike: LongArray, size: int) -> float:
        """Return by how much so many whole rows exceed the limits at least, with enough rows of each value.

        `own` are the different shares that values may have, `n_alike` how many values each is of.
        """
        exact = own * size
        whole = np.floor(exact + _ROUNDING)
        left = size - int((whole * n_alike).sum())
        if left <= 0:
            return 0.0
        # One row more of a value takes from what all may have beyond their own, a part of a row at first.
        part = 1 - np.maximum(0.0, exact - whole)
        order = np.argsort(part)
        before = np.cumsum(n_alike[order]) - n_alike[order]
        taken = np.clip(left - before, 0, n_alike[order])
        rows = float((part[order] * taken).sum()) + left - int(taken.sum())
        return rows - self.beyond * size - _ROUNDING * (1 + size)
