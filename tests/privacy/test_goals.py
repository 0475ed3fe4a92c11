"""The privacy goals as the kernels measure them, against the exact reference on generated tables."""
# ruff: noqa: E741 - l is the papers' name, and the world's

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, log, nextafter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.kernels import goals as kernel
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from tests.kernels.calling import called, is_empty
from tests.profiles import some
from tests.reference import goals as reference
from tests.strategies import leaves, nested, parents

NO_VALUE = {"distinct": 0, "frequency": inf, "entropy": 0, "recursive": 0}  # all other goals: 0
ASK_FOR_VALUES = ("distinct", "entropy", "recursive", "range")


def exact(bound):
    """The fraction that a threshold was meant to be: 1/5 for 0.2, 1/3 for 1/3."""
    return Fraction(bound).limit_denominator(10**6)


@dataclass(frozen=True)
class Seen:
    """What a goal is about: the values of a class and of the whole release, one for each that has it."""

    values: list
    table: list
    holders: int  # people of the class with any value
    order: list
    parent: dict

    @property
    def largest_share(self):
        """The share of the class's people who have its most frequent value."""
        counts = reference.count(self.values)
        return Fraction(max(counts.values()), self.holders) if counts else Fraction(0)

    def value_range(self):
        return reference.value_range([number_of(value) for value in self.values])

    def ordered(self):
        present = reference.count(self.table)
        return reference.ordered(self.values, self.table, [value for value in self.order if value in present])


def number_of(value):
    """A value as a number: 0.5 is itself, n7 is 7 tenths, and b is 1."""
    if not value[0].isalpha():
        return Fraction(value)
    return Fraction(int(value[1:]) if value[1:].isdigit() else ord(value[0]) - ord("a"), 10)


def frequency(seen):
    return seen.largest_share.denominator // seen.largest_share.numerator if seen.largest_share else inf


def recursive(seen, c):
    """The largest l that does, 0 for none."""
    n_values = reference.distinct(seen.values)
    return max(
        (l for l in range(1, n_values + 1) if reference.is_recursive(seen.values, exact(c), l)), default=0
    )


@dataclass(frozen=True)
class Kind:
    """A kind of goal: its keys, where its threshold may lie, and what the reference says of a class."""

    keys: dict
    bound: str
    bounds: list
    number: Callable[[Seen], Any]
    holds: Callable[[Seen, Any], bool]

    def goal(self, bound, column="s"):
        return {**self.keys, "column": column, self.bound: bound}

    @property
    def is_lowest(self):
        return self.bound in ("l", "e")


def at_most(keys, bound, bounds, number):
    return Kind(keys, bound, bounds, number, lambda seen, b: number(seen) <= exact(b))


C = 1.5
TS = [0.0, 0.1, 0.2, 0.25, 0.3, 1 / 3, 0.5, 1.0]
BETAS = [0.1, 0.2, 0.5, 2 / 3, 1.0, 3.0]
KINDS = {
    "distinct": Kind(
        {"type": "l-diversity"}, "l", [1, 2, 3, 4],
        lambda seen: reference.distinct(seen.values),
        lambda seen, l: reference.is_distinct(seen.values, l),
    ),
    "frequency": Kind(
        {"type": "l-diversity", "variant": "frequency"}, "l", [1, 2, 3, 4],
        frequency, lambda seen, l: l * seen.largest_share <= 1,
    ),
    "entropy": Kind(
        {"type": "l-diversity", "variant": "entropy"}, "l", [1, 1.5, 2, 2.5, 3],
        lambda seen: reference.entropy(seen.values),
        lambda seen, l: reference.is_entropic(seen.values, l),
    ),
    "recursive": Kind(
        {"type": "l-diversity", "variant": "recursive", "c": C}, "l", [1, 2, 3, 4],
        lambda seen: recursive(seen, C),
        lambda seen, l: reference.is_recursive(seen.values, exact(C), l),
    ),
    "equal": at_most(
        {"type": "t-closeness"}, "t", TS, lambda seen: reference.equal(seen.values, seen.table)
    ),
    "ordered": at_most({"type": "t-closeness", "distance": "ordered"}, "t", TS, Seen.ordered),
    "hierarchical": at_most(
        {"type": "t-closeness", "distance": "hierarchical"}, "t", TS,
        lambda seen: reference.hierarchical(seen.values, seen.table, seen.parent),
    ),
    "alpha": at_most(
        {"type": "alpha-k"}, "alpha", [0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.6, 1.0],
        lambda seen: seen.largest_share,
    ),
    "basic": at_most(
        {"type": "beta-likeness"}, "beta", BETAS, lambda seen: reference.basic_beta(seen.values, seen.table)
    ),
    "enhanced": Kind(
        {"type": "beta-likeness", "variant": "enhanced"}, "beta", BETAS,
        lambda seen: reference.enhanced_beta(seen.values, seen.table),
        lambda seen, beta: reference.is_enhanced_beta_like(seen.values, seen.table, exact(beta)),
    ),
    "delta": Kind(
        {"type": "delta-disclosure"}, "delta", [0.1, 0.3, 0.5, 1.0, 3.0],
        lambda seen: reference.delta(seen.values, seen.table),
        lambda seen, delta: reference.is_delta_private(seen.values, seen.table, delta),
    ),
    "range": Kind(
        {"type": "range"}, "e", [0.1, 0.2, 0.3, 0.5, 0.7], Seen.value_range,
        lambda seen, e: seen.value_range() >= exact(e),
    ),
}  # fmt: skip
PLAIN = [name for name in KINDS if name not in ("ordered", "hierarchical", "range")]
ROUNDED = ("entropy", "delta")  # logarithms; every other number is one division, and equal to the last bit


@dataclass(frozen=True)
class Case:
    """The sensitive values of a table, the class of each row (-1: left out), and the person behind it."""

    values: list
    labels: list
    order: list
    parent: dict
    people: list | None = None

    @property
    def n_classes(self):
        return max(self.labels) + 1

    def encoded(self, goals):
        """The table as shoal encodes it, its rows in this order: the goals' values, and the people."""
        columns = {
            "row": {"role": "quasi", "kind": "numeric"},
            "s": {"role": "sensitive", "kind": "ordinal", "order": self.order},
            "in_tree": {"role": "sensitive", "kind": "categorical", "hierarchy": {"n0": nested(self.parent)}},
            "number": {"role": "sensitive", "kind": "numeric"},
        }
        data = {
            "row": range(len(self.values)),
            "s": pl.Series(self.values, dtype=pl.String),
            "in_tree": pl.Series(self.values, dtype=pl.String),
            "number": [None if value is None else float(number_of(value)) for value in self.values],
        }
        if self.people is not None:
            columns["who"], data["who"] = {"role": "subject"}, self.people
        recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2, "goal": goals}})
        encoded = shoal.encode(pl.DataFrame(data), recipe)
        assert encoded.order.tolist() == list(range(len(self.values)))
        return encoded, recipe.privacy.goal

    def goal_set(self, goals, k=1):
        return GoalSet(*self.encoded(goals), k)

    def judge(self, goal, labels=None):
        return self.goal_set([goal]).judge(np.array(self.labels if labels is None else labels, np.int32))

    def rows(self, wanted):
        """The (person, value) of the rows whose label is wanted; a row is a person unless told otherwise."""
        people = range(len(self.values)) if self.people is None else self.people
        return [
            (person, value)
            for person, value, label in zip(people, self.values, self.labels, strict=True)
            if wanted(label)
        ]

    def seen(self, c):
        """Everybody counts once for each value, in the class and in the whole release."""
        inside = {pair for pair in self.rows(lambda label: label == c) if pair[1] is not None}
        released = {pair for pair in self.rows(lambda label: label >= 0) if pair[1] is not None}
        return Seen(
            [value for _, value in inside],
            [value for _, value in released],
            len({person for person, _ in inside}),
            self.order,
            self.parent,
        )

    def all_seen(self):
        return [self.seen(c) for c in range(self.n_classes)]

    def n_people(self, c):
        return len({person for person, _ in self.rows(lambda label: label == c)})


def dense(labels):
    """Number the classes from 0 without gaps; -1 stays."""
    kept = sorted(set(labels) - {-1})
    return [kept.index(label) if label >= 0 else -1 for label in labels]


@st.composite
def cases(draw, max_classes=3, people=False, may_suppress=True, max_rows=24):
    parent = draw(parents(max_nodes=9))
    domain = leaves(parent)  # more often than not some of them are in no row
    n_rows = draw(st.integers(1, max_rows))
    cell = st.sampled_from(domain)
    cell = st.none() | cell if draw(st.booleans()) else cell
    values = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
    label = st.integers(-1 if may_suppress else 0, max_classes - 1)
    labels = dense(draw(st.lists(label, min_size=n_rows, max_size=n_rows)))
    assume(max(labels) >= 0)
    order = draw(st.permutations(domain))
    who = st.integers(0, draw(st.integers(0, n_rows)))
    owners = draw(st.lists(who, min_size=n_rows, max_size=n_rows)) if people else None
    return Case(values, labels, order, parent, owners)


def column_of(name):
    return {"hierarchical": "in_tree", "range": "number"}.get(name, "s")


def drawn_goals(data):
    """One goal of each kind: name -> (threshold, the goal as a recipe has it)."""
    bounds = {name: data.draw(st.sampled_from(kind.bounds), name) for name, kind in KINDS.items()}
    return {name: (bounds[name], kind.goal(bounds[name], column_of(name))) for name, kind in KINDS.items()}


def same_number(name, found, expected):
    if name in ROUNDED and expected not in (0, inf):
        return found == pytest.approx(float(expected), rel=1e-12, abs=1e-12)
    return found == float(expected)


def check_all_goals(case, data):
    asked = drawn_goals(data)
    encoded, goals = case.encoded([goal for _, goal in asked.values()])
    labels = np.array(case.labels, np.int32)
    seen = case.all_seen()
    k = data.draw(st.integers(1, 4), "k")
    together = GoalSet(encoded, goals, k).judge(labels)
    n_people = [case.n_people(c) for c in range(case.n_classes)]
    assert together.people == min(n_people)
    good = [n >= k for n in n_people]
    for g, (name, (bound, _)) in enumerate(asked.items()):
        kind = KINDS[name]
        holds = [kind.holds(s, bound) for s in seen]
        alone = GoalSet(replace(encoded, sensitive=(encoded.sensitive[g],)), [goals[g]], 1).judge(labels)
        assert alone.good.tolist() == holds, name
        worst = (min if kind.is_lowest else max)(kind.number(s) for s in seen)
        for judgement, at in ((alone, 0), (together, g)):
            assert same_number(name, judgement.achieved[at], worst), name
            assert judgement.holds[at] is all(holds), name
        good = [a and b for a, b in zip(good, holds, strict=True)]
    assert together.good.tolist() == good


@given(cases(), st.data())
def test_every_goal_equals_the_reference(case, data):
    check_all_goals(case, data)


# With a subject column a value's count is the number of people who have it. Frequency and alpha divide by
# the people with any value; the others by the sum of the counts, which is more when somebody has several.
@given(cases(people=True), st.data())
def test_every_goal_counts_people_where_a_subject_column_tells(case, data):
    check_all_goals(case, data)


# 1 has a and b, 2 has a twice, 3 has a: three people, all with a; four pairs, a's share of them is 3/4.
def test_people_by_hand():
    case = Case(list("abaaa"), [0] * 5, ["a", "b"], {"n0": None, "a": "n0", "b": "n0"}, [1, 1, 2, 2, 3])
    goals = [KINDS[name].goal(1) for name in ("distinct", "frequency", "entropy", "alpha", "recursive")]
    judgement = case.goal_set(goals).judge(np.zeros(5, np.int32))
    entropy = (4 / 3) ** 0.75 * 4**0.25
    assert judgement.achieved == (2, 1, pytest.approx(entropy, abs=1e-12), 1, 1)
    assert judgement.people == 3


def test_somebody_with_two_values_is_half_of_neither():
    case = Case(list("abab"), [0] * 4, ["a", "b"], {"n0": None, "a": "n0", "b": "n0"}, [1, 1, 2, 2])
    assert not case.judge(KINDS["alpha"].goal(0.9)).good[0]
    assert not case.judge(KINDS["frequency"].goal(2)).good[0]
    assert case.judge(KINDS["entropy"].goal(2)).good[0]


def test_without_goals_a_subject_column_makes_k_count_people():
    case = Case([None] * 5, [0, 0, 0, 1, 1], ["a"], {"n0": None}, [1, 1, 2, 3, 3])
    case = replace(case, order=["n0"])
    judgement = case.goal_set([], k=2).judge(np.array(case.labels, np.int32))
    assert (judgement.good.tolist(), judgement.people) == ([True, False], 1)
    assert judgement.achieved == judgement.holds == ()


def test_nothing_but_k_rows_is_no_goal_set():
    recipe = Recipe.from_roles(quasi=["a"], sensitive=["s"], k=2)
    encoded = shoal.encode(pl.DataFrame({"a": [1, 2], "s": ["x", "y"]}), recipe)
    assert GoalSet.of(encoded, recipe) is None


# A label of -1 leaves a row out of the release: with the two c, p(a) would be 2/6 and all distances others.
def test_rows_left_out_are_not_part_of_the_whole():
    case = Case(list("aabbcc"), [0, 0, 1, 1, -1, -1], list("abc"), {"n0": None, **dict.fromkeys("abc", "n0")})
    goals = ("equal", "ordered", "hierarchical", "basic", "delta")
    found = [case.judge(KINDS[name].goal(1.0, column_of(name))).achieved[0] for name in goals]
    assert found == [0.5, 0.5, 0.5, 1.0, inf]
    judgement = case.judge(KINDS["hierarchical"].goal(0.49, "in_tree"))
    assert judgement.good.tolist() == [False, False]


# b is only in a row left out: a and c are neighbours, 1 apart. The class a of ac: 1/2.
def test_a_value_left_out_is_no_step_of_the_order():
    case = Case(list("abc"), [0, -1, 1], list("abc"), {"n0": None, **dict.fromkeys("abc", "n0")})
    assert case.judge(KINDS["ordered"].goal(0.5)).achieved == (0.5,)


# Thresholds


def tightest(name, seen):
    """The keys of the strictest goal of a kind that these classes meet, or None."""
    kind = KINDS[name]
    numbers = [kind.number(s) for s in seen]
    worst = (min if kind.is_lowest else max)(numbers)
    if name == "recursive":
        return None
    if name == "frequency":
        return kind.goal(3 if worst == inf else worst)
    if kind.is_lowest:
        return kind.goal(worst) if worst >= 1 else None
    if worst == inf:
        return None
    if kind.bound == "t":
        return kind.goal(float(worst), column_of(name))
    if name == "delta":
        return kind.goal(max(1e-9, worst * (1 + 1e-12)))
    return kind.goal(float(worst) or 1e-9)


@given(cases(), st.sampled_from(["equal", "ordered", "hierarchical", "alpha", "basic", "enhanced"]))
def test_the_bound_itself_passes_and_the_next_float_below_does_not(case, name):
    number = max(KINDS[name].number(s) for s in case.all_seen())
    assume(0 < number < inf)
    at = KINDS[name].goal(float(number), column_of(name))
    below = KINDS[name].goal(nextafter(float(number), 0), column_of(name))
    assert case.judge(at).holds == (True,)
    assert case.judge(below).holds == (False,)


# a's share is 1 of the class and 1 - n/d of the table, so that the distance is n/d, whatever the distance.
@pytest.mark.parametrize(
    ("bound", "n", "d"),
    [(0.2, 1, 5), (0.3, 3, 10), (1 / 3, 1, 3), (2 / 3, 2, 3), (0.1, 1, 10), (0.7, 7, 10), (0.6, 3, 5),
     (0.35, 7, 20), (0.07, 7, 100), (0.29, 29, 100), (0.57, 57, 100), (1 / 7, 1, 7), (5 / 11, 5, 11)],
)  # fmt: skip
@pytest.mark.parametrize("times", some([1, 3, 7], 2, 1))
def test_a_distance_of_exactly_t_meets_it(bound, n, d, times):
    values = ["a"] * (d - n) * times + ["b"] * n * times
    labels = [0] * times + [1] * (d * times - times)  # the class of all a's need not have all of them
    case = Case(values, labels, ["a", "b"], {"n0": None, "a": "n0", "b": "n0"})
    for name in ("equal", "ordered", "hierarchical"):
        kind, column = KINDS[name], column_of(name)
        assert case.judge(kind.goal(bound, column)).good[0]
        assert not case.judge(kind.goal(nextafter(bound, 0), column)).good[0]


# q = 1 and p = 1/(1 + beta) make a gain of exactly beta; a share of exactly alpha; n of d rows.
@pytest.mark.parametrize(("n", "d"), [(1, 5), (3, 10), (1, 3), (2, 3), (7, 10), (29, 100), (1, 7)])
@pytest.mark.parametrize("times", some([1, 3, 7], 2, 1))
def test_a_gain_of_exactly_beta_and_a_share_of_exactly_alpha_pass(n, d, times):
    values = ["a"] * d * times + ["b"] * n * times  # p(a) = d/(d + n): all a's gain n/d
    case = Case(values, [0] * d * times + [1] * n * times, ["a", "b"], {"n0": None, "a": "n0", "b": "n0"})
    assert case.judge(KINDS["basic"].goal(n / d)).good[0]
    assert not case.judge(KINDS["basic"].goal(nextafter(n / d, 0))).good[0]

    parent = {"n0": None, "a": "n0"} | {f"b{at}": "n0" for at in range((d - n) * times)}
    values = ["a"] * n * times + leaves(parent)[1:]
    case = Case(values, [0] * len(values), leaves(parent), parent)
    assert case.judge(KINDS["alpha"].goal(n / d)).good[0]
    assert not case.judge(KINDS["alpha"].goal(nextafter(n / d, 0))).good[0]


@given(cases(), st.integers(1, 4))
def test_recursive_diversity_is_strict(case, l):
    least = [reference.recursive(s.values, l) for s in case.all_seen()]
    assume(None not in least)
    worst = float(max(least))
    goal = {"type": "l-diversity", "variant": "recursive", "column": "s", "l": l}
    assert case.judge({**goal, "c": worst}).holds == (False,)
    assert case.judge({**goal, "c": nextafter(worst, inf)}).holds == (True,)
    # The number achieved is the largest l for the c asked for.
    for c in (worst, nextafter(worst, inf)):
        numbers = [
            max(
                [0]
                + [
                    at
                    for at in range(1, 10)
                    if (r := reference.recursive(s.values, at)) is not None and float(r) < c
                ]
            )
            for s in case.all_seen()
        ]
        assert case.judge({**goal, "c": c}).achieved == (min(numbers),)


# aab of aaabbbbbb: q(b)/p(b) = (1/3)/(2/3) = 1/2, q(a)/p(a) = 2. abbb of 9 a in 16: a 4/9, b 12/7.
# aabb of 3 a in 16: a 8/3, b 8/13.
@pytest.mark.parametrize(
    ("inside", "outside", "factor"),
    [("aab", "abbbbb", 2), ("abbb", "aaaaaaaabbbb", 9 / 4), ("aabb", "abbbbbbbbbbb", 8 / 3)],
)
def test_delta_disclosure_is_strict(inside, outside, factor):
    values = list(inside + outside)
    case = Case(
        values, [0] * len(inside) + [1] * len(outside), ["a", "b"], {"n0": None, "a": "n0", "b": "n0"}
    )
    delta = abs(log(factor))
    worst = max(reference.delta(list(part), values) for part in (inside, outside))
    assert same_number("delta", case.judge(KINDS["delta"].goal(1.0)).achieved[0], worst)
    assert not case.judge(KINDS["delta"].goal(delta)).good[0]
    assert case.judge(KINDS["delta"].goal(delta * (1 + 1e-12))).good[0]


@pytest.mark.parametrize("m", [1, 2, 3, 5, 7, 10, 49, 100])
@pytest.mark.parametrize("times", [1, 3])
def test_m_equally_frequent_values_are_exactly_m_diverse(m, times):
    parent = {"n0": None} | {f"v{at}": "n0" for at in range(m)}
    case = Case(leaves(parent) * times, [0] * m * times, leaves(parent), parent)
    for name in ("distinct", "frequency", "entropy"):
        judgement = case.judge(KINDS[name].goal(m))
        assert judgement.holds == (True,)
        assert judgement.achieved[0] == pytest.approx(m, abs=1e-9)
        assert case.judge(KINDS[name].goal(m + 1)).holds == (False,)
    assert case.judge(KINDS["entropy"].goal(m + 1e-6)).holds == (False,)


# Degenerate tables


AB = {"n0": None, "a": "n0", "b": "n0"}


@pytest.mark.parametrize("parent", [{"n0": None, "a": "n0"}, AB, {"n0": None, "n1": "n0", "a": "n1"}])
@pytest.mark.parametrize("text", ["aaaaa", "aa-aa"])
def test_one_value_is_at_no_distance_and_not_diverse(parent, text):
    values = [None if letter == "-" else letter for letter in text]
    case = Case(values, [0, 0, 0, 1, 1], leaves(parent), parent)
    expected = {"distinct": 1, "frequency": 1, "entropy": 1, "recursive": 1, "alpha": 1}
    for name, kind in KINDS.items():
        judgement = case.judge(kind.goal(kind.bounds[0] or 0.0, column_of(name)))
        assert judgement.achieved == (expected.get(name, 0),), name
        assert judgement.holds == (name not in ("alpha", "range"),), name


def test_a_tree_of_one_leaf_is_no_distance():
    for values in (["n0", "n0"], ["n0", None]):
        case = Case(values, [0, 1], ["n0"], {"n0": None})
        assert case.judge(KINDS["hierarchical"].goal(0.0, "in_tree")).achieved == (0,)


@pytest.mark.parametrize(
    ("values", "labels"),
    [([None] * 4, [0, 0, 1, 1]), (["a", "b", None, None], [-1, -1, 0, 0]), ([None], [0])],
)
def test_a_table_without_any_value_gives_nothing_away(values, labels):
    case = Case(values, labels, ["a", "b"], AB)
    for name, kind in KINDS.items():
        judgement = case.judge(kind.goal(kind.bounds[0], column_of(name)))
        assert judgement.achieved == (NO_VALUE.get(name, 0),), name
        assert judgement.holds == (name not in ASK_FOR_VALUES,), name


# aab and --: the class without a value asks nothing of those that compare, and has none for those that count.
def test_a_class_without_any_value():
    case = Case(["a", "a", "b", None, None], [0, 0, 0, 1, 1], ["a", "b"], AB)
    for name, kind in KINDS.items():
        good = case.judge(kind.goal(kind.bounds[0], column_of(name))).good
        assert good[1] == (name not in ASK_FOR_VALUES), name
        worst = case.judge(kind.goal(kind.bounds[0], column_of(name))).achieved[0]
        first = kind.number(case.seen(0))
        second = NO_VALUE.get(name, 0)
        assert same_number(name, worst, min(first, second) if kind.is_lowest else max(first, second))


def test_a_class_without_rows_lacks_people():
    case = Case(list("abab"), [0, 0, 2, 2], ["a", "b"], AB)
    judgement = case.judge(KINDS["alpha"].goal(0.5))
    assert (judgement.good.tolist(), judgement.people) == ([True, False, True], 0)


# x hangs from the root, y and z are two levels lower, and w, no row's value, makes the tree one level deeper:
# H = 3. The class y of xyz: q - p = -1/3 2/3 -1/3. low: 1/3 x min(2/3, 1/3) = 1/9; root: 3/3 x 1/3. Sum 4/9.
# Without w it would be 1/2 x 1/3 + 1/3 = 1/2.
def test_leaves_that_no_row_has_still_shape_the_tree():
    parent = {"n0": None, "x": "n0", "low": "n0", "y": "low", "z": "low", "m1": "n0", "m2": "m1", "w": "m2"}
    case = Case(list("yxz"), [0, 1, 1], leaves(parent), parent)
    goal = KINDS["hierarchical"].goal(0.5, "in_tree")
    assert case.judge(goal).achieved == (4 / 9,)
    del parent["m1"], parent["m2"], parent["w"]
    case = Case(list("yxz"), [0, 1, 1], leaves(parent), parent)
    assert case.judge(goal).achieved == (0.5,)


# Columns that count jointly


@given(st.data())
def test_joint_columns_equal_the_reference_on_tuples(data):
    n_rows = data.draw(st.integers(1, 20))
    names = data.draw(st.sampled_from([["a", "b"], ["b", "a"], ["a", "b", "c"]]))
    # Pasted together, "x" + "xx" and "xx" + "x" would be one.
    cell = st.sampled_from(["x", "xx", "xxx", "y", "x,", ",x"]) | st.none()
    cells = {name: data.draw(st.lists(cell, min_size=n_rows, max_size=n_rows)) for name in "abc"}
    labels = dense(data.draw(st.lists(st.integers(-1, 2), min_size=n_rows, max_size=n_rows)))
    assume(max(labels) >= 0)
    tuples = list(zip(*(cells[name] for name in names), strict=True))
    values = [None if None in value else value for value in tuples]
    case = Case(values, labels, [], {})
    seen = case.all_seen()
    bounds = {name: data.draw(st.sampled_from(KINDS[name].bounds), name) for name in PLAIN}
    goals = [KINDS[name].goal(bounds[name], names) for name in PLAIN]
    changes = {"privacy": {"goal": goals}}
    recipe = Recipe.from_roles(quasi=["row"], sensitive=list("abc"), k=2, changes=changes)
    frame = pl.DataFrame({"row": range(n_rows), **cells}, schema_overrides=dict.fromkeys("abc", pl.String))
    goal_set = GoalSet.of(shoal.encode(frame, recipe), recipe)
    judgement = goal_set.judge(np.array(labels, np.int32))
    for g, name in enumerate(PLAIN):
        kind = KINDS[name]
        assert judgement.holds[g] == all(kind.holds(s, bounds[name]) for s in seen), name
        worst = (min if kind.is_lowest else max)(kind.number(s) for s in seen)
        assert same_number(name, judgement.achieved[g], worst), name


def test_spellings_of_one_number_are_one_value():
    spelled = ["1", "1.0", " 1", "1e0", "+1.00", "2", "2.0 ", "001"]
    recipe = Recipe.from_roles(
        quasi=["row"], sensitive=["s"], k=2, changes={"privacy": {"goal": [KINDS["distinct"].goal(3)]}}
    )
    for values, expected in ((spelled, 3), (spelled[:5], 1), ([1.0, 1, 2], 2)):
        frame = pl.DataFrame({"row": range(len(values)), "s": values})
        judgement = GoalSet.of(shoal.encode(frame, recipe), recipe).judge(np.zeros(len(values), np.int32))
        assert judgement.achieved == (expected,)


# Two classes that hold


@given(cases(max_classes=3), st.sampled_from(sorted(KINDS)), st.integers(1, 3))
def test_the_union_of_two_classes_that_hold_holds(case, name, l):
    assume(case.n_classes >= 2)
    seen = [case.seen(0), case.seen(1)]
    if name == "recursive":
        least = [reference.recursive(s.values, l) for s in seen]
        assume(None not in least)
        c = nextafter(float(max(least)), inf)
        goal = {"type": "l-diversity", "variant": "recursive", "column": "s", "l": l, "c": c}
    else:
        goal = tightest(name, seen)
        assume(goal is not None)
    assert case.judge(goal).good[:2].tolist() == [True, True]
    joined = [0 if label == 1 else label for label in case.labels]
    assert case.judge(goal, joined).good[0]


# Row by row


def tally_of(goal_set, rows):
    tally = kernel.empty_tally(goal_set.kernel)
    kernel.count_rows(goal_set.kernel, tally, np.array(rows, np.int64), True)
    return tally


def judgements(goal_set, tally):
    judge = called(kernel.judged_tally)
    return [judge(goal_set.kernel, tally, g) for g in range(len(goal_set.asked))]


@given(st.booleans().flatmap(lambda people: cases(people=people, may_suppress=False)), st.data())
def test_rows_added_and_removed_one_by_one_are_judged_as_if_counted_afresh(case, data):
    n_rows = len(case.values)
    goal_set = case.goal_set([goal for _, goal in drawn_goals(data).values()], k=data.draw(st.integers(1, 5)))
    tally = kernel.empty_tally(goal_set.kernel)
    inside = set()
    for row in data.draw(st.lists(st.integers(0, n_rows - 1), max_size=40), "moves"):
        kernel.count_rows(goal_set.kernel, tally, np.array([row]), row not in inside)
        inside ^= {row}
        afresh = tally_of(goal_set, sorted(inside))
        assert judgements(goal_set, tally) == judgements(goal_set, afresh)
        for field, now, then in zip(tally._fields, tally, afresh, strict=True):
            assert field == "room" or np.array_equal(now, then), field
        is_good = called(kernel.is_good)
        assert is_good(goal_set.kernel, tally) == is_good(goal_set.kernel, afresh)
    kernel.count_rows(goal_set.kernel, tally, np.array(sorted(inside), np.int64), False)
    assert is_empty(tally)


@given(cases(people=True, max_classes=2, may_suppress=False), st.data())
def test_rows_listed_are_good_if_they_have_k_people_and_meet_all_goals(case, data):
    asked = drawn_goals(data)
    k = data.draw(st.integers(1, 4))
    goal_set = case.goal_set([goal for _, goal in asked.values()], k)
    tally = kernel.empty_tally(goal_set.kernel)
    for c in range(case.n_classes):
        rows = np.flatnonzero(np.array(case.labels) == c)
        holds = [KINDS[name].holds(case.seen(c), bound) for name, (bound, _) in asked.items()]
        expected = case.n_people(c) >= k and all(holds)
        assert kernel.all_good(goal_set.kernel, tally, rows, np.array([len(rows)])) == expected
        assert is_empty(tally)


# Values of which one more brings a goal nearer


def badness(name, bound, seen):
    """How far a class is from the goal, in the order that the kernel's number has; lower is nearer."""
    values, table = seen.values, seen.table
    if name == "range" and not values:
        return 1  # further away than a class of one value
    if name in ("distinct", "entropy", "range"):
        return -KINDS[name].number(seen)
    if name == "frequency":
        return seen.largest_share
    if name == "recursive":
        first, rest = reference.first_and_rest(values, bound)
        return (first - exact(C) * rest) / len(values) if values else 2
    if name == "enhanced":
        p = reference.shares(table)
        gains = reference.gains(values, table).items()
        return max((float(gain) / min(bound, -log(p[value])) for value, gain in gains), default=0.0)
    if name == "delta" and values:
        q, p = reference.compare(values, table)
        lacking = [value for value in p if not q[value]]
        largest = max(abs(log(q[value] / p[value])) for value in p if q[value])
        return len(lacking) + max(0.0, largest / bound - 1)
    return KINDS[name].number(seen)


@given(cases(max_classes=3, may_suppress=False), st.sampled_from(sorted(KINDS)), st.data())
def test_a_value_helps_if_one_more_of_it_brings_a_failing_goal_nearer(case, name, data):
    bound = data.draw(st.sampled_from(KINDS[name].bounds))
    goal_set = case.goal_set([KINDS[name].goal(bound, column_of(name))])
    codes = goal_set.sensitive[0].codes
    value_of = {int(code): value for code, value in zip(codes, case.values, strict=True) if code >= 0}
    rows = [row for row, label in enumerate(case.labels) if label == 0]
    seen = case.seen(0)
    # A class with one row more may have a value more often than the table; its shares are what counts.
    seen = replace(seen, table=seen.table * (len(rows) + 1))
    before = badness(name, bound, seen)

    tally = tally_of(goal_set, rows)
    helpful = np.ones(goal_set.sensitive[0].n_values, bool)
    called(kernel.mark_all_helpful)(goal_set.kernel, tally, helpful)
    assert np.array_equal(tally.counts, tally_of(goal_set, rows).counts)

    if KINDS[name].holds(seen, bound):
        assert not helpful.any()
        return
    now = judgements(goal_set, tally)[0][2]
    for code in range(len(helpful)):
        count = np.bincount([codes[row] for row in rows if codes[row] >= 0], minlength=len(helpful))
        count[code] += 1
        total = int(count.sum())
        then = called(kernel.judged)(goal_set.kernel, 0, count, total, total, tally.room)[2]
        assert helpful[code] == (then < now)
        if code in value_of:
            more = replace(seen, values=[*seen.values, value_of[code]], holders=seen.holders + 1)
            after = badness(name, bound, more)
            if isinstance(after, Fraction | int) or abs(after - before) > 1e-9:
                assert helpful[code] == (after < before)


@given(cases(people=True, max_classes=2, may_suppress=False), st.data())
def test_a_row_helps_with_a_person_that_is_lacking_or_a_value_that_its_person_does_not_have_yet(case, data):
    asked = drawn_goals(data)
    k = data.draw(st.integers(1, 6))
    goal_set = case.goal_set([goal for _, goal in asked.values()], k)
    rows = [row for row, label in enumerate(case.labels) if label == 0]
    tally = tally_of(goal_set, rows)
    helpful = np.zeros(int(goal_set.kernel.begin[-1]), bool)
    called(kernel.mark_all_helpful)(goal_set.kernel, tally, helpful)
    inside = {(case.people[row], case.values[row]) for row in rows}
    people = {person for person, _ in inside}
    for row, (person, value) in enumerate(zip(case.people, case.values, strict=True)):
        helps = len(people) < k and person not in people
        for g, column in enumerate(goal_set.sensitive):
            if value is not None and (person, value) not in inside:
                helps |= bool(helpful[goal_set.kernel.begin[g] + column.codes[row]])
        assert called(kernel.helps)(goal_set.kernel, tally, helpful, row) == helps


# c is in no released row. One more would be a gain without end, so it does not help; b does.
@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical", "delta", "basic", "enhanced"])
def test_a_value_that_the_release_lacks_does_not_help(name):
    case = Case(list("aabbcc"), [0, 0, 1, 1, -1, -1], list("abc"), {"n0": None, **dict.fromkeys("abc", "n0")})
    goal_set = case.goal_set([KINDS[name].goal(0.1, column_of(name))])
    goal_set.set_released(np.array(case.labels) >= 0)
    helpful = np.ones(3, bool)
    called(kernel.mark_all_helpful)(goal_set.kernel, tally_of(goal_set, [0, 1, 2]), helpful)
    assert helpful.tolist() == [False, True, False]
