"""The lower bound by prices, written from its definition: every box of a table, in exact fractions.

Each row i has a price p_i, any number. The excess of a box with at least k rows is the mean of the k highest
prices inside it, less its diversity; v_i is the greatest excess of any such box that holds row i. Then

    the sum over all rows of (p_i - v_i) is at most Total IL of any k-anonymous release,

for every p. Columns are those of `tests.reference.kmember`; for tables of up to 10 rows or so. A box is given
by the rows that span it, and holds every row that costs nothing more: all rows that leave D as it is.
"""

from fractions import Fraction
from itertools import combinations

from tests.reference.kmember import diversity


def boxes(columns, n_rows, k):
    """Every set of at least k rows that a box can hold, with its diversity.

    The box over some rows holds each row that fits in without making any column wider.
    """
    found = {}
    for size in range(1, n_rows + 1):
        for rows in combinations(range(n_rows), size):
            inside = tuple(row for row in range(n_rows) if _fits(columns, rows, row))
            if len(inside) >= k:
                found[inside] = diversity(columns, inside)
    return found


def _fits(columns, rows, row):
    """Whether a row makes no column of a box wider."""
    return all(diversity([c], rows) == diversity([c], (*rows, row)) for c in columns)


def greatest_excess(columns, n_rows, k, prices):
    """For each row the greatest excess of any box that holds it."""
    found = [None] * n_rows
    for inside, cost in boxes(columns, n_rows, k).items():
        highest = sorted((Fraction(prices[row]) for row in inside), reverse=True)[:k]
        excess = sum(highest) / k - cost
        for row in inside:
            if found[row] is None or excess > found[row]:
                found[row] = excess
    return found


def bound(columns, n_rows, k, prices):
    """The sum of p - v over all rows."""
    excess = greatest_excess(columns, n_rows, k, prices)
    return sum((Fraction(p) - v for p, v in zip(prices, excess, strict=True)), Fraction(0))


def fixed_point(columns, n_rows, k, passes, prices=None):
    """Prices after some passes of p <- p - v; from 0 if none are given."""
    prices = [Fraction(0)] * n_rows if prices is None else [Fraction(p) for p in prices]
    for _ in range(passes):
        excess = greatest_excess(columns, n_rows, k, prices)
        prices = [p - v for p, v in zip(prices, excess, strict=True)]
    return prices
