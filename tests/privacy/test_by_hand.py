"""The reference of the privacy goals: small classes worked by hand, and distances that scipy has too."""
# ruff: noqa: E741 - l is the papers' name, and the world's

from fractions import Fraction as F
from math import inf, log, nextafter
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from tests.reference import goals

SEEDS = range(50)

# l-diversity
#
# aaabbc: 3 values of 6 rows, counts 3 2 1. Frequency: 2 x 3 <= 6 exactly, 3 x 3 > 6, so 2.
#   r1 / (r_l + ...): l = 1: 3/6; l = 2: 3/(2 + 1) = 1; l = 3: 3/1; l = 4: nothing is left.
# aab: counts 2 1. Frequency 3 // 2 = 1. l = 1: 2/3; l = 2: 2/1; l = 3: nothing.
# abcd: counts 1 1 1 1. Frequency 4. 1/4, 1/3, 1/2, 1/1.
# aaa: frequency 3 // 3 = 1. l = 1: 3/3; l = 2: nothing.
# a-b-: the missing ones count neither way. Counts 1 1 of 2: frequency 2. 1/2, 1/1, nothing.
DIVERSITY = {
    "aaabbc": (3, 2, [F(1, 2), F(1), F(3), None]),
    "aab": (2, 1, [F(2, 3), F(2), None]),
    "abcd": (4, 4, [F(1, 4), F(1, 3), F(1, 2), F(1), None]),
    "aaa": (1, 1, [F(1), None]),
    "a-b-": (2, 2, [F(1, 2), F(1), None]),
    "---": (0, inf, [None, None]),
    "": (0, inf, [None]),
}


def rows(text):
    """One value for each letter; a dash is missing."""
    return [None if letter == "-" else letter for letter in text]


@pytest.mark.parametrize("text", DIVERSITY)
def test_distinct_and_frequency_diversity(text):
    n_distinct, most, _ = DIVERSITY[text]
    values = rows(text)
    assert goals.distinct(values) == n_distinct
    assert goals.is_distinct(values, n_distinct)
    assert not goals.is_distinct(values, n_distinct + 1)
    assert goals.frequency(values) == most
    for l in range(1, 8):
        assert goals.is_frequent(values, l) == (l <= most)


@pytest.mark.parametrize(
    ("numbers", "apart"),
    [([3, 7, 5], 4), ([2, 2], 0), ([None, 9], 0), ([], 0), (["0.1", "0.3"], F(1, 5)), ([-4, None, 4], 8)],
)
def test_range(numbers, apart):
    assert goals.value_range(numbers) == apart


@pytest.mark.parametrize("text", DIVERSITY)
def test_recursive_diversity_begins_above_the_least_c(text):
    for l, least in enumerate(DIVERSITY[text][2], start=1):
        values = rows(text)
        assert goals.recursive(values, l) == least
        if least is None:
            assert not goals.is_recursive(values, 10**9, l)
        else:
            assert not goals.is_recursive(values, least, l)  # r1 < c(...) is strict
            assert goals.is_recursive(values, least + F(1, 10**9), l)


def test_recursive_diversity_needs_l_of_one_or_more():
    with pytest.raises(ValueError, match="at least 1"):
        goals.recursive(["a"], 0)


# exp of the entropy is the product of q^-q.
# aabc: (1/2)^-1/2 (1/4)^-1/4 (1/4)^-1/4 = 2^1/2 2^1/2 2^1/2 = 2^3/2 = 2.828...
# aab: (2/3)^-2/3 (1/3)^-1/3 = (3/2)^2/3 3^1/3 = 3 / 2^2/3 = 1.889...
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aabc", 2**1.5),
        ("aab", 3 / 2 ** (2 / 3)),
        ("abc", 3),
        ("aabbcc-", 3),
        ("aaaa", 1),
        ("--", 0),
        ("", 0),
    ],
)
def test_entropy_diversity(text, expected):
    values = rows(text)
    assert goals.entropy(values) == pytest.approx(expected, abs=1e-12)
    assert goals.is_entropic(values, expected)
    assert not goals.is_entropic(values, expected + 1e-6)


def test_entropy_of_m_equal_counts_is_m_diverse_in_spite_of_rounding():
    for m in range(1, 200):
        assert goals.is_entropic(list(range(m)), m)
        assert not goals.is_entropic(list(range(m)), m + 1)


# t-closeness
#
# The class aab of the table aabbcc. q = 2/3 1/3 0, p = 1/3 1/3 1/3, q - p = 1/3 0 -1/3.
#   equal: (1/3 + 0 + 1/3) / 2 = 1/3.
#   ordered a b c: cumulative 1/3, 1/3, 0; their sum 2/3, over m - 1 = 2: 1/3.
#   ordered a c b: cumulative 1/3, 0, 0; 1/3 over 2: 1/6.
# The tree has a and b under "left", c and d under "right", both under "any": H = 2. d is in no row.
#   left: 1/3 0: nothing to even out, extra 1/3. right: -1/3 0: nothing, extra -1/3.
#   any: 2/2 x min(1/3, 1/3) = 1/3.
# The class b of the same table: q - p = -1/3 2/3 -1/3.
#   equal: (1/3 + 2/3 + 1/3) / 2 = 2/3. Ordered a b c: cumulative -1/3, 1/3, 0; 2/3 over 2: 1/3.
#   left: 1/2 x min(2/3, 1/3) = 1/6, extra 1/3. right: extra -1/3. any: 1 x 1/3. Sum 1/2.
# abc: q = p. All 0.
TREE = {"any": None, "left": "any", "right": "any", "a": "left", "b": "left", "c": "right", "d": "right"}


@pytest.mark.parametrize(
    ("text", "equal", "abc", "acb", "tree"),
    [
        ("aab", F(1, 3), F(1, 3), F(1, 6), F(1, 3)),
        ("-aab-", F(1, 3), F(1, 3), F(1, 6), F(1, 3)),
        # Ordered a c b, of b: -1/3, -2/3, 0; 1 over 2: 1/2.
        ("b", F(2, 3), F(1, 3), F(1, 2), F(1, 2)),
        ("abc", 0, 0, 0, 0),
        ("--", 0, 0, 0, 0),
    ],
)
def test_distances_to_the_table(text, equal, abc, acb, tree):
    values, table = rows(text), rows("aabbcc--")
    assert goals.equal(values, table) == equal
    assert goals.ordered(values, table, ["a", "b", "c"]) == abc
    assert goals.ordered(values, table, ["a", "c", "b"]) == acb
    assert goals.hierarchical(values, table, TREE) == tree


# Li, Li, Venkatasubramanian (2007), their example: the salaries 3k to 11k, one each. They give 0.375 for
# {3, 4, 5} and 0.167 for {6, 8, 11}.
#   {3, 4, 5}: cumulative 2/9 4/9 6/9 5/9 4/9 3/9 2/9 1/9 0, sum 27/9 = 3, over 8: 3/8.
#   {6, 8, 11}: -1/9 -2/9 -3/9 -1/9 -2/9 0 -1/9 -2/9 0, sum 12/9, over 8: 1/6.
def test_ordered_distance_of_the_papers_salaries():
    salaries = list(range(3, 12))
    assert goals.ordered([3, 4, 5], salaries, salaries) == F(3, 8)
    assert goals.ordered([6, 8, 11], salaries, salaries) == F(1, 6)


# x (height 0) hangs from the root directly, y and z are under "deep" (height 1); H = 2.
# The class x of xyz: q - p = 2/3 -1/3 -1/3. deep: 1/2 x min(0, 2/3) = 0. root: 2/2 x min(2/3, 2/3) = 2/3.
# The class y: -1/3 2/3 -1/3. deep: 1/2 x min(2/3, 1/3) = 1/6, extra 1/3. root: 1/3. Sum 1/2.
def test_a_trees_leaves_may_have_different_depths():
    tree = {"root": None, "x": "root", "deep": "root", "y": "deep", "z": "deep"}
    assert goals.hierarchical(["x"], ["x", "y", "z"], tree) == F(2, 3)
    assert goals.hierarchical(["y"], ["x", "y", "z"], tree) == F(1, 2)


def test_a_table_of_one_value_or_none_is_at_no_distance():
    for values, table, order in ((["a"], ["a", "a", None], ["a"]), ([None], [None, None], [])):
        assert goals.equal(values, table) == 0
        assert goals.ordered(values, table, order) == 0
        assert goals.hierarchical(values, table, {"a": None}) == 0
        assert goals.basic_beta(values, table) == goals.enhanced_beta(values, table) == 0
        assert goals.delta(values, table) == 0


def test_what_cannot_be_compared_is_an_error():
    with pytest.raises(ValueError, match="not in the table"):
        goals.equal(["a", "a"], ["a", "b"])
    for order in (["a"], ["a", "b", "b"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="each value"):
            goals.ordered(["a"], ["a", "b"], order)
    with pytest.raises(ValueError, match="leaves"):
        goals.hierarchical(["left"], ["left", "a"], TREE)


# (alpha,k)


@pytest.mark.parametrize(
    ("text", "expected"), [("aab", F(2, 3)), ("abcd", F(1, 4)), ("aa", 1), ("a--b", F(1, 2)), ("--", 0)]
)
def test_alpha_is_the_largest_share(text, expected):
    assert goals.alpha(rows(text)) == expected


# Beta-likeness and delta-disclosure
#
# The table aaab bbbb: p(a) = 3/8, p(b) = 5/8; -ln p = 0.98, 0.47.
#   aabb: q(a) = 1/2 gains (1/8)/(3/8) = 1/3 <= 0.98. Both betas 1/3.
#     ln(q/p) = ln(4/3) = 0.288 for a, ln(4/5) = -0.223 for b.
#   aaab: q(a) = 3/4 gains (3/8)/(3/8) = 1 > 0.98: no beta is enough for the enhanced one.
#     ln 2 = 0.693 for a, ln(2/5) = -0.916 for b: the loss is the greater.
#   bbbb: b gains (3/8)/(5/8) = 3/5 > 0.47. a is absent.
# aaabbbbb: no gain, q = p.
@pytest.mark.parametrize(
    ("text", "basic", "enhanced", "delta"),
    [
        ("aabb", F(1, 3), F(1, 3), log(4 / 3)),
        ("a-b", F(1, 3), F(1, 3), log(4 / 3)),
        ("aaab", 1, inf, log(5 / 2)),
        ("bbbb", F(3, 5), inf, inf),
        ("aaabbbbb", 0, 0, 0),
        ("-", 0, 0, 0),
    ],
)
def test_beta_and_delta(text, basic, enhanced, delta):
    values, table = rows(text), rows("aaabbbbb-")
    assert goals.basic_beta(values, table) == basic
    assert goals.is_basic_beta_like(values, table, basic)  # the bound itself passes
    assert not goals.is_basic_beta_like(values, table, basic - F(1, 10**9)) or basic == 0

    assert goals.enhanced_beta(values, table) == enhanced
    assert goals.is_enhanced_beta_like(values, table, enhanced) == (enhanced < inf)
    assert not goals.is_enhanced_beta_like(values, table, enhanced - F(1, 10**9)) or enhanced == 0

    measured = goals.delta(values, table)
    assert measured == pytest.approx(delta)
    assert not goals.is_delta_private(values, table, measured)  # here it does not
    assert goals.is_delta_private(values, table, nextafter(measured, inf)) == (measured < inf)


# The whole table
#
# abb, ac- and c, together aabbcc: p = 1/3 each. Distinct: 2, 2, 1. Recursive, l = 2: 2/1, 1/1, never.
#   equal: abb 0 1/3 -1/3, half the sum 1/3; ac 1/6 -1/3 1/6, 1/3; c -1/3 -1/3 2/3, 2/3.
# aab and bcc: distinct 2 and 2.
def test_a_table_is_as_good_as_its_worst_class():
    classes = [rows("abb"), rows("ac-"), rows("c")]
    assert goals.worst_for_table(classes, lambda values, _: goals.distinct(values), min) == 1
    assert goals.worst_for_table(classes, goals.equal, max) == F(2, 3)
    assert goals.worst_for_table(classes, lambda values, _: goals.recursive(values, 2), max) is None
    assert goals.worst_for_table(classes[:2], lambda values, _: goals.recursive(values, 2), max) == 2
    for t, close in ((F(2, 3), True), (F(2, 3) - F(1, 10**9), False)):
        assert (
            goals.holds_for_table(classes, lambda values, table, t=t: goals.equal(values, table) <= t)
            is close
        )
    assert goals.holds_for_table([rows("aab"), rows("bcc")], lambda values, _: goals.is_distinct(values, 2))
    assert not goals.holds_for_table(classes, lambda values, _: goals.is_distinct(values, 2))


# Against scipy, on random tables


def random_classes(random, domain):
    """Two classes of 1 to 8 rows, some values missing, none of them without any."""
    sizes = random.randint(1, 8), random.randint(1, 8)
    return [[random.choice(domain), *random.choices([*domain, None], k=size - 1)] for size in sizes]


def random_tree(random):
    """Node -> parent: 2 to 9 nodes below a root, each under an earlier one."""
    tree = {0: None}
    for node in range(1, random.randint(3, 10)):
        tree[node] = random.randrange(node)
    return tree


def transport(values, table, distance):
    """The least cost of moving the table's shares to where the class has them, by linear programming."""
    q, p = goals.shares(values), goals.shares(table)
    pairs = [(i, j) for i in p for j in q]
    leaving = [[float(i == value) for i, _ in pairs] for value in p]
    arriving = [[float(j == value) for _, j in pairs] for value in q]
    solved = linprog(
        [float(distance(i, j)) for i, j in pairs],
        A_eq=np.array(leaving + arriving),
        b_eq=[float(share) for share in [*p.values(), *q.values()]],
    )
    assert solved.success
    return solved.fun


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_distance_is_the_least_cost(seed):
    classes = random_classes(Random(seed), "abcde")
    table = [*classes[0], *classes[1]]
    for values in classes:
        expected = transport(values, table, lambda i, j: i != j)
        assert float(goals.equal(values, table)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_ordered_distance_is_that_of_the_ranks(seed):
    classes = random_classes(Random(seed), [1, 2, 5, 10, 40, 41])
    table = [*classes[0], *classes[1]]
    order = sorted(goals.count(table))
    for values in classes:
        ranks = [[order.index(v) for v in part if v is not None] for part in (values, table)]
        expected = wasserstein_distance(*ranks) / max(1, len(order) - 1)
        assert float(goals.ordered(values, table, order)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_hierarchical_distance_is_the_least_cost(seed):
    random = Random(seed)
    tree = random_tree(random)
    paths = {node: [node] for node in tree}  # up to the root; a parent's number is lower than its children's
    for node in list(tree)[1:]:
        paths[node] += paths[tree[node]]
    height = {node: max(path.index(node) for path in paths.values() if node in path) for node in tree}

    def distance(i, j):
        return next(height[node] for node in paths[i] if node in paths[j]) / height[0]

    classes = random_classes(random, [node for node in tree if height[node] == 0])
    table = [*classes[0], *classes[1]]
    for values in classes:
        expected = transport(values, table, distance)
        assert float(goals.hierarchical(values, table, tree)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_classes_joined_are_no_worse_than_the_worse_of_them(seed):
    random = Random(seed)
    one, two, rest = (random_classes(random, "abcd")[0] for _ in range(3))
    both, table = one + two, one + two + rest
    order = sorted(goals.count(table))

    for l in range(1, 5):
        c = goals.worst_for_table([one, two], lambda values, _, l=l: goals.recursive(values, l), max)
        assert c is None or goals.recursive(both, l) <= c
    for number in (goals.distinct, goals.frequency, goals.entropy):
        assert number(both) >= min(number(one), number(two)) - 1e-12
    for number in (
        lambda values: goals.equal(values, table),
        lambda values: goals.ordered(values, table, order),
        lambda values: goals.hierarchical(values, table, TREE),
        goals.alpha,
        lambda values: goals.basic_beta(values, table),
        lambda values: goals.enhanced_beta(values, table),
        lambda values: goals.delta(values, table),
    ):
        assert number(both) <= max(number(one), number(two))
