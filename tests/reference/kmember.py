"""The slow, obvious twin of greedy k-member clustering: a reference to test a fast kernel against.

Written from Byun, Kamra, Bertino, Li (2007), "Efficient k-anonymization using clustering techniques":
definitions 2 to 5 (section 3.2), figure 5 (section 3.3) and the class penalty (section 3.4). All costs are
exact fractions. Rows are numbered by their position in the canonical order; every tie goes to the lowest.

Where this differs from the paper, or the paper from itself:
- Figure 5, lines 1-3, return S itself when |S| <= k. For |S| < k that is unsafe: here it is an error.
- The text opens the first class with the random row; the pseudo-code with the row furthest from it (`opens`).
- The text measures "furthest" from the class's first row; the pseudo-code overwrites r on line 10, and so
  measures from the last row added (`anchor`).
- Missing values, weights, uneven trees and constant columns are not in the paper.
- `keeping` (goals beyond k, see `tests.reference.keeping`), not in the paper either: a class of k rows that
  is not good takes on more, always the row that costs least of the free ones that help it, without class
  penalty, until it is good or no free row helps.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True)
class NumericColumn:
    """Numbers, positions of an ordinal column, or days of a date column. None is a missing value."""

    values: list
    weight: Fraction | int = 1

    @cached_property
    def domain(self):
        """|D| of definition 2: max - min of the whole table (missing values left out)."""
        present = [v for v in self.values if v is not None]
        return max(present) - min(present) if present else 0

    def cost(self, present):
        """(MAX - MIN) / |N| of definition 5, for a class whose values are all present."""
        if self.domain == 0:
            return Fraction(0)
        return Fraction(max(present) - min(present), self.domain)


@dataclass(frozen=True)
class TreeColumn:
    """Leaf names of a taxonomy tree, given as node name -> parent's name (root -> None). None is missing."""

    values: list
    parent: dict
    weight: Fraction | int = 1

    def path(self, node):
        """The node, its parent, and so on up to the root."""
        nodes = []
        while node is not None:
            nodes.append(node)
            node = self.parent[node]
        return nodes

    @cached_property
    def height(self):
        """Node name -> the longest path from it down to a leaf."""
        height = dict.fromkeys(self.parent, 0)
        for node in self.parent:
            for steps, above in enumerate(self.path(node)):
                height[above] = max(height[above], steps)
        return height

    def cost(self, present):
        """H(LCA of the class's values) / H(tree) of definitions 3 and 5, for values that are all present."""
        tree_height = max(self.height.values())  # the root's
        if tree_height == 0:
            return Fraction(0)
        common = self.path(present[0])  # the ancestors that all values share, lowest first
        for value in set(present):
            path = self.path(value)
            common = [node for node in common if node in path]
        return Fraction(self.height[common[0]], tree_height)


def column_cost(column, rows):
    """What one column costs a class, before the weight. Missing values are settled here, for both kinds."""
    values = [column.values[row] for row in rows]
    present = [v for v in values if v is not None]
    if not present:  # all missing: published as empty, nothing lost
        return Fraction(0)
    if len(present) < len(values):  # missing and present mixed: published as *, everything lost
        return Fraction(1)
    return column.cost(present)


def diversity(columns, rows) -> Fraction:
    """D of a set of rows: the bracket of definition 5, weighted; of two rows, their distance (def. 4)."""
    return sum((Fraction(column.weight) * column_cost(column, rows) for column in columns), Fraction(0))


def loss(columns, rows):
    """IL of definition 5: size times diversity."""
    return len(rows) * diversity(columns, rows)


def increase(columns, members, row):
    """Line 4 of find_best_record and of find_best_cluster: diff = IL(c + r) - IL(c)."""
    return loss(columns, [*members, row]) - loss(columns, members)


def majority_labels(labels, members):
    """The most frequent labels of a class: one, or several when tied."""
    counts = Counter(labels[row] for row in members)
    return {label for label, count in counts.items() if count == max(counts.values())}


def furthest_record(columns, free, r):
    """The free row with the greatest distance from r; max keeps the first, so the lowest, of tied rows."""
    return max(free, key=lambda x: diversity(columns, [r, x]))


def find_best_record(columns, free, members, labels, class_penalty):
    """The free row that costs the class least; min, like "diff < min" on line 5, keeps the first of ties."""
    majority = None if labels is None else majority_labels(labels, members)

    def diff(x):
        if labels is None or labels[x] in majority:
            return increase(columns, members, x)
        return increase(columns, members, x) + Fraction(class_penalty)  # section 3.4, in place of line 4

    return min(free, key=diff)


def find_best_cluster(columns, classes, row):
    """The class that the row costs least (no class penalty: section 3.4 changes find_best_record only)."""
    return min(classes, key=lambda members: increase(columns, members, row))


def find_helpful_record(columns, free, members, keeping):
    """The free row that costs a class that is not good least, of those that help it; None: no row does."""
    helpful = [x for x in free if keeping.helps(members, x)]
    return min(helpful, key=lambda x: increase(columns, members, x), default=None)


def kmember(
    columns,
    k,
    start,
    priority,
    *,
    opens="furthest",
    anchor="last",
    labels=None,
    class_penalty=1,
    keeping=None,
) -> list[int]:
    """Figure 5. The class number of every row; classes are numbered from 0 in the order of opening.

    `start` is the randomly picked row of line 4; `priority`, one distinct number for each row, gives the
    random order of line 17 (lowest first).
    """
    n = len(priority)
    if any(len(column.values) != n for column in columns) or (labels is not None and len(labels) != n):
        raise ValueError("columns, labels and priority must have one entry for each row")
    if opens not in ("furthest", "start") or anchor not in ("last", "first"):
        raise ValueError("opens is 'furthest' or 'start', anchor is 'last' or 'first'")
    if not 1 <= k <= n:  # lines 1-3, made safe
        raise ValueError(f"k = {k} is impossible with {n} rows")

    free = list(range(n))  # S, always ascending
    classes = []  # result
    r = start  # line 4; r stays in S
    while len(free) >= k:  # line 5
        if opens == "furthest" or classes:
            r = furthest_record(columns, free, r)  # line 6; with opens="start" the first class skips it
        free.remove(r)  # line 7
        members = [r]  # line 8
        while len(members) < k:  # line 9
            r = find_best_record(columns, free, members, labels, class_penalty)  # line 10
            free.remove(r)  # line 11
            members.append(r)  # line 12
        while keeping is not None and not keeping.good(members):
            helpful = find_helpful_record(columns, free, members, keeping)
            if helpful is None:
                break
            r = helpful
            free.remove(r)
            members.append(r)
        classes.append(members)  # line 14
        if anchor == "first":
            r = members[0]  # the text: "we choose a record that is furthest from ri"
    for r in sorted(free, key=lambda row: priority[row]):  # lines 16-18
        find_best_cluster(columns, classes, r).append(r)  # lines 19-20; later rows see the grown class

    numbers = [-1] * n
    for number, members in enumerate(classes):
        for row in members:
            numbers[row] = number
    return numbers
