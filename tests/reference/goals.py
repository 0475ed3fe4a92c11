"""The privacy goals beyond k, each written from its definition: a reference to test a fast one against.

Written from
- Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam (2006), "l-diversity: privacy beyond k-anonymity": the
  distinct, entropy and recursive (c,l) kinds; He et al. (2012), definition 3: the frequency kind;
- Li, Li, Venkatasubramanian (2007), "t-closeness: privacy beyond k-anonymity and l-diversity";
- Wong, Li, Fu, Wang (2006), "(alpha,k)-anonymity";
- Cao, Karras (2012), "Publishing microdata with a robust privacy guarantee": beta-likeness;
- Brickell, Shmatikov (2008), "The cost of privacy": delta-disclosure privacy;
- Zhang, Koudas, Srivastava, Yu (2007), "Aggregate query answering on anonymized tables": the range e of
  (k,e)-anonymity, whose k distinct values are distinct l-diversity.

`values` are the sensitive values of one class, `table` those of all released rows, the class's among them; p
is a value's share of the table, q its share of the class. Counts, shares and distances are exact; logarithms
are natural, and floats. A function named is_... is the test, the others give the number that is tested.

Settled here:
- A missing value (None) is no value: it is left out of all counts and sizes, of the class and of the table.
- Every test but two lets the bound itself pass: recursive (c,l) is r1 < c(...), and delta-disclosure
  |ln(q/p)| < delta. Entropy may fall short of l by 1e-9, since it is rounded.
- A class without any value has no distribution. A goal that asks for values is not met, there being none:
  distinct, entropy (never above distinct) and range are 0, and no c will do for recursive (c,l). A goal
  that bounds what a class gives away about a value is met, since whoever finds a person there knows no more
  than the table tells: the largest share, beta, delta and the earth mover's distances are 0, and frequency
  is infinite, l times 0 being at most 0. So a table without any value divides by nothing either.
- Recursive (c,l): the paper says that 1-diversity always holds. Here the inequality decides for l = 1 too,
  it then says that the largest share is below c, which matters for c <= 1 only.
- Ordered distance: m counts the values of the table, not those its domain might have. With m = 1 it is 0.
- Hierarchical distance: the tree is that of the domain, with leaves that no row has. A node's height is the
  longest path down to a leaf, H the root's. A tree that is one leaf has distance 0.
- Enhanced beta-likeness is gain <= min(beta, -ln p) for each value that gains. The number is the least beta
  that does: the largest gain, or infinite when one of them exceeds its -ln p, as no beta helps then. A gain
  is a fraction and -ln p is irrational (p = 1 cannot gain), so they are never equal.
- Delta-disclosure: a value of the table that the class does not have makes ln(q/p), and delta, infinite.
"""
# ruff: noqa: E741 - l is the papers' name, and the world's

from collections import Counter
from fractions import Fraction
from itertools import accumulate
from math import exp, fsum, inf, log


def count(values):
    """Value -> how often it is there; missing ones are not."""
    return Counter(value for value in values if value is not None)


def shares(values):
    """Value -> its share of those present; empty when none is."""
    counts = count(values)
    return {value: Fraction(n, counts.total()) for value, n in counts.items()}


def compare(values, table):
    """The shares q of the class and p of the table; q has all values of p, with 0 for those it lacks."""
    if not count(values) <= count(table):
        raise ValueError("the class has values that are not in the table")
    q, p = shares(values), shares(table)
    return {value: q.get(value, Fraction(0)) for value in p} if q else {}, p


# l-diversity


def distinct(values):
    """How many different values there are."""
    return len(count(values))


def is_distinct(values, l):
    """At least l different values."""
    return distinct(values) >= l


def frequency(values):
    """The largest whole l for which l times the largest count is at most the size."""
    counts = count(values)
    return counts.total() // max(counts.values()) if counts else inf


def is_frequent(values, l):
    """He et al., definition 3: l times the count of the most frequent value is at most the size."""
    counts = count(values)
    return l * max(counts.values(), default=0) <= counts.total()


def entropy(values):
    """The exponential of Shannon's entropy: m when m values are equally frequent."""
    if not count(values):
        return 0.0
    return exp(-fsum(q * log(q) for q in shares(values).values()))


def is_entropic(values, l):
    """Entropy at least ln l, but for rounding."""
    return entropy(values) >= l - 1e-9


def first_and_rest(values, l):
    """r1 and r_l + ... + r_m, the counts in descending order; both 0 when there are none."""
    if l < 1:
        raise ValueError("l is at least 1")
    descending = [n for _, n in count(values).most_common()]
    return sum(descending[:1]), sum(descending[l - 1 :])


def is_recursive(values, c, l):
    """r1 < c (r_l + ... + r_m), the counts in descending order."""
    first, rest = first_and_rest(values, l)
    return first < c * rest


def recursive(values, l):
    """The infimum of the c that do: the class is (c,l)-diverse for all c above it. None: for no c."""
    first, rest = first_and_rest(values, l)
    return Fraction(first, rest) if rest else None


# t-closeness: the earth mover's distance between the class and the table


def equal(values, table):
    """All values as far from one another: half the sum of the absolute differences."""
    q, p = compare(values, table)
    return sum((abs(q[value] - p[value]) for value in q), Fraction(0)) / 2


def ordered(values, table, order):
    """Neighbours are 1/(m - 1) apart: the sum of the absolute cumulative differences, over m - 1.

    `order` has each value of the table once, ascending.
    """
    q, p = compare(values, table)
    if len(order) != len(p) or set(order) != set(p):
        raise ValueError("order has each value of the table once")
    if not q or len(order) == 1:
        return Fraction(0)
    return sum(abs(carried) for carried in accumulate(q[v] - p[v] for v in order)) / (len(order) - 1)


def hierarchical(values, table, parent):
    """Two leaves are height(lowest common ancestor) / H apart; `parent` maps node -> parent, root -> None.

    What a node's children have too much and too little is evened out below it as far as it goes, the lesser
    of the two sums, at the cost of the node's height / H; the remainder is its own extra, for its parent.
    """
    q, p = compare(values, table)
    children = {node: [child for child in parent if parent[child] == node] for node in parent}
    if any(children[value] for value in p):
        raise ValueError("values are leaves of the tree")

    def height(node):
        return max((1 + height(child) for child in children[node]), default=0)

    def extra(node):
        if children[node]:
            return sum(extra(child) for child in children[node])
        return q.get(node, Fraction(0)) - p.get(node, Fraction(0))

    def cost(node):
        extras = [extra(child) for child in children[node]]
        too_much = sum(e for e in extras if e > 0)
        too_little = sum(-e for e in extras if e < 0)
        return height(node) * min(too_much, too_little)

    tree_height = max(height(node) for node in parent)
    if not q or tree_height == 0:
        return Fraction(0)
    return Fraction(sum(cost(node) for node in parent)) / tree_height


# (alpha,k)


def alpha(values):
    """The largest share of any value."""
    return max(shares(values).values(), default=Fraction(0))


# Beta-likeness


def gains(values, table):
    """Value -> (q - p)/p, for the values with q > p."""
    q, p = compare(values, table)
    return {value: (q[value] - p[value]) / p[value] for value in q if q[value] > p[value]}


def basic_beta(values, table):
    """The largest gain; 0 when no value gains."""
    return max(gains(values, table).values(), default=Fraction(0))


def is_basic_beta_like(values, table, beta):
    """No gain is above beta."""
    return all(gain <= beta for gain in gains(values, table).values())


def enhanced_beta(values, table):
    """The least beta for which the class is enhanced beta-like; infinite when none is enough."""
    p = shares(table)
    beyond = any(gain > -log(p[value]) for value, gain in gains(values, table).items())
    return inf if beyond else basic_beta(values, table)


def is_enhanced_beta_like(values, table, beta):
    """No gain is above min(beta, -ln p)."""
    p = shares(table)
    return all(gain <= min(beta, -log(p[value])) for value, gain in gains(values, table).items())


# Delta-disclosure


def delta(values, table):
    """The largest |ln(q/p)| over the values of the table; infinite when the class lacks one."""
    q, p = compare(values, table)
    return max((abs(log(q[value] / p[value])) if q[value] else inf for value in q), default=0.0)


def is_delta_private(values, table, bound):
    """|ln(q/p)| < delta for every value of the table."""
    return delta(values, table) < bound


# Range


def value_range(numbers):
    """How far the largest number is above the smallest; 0 without any."""
    present = [Fraction(number) for number in numbers if number is not None]
    return max(present) - min(present) if present else Fraction(0)


# The whole table


def holds_for_table(classes, goal):
    """Whether goal(values, table) holds for every class; the table is what the classes have together."""
    table = [value for values in classes for value in values]
    return all(goal(values, table) for values in classes)


def worst_for_table(classes, number, worst):
    """The min or max (`worst`) of number(values, table) over the classes; None, never met, is the worst."""
    table = [value for values in classes for value in values]
    numbers = [number(values, table) for values in classes]
    return None if None in numbers else worst(numbers)
