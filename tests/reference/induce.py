"""Grouping categories by Ward's method, slowly and exactly, straight from the definition.

The sum of squares within a group is taken over its rows: each row is the point of its own column's value,
whose coordinates are the shares of the other columns' values among the rows with that value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Rows = Sequence[tuple[str, ...]]  # the value to be grouped first, then the other columns


def points(rows: Rows) -> dict[str, tuple[int, list[Fraction]]]:
    """Return how many rows have each value, and its shares of the other columns' values."""
    features = [
        (column, value) for column in range(1, len(rows[0])) for value in sorted({r[column] for r in rows})
    ]
    found = {}
    for value in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == value]
        counts = Counter((column, row[column]) for row in own for column in range(1, len(row)))
        found[value] = len(own), [Fraction(counts[feature], len(own)) for feature in features]
    return found


def within(group: Sequence[tuple[int, list[Fraction]]]) -> Fraction:
    """Return the sum of squared distances of a group's rows from their mean."""
    n_rows = sum(n for n, _ in group)
    mean = [sum((n * p[at] for n, p in group), Fraction(0)) / n_rows for at in range(len(group[0][1]))]
    return sum((n * (p[at] - mean[at]) ** 2 for n, p in group for at in range(len(p))), Fraction(0))


def merges(rows: Rows) -> list[tuple[list[str], list[str], Fraction]]:
    """Join groups until one is left: always the two whose union has the least more within than they have.

    Of ties, the pair whose first values come first.
    """
    known = points(rows)
    groups = [[value] for value in known]
    joined = []
    while len(groups) > 1:
        costs = {
            (one, other): within([known[v] for v in groups[one] + groups[other]])
            - within([known[v] for v in groups[one]])
            - within([known[v] for v in groups[other]])
            for one, other in combinations(range(len(groups)), 2)
        }
        one, other = min(costs, key=lambda pair: (costs[pair], pair))
        joined.append((groups[one], groups[other], costs[one, other]))
        union = sorted(groups[one] + groups[other])
        groups = sorted([*(g for at, g in enumerate(groups) if at not in (one, other)), union])
    return joined


def first_level(rows: Rows) -> list[list[str]]:
    """Return the groups of the first level, all values having enough rows to be placed."""
    steps = merges(rows)
    total = sum(cost for _, _, cost in steps)
    groups = [[value] for value in points(rows)]
    n_values, blurred = len(groups), Fraction(0)
    for one, other, cost in steps:
        blurred += cost
        if len(groups) == n_values // 2 or blurred > total / 8:
            break
        groups = sorted([*(g for g in groups if g not in (one, other)), sorted(one + other)])
    return groups
