"""The slow, obvious twin of KACA: a reference to test a fast kernel against.

Written from Li, Wong, Fu, Pei (2006), "Achieving k-anonymity by clustering in attribute hierarchical
structures": definitions 5, 6, 8, 10 and 11, and algorithm 1. All costs are exact fractions. Rows are numbered
by their position in the canonical order.

A class is a tuple with the rows that are published with it. The tuple of a merged class is the closest common
generalisation of the two *tuples*, and further distances are measured from it (definition 10: "n1 identical
tuples t1"), not from the rows' own values. It never becomes more detailed again, also not when a stub takes
away the rows that made it general; the lowest common ancestors of the rows may then be narrower.

Where this differs from the paper, or the paper is silent:
- "Randomly choose" (line 3): the small class that has the row of lowest priority.
- Ties for the closest class (line 5): the one whose first row has the lowest position.
- The stub takes the first rows of its class in canonical order. The trunk keeps its tuple.
- Classes with equal tuples are one equivalence class (definition 2), so they merge at once. That undoes a
  split when the small class generalises to the very tuple of the trunk: no detail is lost by it.
- Domain levels are counted from the leaf: level = H - height + 1. In an uneven tree a step that skips levels
  costs all of their weights.
- `unit`: a kernel that counts in whole steps rounds what a node costs, from a leaf upwards, to one of
  weight x unit steps; what lies between two nodes is the difference. Without it distances are exact.
- `outlier` (the text after algorithm 1 names it only): a small class whose distance to the closest class,
  divided by its size, is above it is suppressed, as long as that leaves no more than `may_suppress` rows out
  and k rows in.
- Column weights: they multiply the weighted hierarchical distance. In the paper all are 1.
- Missing values: a leaf of its own directly under the root, so at distance 1 from it; in a tree of one node,
  under a new root.
- `keeping` (goals beyond k, see `tests.reference.keeping`): a class that is not good is small too. Once it
  has k rows it merges with the whole of the closest class, and its distance is that to the whole. Rows are
  gone through in the order of their priorities, again and again the same one until its class is no longer
  small; and when a trunk has lost what it needed, through all of them once more, as long as there are two
  classes. (Without it no class becomes small again, and this is the order of line 3.)
"""

from dataclasses import dataclass
from fractions import Fraction

from tests.reference.kmember import TreeColumn

MISSING = None
NEW_ROOT = ("new root",)  # above missing and the only node of a tree


@dataclass
class Class:
    """Rows, ascending, and the tuple that they are published with."""

    tuple: tuple
    rows: list


def level_weight(j, weights, beta):
    """w(j, j-1): what it costs to go up from level j, the root being level 1."""
    return Fraction(1) if weights == "uniform" else Fraction(1, (j - 1) ** beta)


def from_leaf(column, node, scheme):
    """WHD from a leaf up to a node."""
    if node == NEW_ROOT:
        return Fraction(1)
    height = max(column.height.values())
    q = height - column.height[node] + 1
    all_weights = sum(level_weight(j, *scheme[:2]) for j in range(2, height + 2))
    return sum(level_weight(j, *scheme[:2]) for j in range(q + 1, height + 2)) / (all_weights or 1)


def whd(column, value, general, scheme):
    """Definition 5: from a value up to itself or to one of its ancestors."""
    low = Fraction(0) if value is MISSING else from_leaf(column, value, scheme)
    high = low if value == general else from_leaf(column, general, scheme)
    if scheme[2] is None:
        return high - low
    steps = round(column.weight * scheme[2])
    return Fraction(round(high * steps) - round(low * steps), steps)


def distortion(columns, t, general, scheme):
    """Definition 6: the sum over the columns, here weighted."""
    triples = zip(columns, t, general, strict=True)
    return sum((Fraction(c.weight) * whd(c, v, g, scheme) for c, v, g in triples), Fraction(0))


def common_value(column, v1, v2):
    """Definition 8, one column: the value itself if equal, else the closest common ancestor."""
    if v1 == v2:
        return v1
    if MISSING in (v1, v2) or NEW_ROOT in (v1, v2):
        root = next(node for node, above in column.parent.items() if above is None)
        return root if len(column.parent) > 1 else NEW_ROOT
    return next(node for node in column.path(v1) if node in column.path(v2))


def generalisation(columns, t1, t2):
    """Definition 8: the closest common generalisation of two tuples."""
    return tuple(common_value(column, v1, v2) for column, v1, v2 in zip(columns, t1, t2, strict=True))


def taken(small, other, k):
    """Definition 11: how many rows of the other class merge with the small one, all or a stub."""
    if len(small.rows) >= k:  # small for another reason
        return len(other.rows)
    if len(small.rows) + len(other.rows) >= 2 * k:
        return k - len(small.rows)
    return len(other.rows)


def class_distance(columns, small, other, k, scheme):
    """Definition 10, to the stub where there is one."""
    t12 = generalisation(columns, small.tuple, other.tuple)
    n1, n2 = len(small.rows), taken(small, other, k)
    to_t12 = [distortion(columns, t, t12, scheme) for t in (small.tuple, other.tuple)]
    return n1 * to_t12[0] + n2 * to_t12[1]


def add(classes, t, rows):
    """Put rows into the class that has this tuple, or into a new one."""
    for existing in classes:
        if existing.tuple == t:
            existing.rows = sorted(existing.rows + rows)
            return
    classes.append(Class(t, sorted(rows)))


def is_small(c, k, keeping):
    """Whether a class has fewer than k rows or, with privacy goals, is not good."""
    return len(c.rows) < k or (keeping is not None and not keeping.good(c.rows))


def class_of_next(waiting, small_classes):
    """The small class of the first row that has one; the rows passed by come again after all others."""
    while True:
        for small in small_classes:
            if waiting[0] in small.rows:
                return small
        waiting.append(waiting.pop(0))


def kaca(
    columns, k, priority, *, weights="uniform", beta=1, unit=None, outlier=None, may_suppress=0, keeping=None
) -> list[int]:
    """Algorithm 1. The class number of every row, -1 for a suppressed one; numbered by their first rows.

    All columns are trees. `priority` has one distinct number for each row.
    """
    n = len(priority)
    if any(len(column.values) != n for column in columns):
        raise ValueError("columns and priority must have one entry for each row")
    if not all(isinstance(column, TreeColumn) for column in columns):
        raise ValueError("every column needs a tree")
    if weights not in ("uniform", "height") or not isinstance(beta, int) or beta < 1:
        raise ValueError("weights is 'uniform' or 'height', beta is a whole number of at least 1")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")

    classes = []
    for row in range(n):  # line 1
        add(classes, tuple(column.values[row] for column in columns), [row])
    waiting = sorted(range(n), key=lambda row: priority[row])
    while small_classes := [c for c in classes if is_small(c, k, keeping)]:  # line 2
        if keeping is None:
            small = min(small_classes, key=lambda c: min(priority[row] for row in c.rows))  # line 3
        elif len(classes) > 1:
            small = class_of_next(waiting, small_classes)
        else:
            break
        classes.remove(small)
        classes.sort(key=lambda c: c.rows[0])  # so that min keeps the lowest first row of ties
        distances = [class_distance(columns, small, c, k, (weights, beta, unit)) for c in classes]  # line 4
        rows_after = sum(len(c.rows) for c in classes)
        is_outlier = outlier is not None and min(distances, default=0) > outlier * len(small.rows)
        if is_outlier and rows_after >= max(k, n - may_suppress):
            continue
        closest = classes.pop(distances.index(min(distances)))  # line 5
        n2 = taken(small, closest, k)
        stub, trunk = closest.rows[:n2], closest.rows[n2:]
        if trunk:
            add(classes, closest.tuple, trunk)
        add(classes, generalisation(columns, small.tuple, closest.tuple), small.rows + stub)  # line 6

    numbers = [-1] * n
    for number, members in enumerate(sorted(classes, key=lambda c: c.rows[0])):
        for row in members.rows:
            numbers[row] = number
    return numbers
