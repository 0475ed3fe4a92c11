"""What `shoal inspect` counts, slowly and obviously: unique rows, smallest sets, dependencies."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations


def unique_rows(table, names):
    """Rows whose values in these columns no other row has; a missing value is a value."""
    keys = [tuple(row[name] for name in names) for row in table]
    times = Counter(keys)
    return sum(times[key] == 1 for key in keys)


def smallest_sets(table, names, share, largest):
    """Sets on which at least a share of the rows is unique, and on no part of which it is."""
    enough = []
    for size in range(1, largest + 1):
        for chosen in combinations(names, size):
            if not any(set(part) <= set(chosen) for part in enough):
                count = unique_rows(table, chosen)
                if count and Fraction(count) >= Fraction(share) * len(table):
                    enough.append(chosen)
    ranked = sorted(enough, key=lambda chosen: (len(chosen), -unique_rows(table, chosen), chosen))
    return [(chosen, unique_rows(table, chosen)) for chosen in ranked]


def predicted(table, source, target):
    """How often a row's target is the single most frequent one of the other rows with the same source.

    Rows with a missing value do not count, nor do those whose source no other row has. None without any.
    """
    rows = [
        (row[source], row[target]) for row in table if row[source] is not None and row[target] is not None
    ]
    right = counted = 0
    for at, (value, wanted) in enumerate(rows):
        others = Counter(t for other, (v, t) in enumerate(rows) if v == value and other != at)
        if not others:
            continue
        counted += 1
        most = max(others.values())
        right += others[wanted] == most and list(others.values()).count(most) == 1
    return Fraction(right, counted) if counted else None
