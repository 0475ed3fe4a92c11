"""The error of COUNT queries: how many rows fulfil one to three conditions, raw and released.

The release is queried as an analyst would: a row counts with the share of its ranges and nodes that fulfils
the conditions, as if every value inside were equally likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.utility.columns import Pair
from shoal.utility.spread import LeafSpread, LineSpread, Spread

SELECTIVITIES = (0.01, 0.05, 0.2)
N_QUERIES = 200  # of each selectivity
SANITY = 0.001  # share of the rows: smaller counts do not make an error look larger
_MOST_CONDITIONS = 3


@dataclass(frozen=True)
class QueryError:
    """The errors of random queries that select about the same share of the rows.

    Parameters
    ----------
    selectivity : float
        The share of the rows that a query would select if columns were independent.
    queries : int
        How many were asked.
    rows : float
        The median of the true counts.
    median, p90 : float
        Of the relative errors: abs(estimate - count) / max(count, 0.1 % of the rows).
    """

    selectivity: float
    queries: int
    rows: float
    median: float
    p90: float


@dataclass(frozen=True)
class LineCondition:
    """Above `low` and at most `high`."""

    low: float
    high: float

    def shares(self, column: Spread) -> FloatArray:
        """Return the share of each label that fulfils the condition."""
        assert isinstance(column, LineSpread)
        return column.up_to(self.high) - column.up_to(self.low)


@dataclass(frozen=True, repr=False)  # a repr would show values
class LeafCondition:
    """One of the marked leaves."""

    marked: npt.NDArray[np.bool_]

    def shares(self, column: Spread) -> FloatArray:
        """Return the share of each label that fulfils the condition."""
        assert isinstance(column, LeafSpread)
        return column.cells(self.marked.astype(np.int32), 2)[:, 1]


Query = dict[str, LineCondition | LeafCondition]


def query_errors(
    pairs: dict[str, Pair],
    seed: int,
    selectivities: Sequence[float] = SELECTIVITIES,
    queries: int = N_QUERIES,
) -> list[QueryError]:
    """Ask random queries, which depend on the raw table and the seed alone, and measure the errors."""
    random = np.random.Generator(np.random.PCG64(seed))
    raw = Counter({name: pair.raw for name, pair in pairs.items()})
    released = Counter({name: pair.released for name, pair in pairs.items()})
    found = []
    for selectivity in selectivities:
        asked = [random_query(pairs, selectivity, random) for _ in range(queries)]
        counts = np.array([raw.count(query) for query in asked])
        estimates = np.array([released.count(query) for query in asked])
        errors = np.abs(estimates - counts) / np.maximum(counts, SANITY * raw.rows)
        median, p90 = np.quantile(errors, [0.5, 0.9])
        found.append(QueryError(selectivity, queries, float(np.median(counts)), float(median), float(p90)))
    return found


class Counter:
    """Counts the rows of a table that fulfil conditions; rows with equal labels are counted at once."""

    def __init__(self, columns: dict[str, Spread]) -> None:
        self._columns = columns
        labels = pl.DataFrame({str(at): column.label for at, column in enumerate(columns.values())})
        self.rows = labels.height
        distinct = labels.group_by(labels.columns, maintain_order=True).len("times")
        self._times = distinct["times"].to_numpy().astype(np.float64)
        self._label: dict[str, IntArray] = {
            name: distinct[str(at)].to_numpy() for at, name in enumerate(columns)
        }

    def count(self, query: Query) -> float:
        """Return the expected number of rows that fulfil all conditions."""
        shares = self._times
        for name, condition in query.items():
            shares = shares * condition.shares(self._columns[name])[self._label[name]]
        return float(shares.sum())


def random_query(pairs: dict[str, Pair], selectivity: float, random: np.random.Generator) -> Query:
    """Draw conditions on one to three columns, at least one of which was generalized."""
    quasi = [name for name, pair in pairs.items() if pair.is_quasi]
    first = quasi[random.integers(len(quasi))]
    others = [name for name in pairs if name != first]
    number = int(random.integers(min(_MOST_CONDITIONS, len(pairs))))
    chosen = [first, *(others[at] for at in random.permutation(len(others))[:number])]
    share = selectivity ** (1 / len(chosen))
    return {name: _condition(pairs[name].raw, share, random) for name in chosen}


def _condition(column: Spread, share: float, random: np.random.Generator) -> LineCondition | LeafCondition:
    """Draw a condition that about a share of the raw rows fulfils."""
    if isinstance(column, LineSpread):
        values, counts = column.low[column.known], column.counts[column.known]
        if not len(values):
            return LineCondition(-np.inf, np.inf)
        upto = np.cumsum(counts)
        first = np.searchsorted(upto, random.random() * (1 - share) * upto[-1], side="right")
        last = np.searchsorted(upto, upto[first] - counts[first] + share * upto[-1], side="left")
        low = -np.inf if first == 0 else values[first - 1]
        return LineCondition(float(low), float(values[min(last, len(values) - 1)]))
    return LeafCondition(_some_leaves(column.rows_of_leaf, share, random))


def _some_leaves(rows: FloatArray, share: float, random: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Mark random leaves that have at most a share of the rows; if each has more, the rarest."""
    marked = np.zeros(len(rows), dtype=bool)
    room = share * rows.sum()
    for leaf in random.permutation(len(rows)):
        if 0 < rows[leaf] <= room:
            marked[leaf] = True
            room -= rows[leaf]
    if not marked.any() and rows.any():
        marked[np.argmin(np.where(rows > 0, rows, np.inf))] = True
    return marked
