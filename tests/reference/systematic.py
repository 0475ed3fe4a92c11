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


def systematic(columns, k, position=0, *, offsets=None) -> list[int]:
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
        extra += members[k:]
        del members[k:]
    for row in extra:  # line 12
        below = [members for members in classes if len(members) < k]
        cheapest(columns, below or classes, row).append(row)

    numbers = [-1] * n
    for number, members in enumerate(classes):
        for row in members:
            numbers[row] = number
    return numbers
