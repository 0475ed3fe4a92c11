"""The slow, obvious twin of systematic clustering: a reference to test a fast kernel against.

Written from Bhaladhare, Jinwala (2016), tables 9 and 10, lines 6 to 12, which restate Kabir, Wang, Bertino
(2011), "Efficient systematic clustering method for k-anonymization". All costs are exact fractions. Rows are
numbered by their position in the canonical order; every tie goes to the lowest class number.

Where this differs from the paper, or says what the paper leaves open:
- "Make a partition of all records into k groups" (line 6): it is floor(n / k) runs of k rows, one seed in
  each, and a tail of n mod k rows without a seed.
- Lines 7 and 8 draw a row in each run (`offsets`); Kabir et al. draw one position for all runs (`position`).
- "A cluster whose information loss is lowest" (line 10): the class whose IL grows least. No class is full:
  lines 11 and 12 come after all rows have joined.
- Lines 11 and 12. All classes above k give up the rows added last, so that the first k stay, before any of
  those rows joins again. They join in the order of the class numbers, those of one class in the order in
  which it had got them. While a class is below k only such classes may receive; then all may. A row may come
  back to the class that gave it up.
- Missing values, weights, uneven trees and constant columns are not in the paper.
- `keeping` (goals beyond k, see `tests.reference.keeping`), not in the paper either. Classes above k give
  up rows, the last added first and the seed last, down to k; one that is good before passes over each row
  without which it would no longer be. Rows given up by one class join again in the order of their positions.
  Of the classes that may receive a row those that want it come first. Since classes may keep more than k,
  the rows given up may not suffice, and some classes stay below k.
"""

from tests.reference.kmember import increase


def cheapest(columns, classes, row):
    """The class whose IL the row raises least; min keeps the first, so the lowest, of tied classes."""
    return min(classes, key=lambda members: increase(columns, members, row))


def seed_rows(n, k, position, offsets):
    """Lines 6-8: one row in each full run of k rows."""
    if offsets is None:
        offsets = [position] * (n // k)
    if len(offsets) != n // k or not all(0 <= offset < k for offset in offsets):
        raise ValueError(f"position, or {n // k} offsets, must be from 0 to {k - 1}")
    return [j * k + offset for j, offset in enumerate(offsets)]


def spare(k, members, last_first, keeping):
    """The rows of a class that are given up, from those offered, in this order."""
    was_good, given_up = keeping.good(members), []
    for row in last_first:
        left = [other for other in members if other != row and other not in given_up]
        if len(left) >= k and (not was_good or keeping.good(left)):
            given_up.append(row)
    return given_up


def wanting(classes, row, keeping):
    """The classes that want the row; all when none does."""
    return [members for members in classes if keeping.wants(members, row)] or classes


def systematic(columns, k, position=0, *, offsets=None, keeping=None) -> list[int]:
    """Tables 9 and 10. The class number of every row; classes are numbered from 0 in the order of the seeds.

    `position` is the random place of the seed in every run of k rows; `offsets`, when given, is used instead:
    one place for each run.
    """
    n = len(columns[0].values)
    if any(len(column.values) != n for column in columns):
        raise ValueError("columns must have one entry for each row")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")

    seeds = seed_rows(n, k, position, offsets)
    classes = [[seed] for seed in seeds]
    for row in range(n):
        if row not in seeds:
            cheapest(columns, classes, row).append(row)  # lines 9-10
    extra = []  # line 11
    for members in classes:
        given_up = members[k:] if keeping is None else sorted(spare(k, members, members[::-1], keeping))
        extra += given_up
        members[:] = [row for row in members if row not in given_up]
    for row in extra:  # line 12
        below = [members for members in classes if len(members) < k]
        among = below or classes
        if keeping is not None:
            among = wanting(among, row, keeping)
        cheapest(columns, among, row).append(row)

    numbers = [-1] * n
    for number, members in enumerate(classes):
        for row in members:
            numbers[row] = number
    return numbers
