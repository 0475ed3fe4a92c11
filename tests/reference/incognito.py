"""The slow, obvious twin of Incognito: a reference to test a search that prunes against.

Written from section 3.6 of the project's specification, after LeFevre, DeWitt, Ramakrishnan (2005),
"Incognito: efficient full-domain k-anonymity". Nothing is pruned: every level vector is tried. All costs are
exact fractions. Rows are numbered by their position in the canonical order.

A level vector has one level for each column. A value at level h is published as the highest of itself and its
ancestors whose height is at most h. Settled here:
- Levels go from 0 to the height of the tree. In an uneven tree a leaf that has no ancestor of height h or
  less stays as it is, beside general nodes: at level 1 of (a, b under left; left and c under the root) the
  domain is left, c. Level 0 publishes leaves, the highest level publishes the root for everybody.
- Missing values: a leaf of its own directly under the root, so published as missing below the highest level
  and as the root there. In a tree of one node: under a new root, which makes a tree of height 1; only when a
  value of this column is missing, else there is level 0 and nothing more.
- Rows with the same published values are a group. Groups with fewer than k rows are suppressed, always as a
  whole. A vector is admissible when the rows in them are at most `may_suppress` and at least one group is
  left. The highest vector always is, as it has one group.
- Distortion: over the released rows and the columns the sum of weight * height(published node) / H, H the
  height of the tree (0 when H = 0); this is uniform WHD from the leaf. A suppressed row costs the sum of the
  weights, those of trees with H = 0 included.
- Of the admissible vectors the one of least distortion is published; ties: the lexicographically smallest.
- `keeping` (goals beyond k, see `tests.reference.keeping`): nothing is suppressed, and a vector is
  admissible when every group is good. There may be no such vector.
- Distortion looks at the level, not at the group: a group that agrees on a leaf is still published, and paid
  for, at its level.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

from tests.reference.kaca import MISSING, NEW_ROOT
from tests.reference.kmember import TreeColumn


def has_new_root(column):
    """Whether missing and the only node of a tree are put under a new root."""
    return len(column.parent) == 1 and MISSING in column.values


def tree_height(column):
    """H: the highest level of a column."""
    return 1 if has_new_root(column) else max(column.height.values())


def ancestors(column, value):
    """The value itself, its parent, and so on up to the root."""
    if has_new_root(column):
        return [value, NEW_ROOT]
    if value is MISSING:
        return [MISSING, *(node for node, above in column.parent.items() if above is None)]
    return column.path(value)


def node_height(column, node):
    """The height of a node, of missing, or of a new root."""
    if node is MISSING:
        return 0
    return 1 if node == NEW_ROOT else column.height[node]


def generalized(column, value, level):
    """The highest of the value and its ancestors whose height is at most the level."""
    return [node for node in ancestors(column, value) if node_height(column, node) <= level][-1]


def published_at(columns, vector):
    """The published tuple of every row, before anything is suppressed."""
    of_columns = [
        [generalized(column, value, level) for value in column.values]
        for column, level in zip(columns, vector, strict=True)
    ]
    return list(zip(*of_columns, strict=True))


def node_cost(column, node):
    """weight * height / H."""
    height = tree_height(column)
    return Fraction(column.weight) * Fraction(node_height(column, node), height) if height else Fraction(0)


def distortion(columns, published, k):
    """The distortion of a release: published rows by their nodes, suppressed ones by the sum of weights."""
    everything = sum(Fraction(column.weight) for column in columns)
    total = Fraction(0)
    for values, size in Counter(published).items():
        of_row = sum(node_cost(column, node) for column, node in zip(columns, values, strict=True))
        total += size * (of_row if size >= k else everything)
    return total


def is_admissible(published, k, may_suppress, keeping):
    """Whether few enough rows are in groups smaller than k, and some group is not; or all groups are good."""
    sizes = Counter(published).values()
    if keeping is not None:
        groups = [[row for row, of_row in enumerate(published) if of_row == t] for t in set(published)]
        return min(sizes) >= k and all(keeping.good(rows) for rows in groups)
    return sum(size for size in sizes if size < k) <= may_suppress and max(sizes) >= k


def anonymous_vectors(columns, k, may_suppress=0, keeping=None) -> set[tuple[int, ...]]:
    """All admissible level vectors."""
    n = len(columns[0].values)
    if any(len(column.values) != n for column in columns):
        raise ValueError("columns must have one entry for each row")
    if not all(isinstance(column, TreeColumn) for column in columns):
        raise ValueError("every column needs a tree")
    if may_suppress < 0:
        raise ValueError("may_suppress is a number of rows, at least 0")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")

    lattice = product(*(range(tree_height(column) + 1) for column in columns))
    return {
        vector for vector in lattice if is_admissible(published_at(columns, vector), k, may_suppress, keeping)
    }


def incognito(columns, k, *, may_suppress=0, keeping=None) -> tuple[tuple[int, ...], list[int]]:
    """The level vector to publish, and the class number of every row (-1: suppressed).

    Classes are numbered from 0 by their first rows.
    """
    vectors = anonymous_vectors(columns, k, may_suppress, keeping)
    best = min(vectors, key=lambda v: (distortion(columns, published_at(columns, v), k), v))

    published = published_at(columns, best)
    sizes = Counter(published)
    released = [values for values in sizes if sizes[values] >= k]  # a Counter keeps the order of first rows
    return best, [released.index(values) if values in released else -1 for values in published]
