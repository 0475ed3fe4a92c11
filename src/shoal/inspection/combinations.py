"""The smallest sets of columns that single people out, and how many rows each column makes unique."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.inspection.profile import Profile

Keys = npt.NDArray[np.uint64]

SINGLES_OUT = 0.05  # share of unique rows from which a set of columns is listed
LARGEST = 4  # columns in a set
_LISTED = 12
_WORK = 60_000_000  # rows times sets that are counted
_MOST_COLUMNS = 30


@dataclass(frozen=True)
class Combination:
    """A set of columns, and how many rows have a combination of values that no other row has."""

    columns: tuple[str, ...]
    unique: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Return the set as in JSON."""
        return {"columns": list(self.columns), "unique": self.unique, "share": self.share}

    def __str__(self) -> str:
        return f"{' + '.join(self.columns)}: {self.share:.1%} of the rows are unique"


@dataclass(frozen=True)
class Contribution:
    """How many rows one column makes unique: by itself, and in addition to all others."""

    column: str
    alone: int
    adds: int

    def to_dict(self) -> dict[str, Any]:
        """Return the contribution as in JSON."""
        return {"column": self.column, "alone": self.alone, "adds": self.adds}


@dataclass(frozen=True)
class Singled:
    """What all columns together, sets of them and each of them single out."""

    unique: int
    combinations: list[Combination]
    contributions: list[Contribution]


def find_combinations(profiles: Sequence[Profile]) -> Singled:
    """Return the smallest sets of columns that single people out, ranked, and what each column adds.

    A set is listed if at least `SINGLES_OUT` of the rows are unique on it, and on no part of it; if there is
    none, the best of the largest sets is, or the set of all columns. Sets are ranked by size, then by unique
    rows. In a large table only the most promising sets are counted, but each count is exact.
    """
    used = sorted(profiles, key=lambda one: (-one.distinct, one.name))[:_MOST_COLUMNS]
    if not used:
        return Singled(0, [], [])
    table = _Table(used, [one.name for one in profiles])
    contributions = [
        Contribution(one.name, table.unique((one.name,)), table.everything - table.unique_without(one.name))
        for one in used
    ]
    ranked = sorted(contributions, key=lambda one: (-one.alone - one.adds, one.column))
    return Singled(table.everything, _search(table), ranked)


class _Table:
    """Counts unique rows on sets of columns.

    Every value of every column has a random number of 64 bits, and a row's key for a set is the sum of the
    numbers of its values. Different rows have the same key with a probability of 2^-64.
    """

    def __init__(self, profiles: Sequence[Profile], order: Sequence[str]) -> None:
        rng = np.random.Generator(np.random.PCG64(0))
        self.rows = profiles[0].rows
        self.names = sorted((profile.name for profile in profiles), key=list(order).index)
        self._alone = {profile.name: profile.unique + int(profile.missing == 1) for profile in profiles}
        draws = {one.name: rng.integers(0, 2**64, one.distinct + 1, np.uint64) for one in profiles}
        keys = {one.name: draws[one.name][one.codes] for one in profiles}
        total = _sum(keys.values())
        # Of equal rows two are enough: a row that is not unique on all columns is unique on none.
        kept = _two_of_each(total)
        self._keys = {name: key[kept] for name, key in keys.items()}
        self._total = total[kept]
        self.everything = _unique(self._total)
        self.affordable = max(20, _WORK // max(1, len(self._total)))

    def unique(self, names: Iterable[str]) -> int:
        """Count the rows that are unique on a set of columns."""
        listed = list(names)
        if len(listed) == 1:
            return self._alone[listed[0]]
        return _unique(_sum(self._keys[name] for name in listed))

    def combination(self, names: tuple[str, ...], unique: int) -> Combination:
        """Describe a set of columns with so many unique rows."""
        return Combination(names, unique, unique / self.rows)

    def unique_without(self, name: str) -> int:
        """Count the rows that are unique on all columns but one."""
        return 0 if len(self.names) == 1 else _unique(self._total - self._keys[name])


def _sum(keys: Iterable[Keys]) -> Keys:
    first, *others = keys
    total = first.copy()
    for key in others:
        total += key
    return total


def _unique(keys: Keys) -> int:
    return int(pl.Series(keys).is_unique().sum())


def _two_of_each(keys: Keys) -> npt.NDArray[np.int64]:
    """Return the rows without the third and further ones of equal keys."""
    first = pl.Series(keys).is_first_distinct().to_numpy()
    others = np.flatnonzero(~first)
    second = others[pl.Series(keys[others]).is_first_distinct().to_numpy()]
    return np.sort(np.concatenate([np.flatnonzero(first), second]))


def _search(table: _Table) -> list[Combination]:
    """Find sets that single out enough rows and have no part that does, small ones first."""
    enough = max(1.0, SINGLES_OUT * table.rows)
    listed: list[Combination] = []
    best: list[Combination] = []
    affordable = table.affordable
    level: list[tuple[str, ...]] = [(name,) for name in table.names]
    for size in range(1, LARGEST + 1):
        # Sets of one column are counted already; each larger size gets an equal part of what is left.
        limit = len(level) if size == 1 else affordable // (LARGEST + 1 - size)
        counted = {names: table.unique(names) for names in level[:limit]}
        affordable -= len(counted) if size > 1 else 0
        ranked = sorted(counted, key=lambda names: (-counted[names], names))
        found = [table.combination(names, counted[names]) for names in ranked]
        listed += [one for one in found if one.unique >= enough]
        best += found[:1]
        # Larger sets start from those that are nearly enough.
        rest = [names for names in ranked if counted[names] < enough]
        level = _larger(rest, table.names, {one.columns for one in listed}, counted)
        if not level:
            break
    everything = table.combination(tuple(table.names), table.everything)
    fallback = best[-1] if best[-1].unique else everything
    return listed[:_LISTED] or [one for one in (fallback,) if one.unique]


def _larger(
    sets: Sequence[tuple[str, ...]],
    names: Sequence[str],
    enough: set[tuple[str, ...]],
    counted: dict[tuple[str, ...], int],
) -> list[tuple[str, ...]]:
    """Return the sets with one more column that contain no set which is enough, most promising first."""
    found: dict[tuple[str, ...], int] = {}
    for columns in sets:
        for name in names:
            larger = tuple(one for one in names if one in columns or one == name)
            if name in columns or larger in found:
                continue
            parts = [part for size in range(1, len(larger)) for part in combinations(larger, size)]
            if enough.isdisjoint(parts):
                found[larger] = sum(counted.get(part, 0) for part in combinations(larger, len(columns)))
    return sorted(found, key=lambda columns: (-found[columns], columns))
