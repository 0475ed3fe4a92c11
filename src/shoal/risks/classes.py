"""Rows that look alike: the classes of a table by some of its columns, in rows or in people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.arrays import LongArray

_ROOM = 8  # possible combinations for each row, up to which they are counted in a list of all


@dataclass(frozen=True, repr=False)
class Known:
    """What may be known of the rows of a table, as numbers.

    Parameters
    ----------
    names : tuple of str
        The quasi columns.
    codes : tuple of ndarray of shape (n_rows,), int64
        For each of them, the number of each row's value, from 0.
    person : ndarray of shape (n_rows,), int64, or None
        The person of each row, from 0; None if each row is a different person.
    """

    names: tuple[str, ...]
    codes: tuple[LongArray, ...]
    person: LongArray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes[0])

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The number of values of each column."""
        return tuple(int(codes.max()) + 1 for codes in self.codes)

    @cached_property
    def labels(self) -> LongArray:
        """The class of each row by all columns."""
        labels, n_labels = np.zeros(self.n_rows, np.int64), 1
        for codes, card in zip(self.codes, self.cards, strict=True):
            labels, n_labels = dense(labels * card + codes, n_labels * card)
        return labels

    @cached_property
    def sizes(self) -> LongArray:
        """The size of each class by all columns, in people: somebody with several rows counts once."""
        return self.sizes_by(self.labels, int(self.labels.max()) + 1)

    def sizes_by(self, keys: LongArray, n_keys: int) -> LongArray:
        """Return the sizes of the classes of rows with equal keys, which are below `n_keys`."""
        if self.person is not None:
            people = int(self.person.max()) + 1
            labels, n_keys = dense(keys, n_keys)
            keys = np.unique(labels * people + self.person) // people
        if n_keys <= _ROOM * len(keys):
            sizes = np.bincount(keys)
            return sizes[sizes > 0]
        ordered = np.sort(keys)
        starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        return np.diff(starts, append=len(ordered))


def dense(keys: LongArray, n_keys: int) -> tuple[LongArray, int]:
    """Renumber keys below `n_keys` without gaps, in their order; return them and their number."""
    if n_keys <= _ROOM * len(keys):
        present = np.zeros(n_keys, dtype=bool)
        present[keys] = True
        number = np.cumsum(present) - 1
        return number[keys], int(number[-1]) + 1
    distinct, labels = np.unique(keys, return_inverse=True)
    return labels.astype(np.int64), len(distinct)
