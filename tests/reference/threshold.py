"""The slow, obvious twin of threshold greedy clustering: a reference to test a fast kernel against.

Written from section 3.6 of the project's specification, after Loukides, Shao (2007), "Capturing data
usefulness and privacy protection in k-anonymisation". All costs are exact fractions. Rows are numbered by
their position in the canonical order.

A class starts with a random row. The free row with the least D(class + row) joins while that D is below the
threshold; then the next class starts, until no row is free. Classes smaller than k are deleted. Settled here:
- "Random seed row": the free row of lowest priority.
- Ties for the row to join: the lowest position. D equal to the threshold is not below it.
- A class is not closed at k rows: only the threshold ends it, so there is no upper bound on its size.
- Deleted classes are taken in the order of opening. Each is suppressed as a whole when the rows suppressed so
  far and its own are at most `may_suppress`; one that would exceed it is passed over, and a smaller one after
  it may still be suppressed.
- The rows of the other deleted classes rejoin one by one, in the order of priority across all of them, the
  class of at least k rows where IL grows least (ties: the class opened first); later rows see it grown.
- When no class has k rows there is nothing to rejoin: the rows not suppressed are one class. When these would
  be fewer than k (none at all included), nothing is suppressed and all rows are one class.
- The numbers reported: deleted rows are those of all classes smaller than k, rejoined rows are those of them
  that are not suppressed, be it that they joined a class of k rows or that they are the one class together.
  So deleted = suppressed + rejoined.
- Missing values, weights, uneven trees and constant columns cost what they cost in k-member.
"""

from tests.reference.kmember import diversity, increase


def grow(columns, free, seed, threshold):
    """The class that starts with the seed; its rows are taken out of `free`, which is ascending."""
    free.remove(seed)
    members = [seed]
    while free:
        nearest = min(free, key=lambda row: diversity(columns, [*members, row]))  # the lowest of ties
        if not diversity(columns, [*members, nearest]) < threshold:
            break
        free.remove(nearest)
        members.append(nearest)
    return members


def choose_suppressed(deleted, may_suppress):
    """The deleted classes to suppress, in the order found, as far as the limit goes."""
    chosen, n_rows = [], 0
    for members in deleted:
        if n_rows + len(members) <= may_suppress:
            chosen.append(members)
            n_rows += len(members)
    return chosen


def threshold_greedy(columns, k, priority, *, threshold, may_suppress=0) -> tuple[list[int], int, int]:
    """The class number of every row (-1: suppressed), the number of rows deleted, and of those rejoined.

    `priority` has one distinct number for each row, lowest first. Classes are numbered from 0 without gaps,
    in the order of opening.
    """
    n = len(priority)
    if any(len(column.values) != n for column in columns):
        raise ValueError("columns and priority must have one entry for each row")
    if may_suppress < 0:
        raise ValueError("may_suppress is a number of rows, at least 0")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")

    free = list(range(n))
    opened = []
    while free:
        seed = min(free, key=lambda row: priority[row])
        opened.append(grow(columns, free, seed, threshold))

    classes = [members for members in opened if len(members) >= k]
    deleted = [members for members in opened if len(members) < k]
    suppressed = choose_suppressed(deleted, may_suppress)
    rejoining = [row for members in deleted if members not in suppressed for row in members]
    if not classes and len(rejoining) < k:
        rejoining = list(range(n))  # nothing is suppressed
    if classes:
        for row in sorted(rejoining, key=lambda row: priority[row]):
            min(classes, key=lambda members: increase(columns, members, row)).append(row)  # the first of ties
    else:
        classes = [rejoining]

    numbers = [-1] * n
    for number, members in enumerate(classes):
        for row in members:
            numbers[row] = number
    return numbers, sum(map(len, deleted)), len(rejoining)
