"""What a class lacks in its privacy goals and which rows would help it: for the twins of the methods.

A class is *good* when it has k people (different values of the subject column, else rows) and meets every
goal beyond k. `Keeping.good`, `.helps` and `.wants` take rows as lists of positions, as the twins have them.
Whether a goal holds is decided exactly, by `tests.reference.goals`; what is lacking is a float, as a kernel
has it: 0 when the goal holds, else at least 1e-9. Settled here:
- What is lacking: distinct (l - d) / l; entropy (l - number) / l; recursive (r1 - c tail) / number of values,
  and 2 without any; frequency l share - 1; alpha share / alpha - 1; t distance - t; beta the largest gain /
  limit of the values that gain, less 1, the limit beta or, enhanced, min(beta, -ln p); delta the number of
  values that the class lacks altogether, and max(0, largest / delta - 1) for the others; range
  (e - range) / e, and 2 without any value.
- With a subject column a value's count is the number of people who have it, in the class and in the table.
  The share (frequency, alpha) is of the people with any value; other goals divide by the sum of the counts.
- A value helps when one more person with it makes the lack of a goal that fails smaller, whatever this does
  to the other goals. The table that the class is compared with stays as it is.
- A row helps when the class has too few people and not this one, or when its value does; with a subject
  column only if this person does not have that value in the class yet.
- A class wants a row when its value helps, people apart. With a subject column no class wants any.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log

from tests.reference import goals as reference

LEAST = 1e-9  # what a class lacks at least in a goal that it fails
DISTANCES = ("equal", "ordered", "hierarchical")


def exact(bound):
    """The fraction that a threshold was meant to be: 1/5 for 0.2, 1/3 for 1/3."""
    return Fraction(bound).limit_denominator(10**6)


@dataclass(frozen=True)
class Asked:
    """A goal: its kind, its threshold, and the value of each row (None: missing).

    Kinds: distinct, frequency, entropy, recursive (with `c`), equal, ordered (with `order`, the domain in
    ascending order), hierarchical (with `parent`, node -> parent), alpha, basic, enhanced, delta, range (of
    numbers).
    """

    kind: str
    bound: float
    values: list
    c: float | None = None
    order: list | None = None
    parent: dict | None = None


@dataclass(frozen=True)
class Counted:
    """What a goal sees of a class: how many people have each value, and how many have any."""

    counts: tuple  # of (value, count), by value
    holders: int

    @property
    def values(self):
        """Each value as often as it counts."""
        return [value for value, n in self.counts for _ in range(n)]

    @property
    def most(self):
        """The count of the most frequent value."""
        return max((n for _, n in self.counts), default=0)

    def with_one_more(self, value):
        """The same class and one more person with a value."""
        counts = Counter(dict(self.counts))
        counts[value] += 1
        return Counted(tuple(sorted(counts.items())), self.holders + 1)


class Keeping:
    """k and the goals beyond it, for the rows of one table; `people` has whose row each is, if told."""

    def __init__(self, k, asked, n_rows, people=None):
        self.k, self.asked, self.has_subject = k, asked, people is not None
        self.people = list(range(n_rows)) if people is None else people
        self.tables = [self.counted(goal, range(n_rows)).values for goal in asked]
        self.lack = lru_cache(maxsize=None)(self.lack)  # the same few counts come again and again

    def counted(self, goal, rows):
        """Everybody counts once for each value that they have."""
        pairs = {(self.people[row], goal.values[row]) for row in rows if goal.values[row] is not None}
        counts = Counter(value for _, value in pairs)
        return Counted(tuple(sorted(counts.items())), len({person for person, _ in pairs}))

    def n_people(self, rows):
        """How many different people the rows are about."""
        return len({self.people[row] for row in rows})

    def good(self, rows):
        """Whether these rows are k people and meet every goal as one class."""
        return self.n_people(rows) >= self.k and not self.failing(rows)

    def failing(self, rows):
        """The numbers of the goals that these rows fail as one class."""
        return [g for g, goal in enumerate(self.asked) if self.lack(g, self.counted(goal, rows)) > 0]

    def lack(self, g, seen):
        """How much a class lacks in goal g; 0 when it holds."""
        goal = self.asked[g]
        # One more person may have a value more often than the table; only its shares count.
        table = self.tables[g] * (1 + len(seen.values))
        return 0.0 if holds(goal, seen, table) else max(LEAST, shortfall(goal, seen, table))

    def helps_in(self, g, seen, value):
        """Whether one more person with a value brings a class nearer to goal g, which it fails."""
        return self.lack(g, seen.with_one_more(value)) < self.lack(g, seen)

    def wants(self, rows, row):
        """Whether the row's value helps in some goal that the class fails."""
        return not self.has_subject and self.value_helps(rows, row)

    def helps(self, rows, row):
        """Whether the row is a person that the class needs, or its value helps."""
        people = {self.people[member] for member in rows}
        lacks_person = len(people) < self.k and self.people[row] not in people
        return lacks_person or self.value_helps(rows, row)

    def value_helps(self, rows, row):
        """Whether the row has, for some goal that fails, a value that helps and is new for its person."""
        for g in self.failing(rows):
            goal = self.asked[g]
            value = goal.values[row]
            has_it = any(self.people[m] == self.people[row] and goal.values[m] == value for m in rows)
            if value is not None and not has_it and self.helps_in(g, self.counted(goal, rows), value):
                return True
        return False


def holds(goal, seen, table):
    """Whether a class meets a goal, by its definition."""
    values, bound = seen.values, goal.bound
    if goal.kind == "distinct":
        return reference.is_distinct(values, bound)
    if goal.kind == "frequency":
        return bound * seen.most <= seen.holders
    if goal.kind == "entropy":
        return reference.is_entropic(values, bound)
    if goal.kind == "recursive":
        return reference.is_recursive(values, exact(goal.c), bound)
    if goal.kind == "alpha":
        return seen.most <= exact(bound) * seen.holders
    if goal.kind in DISTANCES:
        return distance(goal, values, table) <= exact(bound)
    if goal.kind == "basic":
        return reference.is_basic_beta_like(values, table, exact(bound))
    if goal.kind == "enhanced":
        return reference.is_enhanced_beta_like(values, table, exact(bound))
    if goal.kind == "range":
        return bool(values) and reference.value_range(values) >= exact(bound)
    assert goal.kind == "delta"
    return reference.is_delta_private(values, table, bound)


def shortfall(goal, seen, table):
    """What a class lacks in a goal that it fails, before it is made at least 1e-9."""
    values, bound = seen.values, goal.bound
    if goal.kind == "distinct":
        return (bound - reference.distinct(values)) / bound
    if goal.kind == "entropy":
        return (bound - reference.entropy(values)) / bound
    if goal.kind == "recursive":
        first, rest = reference.first_and_rest(values, bound)
        return (first - goal.c * rest) / len(values) if values else 2.0
    if goal.kind == "frequency":
        return bound * (seen.most / seen.holders) - 1
    if goal.kind == "alpha":
        return seen.most / seen.holders / bound - 1
    if goal.kind == "range":
        return (bound - float(reference.value_range(values))) / bound if values else 2.0
    if goal.kind in DISTANCES:
        return float(distance(goal, values, table)) - bound
    if goal.kind in ("basic", "enhanced"):
        p = reference.shares(table)
        gains = reference.gains(values, table).items()
        return max(float(gain) / limit(goal, p[value]) for value, gain in gains) - 1
    q, p = reference.compare(values, table)
    largest = max(abs(log(q[value] / p[value])) for value in p if q[value])
    return sum(not q[value] for value in p) + max(0.0, largest / bound - 1)


def distance(goal, values, table):
    """The earth mover's distance of the goal, exact."""
    if goal.kind == "equal":
        return reference.equal(values, table)
    if goal.kind == "hierarchical":
        return reference.hierarchical(values, table, goal.parent)
    present = set(table)
    return reference.ordered(values, table, [value for value in goal.order if value in present])


def limit(goal, p):
    """How much a value with share p may gain."""
    return goal.bound if goal.kind == "basic" else min(goal.bound, -log(p))
