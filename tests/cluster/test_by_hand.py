"""Small tables worked by hand: what each method must give, with the arithmetic beside it.

The rows of every table are in canonical order (numbers ascending, leaves in depth-first order, missing last).
Equal rows are interchangeable: nothing expected depends on which of them comes first.
"""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from tests.reference.anatomy import anatomy
from tests.reference.cmeans import cmeans
from tests.reference.incognito import anonymous_vectors, distortion, incognito, published_at
from tests.reference.kmember import NumericColumn, TreeColumn
from tests.reference.nonhomogeneous import ANY, consistent, guarantee, matches
from tests.reference.threshold import threshold_greedy

# Threshold greedy


@dataclass(frozen=True)
class ThresholdTable:
    """Columns, the random order, the threshold; and by (k, may_suppress): labels, deleted, rejoined."""

    columns: list
    priority: list
    threshold: Fraction | int
    expected: dict


# One number (0..10, so a step is 1/10) and a tree of height 2: north (a, b), c and d under the root.
# The seeds come in the order 1, 4, 6, 0, 5, 3, 2.
#
# Seed 1 (2 a): row 0 D = 2/10 is the least (row 2: 2/10 + 1/2; row 3: 3/10 + 1). {1, 0}: row 2 is the least,
#   4/10 + 1/2 = 9/10, which is not below the threshold 9/10. Closed: A = {0, 1}.
# Seed 4 (6 c): rows 3 and 5 tie at 1/10, row 3 joins. {4, 3}: row 5, 2/10. {4, 3, 5}: row 2, 3/10 + 1.
#   Closed: B = {3, 4, 5}.
# Seed 6 (10 d): row 2, 6/10 + 1. Closed: C = {6}. Seed 2: none is free. E = {2}.
#
# k = 2, none suppressed. C and E are deleted; rows 6 and 2 rejoin, in this order.
#   Row 6: A 3(10/10 + 1) - 2(2/10) = 5.6; B 4(5/10 + 1) - 3(2/10) = 5.4. To B.
#   Row 2: A 3(4/10 + 1/2) - 2(2/10) = 2.3; B is [5, 10] *, 5(6/10 + 1) - 4(5/10 + 1) = 2.0. To B.
#   (Before row 6 came, B would have cost 4(3/10 + 1) - 3(2/10) = 4.6.)
# k = 2, one: C comes first and is suppressed. Row 2: A 2.3, B 4.6. To A.
# k = 2, two: C and E are suppressed.
# k = 3, one: A, C and E are deleted. A has 2 rows, too many; C is suppressed; E would be the second.
#   Rows 1, 0 and 2 rejoin B, the only class.
# k = 3, two: A is suppressed, and that is all. Rows 6 and 2 rejoin B.
# k = 3, three: A and C are suppressed (3 rows); E would be the fourth.
THRESHOLD_CLASSES = ThresholdTable(
    columns=[
        NumericColumn([0, 2, 4, 5, 6, 7, 10]),
        TreeColumn(
            ["a", "a", "b", "c", "c", "c", "d"],
            {"any": None, "north": "any", "a": "north", "b": "north", "c": "any", "d": "any"},
        ),
    ],
    priority=[3, 0, 6, 5, 1, 4, 2],
    threshold=Fraction(9, 10),
    expected={
        (2, 0): ([0, 0, 1, 1, 1, 1, 1], 2, 2),
        (2, 1): ([0, 0, 0, 1, 1, 1, -1], 2, 1),
        (2, 2): ([0, 0, -1, 1, 1, 1, -1], 2, 0),
        (3, 1): ([0, 0, 0, 0, 0, 0, -1], 4, 3),
        (3, 2): ([-1, -1, 0, 0, 0, 0, 0], 4, 2),
        (3, 3): ([-1, -1, 0, 0, 0, 0, -1], 4, 1),
    },
)

# One number, 0..13; the threshold is 2/13. The seeds come in the order 5, 1, 3, 2, 6.
#
# Seed 5 (12): rows 4 and 6 tie at 1/13, row 4 joins. {11, 12} and 13: 2/13, not below. Closed: A = {4, 5}.
# Seed 1 (1): rows 0 and 2 tie, row 0 joins. {0, 1} and 2: 2/13. Closed: B = {0, 1}.
# Seed 3 (6): row 2, 4/13. Seed 2 (2): row 6, 11/13. Rows 3, 2 and 6 are classes of one.
#
# None suppressed: rows 3, 2, 6 rejoin, in this order.
#   Row 3 (6): A 3(6/13) - 2(1/13) = 16/13, B 3(6/13) - 2(1/13) = 16/13. A was opened first: A = [6, 12].
#   Row 2 (2): A 4(10/13) - 3(6/13) = 22/13, B 3(2/13) - 2(1/13) = 4/13. To B = [0, 2].
#   Row 6 (13): A 4(7/13) - 3(6/13) = 10/13, B 4(13/13) - 3(2/13) = 46/13. To A.
# Three suppressed: these three.
THRESHOLD_TIES = ThresholdTable(
    columns=[NumericColumn([0, 1, 2, 6, 11, 12, 13])],
    priority=[5, 1, 3, 2, 6, 0, 4],
    threshold=Fraction(2, 13),
    expected={
        (2, 0): ([1, 1, 1, 0, 0, 0, 0], 3, 3),
        (2, 3): ([1, 1, -1, -1, 0, 0, -1], 3, 0),
    },
)

# Nothing is below 0, so every row is a class by itself, opened in the order 2, 0, 3, 1; none has 2 rows.
# None suppressed: all four rows are one class. One: row 2 is. Two: rows 2 and 0 are, two rows are left.
# Three: one row would be left, fewer than k, so nothing is suppressed. Four: none would be left; the same.
THRESHOLD_NO_CLASS = ThresholdTable(
    columns=[NumericColumn([1, 1, 5, None], Fraction(1, 2))],
    priority=[1, 3, 0, 2],
    threshold=0,
    expected={
        (2, 0): ([0, 0, 0, 0], 4, 4),
        (2, 1): ([0, 0, -1, 0], 4, 3),
        (2, 2): ([-1, 0, -1, 0], 4, 2),
        (2, 3): ([0, 0, 0, 0], 4, 4),
        (2, 4): ([0, 0, 0, 0], 4, 4),
    },
)

THRESHOLD_CASES = [
    pytest.param(table, k, may_suppress, id=f"{name}-k{k}-suppress{may_suppress}")
    for name, table in [
        ("classes", THRESHOLD_CLASSES),
        ("ties", THRESHOLD_TIES),
        ("no_class", THRESHOLD_NO_CLASS),
    ]
    for k, may_suppress in table.expected
]


@pytest.mark.parametrize(("table", "k", "may_suppress"), THRESHOLD_CASES)
def test_threshold(table, k, may_suppress):
    found = threshold_greedy(
        table.columns, k, table.priority, threshold=table.threshold, may_suppress=may_suppress
    )
    assert found == table.expected[k, may_suppress]


# Weighted-feature C-means


@dataclass(frozen=True)
class CmeansTable:
    """Columns, k, the seed rows; and by the number of rounds: labels."""

    columns: list
    k: int
    seeds: list
    expected: dict


# x from 0 to 10 and a flat tree p, q. Both w start at 1/2, so round 1 goes by dx + dc.
#
# Round 1, centres (0 p) (4 q) (10 q). Row 3 (6 p): 6/10, 2/10 + 1, 4/10 + 1: class 0. Row 1: class 0, rows 4
#   and 5: class 2. Assigned 0 0 1 0 2 2. New centres (7/3 p) (4 q) (19/2 q).
#   D_x = (7/3 + 4/3 + 11/3 + 0 + 1/2 + 1/2)/10 = 5/6, D_c = 0: w_x = 1, w_c = 0.
# Round 2, by x alone. Row 3: 11/3, 2, 7/2 tenths: class 1. Row 1: 4/3 against 3: class 0.
#   Assigned 0 0 1 1 2 2. New centres (1/2 p) (5 p) (19/2 q): class 1 has a p and a q, p is first in the tree.
#   D_x = (1/2 + 1/2 + 1 + 1 + 1/2 + 1/2)/10 = 2/5, D_c = 1 (row 2). w_x = 1 / (1 + 2/5) = 5/7, w_c = 2/7;
#   1024 of these are 731.4 and 292.6: w_x = 731/1024, w_c = 293/1024.
# Round 3, in 1/1024. Row 2 (4 q): 731(3.5/10) + 293 = 548.9, 73.1 + 293 = 366.1, 731(5.5/10) = 402.1: class
#   1.
#   Row 3 (6 p): 402.1, 73.1, 731(3.5/10) + 293: class 1. Rows 0, 1 and 4, 5 are near their own. No change.
#
# Stopped after round 1: class 1 = {2} is too small. Into class 0: IL {0,1,2,3} - IL {0,1,3} =
#   4(6/10 + 1) - 3(6/10) = 4.6. Into class 2: IL {2,4,5} - IL {4,5} = 3(6/10) - 2(1/10) = 1.6. Class 2.
CMEANS_MOVES = CmeansTable(
    columns=[
        NumericColumn([0, 1, 4, 6, 9, 10]),
        TreeColumn(["p", "p", "q", "p", "q", "q"], {"any": None, "p": "any", "q": "any"}),
    ],
    k=2,
    seeds=[0, 2, 5],
    expected={
        1: [0, 0, 1, 0, 1, 1],
        2: [0, 0, 1, 1, 2, 2],
        50: [0, 0, 1, 1, 2, 2],
    },
)

# One column, so w = 1 throughout. Two seeds are equal, the third is missing.
# Round 1, centres 0, 0, missing. Rows 0, 1, 2 are at 0 from classes 0 and 1: class 0. Row 3 (8) is at 1 from
#   all: class 0. Rows 4, 5: class 2. Class 1 is empty and keeps its centre. New centres 2, 0, missing.
# Round 2. Rows 0, 1, 2: 2/8 against 0: class 1. Row 3: 6/8, 1, 1: class 0. New centres 8, 0, missing; D = 0,
#   so w stays. Round 3: no change.
# Class 0 = {3} is too small. Into class 1: 4(8/8) - 0 = 4. Into class 2: 3(1) - 0 = 3, as missing and present
# mix. Class 2. Classes 1 and 2 become 0 and 1.
# Stopped after round 1: classes 0 = {0, 1, 2, 3} and 2 = {4, 5} are large enough.
CMEANS_MISSING = CmeansTable(
    columns=[NumericColumn([0, 0, 0, 8, None, None])],
    k=2,
    seeds=[1, 0, 4],
    expected={
        1: [0, 0, 0, 0, 1, 1],
        2: [0, 0, 0, 1, 1, 1],
        3: [0, 0, 0, 1, 1, 1],
        50: [0, 0, 0, 1, 1, 1],
    },
)

# x from 0 to 5 and a flat tree p, q, r, s, t.
# Round 1, by dx + dc, centres (0 q) (2 s) (5 t). Rows 0 and 2: 1, 2/5 + 1, 1 + 1: class 0. Row 3:
#   class 1. Rows 4, 5: class 2. New centres (0 p) (2 s) (5 t) (p: the first). D_x = 0, D_c = 2: w = 0, 1.
# Round 2, by the tree alone. Rows 1 and 2 are at 1 from all: class 0. No change.
# Class 1 = {3} is too small. Into class 0: 4(2/5 + 1) - 3(1) = 2.6. Into class 2: 3(3/5 + 1) - 0 = 4.8.
# Class 0 grows less, though the union with class 2 has the lower IL.
CMEANS_GROWTH = CmeansTable(
    columns=[
        NumericColumn([0, 0, 0, 2, 5, 5]),
        TreeColumn(["p", "q", "r", "s", "t", "t"], {"any": None, **dict.fromkeys("pqrst", "any")}),
    ],
    k=2,
    seeds=[1, 3, 4],
    expected={
        1: [0, 0, 0, 0, 1, 1],
        50: [0, 0, 0, 0, 1, 1],
    },
)

# x is 0 or 1, of weight 2; y is 0..3, of weight 3: weighted, dx counts 2 and a step in y counts 1.
# Two seeds are equal: centres (1, 0) (0, 3) (0, 3).
#
# Round 1, by 2 dx + dy. Row 0 (0, 0): 2, 3, 3: class 0. Rows 1, 2 (0, 1): 3, 2, 2: class 1. Rows 3, 4: 1.
#   Row 5: 0. Assigned 0 1 1 1 1 0. New centres (1/2, 0) (0, 2) (0, 3).
#   D_x = 2(1/2 + 1/2) = 2, D_y = 1 + 1 + 1 + 1 = 4. w_x = 1 / (1 + 2/4) = 2/3, w_y = 1 / (4/2 + 1) = 1/3;
#   1024 of these are 682.7 and 341.3: w_x = 683/1024, w_y = 341/1024.
# Round 2, in 1/1024. Row 0: 683(1) = 683, 341(2) = 682, 341(3): class 1, by the rounding only (2/3 and 2/3
#   would tie, and class 0 win). Rows 1, 2: 683 + 341, 341, 682: class 1. Rows 3, 4: class 2. Row 5: class 0.
#   Assigned 1 1 1 2 2 0. New centres (1, 0) (0, 2/3) (0, 3). D_x = 0, D_y = 4/3: w = 0, 1.
# Round 3, by y. Row 0: class 0 at 0. Rows 1, 2: 1, 1/3, 2: class 1. Rows 3, 4: class 2. Row 5: class 0.
#   Assigned 0 1 1 2 2 0. New centres (1/2, 0) (0, 1) (0, 3). D_x = 2, D_y = 0: w = 1, 0.
# Round 4, by x. Rows 0 to 4: 1, 0, 0: class 1. Row 5: 1, 2, 2: class 0. Assigned 1 1 1 1 1 0. Class 2 keeps
#   its centre. New centres (1, 0) (0, 8/5) (0, 3). D_x = 0: w = 0, 1.
# Round 5, by y. Row 0: class 0. Rows 1, 2: 1, 3/5, 2: class 1. Rows 3, 4: 3, 7/5, 0: class 2. Row 5: class 0.
#   As round 3: from here on odd rounds end like round 3 and even ones like round 4.
#
# After round 1 the classes {0, 5} and {1, 2, 3, 4} have at least 2 rows each. After round 2, {5} is too
#   small: into {0, 1, 2} 4(2 + 1) - 3(1) = 9, into {3, 4} 3(2 + 3) - 0 = 15: the former. After round 4, and
#   the even ones that follow, {5} joins the only other class.
CMEANS_ROUNDING = CmeansTable(
    columns=[NumericColumn([0, 0, 0, 0, 0, 1], 2), NumericColumn([0, 1, 1, 3, 3, 0], 3)],
    k=2,
    seeds=[5, 3, 4],
    expected={
        1: [0, 1, 1, 1, 1, 0],
        2: [0, 0, 0, 1, 1, 0],
        3: [0, 1, 1, 2, 2, 0],
        4: [0, 0, 0, 0, 0, 0],
        49: [0, 1, 1, 2, 2, 0],
        50: [0, 0, 0, 0, 0, 0],
    },
)

CMEANS_CASES = [
    pytest.param(table, rounds, id=f"{name}-{rounds}")
    for name, table in [
        ("moves", CMEANS_MOVES),
        ("missing", CMEANS_MISSING),
        ("growth", CMEANS_GROWTH),
        ("rounding", CMEANS_ROUNDING),
    ]
    for rounds in table.expected
]


@pytest.mark.parametrize(("table", "rounds"), CMEANS_CASES)
def test_cmeans(table, rounds):
    assert cmeans(table.columns, table.k, table.seeds, rounds=rounds) == table.expected[rounds]


# Incognito


@dataclass(frozen=True)
class IncognitoTable:
    """Columns; by (k, may_suppress): the admissible vectors with their distortion, the best, the labels."""

    columns: list
    expected: dict


# A: left (a, b) and c under the root, height 2. B: p, q, height 1. Six vectors:
#   (0,0): ap {0,1}, aq {2}, bq {3}, cp {4}, cq {5}: 4 rows in small groups (k = 2).  0 + 4(2) = 8
#   (0,1): a {0,1,2}, b {3}, c {4,5}: 1 row.             B 5(1), suppressed 1(2) = 7
#   (1,0): left p {0,1}, left q {2,3}, cp {4}, cq {5}: 2.  A 4(1/2), suppressed 2(2) = 6
#   (1,1): left {0,1,2,3}, c {4,5}: none.                A 4(1/2) + 2(0), B 6(1) = 8
#   (2,0): p {0,1,4}, q {2,3,5}: none.                   A 6(1) = 6
#   (2,1): all in one.                                   A 6(1), B 6(1) = 12
# With two rows suppressed (1,0) and (2,0) tie at 6: (1,0) is lexicographically smaller.
INCOGNITO_UNEVEN = IncognitoTable(
    columns=[
        TreeColumn(
            ["a", "a", "a", "b", "c", "c"],
            {"any": None, "left": "any", "a": "left", "b": "left", "c": "any"},
        ),
        TreeColumn(["p", "p", "q", "q", "p", "q"], {"any": None, "p": "any", "q": "any"}),
    ],
    expected={
        (2, 0): ({(1, 1): 8, (2, 0): 6, (2, 1): 12}, (2, 0), [0, 0, 1, 1, 0, 1]),
        (2, 1): ({(0, 1): 7, (1, 1): 8, (2, 0): 6, (2, 1): 12}, (2, 0), [0, 0, 1, 1, 0, 1]),
        (2, 2): ({(0, 1): 7, (1, 0): 6, (1, 1): 8, (2, 0): 6, (2, 1): 12}, (1, 0), [0, 0, 1, 1, -1, -1]),
        (2, 4): (
            {(0, 0): 8, (0, 1): 7, (1, 0): 6, (1, 1): 8, (2, 0): 6, (2, 1): 12},
            (1, 0),
            [0, 0, 1, 1, -1, -1],
        ),
    },
)

# A: a tree of one node, of weight 3, two values missing: node and missing are under a new root, height 1.
# B: p, q, of weight 1.
#   (0,0): only p {0}, only q {1}, missing p {2,3}
#   (0,1): only {0,1}, missing {2,3}
#   (1,0): p {0,2,3}, q {1}
#   (1,1): all in one
# k = 2: (0,0) suppresses 2 rows, 2(3 + 1) = 8; (0,1) none, B 4(1) = 4; (1,0) one, A 3(3), suppressed 4, = 13;
#   (1,1) none, 4(3 + 1) = 16.
# k = 3: (0,0) and (0,1) would suppress everybody, and are not admissible even when four rows may be.
INCOGNITO_MISSING = IncognitoTable(
    columns=[
        TreeColumn(["only", "only", None, None], {"only": None}, 3),
        TreeColumn(["p", "q", "p", "p"], {"any": None, "p": "any", "q": "any"}),
    ],
    expected={
        (2, 0): ({(0, 1): 4, (1, 1): 16}, (0, 1), [0, 0, 1, 1]),
        (2, 2): ({(0, 0): 8, (0, 1): 4, (1, 0): 13, (1, 1): 16}, (0, 1), [0, 0, 1, 1]),
        (3, 0): ({(1, 1): 16}, (1, 1), [0, 0, 0, 0]),
        (3, 4): ({(1, 0): 13, (1, 1): 16}, (1, 0), [0, -1, 0, 0]),
    },
)

INCOGNITO_CASES = [
    pytest.param(table, k, may_suppress, id=f"{name}-k{k}-suppress{may_suppress}")
    for name, table in [("uneven", INCOGNITO_UNEVEN), ("missing", INCOGNITO_MISSING)]
    for k, may_suppress in table.expected
]


@pytest.mark.parametrize(("table", "k", "may_suppress"), INCOGNITO_CASES)
def test_incognito(table, k, may_suppress):
    costs, levels, labels = table.expected[k, may_suppress]
    assert anonymous_vectors(table.columns, k, may_suppress) == set(costs)
    assert {v: distortion(table.columns, published_at(table.columns, v), k) for v in costs} == costs
    assert incognito(table.columns, k, may_suppress=may_suppress) == (levels, labels)


# The guarantee of NH


@dataclass(frozen=True)
class BoxesTable:
    """Boxes and originals; which originals fit each box, which of them consistently, and the two minima."""

    boxes: list
    rows: list
    fits: list
    consistent: list
    least: tuple


# A ring of four rows, k = 2: row i's box covers rows i and i + 1, the last one rows 3 and 0, so [1, 4].
# The wide box can have 2 (then boxes 0, 1, 2 have 1, 3, 4) and 3 (then 1, 2, 4), too: every edge is
# consistent. Originals 1 and 4 fit two boxes, 2 and 3 fit three.
BOXES_RING = BoxesTable(
    boxes=[[(1, 2)], [(2, 3)], [(3, 4)], [(1, 4)]],
    rows=[[1], [2], [3], [4]],
    fits=[{0, 1}, {1, 2}, {2, 3}, {0, 1, 2, 3}],
    consistent=[{0, 1}, {1, 2}, {2, 3}, {0, 1, 2, 3}],
    least=(2, 2),
)

# Every box fits two originals or more, and every original two boxes or more. But boxes 0 and 1 need 1 and 2
# for themselves, so box 2 is 3; then boxes 3 and 4 share 4 and 5. Box 2 has one original: 2 is not kept.
BOXES_FORCED = BoxesTable(
    boxes=[[(1, 2)], [(1, 2)], [(2, 3)], [(3, 5)], [(4, 5)]],
    rows=[[1], [2], [3], [4], [5]],
    fits=[{0, 1}, {0, 1}, {1, 2}, {2, 3, 4}, {3, 4}],
    consistent=[{0, 1}, {0, 1}, {2}, {3, 4}, {3, 4}],
    least=(1, 1),
)

# Missing values. An interval contains none, * contains all, an empty piece only them, a set what is in it.
# Rows: 30 x, 40 missing, missing x, missing y.
# Box 0 [30, 40] {x, missing}: rows 0, 1. Box 1 * {x, missing}: rows 0, 1, 2. Box 2 empty {x, y}: rows 2, 3.
# Box 3 * *: all. Perfect matchings, boxes 0 to 3: 0 has row 0 or row 1.
#   Row 0: box 1 row 1, then boxes 2, 3 either way; box 1 row 2, box 2 row 3, box 3 row 1.
#   Row 1: box 1 row 0, then boxes 2, 3 either way; box 1 row 2, box 2 row 3, box 3 row 0.
# So box 0: 0, 1. Box 1: 0, 1, 2. Box 2: 2, 3. Box 3: 0, 1, 2, 3. Original 3 fits boxes 2 and 3 only.
BOXES_MISSING = BoxesTable(
    boxes=[[(30, 40), {"x", None}], [ANY, {"x", None}], [None, {"x", "y"}], [ANY, ANY]],
    rows=[[30, "x"], [40, None], [None, "x"], [None, "y"]],
    fits=[{0, 1}, {0, 1, 2}, {2, 3}, {0, 1, 2, 3}],
    consistent=[{0, 1}, {0, 1, 2}, {2, 3}, {0, 1, 2, 3}],
    least=(2, 2),
)

# Two boxes that only the first row fits: no perfect matching, so these were not made from these rows.
BOXES_FOREIGN = BoxesTable(
    boxes=[[(1, 1)], [(1, 1)]], rows=[[1], [2]], fits=[{0}, {0}], consistent=[set(), set()], least=(0, 0)
)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(BOXES_RING, id="ring"),
        pytest.param(BOXES_FORCED, id="forced"),
        pytest.param(BOXES_MISSING, id="missing"),
        pytest.param(BOXES_FOREIGN, id="foreign"),
    ],
)
def test_guarantee_of_nh(table):
    fits = matches(table.boxes, table.rows)
    assert fits == table.fits
    assert consistent(fits) == table.consistent
    for k in (1, 2, 3):
        assert guarantee(table.boxes, table.rows, k) == (*table.least, min(table.least) >= k)


# Anatomy


@dataclass(frozen=True)
class AnatomyTable:
    """Sensitive values, l, the random order; the group of every row."""

    sensitive: list
    l: int  # noqa: E741 - the paper's name
    priority: list
    groups: list


# flu 3 (rows 3, 0, 5 by priority), cold 2 (1, 4), gout 2 (2, 6). 2 x 3 <= 7.
# Group 0: flu, then cold before gout: rows 3, 1. Left 2, 1, 2. Group 1: flu, gout: rows 0, 2. Left 1, 1, 1.
# Group 2: cold, flu: rows 4, 5. Row 6 (gout) is left: group 0 has no gout.
ANATOMY_TIES = AnatomyTable(
    sensitive=["flu", "cold", "gout", "flu", "cold", "flu", "gout"],
    l=2,
    priority=[2, 4, 1, 0, 6, 5, 3],
    groups=[1, 0, 1, 0, 2, 2, 0],
)

# z 2 (rows 4, 0), a 2 (5, 1), b 1 (3); three missing (7, 6, 2). 2 x 2 <= 5.
# Group 0: a, z: rows 5, 4. Left 1, 1, 1. Group 1: a, b: rows 1, 3. Row 0 (z) is left: group 0 has z, so
# group 1. Missing: row 7 to group 0, 6 to group 1, 2 to group 0.
ANATOMY_MISSING = AnatomyTable(
    sensitive=["z", "a", None, "b", "z", "a", None, None],
    l=2,
    priority=[7, 6, 5, 4, 3, 2, 1, 0],
    groups=[1, 1, 0, 1, 0, 0, 1, 0],
)

# Not eligible: a twice among the 3 rows that have a value, 2 x 2 > 3. (Of all 4 rows it would be 4 <= 4.)
ANATOMY_NOT_ELIGIBLE = (["a", "a", "b", None], 2)


@pytest.mark.parametrize(
    "table", [pytest.param(ANATOMY_TIES, id="ties"), pytest.param(ANATOMY_MISSING, id="missing")]
)
def test_anatomy(table):
    assert anatomy(table.sensitive, table.l, table.priority) == table.groups


def test_anatomy_refuses_what_is_not_eligible():
    sensitive, l = ANATOMY_NOT_ELIGIBLE  # noqa: E741 - the paper's name
    with pytest.raises(ValueError, match="2-diverse"):
        anatomy(sensitive, l, range(len(sensitive)))
