"""The attacks on two releases of a growing table, from Fung, Wang, Fu, Pei (EDBT 2008), in plain Python.

A table at time 1 is published as R1; at time 2, with more people, as R2. Releases are lists of pairs of a box
and a sensitive value. Somebody knows a person's quasi values, and when the person arrived: at time 1 or 2.
For each pair of a class in R1 and one in R2 that the person may be in, rows can be excluded ("cracked"):

- forward (F): of the class in R1, for who arrived at 1. Each row of R1 is also in R2; where R2's class has
  fewer rows with a value than R1's, the surplus must be in other classes of R2.
- cross (C): of the class in R2, for who arrived at 1. Where it has more rows with a value than R1's class,
  the surplus belongs to people who are not in R1's class.
- backward (B): of the class in R2, for who arrived at 2. Rows that must come from R1, because they cannot
  all be elsewhere, belong to somebody who arrived at 1.

What remains is the anonymity under each attack. `buddies` says which classes of R1 and R2 can have rows in
common: those that no row can leave.
"""

from collections import Counter


def sizes(rows, box):
    """How many rows of a class have each value."""
    return Counter(value for found, value in rows if found == box)


def forward(one, two, box1, box2):
    """Rows left of a class in R1 for somebody who arrived at time 1."""
    first, second = sizes(one, box1), sizes(two, box2)
    return Counter({value: min(count, second[value]) for value, count in first.items()})


def cross(one, two, box1, box2):
    """Rows left of a class in R2 for somebody who arrived at time 1."""
    first, second = sizes(one, box1), sizes(two, box2)
    return Counter({value: min(count, first[value]) for value, count in second.items()})


def backward(one, two, box2, buddies):
    """Rows left of a class in R2 for somebody who arrived at time 2.

    `buddies` are the boxes of R1 and those of R2 that share rows with nothing else.
    """
    ours, theirs = buddies
    left = Counter()
    for value, count in sizes(two, box2).items():
        in_one = sum(sizes(one, box)[value] for box in ours)
        elsewhere = sum(sizes(two, box)[value] for box in theirs if box != box2)
        left[value] = count - max(0, in_one - elsewhere)
    return +left
