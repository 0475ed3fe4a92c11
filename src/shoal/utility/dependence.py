"""How strongly columns depend on each other, before and after: Cramér's V of every pair.

Columns of all kinds are put into cells: numbers, dates and ordered values into tenths of the raw rows,
categories as they are, the rarest of many together. A released row counts in every cell that its label may be
in, with the share of the label that is inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray
from shoal.utility.columns import Pair
from shoal.utility.spread import LeafSpread, LineSpread, Spread

_TENTHS = 10
_MOST_GROUPS = 20
MOST_COLUMNS = 30


@dataclass(frozen=True)
class Dependence:
    """Cramér's V of two columns: 0 if they are independent, 1 if one determines the other."""

    columns: tuple[str, str]
    raw: float
    released: float

    @property
    def change(self) -> float:
        """How much stronger the dependence is in the release; negative where it got weaker."""
        return self.released - self.raw


@dataclass(frozen=True, repr=False)
class Cells:
    """A column as cells: the share of each label in each cell, and the label of each row."""

    shares: FloatArray
    label: IntArray


def dependences(pairs: dict[str, Pair]) -> list[Dependence]:
    """Return the dependence of each pair of columns, largest change first; constant columns are left out."""
    cells = {name: _in_cells(pair) for name, pair in list(pairs.items())[:MOST_COLUMNS]}
    found = []
    for a, b in combinations(cells, 2):
        before, after = (joint(cells[a][at], cells[b][at]) for at in (0, 1))
        if min(_occupied(before)) > 1:
            size = min(_occupied(before)) - 1
            found.append(Dependence((a, b), cramers_v(before, size), cramers_v(after, size)))
    return sorted(found, key=lambda one: (-round(abs(one.change), 12), one.columns))


def cramers_v(table: FloatArray, size: int | None = None) -> float:
    """Return Cramér's V of a table of counts, which may be fractions.

    `size` is the smaller number of rows or columns, less one; without it, that of the table itself.

    Examples
    --------
    >>> import numpy as np
    >>> cramers_v(np.array([[5.0, 0.0], [0.0, 5.0]])), cramers_v(np.array([[1.0, 2.0], [2.0, 4.0]]))
    (1.0, 0.0)
    """
    shares = table / table.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    some = expected > 0
    squared = float(((shares - expected)[some] ** 2 / expected[some]).sum())
    size = min(_occupied(table)) - 1 if size is None else size
    return float(min(1.0, np.sqrt(squared / max(1, size))))


def joint(a: Cells, b: Cells) -> FloatArray:
    """Count the rows in each pair of cells; a label is in its cells independently of the other column."""
    codes = a.label.astype(np.int64) * len(b.shares) + b.label
    distinct, times = np.unique(codes, return_counts=True)
    first, second = np.divmod(distinct, len(b.shares))
    counted: FloatArray = (a.shares[first] * times[:, None]).T @ b.shares[second]
    return counted


def _in_cells(pair: Pair) -> tuple[Cells, Cells]:
    if isinstance(pair.raw, LineSpread):
        edges = _edges(pair.raw)
        shares: list[FloatArray] = [spread.cells(edges) for spread in _lines(pair)]
    else:
        groups, n_groups = _groups(pair.raw)
        shares = [spread.cells(groups, n_groups) for spread in _leaf_columns(pair)]
    return Cells(shares[0], pair.raw.label), Cells(shares[1], pair.released.label)


def _lines(pair: Pair) -> list[LineSpread]:
    return [spread for spread in _both(pair) if isinstance(spread, LineSpread)]


def _leaf_columns(pair: Pair) -> list[LeafSpread]:
    return [spread for spread in _both(pair) if isinstance(spread, LeafSpread)]


def _both(pair: Pair) -> tuple[Spread, Spread]:
    return pair.raw, pair.released


def _edges(raw: LineSpread) -> FloatArray:
    """Return where tenths of the rows end; every value is a cell of its own if there are few."""
    values, counts = raw.low[raw.known], raw.counts[raw.known]
    values, counts = values[counts > 0], counts[counts > 0]
    if len(values) <= _TENTHS:
        return values[:-1]
    upto = np.cumsum(counts)
    ends = np.searchsorted(upto, upto[-1] * np.arange(1, _TENTHS) / _TENTHS)
    edges: FloatArray = values[np.unique(np.minimum(ends, len(values) - 2))]
    return edges


def _groups(raw: LeafSpread) -> tuple[IntArray, int]:
    """Return the group of each leaf: the most frequent ones alone, all others together."""
    n_leaves = len(raw.leaves)
    if n_leaves <= _MOST_GROUPS:
        return np.arange(n_leaves, dtype=np.int32), n_leaves
    ranked = np.argsort(-raw.rows_of_leaf, kind="stable")
    groups = np.full(n_leaves, _MOST_GROUPS - 1, np.int32)
    groups[ranked[: _MOST_GROUPS - 1]] = np.arange(_MOST_GROUPS - 1)
    return groups, _MOST_GROUPS


def _occupied(table: npt.NDArray[np.float64]) -> tuple[int, int]:
    """Count the rows and the columns of a table that are not empty."""
    return int((table.sum(axis=1) > 0).sum()), int((table.sum(axis=0) > 0).sum())
