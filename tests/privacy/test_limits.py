"""Limits: no class that meets a goal, by its reference, breaks them or has fewer rows than they ask for."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from shoal.hierarchy.tree import Tree
from shoal.privacy.goalset import limits_of
from shoal.privacy.limits import Limits, Values
from shoal.recipe.goals import AnyGoal
from tests.profiles import examples, some
from tests.reference import goals as reference

# Six values: numbers, in order, and leaves of an uneven tree.
NUMBERS = [0, 1, 2, 3, 4, 5]
PARENT = {"*": None, "x": "*", "y": "*", 0: "x", 1: "x", 2: "y", 3: "y", 4: "y", 5: "*"}
TREE = Tree.from_parents({str(n): None if a is None else str(a) for n, a in PARENT.items()}, "ill")
ROUNDING = 1e-7


def ordered(values, table):
    return reference.ordered(values, table, sorted({v for v in table if v is not None}))


MEETS = {
    "distinct": lambda goal, values, table: reference.is_distinct(values, goal["l"]),
    "frequency": lambda goal, values, table: reference.is_frequent(values, goal["l"]),
    "entropy": lambda goal, values, table: reference.is_entropic(values, goal["l"]),
    "recursive": lambda goal, values, table: reference.is_recursive(values, goal["c"], goal["l"]),
    "equal": lambda goal, values, table: float(reference.equal(values, table)) <= goal["t"],
    "ordered": lambda goal, values, table: float(ordered(values, table)) <= goal["t"],
    "hierarchical": lambda goal, values, table: (
        float(reference.hierarchical(values, table, PARENT)) <= goal["t"]
    ),
    "alpha-k": lambda goal, values, table: float(reference.alpha(values)) <= goal["alpha"],
    "basic": lambda goal, values, table: reference.is_basic_beta_like(values, table, goal["beta"]),
    "enhanced": lambda goal, values, table: reference.is_enhanced_beta_like(values, table, goal["beta"]),
    "delta-disclosure": lambda goal, values, table: reference.is_delta_private(values, table, goal["delta"]),
    "range": lambda goal, values, table: reference.value_range(values) >= goal["e"],
}


def form(goal):
    return goal.get("variant", goal.get("distance", goal["type"]))


def meets(goal, values, table):
    """Whether a class meets a goal in a table, by the goal's definition."""
    return MEETS[form(goal)](goal, values, table)


TENTHS = [0.1, 0.3, 0.6]
GOALS = {
    "distinct": [{"type": "l-diversity", "variant": "distinct", "l": n} for n in (1, 2, 3)],
    "frequency": [{"type": "l-diversity", "variant": "frequency", "l": n} for n in (1, 2, 3)],
    "entropy": [{"type": "l-diversity", "variant": "entropy", "l": n} for n in (1, 1.5, 2, 2.5, 3.3)],
    "recursive": [
        {"type": "l-diversity", "variant": "recursive", "l": n, "c": c}
        for n in (1, 2, 3)
        for c in (0.8, 1.0, 3.0)
    ],
    **{
        name: [{"type": "t-closeness", "distance": name, "t": t} for t in TENTHS]
        for name in ("equal", "ordered", "hierarchical")
    },
    "alpha-k": [{"type": "alpha-k", "alpha": n} for n in TENTHS],
    **{
        name: [{"type": "beta-likeness", "variant": name, "beta": n} for n in (0.3, 0.6, 2.0)]
        for name in ("basic", "enhanced")
    },
    "delta-disclosure": [{"type": "delta-disclosure", "delta": n} for n in (0.4, 0.7, 1.5)],
    "range": [{"type": "range", "e": n} for n in (1, 2, 3)],
}


def limits_in(goal, table, may_leave_out=0):
    """The limits of a goal in a table of values, and what the table has of them."""
    asked = TypeAdapter(AnyGoal).validate_python({**goal, "column": "ill"})
    counts = Counter(value for value in table if value is not None)
    values = Values(np.array([counts[n] for n in NUMBERS]), may_leave_out, None in table, TREE)
    return limits_of(asked, values), values


def keeps_to(limits, found):
    """Whether a class has enough values, and none too often."""
    counts = np.array([found.count(n) for n in NUMBERS])
    over = np.maximum(0.0, counts - limits.own * len(found)).sum()
    return (counts > 0).sum() >= limits.needed and over <= (limits.beyond + ROUNDING) * len(found)


# Counts of the first four values, and of rows without one.
TABLES = [(4, 3, 2, 1, 0), (3, 2, 2, 1, 2), (6, 1, 1, 0, 0)]
MAY_LEAVE_OUT = 2


def as_rows(counts):
    return [value for value, n in zip([*NUMBERS[:4], None], counts, strict=True) for _ in range(n)]


def parts_of(counts, least):
    """All ways to take `least` or more rows of a table, by counts."""
    return [part for part in product(*(range(n + 1) for n in counts)) if sum(part) >= least]


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("counts", TABLES, ids=str)
def test_a_class_that_meets_a_goal_keeps_to_its_limits(name, counts):
    releases = some(parts_of(counts, sum(counts) - MAY_LEAVE_OUT), 4)
    n_good = 0
    for goal, may_leave_out in product(GOALS[name], (0, MAY_LEAVE_OUT)):
        limits, values = limits_in(goal, as_rows(counts), may_leave_out)
        for released in releases if may_leave_out else [counts]:
            for part in parts_of(released, 1):
                found = as_rows(part)
                if meets(goal, found, as_rows(released)):
                    n_good += 1
                    assert keeps_to(limits, found), (goal, released, part)
                    assert len(found) >= limits.least_rows(1, values), (goal, released, part)
    assert n_good


def diverse(variant, n, **others):
    return {"type": "l-diversity", "variant": variant, "l": n, **others}


def close(distance, moved):
    return {"type": "t-closeness", "distance": distance, "t": min(1.0, float(moved))}


def alike(variant, gain):
    return {"type": "beta-likeness", "variant": variant, "beta": max(nextafter(float(gain), inf), 1e-6)}


# The strictest goal of each form that a class meets in a table; of a recursive one also which count is the
# first of the tail.
STRICTEST = {
    "distinct": lambda values, table, at: diverse("distinct", reference.distinct(values)),
    "frequency": lambda values, table, at: diverse("frequency", reference.frequency(values)),
    "entropy": lambda values, table, at: diverse("entropy", max(1.0, reference.entropy(values))),
    "recursive": lambda values, table, at: diverse(
        "recursive", at, c=float(reference.recursive(values, at)) * (1 + 1e-12)
    ),
    "equal": lambda values, table, at: close("equal", reference.equal(values, table)),
    "ordered": lambda values, table, at: close("ordered", ordered(values, table)),
    "hierarchical": lambda values, table, at: close(
        "hierarchical", reference.hierarchical(values, table, PARENT)
    ),
    "alpha-k": lambda values, table, at: {"type": "alpha-k", "alpha": float(reference.alpha(values))},
    "basic": lambda values, table, at: alike("basic", reference.basic_beta(values, table)),
    "enhanced": lambda values, table, at: alike("enhanced", reference.enhanced_beta(values, table)),
    "delta-disclosure": lambda values, table, at: {
        "type": "delta-disclosure",
        "delta": nextafter(reference.delta(values, table), inf),
    },
    "range": lambda values, table, at: {"type": "range", "e": float(reference.value_range(values))},
}
# Rows of the six values and of none in a class, in the rest of the release, and left out.
COUNTS = st.tuples(*[st.integers(0, 4)] * 6, st.sampled_from([0, 0, 0, 1]))
FEWER = st.tuples(*[st.integers(0, 2)] * 6, st.sampled_from([0, 0, 0, 1]))


def with_counts(*several):
    """Values with the sum of some counts."""
    return [value for value, *n in zip([*NUMBERS, None], *several, strict=True) for _ in range(sum(n))]


@pytest.mark.parametrize("name", STRICTEST)
@given(COUNTS, COUNTS, FEWER, st.integers(0, 1), st.integers(1, 6))
# Five values of which one is frequent: as many others as there may be make room for it.
@example((5, 1, 1, 1, 1, 0, 0), (3, 0, 0, 2, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0), 0, 3)
# Rows that are left out make others more frequent.
@example((3, 1, 1, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0), (0, 2, 2, 0, 0, 0, 0), 0, 2)
# A leaf far from all others does not keep two others from being near.
@example((4, 0, 0, 0, 0, 1, 0), (0, 4, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0, 0), 0, 1)
@examples(40)
def test_a_class_keeps_to_the_limits_of_the_strictest_goal_that_it_meets(name, part, rest, out, more, at):
    if name == "delta-disclosure":
        part = tuple(max(n, 1) if others else n for n, others in zip(part, rest, strict=True))
    assume(any(part[:6]))
    found, released = with_counts(part), with_counts(part, rest)
    at = min(at, reference.distinct(found))
    assume(name != "range" or reference.distinct(found) > 1)
    assume(name != "enhanced" or reference.enhanced_beta(found, released) < inf)
    goal = STRICTEST[name](found, released, at)
    assert meets(goal, found, released)
    limits, values = limits_in(goal, with_counts(part, rest, out), sum(out) + more)
    assert keeps_to(limits, found)
    assert len(found) >= limits.least_rows(1, values)


def test_many_values_need_many_rows():
    # Of a thousand values that occur once, a class of n rows has n, each 1 - n / 1000 beyond its own.
    n = 1_000
    close = Limits(np.full(n, 1 / n), beyond=0.1)
    assert close.least_rows(2, Values(np.ones(n, np.int64))) == 900
    # Where 400 may have twice that, they have a row each in 500, and a hundred more are half beyond.
    several = Limits(np.where(np.arange(n) < 400, 2, 1) / n, beyond=0.1)
    assert several.least_rows(2, Values(np.ones(n, np.int64))) == 500
    # Nothing that the table has room for keeps to these.
    assert Limits(np.full(3, 0.3)).least_rows(2, Values(np.full(3, 20))) > 60


def fills(own, beyond, size):
    """Whether some whole rows of each value, so many in all, keep to limits: all ways are tried."""
    return any(
        sum(max(0, n - share * size) for n, share in zip(rows, own, strict=True)) <= beyond * size
        for rows in product(range(size + 1), repeat=len(own))
        if sum(rows) == size
    )


@given(st.lists(st.integers(0, 7), min_size=3, max_size=3), st.integers(0, 4), st.integers(1, 6))
@examples(40)
def test_no_size_that_keeps_to_limits_is_passed_over(own, beyond, k):
    own, beyond = [Fraction(n, 12) for n in own], Fraction(beyond, 40)
    limits = Limits(np.array([float(n) for n in own]), beyond=float(beyond))
    found = limits.least_rows(k, Values(np.full(3, 5)))
    least = next((size for size in range(k, 16) if fills(own, beyond, size)), None)
    assert found == least if least is not None else found > 15


@pytest.mark.parametrize(
    "goal",
    [
        {"type": "t-closeness", "distance": "equal", "t": 0.2},
        {"type": "t-closeness", "distance": "equal", "t": 0.08},
        {"type": "l-diversity", "variant": "frequency", "l": 3},
        {"type": "alpha-k", "alpha": 0.3},
        {"type": "beta-likeness", "variant": "basic", "beta": 0.5},
    ],
    ids=["t = 0.2", "t = 0.08", "frequency", "alpha", "beta"],
)
def test_the_least_rows_are_those_of_the_smallest_class_there_can_be(goal):
    table = [0] * 30 + [1] * 24 + [2] * 14 + [3] * 12 + [4] * 11 + [5] * 9
    limits, values = limits_in(goal, table)
    smallest = next(
        size
        for size in range(1, 20)
        if any(meets(goal, list(c), table) for c in combinations_with_replacement(NUMBERS, size))
    )
    assert limits.least_rows(1, values) == smallest
    assert limits.least_rows(smallest + 40, values) >= smallest + 40


def test_limits_by_hand():
    table = [0] * 5 + [1] * 3 + [2] * 2
    # Half, three and two tenths, and a fifth more for all together.
    close, values = limits_in({"type": "t-closeness", "distance": "equal", "t": 0.2}, table)
    assert close.own.tolist() == [0.5, 0.3, 0.2, 0, 0, 0]
    assert close.beyond == 0.2
    # Of three rows, one each: a third is 1/30 above 0.3 and 2/15 above 0.2, 1/6 in all.
    assert close.least_rows(2, values) == 2  # of two, 0 and 1: 1/5 above 0.3
    assert close.least_rows(3, values) == 3
    # One or two rows may be left out: then 0 can have 5 of 8.
    assert limits_in({"type": "t-closeness", "distance": "equal", "t": 0.2}, table, 2)[0].own[0] == 5 / 8
    # (0.5, 2): r1 < 0.5 (r2 + r3), so r1 is below a third of all.
    recursive, _ = limits_in({"type": "l-diversity", "variant": "recursive", "l": 2, "c": 0.5}, table)
    assert recursive.own[0] == pytest.approx(1 / 3)
    # (1, 3) with three values: r3 > r1 and so all are equal at most; a third.
    assert limits_in({"type": "l-diversity", "variant": "recursive", "l": 3, "c": 1.0}, table)[0].own[
        0
    ] == pytest.approx(1 / 3)
    # Neighbours are half of the way apart, so half a unit of distance moves one row.
    assert limits_in({"type": "t-closeness", "distance": "ordered", "t": 0.2}, table)[0].beyond == 0.4
    # In the tree, 0 and 1 are at half its height.
    assert limits_in({"type": "t-closeness", "distance": "hierarchical", "t": 0.2}, table)[0].beyond == 0.4


def test_an_entropy_that_may_be_rounded_up_needs_no_further_value():
    # Five equal shares have an entropy of ln 5, which comes out as a little more than 5 when it is undone.
    goal = {"type": "l-diversity", "variant": "entropy", "l": 5.000000001000001}
    assert limits_in(goal, [0, 1, 2, 3, 4])[0].needed == 5


def test_no_share_is_above_all_rows():
    assert limits_in({"type": "delta-disclosure", "delta": 1000}, [0, 1])[0].own.max() == 1
    assert limits_in({"type": "beta-likeness", "variant": "basic", "beta": 1e308}, [0, 1])[0].own.max() == 1


def test_limits_that_rule_nothing_out_are_idle():
    assert Limits(np.ones(3)).are_idle
    assert Limits(np.array([0.4, 0.6]), beyond=0.6).are_idle
    assert not Limits(np.array([0.4, 0.6]), beyond=0.5).are_idle
    assert not Limits(np.ones(3), needed=2).are_idle
    assert limits_in({"type": "t-closeness", "t": 1}, [0, 1, 1])[0].are_idle
