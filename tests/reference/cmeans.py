"""The slow, obvious twin of weighted-feature C-means: a reference to test a fast kernel against.

Written from section 3.6 of the project's specification, after Chiu, Tsai (2007), "A k-anonymity clustering
method for effective data privacy preservation". All costs are exact fractions. Rows are numbered by their
position in the canonical order.

Two kinds of weight: a column's own (the user's, fixed) and its feature weight w_j (learned). The distance of
a row and a centre is the sum over columns of weight_j * w_j * d_j. The original is for numeric columns only.
Settled here:
- Centres and d_j are those of CB with ncp="height". A centre has the mean of the values present (missing when
  none is), or the most frequent leaf (ties: the first in depth-first order; missing is a value like any other
  and comes last among ties). d_j is |x - mean| / domain, or height(LCA) / height of the tree; 1 between
  missing and present, 0 between missing and missing.
- All w_j start equal, at 1 / number of columns. Every w_j, the first ones too, is rounded to a multiple of
  1/1024 (half to even). The rounding belongs to the method: kernel and twin then see the same ties. So the
  w_j need not add up to one.
- A round: every row goes to the nearest centre (ties: the lowest class number); when no row has changed its
  class since the round before, that is the end; else new centres, then new w_j. The rows of the first round
  have had no class, so a first round is never the end. After `rounds` rounds the last assignment stands.
- A seed row is a row like any other: it may go to another class, at once when two seeds are equal. A class
  that has lost all rows keeps its centre, and may get rows again.
- D_j is the total over the rows of weight_j * d_j to the *new* centre of the row's class. With beta = 2,
  w_j = 1 / sum_t (D_j / D_t), over the columns t with D_t > 0. A column with D_j = 0 gets w_j = 0. When all
  D_j are 0, the w_j stay as they were. Beta plays no part in the distance above, which has w_j, not w_j^beta.
- Merging, after the last round: empty classes vanish. While a class has fewer than k rows, the smallest one
  (ties: the lowest number) merges as a whole into the class where IL(union) - IL(one) - IL(other) is least
  (ties: the lowest number), whatever that one's size. The union keeps the receiver's number. IL has the
  columns' own weights and no w_j.
- There is no upper bound on the size of a class.
"""

from fractions import Fraction

from tests.reference.cb import centre_of, ncp_of_pair
from tests.reference.kmember import loss


def rounded(w):
    """The nearest multiple of 1/1024, half to even."""
    return Fraction(round(Fraction(w) * 1024), 1024)


def column_distances(columns, row, centre):
    """weight_j * d_j of a row and a centre, for every column."""
    return [
        Fraction(column.weight) * ncp_of_pair(column, column.values[row], at)
        for column, at in zip(columns, centre, strict=True)
    ]


def distance(columns, w, row, centre):
    """The sum over columns of weight_j * w_j * d_j."""
    apart = column_distances(columns, row, centre)
    return sum((w_j * d_j for w_j, d_j in zip(w, apart, strict=True)), Fraction(0))


def nearest(columns, w, row, centres):
    """The number of the nearest centre; min keeps the lowest of ties."""
    return min(range(len(centres)), key=lambda j: distance(columns, w, row, centres[j]))


def rows_of(labels, number):
    """The rows of a class, ascending."""
    return [row for row, label in enumerate(labels) if label == number]


def feature_weights(columns, labels, centres, w):
    """The next w_j, with beta = 2."""
    apart = [column_distances(columns, row, centres[number]) for row, number in enumerate(labels)]
    totals = [sum(of_column) for of_column in zip(*apart, strict=True)]  # D_j
    if not any(totals):
        return w
    return [
        rounded(1 / sum(total / other for other in totals if other > 0)) if total > 0 else Fraction(0)
        for total in totals
    ]


def assign(columns, seeds, rounds, unit):
    """The rounds: the number of the centre that every row went to in the last of them."""
    n = len(columns[0].values)
    centres = [centre_of(columns, [seed], unit) for seed in seeds]
    w = [rounded(Fraction(1, len(columns)))] * len(columns)
    labels = None
    for _ in range(rounds):
        before = labels
        labels = [nearest(columns, w, row, centres) for row in range(n)]
        if labels == before:
            break
        for number in set(labels):
            centres[number] = centre_of(columns, rows_of(labels, number), unit)
        w = feature_weights(columns, labels, centres, w)
    return labels


def merge_small(columns, k, classes):
    """Merge until every class has k rows; `classes` maps numbers to rows."""
    while small := [number for number, members in classes.items() if len(members) < k]:
        smallest = min(small, key=lambda number: (len(classes[number]), number))
        rows = classes.pop(smallest)

        def growth(number, rows=rows):
            return (
                loss(columns, classes[number] + rows) - loss(columns, classes[number]) - loss(columns, rows)
            )

        receiver = min(sorted(classes), key=growth)
        classes[receiver] = classes[receiver] + rows


def cmeans(columns, k, seeds, *, rounds=50, unit=None) -> list[int]:
    """The class number of every row; classes are numbered from 0 without gaps, in the order of the seeds.

    `seeds` are floor(n / k) distinct rows, in the order drawn: the first centre of class j is seeds[j].
    `unit` rounds the means of centres as in the twin of CB.
    """
    n = len(columns[0].values)
    if any(len(column.values) != n for column in columns):
        raise ValueError("columns must have one entry for each row")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} is impossible with {n} rows")
    if len(seeds) != n // k or len(set(seeds)) != len(seeds) or not set(seeds) <= set(range(n)):
        raise ValueError(f"seeds must be {n // k} distinct rows")
    if rounds < 1:
        raise ValueError("rounds is at least 1")

    labels = assign(columns, seeds, rounds, unit)
    classes = {number: rows_of(labels, number) for number in set(labels)}
    merge_small(columns, k, classes)

    numbers = [-1] * n
    for number, old in enumerate(sorted(classes)):
        for row in classes[old]:
            numbers[row] = number
    return numbers
