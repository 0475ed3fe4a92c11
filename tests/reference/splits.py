"""The slow, obvious twin of the last step of local search: large classes are split.

Written from its description in `docs/methods/local-search.md`, by full recomputation of every diversity, in
exact fractions. A table is `tests.reference.local_search.Table`. Settled here:
- A class is cut along a column: its rows are put in the order of their values, missing last, leaves of a tree
  depth first, rows of one value by position; some of the first go to one part, the others to the other.
- Both parts have at least k rows and, with `keeping`, are good. Of the cuts that lose least the one counts
  after which the parts have room for most classes of k rows, then the one nearest to the middle, then that of
  the first column, ranges before trees, then the one with the smaller first part.
- Rows that are alike in every column are not cut apart: they are published alike in any case.
"""

from tests.reference.cb import leaves_in_order
from tests.reference.kmember import NumericColumn


def place(column, value):
    """Where a value stands among those of its column."""
    if value is None:
        return (1, 0)
    return (0, value if isinstance(column, NumericColumn) else leaves_in_order(column).index(value))


def cuts(table, rows, k, keeping=None):
    """Both parts of every allowed cut, the best one first."""
    found = []
    for column in table.columns:
        order = sorted(rows, key=lambda row, column=column: (place(column, column.values[row]), row))
        for size in range(k, len(rows) - k + 1):
            parts = order[:size], order[size:]
            if keeping is None or all(keeping.good(part) for part in parts):
                room = sum(len(part) // k for part in parts)
                found.append((table.total(parts), -room, abs(2 * size - len(rows)), parts))
    return [cut[-1] for cut in sorted(found, key=lambda cut: cut[:-1])]  # stable: the first one of equals


def are_alike(table, rows):
    """Whether rows have the same values in every column."""
    return len({tuple(column.values[row] for column in table.columns) for row in rows}) == 1


def split(table, rows, k, keeping=None):
    """The classes that a class is split into."""
    best = [] if len(rows) < 2 * k or are_alike(table, rows) else cuts(table, rows, k, keeping)
    return [part for side in best[0] for part in split(table, side, k, keeping)] if best else [sorted(rows)]
