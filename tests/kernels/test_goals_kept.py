"""What the methods do under privacy goals beyond k, against their slow twins: the same labels."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.cluster import cb, incognito, kaca, kmember, mondrian, oka, systematic
from shoal.errors import InfeasibleError
from shoal.privacy.goalset import GoalSet
from shoal.privacy.repair import repair
from shoal.recipe import Recipe
from shoal.recipe.options import (
    CBOptions,
    KACAOptions,
    KMemberOptions,
    MondrianOptions,
    OKAOptions,
    SystematicOptions,
)
from shoal.table.encode import encode
from shoal.table.fixed import fixed_columns
from tests.reference import cb as cb_twin
from tests.reference import incognito as incognito_twin
from tests.reference import kaca as kaca_twin
from tests.reference import kmember as kmember_twin
from tests.reference import mondrian as mondrian_twin
from tests.reference import oka as oka_twin
from tests.reference import systematic as systematic_twin
from tests.reference.keeping import Asked, Keeping
from tests.strategies import RANGES_AND_TREES, TREES, Case, leaves, nested, parents, tables

DOMAIN = list("abcde")

# Kind -> the keys of a goal, the name of its threshold, and where that may lie.
KINDS = {
    "distinct": ({"type": "l-diversity"}, "l", [2, 3, 4]),
    "frequency": ({"type": "l-diversity", "variant": "frequency"}, "l", [1, 2, 3]),
    "entropy": ({"type": "l-diversity", "variant": "entropy"}, "l", [1.5, 2, 2.5, 3]),
    "recursive": ({"type": "l-diversity", "variant": "recursive"}, "l", [1, 2, 3]),
    "equal": ({"type": "t-closeness"}, "t", [0.1, 0.2, 0.25, 1 / 3, 0.5]),
    "ordered": ({"type": "t-closeness", "distance": "ordered"}, "t", [0.05, 0.1, 0.2, 0.25, 1 / 3]),
    "hierarchical": (
        {"type": "t-closeness", "distance": "hierarchical"},
        "t",
        [0.05, 0.1, 0.2, 0.25, 1 / 3],
    ),
    "alpha": ({"type": "alpha-k"}, "alpha", [0.25, 1 / 3, 0.4, 0.5, 0.6, 0.75]),
    "basic": ({"type": "beta-likeness"}, "beta", [0.2, 0.5, 2 / 3, 1.0, 3.0]),
    "enhanced": ({"type": "beta-likeness", "variant": "enhanced"}, "beta", [0.2, 0.5, 2 / 3, 1.0, 3.0]),
    "delta": ({"type": "delta-disclosure"}, "delta", [0.3, 0.5, 1.0, 3.0]),
    "range": ({"type": "range"}, "e", [0.1, 0.2, 0.3, 0.4]),
}


@st.composite
def goals(draw):
    """A goal as a recipe has it, with its kind beside it."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    keys, bound, bounds = KINDS[kind]
    of_kind = {"ordered": ["s"], "hierarchical": ["t"], "range": ["number"]}
    columns = of_kind.get(kind, ["s", "s", "label", ["s", "label"]])
    goal = {**keys, "column": draw(st.sampled_from(columns)), bound: draw(st.sampled_from(bounds))}
    if kind == "recursive":
        goal["c"] = draw(st.sampled_from([0.5, 1.0, 1.5, 3.0]))
    return kind, goal


@dataclass(frozen=True)
class Kept:
    """A table and a recipe with goals, as shoal and as the twins take them."""

    case: Case
    kinds: list
    parent: dict  # the tree of column t

    @property
    def recipe(self):
        return self.case.recipe

    @property
    def k(self):
        return self.recipe.privacy.k

    @property
    def seed(self):
        return self.recipe.method.seed

    @cached_property
    def encoded(self):
        return encode(self.case.table, self.recipe)

    @cached_property
    def goals(self):
        return GoalSet(self.encoded, self.recipe.privacy.goal, self.k)

    @cached_property
    def columns(self):
        """The quasi columns as the twins take them."""
        return self.case.twin_columns(self.encoded.order)

    def cells(self, name):
        """The cells of a column in canonical order."""
        cells = self.case.table[name].to_list()
        return [cells[at] for at in self.encoded.order]

    def values(self, goal):
        """The value of each row; of several columns the combination, missing as soon as a part is."""
        parts = [self.cells(name) for name in goal.columns]
        if len(parts) == 1:
            return parts[0]
        return [None if None in row else row for row in zip(*parts, strict=True)]

    @cached_property
    def keeping(self):
        """The goals as the twins take them."""
        return self.among(range(self.encoded.n_rows))

    def among(self, rows):
        """The goals where only some rows are released; these are numbered anew."""
        order, asked = self.recipe.columns["s"].order, []
        for kind, goal in zip(self.kinds, self.recipe.privacy.goal, strict=True):
            all_values = self.values(goal)
            values = [all_values[row] for row in rows]
            asked.append(Asked(kind, goal.asked, values, getattr(goal, "c", None), order, self.parent))
        people = self.cells("who") if self.recipe.subject else None
        return Keeping(self.k, asked, len(rows), people and [people[row] for row in rows])

    def labels(self, method, options, may_suppress=0):
        """The labels by the kernel."""
        goals = self.goals.kernel
        clusterer = method(self.k, seed=self.seed, options=options, may_suppress=may_suppress, goals=goals)
        return clusterer.fit(self.encoded).labels.tolist()


@st.composite
def kept(draw, people=False, max_rows=36, max_k=4, kinds=RANGES_AND_TREES):
    """A table with a sensitive column more, one to three goals and, with `people`, a subject column."""
    case = draw(tables(max_rows=max_rows, max_k=max_k, kinds=kinds))
    n_rows = case.table.height
    order = draw(st.permutations(DOMAIN[: draw(st.integers(1, 5))]))
    cell = st.sampled_from([*order, *order[:1] * draw(st.integers(0, 4))])  # one may be frequent
    if draw(st.booleans()):
        cell = st.none() | cell
    parent = draw(parents())
    in_tree = st.sampled_from(leaves(parent))
    drawn = draw(st.lists(goals(), min_size=0 if people else 1, max_size=3))
    data = case.recipe.to_dict()
    values = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
    others = draw(st.lists(in_tree, min_size=n_rows, max_size=n_rows))
    table = case.table.with_columns(s=pl.Series(values, dtype=pl.String), t=pl.Series(others))
    data["columns"]["t"] = {
        "role": "sensitive", "kind": "categorical", "hierarchy": {"n0": nested(parent)},
    }  # fmt: skip
    data["columns"]["s"] = {"role": "sensitive", "kind": "ordinal", "order": order}
    # Tenths, whose differences floats get wrong.
    numbers = [None if value is None else f"0.{DOMAIN.index(value) + 1}" for value in values]
    table = table.with_columns(number=pl.Series(numbers, dtype=pl.String))
    data["columns"]["number"] = {"role": "sensitive", "kind": "numeric"}
    if people:
        who = st.integers(0, draw(st.integers(1, n_rows)))
        table = table.with_columns(who=pl.Series(draw(st.lists(who, min_size=n_rows, max_size=n_rows))))
        data["columns"]["who"] = {"role": "subject"}
    data["privacy"]["goal"] = [goal for _, goal in drawn]
    case = replace(case, table=table, recipe=Recipe.from_dict(data))
    return Kept(case, [kind for kind, _ in drawn], parent)


def some_with_people(**given_to_kept):
    return st.booleans().flatmap(lambda people: kept(people=people, **given_to_kept))


OPENS, ANCHORS = st.sampled_from(["furthest", "start"]), st.sampled_from(["last", "first"])


@given(some_with_people(), OPENS, ANCHORS, st.sampled_from([None, None, Fraction(1, 2), Fraction(4)]))
def test_k_member(case, opens, anchor, penalty):
    label = None if penalty is None else "label"
    options = KMemberOptions(opens=opens, anchor=anchor, label=label, class_penalty=float(penalty or 0))
    start, priority = kmember.draw(case.encoded.n_rows, case.seed)
    expected = kmember_twin.kmember(
        case.columns, case.k, start, priority.tolist(), opens=opens, anchor=anchor,
        labels=None if penalty is None else case.cells("label"), class_penalty=penalty, keeping=case.keeping,
    )  # fmt: skip
    assert case.labels(kmember.KMember, options) == expected


@given(some_with_people(), st.sampled_from(["strict", "relaxed"]))
def test_mondrian(case, mode):
    expected = mondrian_twin.mondrian(case.columns, case.k, mode=mode, keeping=case.keeping)
    assert case.labels(mondrian.Mondrian, MondrianOptions(mode=mode)) == expected


@given(
    some_with_people(), st.sampled_from(["height", "leaves", "order"]), st.sampled_from([1, 3]),
    st.sampled_from([None, None, None, 2]),
)  # fmt: skip
def test_cb(case, ncp, rounds, l):  # noqa: E741
    options = CBOptions(ncp=ncp, rounds=rounds, l=l)
    sensitive = None if l is None else case.cells("label")
    if l is None and "frequency" in case.kinds and not case.recipe.subject:
        goal = case.recipe.privacy.goal[case.kinds.index("frequency")]
        sensitive, l = case.values(goal), goal.asked  # noqa: E741
    if l is not None and not cb_twin.is_diverse(sensitive, l, range(case.encoded.n_rows)):
        with pytest.raises(InfeasibleError):
            case.labels(cb.CB, options)
        return
    expected = cb_twin.cb(
        case.columns,
        case.k,
        [np.argsort(order).tolist() for order in cb.draw(case.encoded.n_rows, rounds, case.seed)],
        ncp=ncp,
        sensitive=sensitive,
        l=l,
        unit=fixed_columns(case.encoded, np.arange(1)).unit,
        keeping=case.keeping,
    )
    assert case.labels(cb.CB, options) == expected


SCHEMES = st.sampled_from([("uniform", 1), ("height", 1), ("height", 2)])
OUTLIERS = st.sampled_from([None, None, None, Fraction(0), Fraction(1, 4), Fraction(1)])


@given(some_with_people(kinds=TREES), SCHEMES, OUTLIERS, st.integers(0, 10))
def test_kaca(case, scheme, outlier, may_suppress):
    weights, beta = scheme
    options = KACAOptions(weights=weights, beta=beta, outlier=None if outlier is None else float(outlier))
    priority = np.argsort(kaca.draw(case.encoded.n_rows, case.seed)).tolist()
    unit = fixed_columns(case.encoded, np.arange(1)).unit
    expected = kaca_twin.kaca(
        case.columns, case.k, priority, weights=weights, beta=beta, unit=unit, outlier=outlier,
        may_suppress=may_suppress, keeping=case.keeping,
    )  # fmt: skip
    assert case.labels(kaca.KACA, options, may_suppress) == expected


@given(some_with_people(), st.sampled_from(["systematic", "random"]))
def test_systematic(case, seeds):
    options = SystematicOptions(seeds=seeds)
    drawn = systematic.draw(case.encoded.n_rows, case.k, case.seed, options)
    offsets = [int(row) - at * case.k for at, row in enumerate(drawn)]
    expected = systematic_twin.systematic(case.columns, case.k, offsets=offsets, keeping=case.keeping)
    assert case.labels(systematic.Systematic, options) == expected


@given(some_with_people(), st.sampled_from([1, 1, 2]), st.booleans())
def test_oka(case, iterations, suppress):
    seeds, priority = oka.draw(case.encoded.n_rows, case.k, case.seed)
    expected = oka_twin.oka(
        case.columns, case.k, seeds.tolist(), priority.tolist(), iterations=iterations, suppress=suppress,
        keeping=case.keeping,
    )  # fmt: skip
    options = OKAOptions(iterations=iterations, suppress=suppress)
    assert case.labels(oka.OKA, options, case.encoded.n_rows) == expected


@given(kept(max_rows=20, kinds=TREES), st.sampled_from([0, 0, 5]))
def test_incognito(case, may_suppress):
    clusterer = incognito.Incognito(case.k, may_suppress=may_suppress, goals=case.goals.kernel)
    keeping = case.keeping
    if not keeping.good(range(case.encoded.n_rows)):
        with pytest.raises(InfeasibleError):
            clusterer.fit(case.encoded)
        return
    levels, labels = incognito_twin.incognito(case.columns, case.k, keeping=keeping)
    result = clusterer.fit(case.encoded)
    assert result.levels == levels
    assert result.labels.tolist() == labels


# By hand, what generated tables rarely have


def encoded_with_goals(table, columns, goals, seed=0):
    """A table whose columns are all quasi but for those given; two people and these goals are asked for."""
    columns = {name: {"role": "quasi", **columns.get(name, {})} for name in table.columns}
    recipe = {"columns": columns, "privacy": {"k": 2, "goal": goals}, "method": {"seed": seed}}
    recipe = Recipe.from_dict(recipe)
    encoded = encode(table, recipe)
    return encoded, GoalSet.of(encoded, recipe)


def test_systematic_gives_up_the_seed_when_all_others_are_needed():
    # Ages 1 2 3 9, k = 2, seeds 1 (class 0) and 9 (class 1). 2 and 3 join class 0, which then has two s and
    # two t. Without 3 it has only a in s, without 2 only a in t; without 1, the seed, it is still good. So 1
    # goes, and joins class 1, which has one row.
    table = pl.DataFrame({"age": [1, 2, 3, 9], "s": list("aaba"), "t": list("abaa")})
    roles = {"s": {"role": "sensitive"}, "t": {"role": "sensitive"}}
    asked = [{"type": "l-diversity", "column": name, "l": 2} for name in "st"]
    encoded, goal_set = encoded_with_goals(table, roles, asked)
    with mock.patch.object(systematic, "draw", return_value=np.array([0, 3])):
        labels = systematic.Systematic(2, goals=goal_set.kernel).fit(encoded).labels
    assert labels.tolist() == [1, 0, 0, 1]


def test_kaca_comes_back_to_a_trunk_that_lost_what_it_needed():
    # k = 2, two values. 4351 has a; 4352 has b a a a, so it is good when its rows come by. 4351 takes a stub
    # of one, the b: a, b at 435*, and leaves a a a. Now it is the turn of 9999, with b. To 435* whole it is
    # 1 x 1 + 2 x 3/4, to a stub of one of 4352 only 1 x 1 + 1 x 1: it takes an a. Then the second time round:
    # the two a left at 4352 merge with 435* (2 x 1/4) rather than at the root (2 x 1).
    table = pl.DataFrame({"post": ["4351", *["4352"] * 4, "9999"], "s": list("abaaab")})
    columns = {"post": {"kind": "categorical", "hierarchy": {"prefix": 1}}, "s": {"role": "sensitive"}}
    asked = [{"type": "l-diversity", "column": "s", "l": 2}]
    drawn = (encoded_with_goals(table, columns, asked, seed) for seed in range(99))
    encoded, goal_set = next(  # equal tuples stand in a random order: one with b first
        found for found in drawn if found[0].sensitive[0].codes.tolist() == [0, 1, 0, 0, 0, 1]
    )
    with mock.patch.object(kaca, "draw", return_value=np.array([1, 2, 3, 4, 0, 5])):
        labels = kaca.KACA(2, goals=goal_set.kernel).fit(encoded).labels
    assert labels.tolist() == [0, 0, 1, 0, 0, 1]


# The repair, by what it promises


@st.composite
def to_repair(draw, people=False):
    """A table with goals, labels for it that know nothing of them, and how many rows may be left out."""
    case = draw(kept(people=people, max_rows=30))
    n_rows = case.encoded.n_rows
    number = st.integers(0, draw(st.integers(0, max(0, n_rows // case.k - 1))))
    drawn = draw(st.lists(number, min_size=n_rows, max_size=n_rows))
    labels = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
    return case, labels, draw(st.sampled_from([0, 0, 2, 10]))


def classes_of(labels):
    return [np.flatnonzero(labels == number).tolist() for number in range(labels.max() + 1)]


def total_il(case, labels):
    """Total IL, exact; a row left out costs the sum of the weights."""
    whole = sum(Fraction(column.weight) for column in case.columns)
    lost = sum((kmember_twin.loss(case.columns, rows) for rows in classes_of(labels)), Fraction(0))
    return float(lost + int((labels < 0).sum()) * whole)


def check_repaired(case, labels, repaired, may_suppress):
    """Rows are in one class or left out, every class is good among those released, and the loss is true."""
    released = np.flatnonzero(repaired.labels >= 0)
    assert len(labels) - len(released) == repaired.left_out <= may_suppress
    keeping = case.among(released)
    assert all(keeping.good(rows) for rows in classes_of(repaired.labels[released]))
    assert repaired.loss == pytest.approx(total_il(case, repaired.labels), rel=1e-6, abs=1e-6)
    if all(case.keeping.good(rows) for rows in classes_of(labels)):
        assert repaired.labels.tolist() == labels.tolist()


@given(to_repair())
def test_what_is_repaired_is_good_and_no_worse_than_one_class(given_labels):
    case, labels, may_suppress = given_labels
    assume(case.keeping.good(range(len(labels))))
    repaired = repair(case.encoded, labels.copy(), case.goals, may_suppress)
    check_repaired(case, labels, repaired, may_suppress)
    assert repaired.loss <= total_il(case, np.zeros(len(labels), np.int32)) + 1e-6


@given(to_repair(people=True))
def test_with_people_it_is_good_or_one_class_of_all_rows_is_not(given_labels):
    case, labels, may_suppress = given_labels
    try:
        repaired = repair(case.encoded, labels.copy(), case.goals, may_suppress)
    except InfeasibleError:
        assert not case.keeping.good(range(len(labels)))
    else:
        check_repaired(case, labels, repaired, may_suppress)


@given(to_repair(), st.integers(0, 99))
def test_neither_the_order_of_the_input_nor_the_numbers_of_classes_matter(given_labels, seed):
    case, labels, may_suppress = given_labels
    assume(case.keeping.good(range(len(labels))))
    assume(not all(case.keeping.good(rows) for rows in classes_of(labels)))  # else numbers stay as they are
    repaired = repair(case.encoded, labels.copy(), case.goals, may_suppress)
    random, recipe = np.random.default_rng(seed), case.recipe
    encoded = encode(case.case.table[random.permutation(len(labels))], recipe)
    numbers = random.permutation(labels.max() + 1).astype(np.int32)
    again = repair(encoded, numbers[labels], GoalSet(encoded, recipe.privacy.goal, case.k), may_suppress)
    assert again.labels.tolist() == repaired.labels.tolist()
    assert again.loss == repaired.loss
