"""The slow, obvious twin of Anatomy's grouping: a reference to test a fast kernel against.

Written after the bucketization of Xiao, Tao (2006), "Anatomy: simple and effective privacy preservation",
which section 3.6 of the project's specification names. Rows are numbered by their position in the canonical
order.

Rows are put into buckets by sensitive value. While at least l buckets have rows, one row from each of the l
largest makes a group. Then every row that is left joins a group that does not have its value. So each group
has at least l values, each of them once. Settled here:
- "The l largest": ties go to the bucket whose value is smallest.
- "A random tuple" of a bucket: the one of lowest priority.
- "A random group" for a row that is left: the lowest-numbered one that does not have its value. At most l - 1
  rows are left, each of another value, so their order makes no difference. There is always such a group: a
  value has at most as many rows as there are groups, and one of them is the row that is left.
- Eligible: l times the count of the most frequent value is at most the number of rows. Else it is an error.
- Missing sensitive values are not in the paper. One is not a diverse value (section 4 of the specification):
  it is left out of both counts, so it makes no bucket, and the eligibility is that of the rows that have a
  value. Rows without one are dealt to the groups afterwards, in the order of priority, the first to group 0,
  the next to group 1, and so on round; they change no group's diversity. A table without any value is an
  error.
- l = 1 is allowed: every group is then one row, with those without a value added.
"""
# ruff: noqa: E741 - l is the paper's name, and the world's

from collections import Counter


def fill_buckets(sensitive, priority):
    """Value -> its rows, lowest priority first."""
    buckets = {}
    for row in sorted(range(len(sensitive)), key=lambda row: priority[row]):
        if sensitive[row] is not None:
            buckets.setdefault(sensitive[row], []).append(row)
    return buckets


def anatomy(sensitive, l, priority) -> list[int]:
    """The group number of every row; groups are numbered from 0 in the order of making.

    `sensitive` has values that can be compared, None for a missing one; `priority` one distinct number for
    each row, lowest first.
    """
    n = len(sensitive)
    if len(priority) != n:
        raise ValueError("sensitive and priority must have one entry for each row")
    if l < 1:
        raise ValueError("l is at least 1")
    counts = Counter(value for value in sensitive if value is not None)
    if not counts:
        raise ValueError("no row has a sensitive value")
    if l * max(counts.values()) > counts.total():
        raise ValueError(f"no grouping of this table is {l}-diverse")

    buckets = fill_buckets(sensitive, priority)
    groups = []
    while len(with_rows := [value for value in buckets if buckets[value]]) >= l:  # group creation
        largest = sorted(with_rows, key=lambda value: (-len(buckets[value]), value))[:l]
        groups.append([buckets[value].pop(0) for value in largest])
    for value, left in buckets.items():  # residue assignment; at most one row is left
        for row in left:
            next(group for group in groups if value not in [sensitive[other] for other in group]).append(row)
    without_value = [row for row in range(n) if sensitive[row] is None]
    for i, row in enumerate(sorted(without_value, key=lambda row: priority[row])):
        groups[i % len(groups)].append(row)

    numbers = [-1] * n
    for number, members in enumerate(groups):
        for row in members:
            numbers[row] = number
    return numbers
