"""Boxes over k neighbours on a ring, and a secret shift that decides whose values go with which box."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.arrays import IntArray, LongArray
from shoal.recode.generalize import node_texts
from shoal.table.columns import QuasiColumn, TreeColumn


@dataclass(frozen=True)
class Ring:
    """The rows of each group as a ring.

    Parameters
    ----------
    rows : ndarray of shape (n_released,), int64
        The released rows, group by group, in canonical order within each.
    begin, size, place : ndarrays of shape (n_released,), int64
        For each entry: where its group begins, how many rows the group has, and its position among them.
    width : int
        How many rows a box covers.
    """

    rows: LongArray
    begin: LongArray
    size: LongArray
    place: LongArray
    width: int

    @classmethod
    def of(cls, labels: IntArray, width: int) -> Ring:
        """Make a ring of each group's rows, which are already in canonical order."""
        inside = np.flatnonzero(labels >= 0)
        rows = inside[np.argsort(labels[inside], kind="stable")]
        sizes = np.bincount(labels[inside])
        begins = np.cumsum(sizes) - sizes
        group = labels[rows]
        return cls(rows, begins[group], sizes[group], np.arange(len(rows)) - begins[group], width)

    def ahead(self, steps: int | LongArray) -> LongArray:
        """Return, for each entry, the row `steps` further along its ring."""
        return self.rows[self._entries_ahead(steps)]

    def _entries_ahead(self, steps: int | LongArray) -> LongArray:
        return self.begin + (self.place + steps) % self.size

    def extremes(self, column: QuasiColumn) -> tuple[IntArray, IntArray]:
        """Return the lowest and highest code in each entry's box."""
        low = high = column.codes[self.rows]
        covered = 1
        while covered < self.width:  # join each box with one that begins inside it or right after it
            steps = min(covered, self.width - covered)
            ahead = self._entries_ahead(steps)
            low, high = np.minimum(low, low[ahead]), np.maximum(high, high[ahead])
            covered += steps
        return low, high

    def node_texts(self, column: TreeColumn, low: IntArray, high: IntArray, max_set: int) -> pl.Series:
        """Return the published text of each entry's box in a tree column."""
        if not column.is_flat:
            return node_texts(column, np.zeros(0, np.int32), low, high, max_set)
        entries = np.arange(len(self.rows), dtype=np.int32)
        codes = [column.codes[self.ahead(steps)] for steps in range(self.width)]
        members = replace(column, codes=np.concatenate(codes))
        return node_texts(members, np.tile(entries, self.width), low, high, max_set)

    def partners(self, random: np.random.Generator | None) -> LongArray:
        """Return, for each entry, the row whose other values are published with its box.

        Each group has one shift, uniform among the `width` possible ones. It must stay secret, so it
        comes from the operating system unless a generator is given.
        """
        if random is None:
            random = np.random.Generator(np.random.PCG64(secrets.randbits(128)))
        shift = random.integers(self.width, size=len(self.rows))
        return self.ahead(shift[self.begin])  # the same one for all entries of a group
