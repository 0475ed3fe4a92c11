"""The slow, obvious twin of Mondrian: a reference to test a fast kernel against.

Written from section 3.6 of the project's specification, after LeFevre, DeWitt, Ramakrishnan (2006),
"Mondrian multidimensional k-anonymity". All costs are exact fractions. Rows are numbered by their position in
the canonical order.

A group of rows is cut in the column where it is widest, the weighted cost of k-member (ties: the first
column); when that cut is not allowable, in the next widest, and so on; when none is, the group is a class. A
cut is allowable when it gives two or more parts and each has at least k rows. Settled here:
- strict: the rows with value <= median are the left part. The median is the lower of the two middle values of
  an even number (any point between the two cuts the same). It is the only cut tried: 1 2 2 2 2 is not cut.
- relaxed: the left part is the first half, rounded down, in the order of (value, position). So it is defined
  for values that are all equal, too (all missing included), and such a group is dealt out by position when no
  wider column can be cut. A table with one numeric column without missing values has classes below 2k.
- A column that mixes missing and present is cut into present and missing, in this order (missing values stand
  last in the canonical order), or not at all.
- A tree is cut into the children of the group's lowest common ancestor that have rows, in depth-first order
  (siblings in the order of the mapping). Children with fewer than k rows are put together into a rest, which
  comes last; a rest with fewer than k rows joins the smallest other part (ties: the first) in its place.
- A column of weight zero has width zero, and is tried after the others.
- `keeping` (goals beyond k, see `tests.reference.keeping`): a cut is allowable only when each part is good.
"""

from tests.reference.kmember import NumericColumn, column_cost


def numeric_parts(values, rows, mode):
    """The rows left and right of the median. The values are all present, or (relaxed only) all missing."""
    if mode == "relaxed":
        ordered = sorted(rows, key=lambda row: (values[row] or 0, row))  # all missing: by position alone
        half = len(rows) // 2
        return [ordered[:half], ordered[half:]]
    median = sorted(values[row] for row in rows)[(len(rows) - 1) // 2]
    return [[row for row in rows if values[row] <= median], [row for row in rows if values[row] > median]]


def tree_parts(column, rows, k):
    """The rows under each child of the group's lowest common ancestor, small children put together."""
    paths = {row: column.path(column.values[row]) for row in rows}
    common = next(node for node in paths[rows[0]] if all(node in path for path in paths.values()))
    children = [child for child, above in column.parent.items() if above == common]
    of_child = [[row for row in rows if child in paths[row]] for child in children]
    parts = [part for part in of_child if len(part) >= k]
    rest = [row for part in of_child if len(part) < k for row in part]
    if len(rest) >= k:
        parts.append(rest)
    elif rest and parts:
        min(parts, key=len).extend(rest)  # min keeps the first of ties
    return parts


def parts_of(column, rows, k, mode):
    """The parts that a column would cut a group into, low part first; fewer than two when it has no cut."""
    missing = [row for row in rows if column.values[row] is None]
    present = [row for row in rows if column.values[row] is not None]
    if missing and present:
        return [present, missing]
    if isinstance(column, NumericColumn):
        return numeric_parts(column.values, rows, mode) if present or mode == "relaxed" else []
    return tree_parts(column, rows, k) if present else []


def cut(columns, rows, k, mode, keeping):
    """The parts of the first allowable cut, widest column first; None when there is no such cut."""
    widest_first = sorted(columns, key=lambda column: -column.weight * column_cost(column, rows))  # stable
    for column in widest_first:
        parts = parts_of(column, rows, k, mode)
        are_good = keeping is None or all(keeping.good(part) for part in parts)
        if len(parts) >= 2 and all(len(part) >= k for part in parts) and are_good:
            return [sorted(part) for part in parts]
    return None


def mondrian(columns, k, *, mode="strict", keeping=None) -> list[int]:
    """The class number of every row; classes are numbered from 0 in depth-first order, low part first."""
    n = len(columns[0].values)
    if any(len(column.values) != n for column in columns):
        raise ValueError("columns must have one entry for each row")
    if mode not in ("strict", "relaxed"):
        raise ValueError("mode is 'strict' or 'relaxed'")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")

    classes = []
    waiting = [list(range(n))]  # the last one is next
    while waiting:
        rows = waiting.pop()
        parts = cut(columns, rows, k, mode, keeping)
        if parts is None:
            classes.append(rows)
        else:
            waiting += reversed(parts)

    numbers = [-1] * n
    for number, members in enumerate(classes):
        for row in members:
            numbers[row] = number
    return numbers
