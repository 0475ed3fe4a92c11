"""Lower bounds of Total IL, each written from its definition, and the least loss of all partitions.

Written from sections 3.7 and 3.8 of the project's specification. D is the diversity of a set of rows: what
one of them costs when the set is a class. It grows with the set, and that alone makes all of this true. Costs
are exact fractions; for tables of up to 10 rows or so. Columns are those of `tests.reference.kmember`.

With n < k there is no partition, and no bound.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations

from tests.reference.kmember import diversity


def least_loss(columns, n_rows, k):
    """The least sum of size x D over all partitions into classes of at least k rows.

    Classes of 2k rows or more need not be tried: two parts of such a class never lose more than it.
    """
    everybody = frozenset(range(n_rows))

    @cache
    def least(rows):
        if not rows:
            return Fraction(0)
        if len(rows) < k:
            return None
        first, *others = sorted(rows)
        found = None
        for size in range(k, min(2 * k, len(rows) + 1)):
            for joined in combinations(others, size - 1):
                members = (first, *joined)
                rest = least(rows - frozenset(members))
                if rest is not None:
                    loss = rest + size * diversity(columns, members)
                    found = loss if found is None else min(found, loss)
        return found

    return least(everybody)


def nearest_row(columns, n_rows, k):
    """For each row D of it and its (k - 1)-th nearest other row: its class has a row at least as far."""
    found = []
    for row in range(n_rows):
        far = sorted(diversity(columns, (row, other)) for other in range(n_rows) if other != row)
        found.append(far[k - 2])
    return found


def smallest_box(columns, n_rows, k):
    """For each row the least D of any k rows of which it is one."""
    return [
        min(
            diversity(columns, (row, *others))
            for others in combinations([other for other in range(n_rows) if other != row], k - 1)
        )
        for row in range(n_rows)
    ]


def mutual_reachability(columns, n_rows, k, bound, passes=3):
    """Raise a bound: the k-th smallest over j, the row itself among them, of max(D(i, j), b_i, b_j)."""
    for _ in range(passes):
        bound = [
            sorted(max(diversity(columns, (i, j)), bound[i], bound[j]) for j in range(n_rows))[k - 1]
            for i in range(n_rows)
        ]
    return bound


def with_drag(columns, n_rows, k, bound):
    """Add to each row's bound what it drags others up by: the mean of the k - 1 smallest w_ij.

    w_ij = max(0, max(bound_i, D(i, j)) - bound_j). It is the sum that is a bound then, not each term.
    """
    raised = []
    for i in range(n_rows):
        drags = sorted(
            max(Fraction(0), max(bound[i], diversity(columns, (i, j))) - bound[j])
            for j in range(n_rows)
            if j != i
        )
        raised.append(bound[i] + sum(drags[: k - 1], Fraction(0)) / (k - 1))
    return raised
