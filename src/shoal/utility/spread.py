"""What the rows of one column may be: a published range or node stands for many values, each equally likely.

In a raw column every cell stands for one value. So everything that is computed from a `LineSpread` or a
`LeafSpread` is computed from raw and released tables alike.

A cell in which everything is lost (`*`) says nothing; it gets the distribution of the column's other rows.
A missing cell stays missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray


@dataclass(frozen=True, repr=False)  # a repr would show values
class LineSpread:
    """A column of numbers, days or positions in an order: each label is a range.

    Parameters
    ----------
    kind : str
        "numeric", "date" or "ordinal".
    label : ndarray of shape (n_rows,), int
        Which of the different labels each row has.
    low, high : ndarray of shape (n_labels,), float64
        The ends, both included; NaN for a label that is missing or lost.
    missing, lost : ndarray of shape (n_labels,), float64
        The shares of a label's cells that are missing and lost; 0 for a range.
    whole : bool
        Whether only whole numbers occur: [20, 22] then stands for 20, 21 and 22.
    order : tuple of str
        The values of an ordinal column.
    """

    name: str
    kind: str
    label: IntArray
    low: FloatArray
    high: FloatArray
    missing: FloatArray
    lost: FloatArray
    whole: bool
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _forget_all_lost(self)

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """Mark the labels that are ranges."""
        return np.isfinite(self.low)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows have each label."""
        return np.bincount(self.label, minlength=len(self.low))

    def up_to(self, point: float) -> FloatArray:
        """Return, for each label, the share of its cells that are at most `point`; missing ones never are."""
        low, high = self.low[self.known], self.high[self.known]
        if self.whole:
            found = (np.floor(point) - low + 1) / (high - low + 1)
        else:
            width = high - low
            inside = (point - low) / np.where(width > 0, width, 1.0)
            found = np.where(width > 0, inside, low <= point)
        return self._completed(np.clip(found, 0.0, 1.0))

    @cached_property
    def means(self) -> FloatArray:
        """The middle of each range; the mean of the other rows where all is lost, NaN where it is missing."""
        middle = self._completed((self.low[self.known] + self.high[self.known]) / 2)
        return np.where(self.missing > 0.5, np.nan, middle)

    @cached_property
    def variances(self) -> FloatArray:
        """The variance inside each range; that of the other rows where all is lost, NaN where missing."""
        low, high = self.low[self.known], self.high[self.known]
        inside = ((high - low + 1) ** 2 - 1) / 12 if self.whole else (high - low) ** 2 / 12
        middle, times = (low + high) / 2, self.counts[self.known]
        mean = _average(middle, times)
        lost = _average(inside + (middle - mean) ** 2, times)
        found = np.full(len(self.low), lost)
        found[self.known] = inside
        return np.where(self.missing > 0.5, np.nan, found)

    def cells(self, edges: FloatArray) -> FloatArray:
        """Return the share of each label in each cell: up to each edge, above the last, and missing."""
        upper = [self.up_to(edge) for edge in [*edges.tolist(), np.inf]]
        return np.column_stack([np.diff(upper, axis=0, prepend=0.0).T, self.missing])

    def draw(self, random: np.random.Generator) -> FloatArray:
        """Draw a value for each row; NaN where it is missing."""
        label = _redrawn(self.label, self.known, self.lost, random)
        low, high = self.low[label], self.high[label]
        u = random.random(len(label))
        if not self.whole:
            return low + u * (high - low)
        return np.minimum(low + np.floor(u * (high - low + 1)), high)

    def _completed(self, found: FloatArray) -> FloatArray:
        """Return numbers for all labels, given those of ranges: lost cells get the average."""
        numbers = np.zeros(len(self.low))
        if self.lost.any():
            numbers = self.lost * _average(found, self.counts[self.known])
        numbers[self.known] = found
        return numbers


@dataclass(frozen=True, repr=False)  # a repr would show values
class LeafSpread:
    """A column of categories: each label is a set of leaves, with equal weights.

    Parameters
    ----------
    label : ndarray of shape (n_rows,), int
        Which of the different labels each row has.
    leaves : tuple of str
        All categories.
    label_of_entry, leaf_of_entry : ndarray of shape (n_entries,), int
        The leaves of each label.
    missing, lost : ndarray of shape (n_labels,), float64
        The shares of a label's cells that are missing and lost; 0 for a label that has leaves.
    """

    name: str
    label: IntArray
    leaves: tuple[str, ...]
    label_of_entry: IntArray
    leaf_of_entry: IntArray
    missing: FloatArray
    lost: FloatArray
    kind: str = "categorical"

    def __post_init__(self) -> None:
        _forget_all_lost(self)

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """Mark the labels that have leaves."""
        return self._sizes > 0

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows have each label."""
        return np.bincount(self.label, minlength=len(self.missing))

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.label_of_entry, minlength=len(self.missing))

    @cached_property
    def rows_of_leaf(self) -> FloatArray:
        """How many rows have each leaf, where every row is shared by the leaves of its label."""
        weights = (self.counts / np.maximum(1, self._sizes))[self.label_of_entry]
        found: FloatArray = np.bincount(
            self.leaf_of_entry, weights=weights, minlength=len(self.leaves)
        ).astype(np.float64)
        return found

    def cells(self, group_of_leaf: IntArray, n_groups: int) -> FloatArray:
        """Return the share of each label in each group of leaves, and missing."""
        entries = self.label_of_entry.astype(np.int64) * n_groups + group_of_leaf[self.leaf_of_entry]
        counted = np.bincount(entries, minlength=len(self.missing) * n_groups)
        shares = counted.reshape(len(self.missing), n_groups) / np.maximum(1, self._sizes)[:, None]
        every = np.bincount(group_of_leaf, weights=self.rows_of_leaf, minlength=n_groups)
        shares += self.lost[:, None] * (every / max(every.sum(), 1e-300))
        return np.column_stack([shares, self.missing])

    def draw(self, random: np.random.Generator) -> IntArray:
        """Draw a leaf for each row; -1 where it is missing."""
        label = _redrawn(self.label, self.known, self.lost, random)
        begins = np.searchsorted(self.label_of_entry, np.arange(len(self.missing)))
        place = begins[label] + np.floor(random.random(len(label)) * self._sizes[label]).astype(np.int64)
        drawn = np.append(self.leaf_of_entry, -1)[np.where(self.known[label], place, -1)]
        return drawn.astype(np.int32)


Spread = LineSpread | LeafSpread


def exact_line(
    name: str, kind: str, codes: IntArray, numbers: npt.NDArray[Any], order: tuple[str, ...] = ()
) -> LineSpread:
    """Return a column of single numbers, given the code of each row; the code after the last is missing."""
    values = np.append(numbers.astype(np.float64), np.nan)
    missing = np.isnan(values).astype(np.float64)
    whole = kind != "numeric" or bool((values[:-1] % 1 == 0).all())
    return LineSpread(name, kind, codes, values, values, missing, np.zeros(len(values)), whole, order)


def exact_leaves(name: str, codes: IntArray, leaves: Sequence[str]) -> LeafSpread:
    """Return a column of single categories, given the code of each row; the one after the last is missing."""
    each = np.arange(len(leaves), dtype=np.int32)
    missing = np.append(np.zeros(len(leaves)), 1.0)
    return LeafSpread(name, codes, tuple(leaves), each, each, missing, np.zeros(len(missing)))


def _forget_all_lost(column: Spread) -> None:
    """Count lost cells as missing if there is no other row whose distribution they could be given."""
    if not column.counts[column.known].sum():
        object.__setattr__(column, "missing", column.missing + column.lost)
        object.__setattr__(column, "lost", np.zeros_like(column.lost))


def _average(numbers: FloatArray, times: npt.NDArray[np.int64]) -> float:
    """Return the mean over rows; NaN without rows."""
    total = times.sum()
    return float(numbers @ times / total) if total else float("nan")


def _redrawn(
    label: IntArray, known: npt.NDArray[np.bool_], lost: FloatArray, random: np.random.Generator
) -> IntArray:
    """Give every row in which all is lost the label of a random other row."""
    u, others = random.random((2, len(label)))
    rows = np.flatnonzero(known[label])
    if not len(rows):
        return label
    chosen = label[rows[np.floor(others * len(rows)).astype(np.int64)]]
    return np.where(u < lost[label], chosen, label)
