"""Counts of rows whose cells may be one of several values, by listing every value, in exact fractions.

A row is a dictionary from column to the list of values that its cell may be, all equally likely.
"""

from fractions import Fraction
from itertools import product


def expected_count(rows, conditions):
    """The expected number of rows that fulfil all conditions, each a function from a value to a bool."""
    total = Fraction(0)
    for row in rows:
        share = Fraction(1)
        for name, holds in conditions.items():
            share *= Fraction(sum(map(holds, row[name])), len(row[name]))
        total += share
    return total


def joint_table(rows, a, b):
    """The expected number of rows with each pair of values of two columns."""
    table = {}
    for row in rows:
        for pair in product(row[a], row[b]):
            weight = Fraction(1, len(row[a]) * len(row[b]))
            table[pair] = table.get(pair, Fraction(0)) + weight
    return table


def squared_v(table):
    """The square of Cramér's V."""
    total = sum(table.values())
    first, second = {}, {}
    for (a, b), count in table.items():
        first[a] = first.get(a, 0) + count / total
        second[b] = second.get(b, 0) + count / total
    found = sum(
        (table.get((a, b), Fraction(0)) / total - first[a] * second[b]) ** 2 / (first[a] * second[b])
        for a in first
        for b in second
    )
    return found / (min(len(first), len(second)) - 1)
