"""The slow, obvious twin of CB, clustering by binary splits: a reference to test a fast kernel against.

Written from He, Chen, Chen, Dong, Wang, Huang (2012), "Clustering-based k-anonymity": definition 1 (section
2.3), figure 4 and its text (section 3), definition 3 and figure 5 (section 4). All costs are exact fractions.
Rows are numbered by their position in the canonical order; every tie between rows goes to the lowest.

Where this differs from the paper, or the paper from itself:
- Figure 4, line 7, sends a row that is as near to both centres to G2; the text sends it to the side with
  fewer rows at that moment, which is done here; when these are equal too, to the first side.
- The text writes NCP(C1 + w) but NCP(G2 + w); figure 4 has centres in both places, and so it is here.
- In the first round the text puts the two centres into G1 and G2, deals out all rows of G, and takes the two
  out again. They add one to either side, so ties fall as they do when the sides start empty, as here.
- "Adjust" on line 8: the short side gets the rows of the other one that are nearest to its centre, the one
  the rows were dealt by. The centres of the next round (line 5) are those of the adjusted sides, whether or
  not this round was the best so far.
- Definition 1 assumes an order on every domain (ncp="order": a tree's leaves in depth-first order). The
  default ncp="height" has the costs of k-member, ncp="leaves" counts the leaves under the common node. A mean
  of categories exists with "order" only; else a centre has the most frequent leaf (ties: the first in
  depth-first order).
- Missing values are not in the paper. A centre's number (or position) is the mean of the values present, and
  missing when none is. In the count of the most frequent leaf missing is a value like any other, and comes
  last among ties. NCP of missing and present is 1, of missing and missing 0.
- `unit`: a kernel that counts in whole steps rounds each mean to one of them, half up; a column's domain has
  weight x unit steps. Without it means are exact.
- l-diversity, section 4: its loop does not end when a group refuses to be split; here such a group is final.
  The best of the r partitions is the only one tested. A missing sensitive value is no value: it is left out
  of both the count and the size.
- Figure 5 makes groups of l rows, fewer than k when k > l: neighbouring ones are joined until each has k. It
  deals row i of 1..|L| to group (i mod g) + 1, so the first row to the second group: here to the first.
- `keeping` (goals beyond k, see `tests.reference.keeping`): a group is split only when both sides are good.
"""
# ruff: noqa: E741 - l is the paper's name, and the world's

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from tests.reference.kmember import NumericColumn, TreeColumn, loss


def leaves_in_order(column, node=None):
    """The leaves under a node (None: in the tree), depth first, siblings in the order of the mapping."""
    below = [child for child, above in column.parent.items() if above == node]
    if not below:
        return [node]
    return [leaf for child in below for leaf in leaves_in_order(column, child)]


@dataclass(frozen=True)
class PositionColumn(NumericColumn):
    """A tree's leaves as positions in depth-first order; the domain is that of the tree, not of the table."""

    n_leaves: int = 1

    @property
    def domain(self):
        """|A| of definition 1: the last position less the first."""
        return self.n_leaves - 1


@dataclass(frozen=True)
class CountingColumn(TreeColumn):
    """A tree whose nodes cost (leaves under the node - 1) / (leaves of the tree - 1)."""

    def cost(self, present):
        """The cost of the lowest common ancestor of values that are all present."""
        n_leaves = len(leaves_in_order(self))
        if n_leaves == 1:
            return Fraction(0)
        common = [node for node in self.path(present[0]) if all(node in self.path(v) for v in present)]
        return Fraction(len(leaves_in_order(self, common[0])) - 1, n_leaves - 1)


def read(column, ncp):
    """The column as this reading of NCP sees it."""
    if isinstance(column, NumericColumn) or ncp == "height":
        return column
    if ncp == "leaves":
        return CountingColumn(column.values, column.parent, column.weight)
    leaves = leaves_in_order(column)
    positions = [None if v is None else leaves.index(v) for v in column.values]
    return PositionColumn(positions, column.weight, len(leaves))


def on_grid(column, mean, unit):
    """The mean, rounded to one of the steps of the column's domain."""
    if unit is None or column.domain == 0:
        return mean
    lowest = 0 if isinstance(column, PositionColumn) else min(v for v in column.values if v is not None)
    steps = round(column.weight * unit)
    return (
        lowest
        + Fraction(floor((mean - lowest) / column.domain * steps + Fraction(1, 2)), steps) * column.domain
    )


def centre_value(column, rows, unit):
    """What the centre of a side has in one column: the mean, or the most frequent leaf."""
    values = [column.values[row] for row in rows]
    if isinstance(column, NumericColumn):
        present = [Fraction(v) for v in values if v is not None]
        return on_grid(column, sum(present) / len(present), unit) if present else None
    counts = Counter(values)
    return max([*leaves_in_order(column), None], key=lambda leaf: counts[leaf])  # max keeps the first of ties


def centre_of(columns, rows, unit=None):
    """Line 5: the centre of a side, a value for each column."""
    return [centre_value(column, rows, unit) for column in columns]


def ncp_of_pair(column, value, centre):
    """NCP of a value and a centre's value in one column, before the weight."""
    if value is None or centre is None:
        return Fraction(value is not centre)
    return column.cost([value, centre])


def distance(columns, row, centre):
    """Line 7: NCP(w + C), the weighted sum over the columns."""
    pairs = zip(columns, centre, strict=True)
    return sum((Fraction(c.weight) * ncp_of_pair(c, c.values[row], at) for c, at in pairs), Fraction(0))


def distribute(columns, visited, centres):
    """Lines 6 and 7: every row, in the order visited, to the nearer centre."""
    sides = ([], [])
    for row in visited:
        deltas = [distance(columns, row, centre) for centre in centres]
        nearer = min((0, 1), key=lambda side: (deltas[side], len(sides[side])))  # then the first side
        sides[nearer].append(row)
    return sides


def adjust(columns, k, sides, centres):
    """Line 8: while a side has fewer than k rows, the row of the other nearest to its centre moves over."""
    for short, long, centre in ((*sides, centres[0]), (*reversed(sides), centres[1])):
        while len(short) < k:
            row = min(sorted(long), key=lambda row: distance(columns, row, centre))
            long.remove(row)
            short.append(row)


def bisect(columns, k, group, priorities, unit):
    """Lines 3 to 9: the best of r partitions of a group of at least 2k rows into two, first side first."""
    first_two = sorted(group, key=lambda row: priorities[0][row])[:2]
    centres = [centre_of(columns, [row], unit) for row in first_two]
    best, least = None, None
    for priority in priorities:  # line 3
        visited = sorted(group, key=priority.__getitem__)  # line 4
        sides = distribute(columns, visited, centres)
        adjust(columns, k, sides, centres)
        cost = loss(columns, sides[0]) + loss(columns, sides[1])
        if least is None or cost < least:  # line 9: better, so that the earliest of ties stays
            best, least = (sorted(sides[0]), sorted(sides[1])), cost
        centres = [centre_of(columns, side, unit) for side in sides]  # line 5 of the next round
    return best


def is_diverse(sensitive, l, rows):
    """Definition 3, in integers: l times the count of the most frequent value is at most the size."""
    counts = Counter(sensitive[row] for row in rows if sensitive[row] is not None)
    return l * max(counts.values(), default=0) <= counts.total()


def deal(sensitive, l, k, group):
    """Figure 5, made safe: deal the rows by sensitive value, join neighbours until all have at least k.

    Rows with a missing sensitive value are dealt after the others and do not count for g, so that each of
    the g groups has l values that differ. A group that has no sensitive value at all stays whole.
    """
    present = [row for row in sorted(group) if sensitive[row] is not None]
    missing = [row for row in sorted(group) if sensitive[row] is None]
    present.sort(key=lambda row: sensitive[row])  # lines 2 and 3; stable, so by position within a value
    g = max(1, len(present) // l)  # line 4
    dealt = [[] for _ in range(g)]
    for i, row in enumerate([*present, *missing]):  # line 5
        dealt[i % g].append(row)

    classes, rest = [], []
    for members in dealt:
        rest = rest + members
        if len(rest) >= k:
            classes.append(rest)
            rest = []
    classes[-1].extend(rest)  # the remainder into the last
    return classes


def may_be(sides, sensitive, l, keeping):
    """Whether both sides of a split are as diverse and as good as they should be."""
    if l is not None and not all(is_diverse(sensitive, l, side) for side in sides):
        return False
    return keeping is None or all(keeping.good(side) for side in sides)


def cb(columns, k, priorities, *, ncp="height", sensitive=None, l=None, unit=None, keeping=None) -> list[int]:
    """Figure 4, and with `sensitive` and `l` section 4. The class number of every row.

    `priorities` has r permutations of 0..n-1: in round t the rows of a group are visited with ascending
    priorities[t][row]; the first two rows that round 0 visits are its centres. Every group starts again from
    round 0. Groups are split depth first, the first side (of the first centre) before the second, and classes
    are numbered from 0 in the order in which they become final; those that figure 5 makes of one group follow
    one another in the order of dealing. Without l all have k..2k-1 rows; with l there is no upper bound.
    """
    n = len(columns[0].values)
    if any(len(column.values) != n for column in columns) or (sensitive is not None and len(sensitive) != n):
        raise ValueError("columns and sensitive must have one entry for each row")
    if not priorities or any(sorted(priority) != list(range(n)) for priority in priorities):
        raise ValueError("priorities are one or more permutations of the rows")
    if ncp not in ("height", "leaves", "order"):
        raise ValueError("ncp is 'height', 'leaves' or 'order'")
    if (sensitive is None) != (l is None) or (l is not None and l < 1):
        raise ValueError("sensitive and l (at least 1) go together")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")
    if l is not None and not is_diverse(sensitive, l, range(n)):
        raise ValueError(f"no partition of this table is {l}-diverse")

    columns = [read(column, ncp) for column in columns]
    final = []
    waiting = [list(range(n))]  # S, line 1: the last one is next
    while waiting:  # line 2
        group = waiting.pop()
        sides = bisect(columns, k, group, priorities, unit) if len(group) >= 2 * k else None
        if sides is None or not may_be(sides, sensitive, l, keeping):
            final.append(group)
        else:
            waiting += [sides[1], sides[0]]  # line 10
    classes = final if l is None else [made for group in final for made in deal(sensitive, l, k, group)]

    numbers = [-1] * n
    for number, members in enumerate(classes):
        for row in members:
            numbers[row] = number
    return numbers
