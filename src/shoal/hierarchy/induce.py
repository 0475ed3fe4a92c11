"""Induce a hierarchy of categories from how they occur together with the values of other columns.

Values are joined whose rows look alike in the other columns: Ward's method on the shares that the values of
the other columns have, weighted by rows. The tree depends on counts alone, not on the order of rows. Values
that few rows have are kept together, because the place of each would reveal what those few rows look like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shoal.arrays import FloatArray, LongArray
from shoal.errors import HierarchyError
from shoal.hierarchy import build
from shoal.hierarchy.tree import ROOT_LABEL, Tree

RARE = 10  # rows; values that fewer rows have are not placed one by one
FEWEST = 6  # values (or groups of a second level) for which groups are worth having
MOST = 1000  # values that are compared with each other
_BLURRED = 1 / 8  # of the differences between values, the most that the first level may hide
_SHORT = 60  # characters of a label that lists all values of a group
_RARE_LABEL = "rare values"

Groups = list[list[int]]  # numbers of units, each ascending; in the order of their first ones


def induce(
    values: Sequence[str],
    rows: Sequence[int],
    counts: FloatArray,
    column: str,
    *,
    set_text: Callable[[Sequence[str]], str],
) -> Tree:
    """Induce a tree with the values as leaves.

    Half as many groups as values form the first level, or more if these would blur more than an eighth of
    what distinguishes the values; each level above has a quarter of the groups below it, as long as these are
    at least 6. Fewer than 6 values are not grouped.

    Parameters
    ----------
    values : sequence of str
        Distinct, ascending.
    rows : sequence of int
        How many rows have each value.
    counts : ndarray of shape (n_values, n_features)
        How many of these rows have each value of the other columns.
    column : str
        Name of the column, for messages.
    set_text : callable
        Formats a set of values, as a label.

    Raises
    ------
    HierarchyError
        `hierarchy.build` if there are too many values.
    """
    units, rest = _units(rows)
    if len(units) > MOST:
        raise HierarchyError(
            "hierarchy.build",
            f"The hierarchy of column `{column}` cannot be induced: it has {len(units)} values that at least "
            f"{RARE} rows have, and at most {MOST} can be compared.",
            "group the values in a hierarchy file, or shorten them",
        )
    if len(units) < FEWEST:
        return build.flat(values, column)
    sizes = np.array([sum(rows[value] for value in unit) for unit in units], np.float64)
    profiles = np.array([counts[unit].sum(axis=0) for unit in units], np.float64)
    joined = merges(sizes, profiles)
    levels = _cut(joined, _group_numbers([cost for _, _, cost in joined]))
    name = _Namer(values, rows, set_text)
    above: list[list[str]] = [[] for _ in values]
    for groups in levels:
        for group in groups:
            members = sorted(value for unit in group for value in units[unit])
            for value in members:
                above[value].append(name(members))
    if len(rest) > 1:
        for value in rest:
            above[value].append(name(rest))
    root = name.unused(ROOT_LABEL)
    return Tree.from_paths([(value, *above[at], root) for at, value in enumerate(values)], column)


def _units(rows: Sequence[int]) -> tuple[Groups, list[int]]:
    """Return the values that are placed, each a unit of its own, then all rare ones as one unit.

    Rare values that even together have too few rows are not placed at all; they are returned separately.
    """
    units = [[value] for value, n in enumerate(rows) if n >= RARE]
    rare = [value for value, n in enumerate(rows) if n < RARE]
    if sum(rows[value] for value in rare) >= RARE:
        return [*units, rare], []
    return units, rare


def _group_numbers(costs: Sequence[float]) -> list[int]:
    """Return the number of groups of each level, fine to coarse, given what each step of joining costs."""
    n_units = len(costs) + 1
    blurred = np.cumsum(costs)
    clear = n_units - int(np.searchsorted(blurred, blurred[-1] * _BLURRED, side="right"))
    numbers = [max(n_units // 2, clear)]
    while numbers[-1] // 4 >= FEWEST:
        numbers.append(numbers[-1] // 4)
    return numbers


def merges(sizes: FloatArray, profiles: FloatArray) -> list[tuple[int, int, float]]:
    """Join units until one is left; return the pairs and their costs.

    A joined unit has the lower number of the two.

    Joined next are those that raise the sum of squares within units least: for units of n and m rows with
    profiles p and q, by |p/n - q/m|^2 nm / (n + m). Of ties, the pair with the lowest numbers. The costs of
    small tables are quotients of exact integers, so that ties are exact.
    """
    n_units = len(sizes)
    sizes, profiles = sizes.copy(), profiles.copy()
    cost = np.full((n_units, n_units), np.inf)
    for unit in range(n_units - 1):
        cost[unit, unit + 1 :] = _costs(unit, np.arange(unit + 1, n_units), sizes, profiles)
    alive = np.ones(n_units, dtype=bool)
    joined = []
    for _ in range(n_units - 1):
        one, other = (int(at) for at in np.unravel_index(np.argmin(cost), cost.shape))
        joined.append((one, other, float(cost[one, other])))
        sizes[one] += sizes[other]
        profiles[one] += profiles[other]
        alive[other] = False
        cost[other, :] = cost[:, other] = np.inf
        others = np.flatnonzero(alive)
        others = others[others != one]
        found = _costs(one, others, sizes, profiles)
        cost[np.minimum(others, one), np.maximum(others, one)] = found
    return joined


def _costs(unit: int, others: LongArray, sizes: FloatArray, profiles: FloatArray) -> FloatArray:
    n, m = sizes[unit], sizes[others]
    differences = profiles[unit] * m[:, None] - profiles[others] * n
    found: FloatArray = (differences**2).sum(axis=1) / (n * m * (n + m))
    return found


def _cut(joined: Sequence[tuple[int, int, float]], numbers: Sequence[int]) -> list[Groups]:
    """Return the groups at the moments when so many were left."""
    groups = {unit: [unit] for unit in range(len(joined) + 1)}
    levels = []
    for one, other, _ in joined:
        groups[one] = sorted(groups[one] + groups.pop(other))
        if len(groups) in numbers:
            levels.append([groups[unit] for unit in sorted(groups)])
    return levels


class _Namer:
    """Names groups after their values; no name contains a value that few rows have."""

    def __init__(
        self, values: Sequence[str], rows: Sequence[int], set_text: Callable[[Sequence[str]], str]
    ) -> None:
        self._values, self._rows, self._set_text = values, rows, set_text
        self._taken = set(values)

    def __call__(self, members: Sequence[int]) -> str:
        if len(members) == 1 and self._rows[members[0]] >= RARE:
            return self._values[members[0]]
        texts = [self._values[member] for member in members]
        common = [member for member in members if self._rows[member] >= RARE]
        if len(common) == len(members) and len(self._set_text(texts)) <= _SHORT:
            return self.unused(self._set_text(texts))
        if not common:
            return self.unused(_RARE_LABEL)
        first = max(common, key=lambda member: (self._rows[member], -member))
        return self.unused(f"{self._values[first]} and {len(members) - 1} more")

    def unused(self, label: str) -> str:
        """Return the label, changed if it is a value of the column."""
        return self.unused(f"{label}*") if label in self._taken else label
