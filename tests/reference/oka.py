"""The slow, obvious twin of OKA, the one-pass k-means algorithm: a reference to test a fast kernel against.

Written from Lin, Wei (2008), "An efficient clustering method for k-anonymization": section 2.1, figure 1 (the
clustering stage) and figure 2 (the adjustment stage). All costs are exact fractions. Rows are numbered by
their position in the canonical order; every tie goes to the lowest row or to the lowest class number.

D({row, centroid}), which the paper writes as if the centroid were a row, is the weighted sum over columns of:
- numeric: |x - mean| / domain, or 0 when the whole column is constant;
- categorical: height of LCA(leaf, centroid's node) / height of the tree, or 0 when the tree is a single node;
- missing: a centroid whose members are all missing is missing, at 0 from a missing value and 1 from any
  other; a centroid with some members missing and some present is mixed, at 1 from everything, missing or
  not (such a class publishes * already); a missing value is at 1 from a centroid without missing members.
With a class of one row it is the distance of two rows.

Where this differs from the paper, or says what the paper leaves open:
- Line 5 of figure 2 measures from the centroid as it stood at the end of the clustering stage, whichever rows
  have left meanwhile. Then the centroids are made anew from the rows that stay, for lines 13 and 15, and
  follow each row received.
- A seed may be given up like any other row, and a row may come back to the class that gave it up.
- `iterations` (section 5 names it only). Each further pass is figure 1 once more, with new seeds: of each
  class of the pass before the row nearest to its centroid, in place of line 3.
- `suppress` (section 5 names it only), settled between lines 8 and 9, for each class with fewer than k rows
  by itself. Filling means: the rows given up that are nearest to its centroid join it until it has k. It
  costs IL of the filled class, less what those rows would have cost where they came from (the increase of IL
  when one goes back alone to those that stayed). When size x the sum of the weights is less, the class is
  suppressed. Without "less what ...", almost every small class would be: filling moves k - size rows that
  are not lost otherwise. There is no limit on the number of rows suppressed.
- Missing values, weights, uneven trees and constant columns are not in the paper.
- `keeping` (goals beyond k, see `tests.reference.keeping`), not in the paper either. A class above k that is
  good passes over each row without which it would no longer be, in line 5. Of the classes that may receive a
  row those that want it come first. Since classes may keep more than k, some may stay below k.
"""

from fractions import Fraction

from tests.reference.kmember import TreeColumn, increase, loss
from tests.reference.systematic import spare

MIXED = object()  # a centroid's value in a column where some members are missing and some are not


def centroid_value(column, rows):
    """The mean or the LCA of the rows' values; None when all are missing, MIXED when some are."""
    values = [column.values[row] for row in rows]
    present = [v for v in values if v is not None]
    if not present:
        return None
    if len(present) < len(values):
        return MIXED
    if not isinstance(column, TreeColumn):
        return Fraction(sum(present), len(present))
    common = column.path(present[0])  # the ancestors that all values share, lowest first
    for value in present:
        path = column.path(value)
        common = [node for node in common if node in path]
    return common[0]


def centroid(columns, rows):
    """Section 2.1: one value for each column."""
    return [centroid_value(column, rows) for column in columns]


def column_distance(column, row, centre):
    """What one column adds to D({row, centroid}), before the weight."""
    value = column.values[row]
    if value is None and centre is None:
        return Fraction(0)
    if value is None or centre is None or centre is MIXED:
        return Fraction(1)
    return column.cost([value, centre])  # takes means and inner nodes too


def centroid_distance(columns, row, centres):
    """D({row, centroid})."""
    return sum(
        (
            Fraction(column.weight) * column_distance(column, row, centre)
            for column, centre in zip(columns, centres, strict=True)
        ),
        Fraction(0),
    )


def add_to_closest(columns, row, classes, centroids, among):
    """Lines 8-9 of figure 1, 13 and 15 of figure 2: the least size x D({row, centroid}); lowest of ties."""

    def distance(j):
        return len(classes[j]) * centroid_distance(columns, row, centroids[j])

    j = min(among, key=distance)
    classes[j].append(row)
    centroids[j] = centroid(columns, classes[j])


def first_pass(columns, n, seeds):
    """Figure 1: the classes and their centroids."""
    classes = [[seed] for seed in seeds]  # line 4
    centroids = [centroid(columns, members) for members in classes]
    for row in range(n):  # lines 5-11
        if row not in seeds:
            add_to_closest(columns, row, classes, centroids, range(len(classes)))
    return classes, centroids


def nearest_rows(columns, classes, centroids):
    """The seeds of a further pass: of each class the row nearest to its centroid, the lowest of ties."""
    return [
        min(members, key=lambda row: (centroid_distance(columns, row, centres), row))
        for members, centres in zip(classes, centroids, strict=True)
    ]


def give_up(columns, k, members, centres, keeping):
    """Lines 3-7 of figure 2: the rows that stay and the rows given up."""
    by_distance = sorted(members, key=lambda row: (-centroid_distance(columns, row, centres), row))
    excess = max(len(members) - k, 0)
    given_up = by_distance[:excess] if keeping is None else spare(k, members, by_distance, keeping)
    return [row for row in by_distance if row not in given_up], given_up


def suppression_pays(columns, k, j, classes, centroids, home):
    """Whether losing class j costs less than filling it; `home`: row given up -> the class it comes from."""
    by_distance = sorted(home, key=lambda row: (centroid_distance(columns, row, centroids[j]), row))
    fill = by_distance[: k - len(classes[j])]
    filling = loss(columns, classes[j] + fill) - sum(
        increase(columns, classes[home[row]], row) for row in fill
    )
    return len(classes[j]) * sum(Fraction(column.weight) for column in columns) < filling


def adjust(columns, k, classes, centroids, priority, suppress, keeping):
    """Figure 2: the classes, without those suppressed."""
    classes, centroids = list(classes), list(centroids)
    home = {}  # R, lines 1-8
    for j, members in enumerate(classes):
        classes[j], given_up = give_up(columns, k, members, centroids[j], keeping)
        home.update(dict.fromkeys(given_up, j))
        if given_up:
            centroids[j] = centroid(columns, classes[j])
    kept = [
        j
        for j, members in enumerate(classes)
        if not (suppress and len(members) < k and suppression_pays(columns, k, j, classes, centroids, home))
    ]
    for row in sorted(home, key=lambda row: priority[row]):  # lines 9-11
        among = [j for j in kept if len(classes[j]) < k] or kept  # lines 12, 14
        if keeping is not None:
            among = [j for j in among if keeping.wants(classes[j], row)] or among
        add_to_closest(columns, row, classes, centroids, among)  # lines 13, 15
    return [classes[j] for j in kept]


def oka(columns, k, seeds, priority, *, iterations=1, suppress=False, keeping=None) -> list[int]:
    """Figures 1 and 2. The class number of every row, -1 for a suppressed one.

    `seeds` are the floor(n / k) rows of line 3, in the order drawn: class j starts with seeds[j].
    `priority`, one distinct number for each row, gives the random order of line 10 of figure 2 (lowest
    first). The classes that remain when some are suppressed are numbered from 0 without gaps, in their order.
    """
    n = len(priority)
    if any(len(column.values) != n for column in columns):
        raise ValueError("columns and priority must have one entry for each row")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")
    if len(seeds) != n // k or len(set(seeds)) != len(seeds) or not set(seeds) <= set(range(n)):
        raise ValueError(f"seeds must be {n // k} distinct rows")
    if iterations < 1:
        raise ValueError("iterations is at least 1")

    classes, centroids = first_pass(columns, n, seeds)
    for _ in range(iterations - 1):
        classes, centroids = first_pass(columns, n, nearest_rows(columns, classes, centroids))
    numbers = [-1] * n
    for number, members in enumerate(adjust(columns, k, classes, centroids, priority, suppress, keeping)):
        for row in members:
            numbers[row] = number
    return numbers
