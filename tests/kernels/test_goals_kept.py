"""What the methods do under privacy goals beyond k, against their slow twins: the same labels."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.cluster import cb, incognito, kaca, kmember, mondrian, oka, systematic
from shoal.errors import InfeasibleError
from shoal.options import (
    CBOptions,
    KACAOptions,
    KMemberOptions,
    MondrianOptions,
    OKAOptions,
    SystematicOptions,
)
from shoal.privacy.goalset import GoalSet
from shoal.privacy.repair import repair
from shoal.recipe import Recipe
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
from tests.strategies import Case, tables

EXAMPLES = 150
DOMAIN = list("abcde")

# Kind -> the keys of a goal, the name of its threshold, and where that may lie.
KINDS = {
    "distinct": ({"type": "l-diversity"}, "l", [2, 3, 4]),
    "frequency": ({"type": "l-diversity", "variant": "frequency"}, "l", [1, 2, 3]),
    "entropy": ({"type": "l-diversity", "variant": "entropy"}, "l", [1.5, 2, 2.5, 3]),
    "recursive": ({"type": "l-diversity", "variant": "recursive"}, "l", [1, 2, 3]),
    "equal": ({"type": "t-closeness"}, "t", [0.1, 0.2, 0.25, 1 / 3, 0.5]),
    "ordered": ({"type": "t-closeness", "distance": "ordered"}, "t", [0.05, 0.1, 0.2, 0.25, 1 / 3]),
    "alpha": ({"type": "alpha-k"}, "alpha", [0.25, 1 / 3, 0.4, 0.5, 0.6, 0.75]),
    "basic": ({"type": "beta-likeness"}, "beta", [0.2, 0.5, 2 / 3, 1.0, 3.0]),
    "enhanced": ({"type": "beta-likeness", "variant": "enhanced"}, "beta", [0.2, 0.5, 2 / 3, 1.0, 3.0]),
    "delta": ({"type": "delta-disclosure"}, "delta", [0.3, 0.5, 1.0, 3.0]),
}


@st.composite
def goals(draw):
    """A goal as a recipe has it, with its kind beside it."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    keys, bound, bounds = KINDS[kind]
    columns = ["s"] if kind == "ordered" else ["s", "s", "label", ["s", "label"]]
    goal = {**keys, "column": draw(st.sampled_from(columns)), bound: draw(st.sampled_from(bounds))}
    if kind == "recursive":
        goal["c"] = draw(st.sampled_from([0.5, 1.0, 1.5, 3.0]))
    return kind, goal


@dataclass(frozen=True)
class Kept:
    """A table and a recipe with goals, as shoal and as the twins take them."""

    case: Case
    kinds: list

    def __post_init__(self):
        """Encode the table and count its goals."""
        case = self.case
        encoded = encode(case.table, case.recipe)
        object.__setattr__(self, "encoded", encoded)
        object.__setattr__(self, "k", case.recipe.privacy.k)
        object.__setattr__(self, "seed", case.recipe.method.seed)
        object.__setattr__(self, "goals", GoalSet(encoded, case.recipe.privacy.goal, self.k))
        object.__setattr__(self, "columns", case.twin_columns(encoded.order))

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

    @property
    def keeping(self):
        """The goals as the twins take them."""
        return self.among(range(self.encoded.n_rows))

    def among(self, rows):
        """The goals where only some rows are released; these are numbered anew."""
        order = tuple(self.case.recipe.columns["s"].order)
        asked = []
        for kind, goal in zip(self.kinds, self.case.recipe.privacy.goal, strict=True):
            values = self.values(goal)
            asked.append(
                Asked(kind, goal.asked, [values[row] for row in rows], getattr(goal, "c", None), order)
            )
        people = self.cells("who") if self.case.recipe.subject else None
        return Keeping(self.k, asked, len(rows), people and [people[row] for row in rows])

    def labels(self, method, options):
        """The labels by the kernel."""
        clusterer = method(self.k, seed=self.seed, options=options, goals=self.goals.kernel)
        return clusterer.fit(self.encoded).labels.tolist()


@st.composite
def kept(draw, people=False, max_rows=36, max_k=4, numeric=True):
    """A table with a sensitive column more, one to three goals and, with `people`, a subject column."""
    case = draw(tables(max_rows=max_rows, max_k=max_k, numeric=numeric))
    n_rows = case.table.height
    order = draw(st.permutations(DOMAIN[: draw(st.integers(1, 5))]))
    cell = st.sampled_from([*order, *order[:1] * draw(st.integers(0, 4))])  # one may be frequent
    if draw(st.booleans()):
        cell = st.none() | cell
    drawn = draw(st.lists(goals(), min_size=0 if people else 1, max_size=3))
    data = case.recipe.to_dict()
    values = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
    table = case.table.with_columns(s=pl.Series(values, dtype=pl.String))
    data["columns"]["s"] = {"role": "sensitive", "kind": "ordinal", "order": order}
    if people:
        who = st.integers(0, draw(st.integers(1, n_rows)))
        table = table.with_columns(who=pl.Series(draw(st.lists(who, min_size=n_rows, max_size=n_rows))))
        data["columns"]["who"] = {"role": "subject"}
    data["privacy"]["goal"] = [goal for _, goal in drawn]
    return Kept(replace(case, table=table, recipe=Recipe.from_dict(data)), [kind for kind, _ in drawn])


def some_with_people(**given_to_kept):
    return st.booleans().flatmap(lambda people: kept(people=people, **given_to_kept))


OPENS, ANCHORS = st.sampled_from(["furthest", "start"]), st.sampled_from(["last", "first"])


@settings(max_examples=EXAMPLES)
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


@settings(max_examples=EXAMPLES)
@given(some_with_people(), st.sampled_from(["strict", "relaxed"]))
def test_mondrian(case, mode):
    expected = mondrian_twin.mondrian(case.columns, case.k, mode=mode, keeping=case.keeping)
    assert case.labels(mondrian.Mondrian, MondrianOptions(mode=mode)) == expected


@settings(max_examples=EXAMPLES)
@given(
    some_with_people(), st.sampled_from(["height", "leaves", "order"]), st.sampled_from([1, 3]),
    st.sampled_from([None, None, None, 2]),
)  # fmt: skip
def test_cb(case, ncp, rounds, l):  # noqa: E741
    options = CBOptions(ncp=ncp, rounds=rounds, l=l)
    sensitive = None if l is None else case.cells("label")
    if l is None and "frequency" in case.kinds and not case.case.recipe.subject:
        goal = case.case.recipe.privacy.goal[case.kinds.index("frequency")]
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


@settings(max_examples=EXAMPLES)
@given(some_with_people(numeric=False), st.sampled_from([("uniform", 1), ("height", 1), ("height", 2)]))
def test_kaca(case, scheme):
    weights, beta = scheme
    priority = np.argsort(kaca.draw(case.encoded.n_rows, case.seed)).tolist()
    unit = fixed_columns(case.encoded, np.arange(1)).unit
    expected = kaca_twin.kaca(
        case.columns, case.k, priority, weights=weights, beta=beta, unit=unit, keeping=case.keeping
    )
    assert case.labels(kaca.KACA, KACAOptions(weights=weights, beta=beta)) == expected


@settings(max_examples=EXAMPLES)
@given(some_with_people(), st.sampled_from(["systematic", "random"]))
def test_systematic(case, seeds):
    options = SystematicOptions(seeds=seeds)
    drawn = systematic.draw(case.encoded.n_rows, case.k, case.seed, options)
    offsets = [int(row) - at * case.k for at, row in enumerate(drawn)]
    expected = systematic_twin.systematic(case.columns, case.k, offsets=offsets, keeping=case.keeping)
    assert case.labels(systematic.Systematic, options) == expected


@settings(max_examples=EXAMPLES)
@given(some_with_people(), st.sampled_from([1, 1, 2]))
def test_oka(case, iterations):
    seeds, priority = oka.draw(case.encoded.n_rows, case.k, case.seed)
    expected = oka_twin.oka(
        case.columns, case.k, seeds.tolist(), priority.tolist(), iterations=iterations, keeping=case.keeping
    )
    assert case.labels(oka.OKA, OKAOptions(iterations=iterations)) == expected


@settings(max_examples=EXAMPLES)
@given(kept(max_rows=20, numeric=False), st.sampled_from([0, 0, 5]))
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


# The repair, by what it promises


def total_il(case, labels):
    """Total IL, exact; a row left out costs the sum of the weights."""
    classes = [np.flatnonzero(labels == number).tolist() for number in range(labels.max() + 1)]
    whole = sum(Fraction(column.weight) for column in case.columns)
    lost = sum((kmember_twin.loss(case.columns, rows) for rows in classes), Fraction(0))
    return lost + int((labels < 0).sum()) * whole


@settings(max_examples=EXAMPLES)
@given(kept(max_rows=30), st.data())
def test_what_is_mended_is_good_and_its_loss_is_told(case, data):
    n_rows, keeping = case.encoded.n_rows, case.keeping
    assume(keeping.good(range(n_rows)))
    n_classes = data.draw(st.integers(1, max(1, n_rows // case.k)), "classes")
    number = st.integers(0, n_classes - 1)
    drawn = data.draw(st.lists(number, min_size=n_rows, max_size=n_rows), "labels")
    labels = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
    may_suppress = data.draw(st.sampled_from([0, 0, 2, 10]), "may suppress")

    mended = repair(case.encoded, labels.copy(), case.goals, may_suppress)
    released = np.flatnonzero(mended.labels >= 0)
    assert n_rows - len(released) == mended.left_out <= may_suppress
    assert sorted(set(mended.labels[released].tolist())) == list(range(mended.labels.max() + 1))
    left = case.among(released)
    for number in range(mended.labels.max() + 1):
        assert left.good(np.flatnonzero(mended.labels[released] == number).tolist())
    assert mended.loss == pytest.approx(float(total_il(case, mended.labels)), rel=1e-6, abs=1e-6)
    assert mended.loss <= float(total_il(case, np.zeros(n_rows, np.int32))) + 1e-6
    before = [np.flatnonzero(labels == number).tolist() for number in range(labels.max() + 1)]
    if all(keeping.good(rows) for rows in before):
        assert mended.labels.tolist() == labels.tolist()
