"""What sets of rows cost in the kernels of local search, against diversities of their raw values.

The other tests of these kernels take their tables from here.
"""

from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from unittest import mock

import numpy as np
import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.cluster.local_search import cell as cells
from shoal.kernels.goals import empty_tally
from shoal.kernels.local_search import partition, space
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.table.fixed import fixed_columns
from tests.kernels.calling import called
from tests.kernels.test_goals_kept import kept
from tests.reference.kmember import NumericColumn, TreeColumn
from tests.reference.local_search import Table
from tests.strategies import Case, leaves, nested, parents, tables

SMALL = st.sampled_from([256, 256, 3, 0])  # leaves up to which a tree's costs are looked up by pairs
ORDER = ["low", "mid", "high", "top"]
FLAT = {"all": None, "x": "all", "y": "all", "z": "all"}
DAYS = [date(1999, 12, 31), date(2000, 1, 1), date(2024, 2, 29)]


@dataclass(frozen=True)
class Rows:
    """A table as the kernels of local search take it, and as their twins do."""

    case: Case
    small: int
    kept: object = None  # with goals

    @cached_property
    def encoded(self):
        return encode(self.case.table, self.case.recipe)

    @cached_property
    def fixed(self):
        return fixed_columns(self.encoded, np.arange(self.n), "height")

    @cached_property
    def cell(self):
        goals = None if self.kept is None else self.kept.goals.kernel
        with mock.patch.multiple(
            cells, _SMALL=self.small, _MOST_JOINS=50 * self.small, _TOGETHER=20 * self.small
        ):
            return cells.whole_cell(self.fixed, self.k, goals, goals and empty_tally(goals))

    @cached_property
    def columns(self):
        return self.case.twin_columns(self.encoded.order)

    @cached_property
    def table(self):
        return Table(self.columns)

    @property
    def keeping(self):
        return None if self.kept is None else self.kept.keeping

    @property
    def n(self):
        return self.case.table.height

    @property
    def k(self):
        return self.case.recipe.privacy.k

    @property
    def d(self):
        return len(self.columns)

    @cached_property
    def is_exact(self):
        """Whether nothing is rounded in fixed point, so that kernel and twin see the same ties."""
        steps = [Fraction(column.weight) * self.fixed.unit / parts_of(column) for column in self.columns]
        return all(step.denominator == 1 for step in steps)

    def cost(self, rows):
        """D in fixed point."""
        return self.table.diversity(rows) * self.fixed.unit

    def loss(self, classes):
        """The loss of a partition in fixed point."""
        return self.table.total(classes) * self.fixed.unit


def parts_of(column):
    """Into how many equal parts the cost of a whole column is divided."""
    if isinstance(column, NumericColumn):
        return column.domain or 1
    return max(1, *column.height.values())


@st.composite
def mixed_tables(draw, **given_to_tables):
    """A table with ordinal, date and flat columns too."""
    case = draw(tables(**given_to_tables))
    table, sections, columns = case.table, case.recipe.to_dict(), list(case.columns)
    for kind in draw(st.lists(st.sampled_from(["ordinal", "date", "flat"]), unique=True)):
        values = {"ordinal": ORDER[:3], "date": DAYS, "flat": ["x", "y", "z"]}[kind]
        values = draw(st.lists(st.sampled_from([*values, None]), min_size=len(table), max_size=len(table)))
        spec = {"role": "quasi", "kind": "categorical" if kind == "flat" else kind}
        if kind == "ordinal":
            columns.append(NumericColumn([value and ORDER.index(value) for value in values]))
            spec["order"] = ORDER
        elif kind == "date":
            columns.append(NumericColumn([value and value.toordinal() for value in values]))
        else:
            columns.append(TreeColumn(values, FLAT))
        dtype = pl.Date if kind == "date" else pl.String
        table = table.with_columns(pl.Series(kind, values, dtype=dtype))
        sections["columns"][kind] = spec
    return replace(case, table=table, recipe=Recipe.from_dict(sections), columns=columns)


@st.composite
def plain_rows(draw, **given_to_tables):
    """Rows without goals."""
    return Rows(draw(tables(**given_to_tables)), draw(SMALL))


@st.composite
def rows_with_goals(draw, max_rows=30, max_k=4):
    """Rows that meet the goals as one class, half of them with a subject column."""
    found = draw(kept(people=draw(st.booleans()), max_rows=max_rows, max_k=max_k))
    assume(found.keeping.good(range(found.encoded.n_rows)))
    return Rows(found.case, draw(SMALL), found)


@st.composite
def good_classes(draw, rows):
    """A random partition of which every class is good."""
    waiting = list(draw(st.permutations(range(rows.n))))
    good = (lambda c: len(c) >= rows.k) if rows.keeping is None else rows.keeping.good
    classes, members = [], []
    while waiting:
        members.append(waiting.pop())
        if good(members) and draw(st.integers(0, 2)):
            classes.append(members)
            members = []
    while members and not good(members):
        members += classes.pop() if classes else []
    return [sorted(c) for c in [*classes, members] if c]


def labels_of(classes, n):
    """The number of each row's class."""
    labels = np.full(n, -1, np.int64)
    for number, rows in enumerate(classes):
        labels[list(rows)] = number
    return labels


def height_of_lowest_node_over(parent, leaf, other):
    """Walk up from one leaf to the first node that is over the other one too; longest way down from it."""
    column = TreeColumn([], parent)
    node = next(node for node in column.path(leaf) if node in column.path(other))
    return max(column.path(below).index(node) for below in leaves(parent) if node in column.path(below))


@given(parents(max_nodes=40), st.sampled_from([256, 0]))
def test_the_cost_of_two_leaves_is_the_height_of_the_lowest_node_over_both(parent, small):
    values = leaves(parent)
    whole = max(1, *(len(TreeColumn([], parent).path(value)) - 1 for value in values))
    columns = {"q": {"role": "quasi", "kind": "categorical", "hierarchy": {"n0": nested(parent)}}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})
    rows = Rows(Case(pl.DataFrame({"q": values}), recipe, [TreeColumn(values, parent)]), small)
    leaf = rows.cell.codes[:, 0]
    for at, other in np.ndindex(rows.n, rows.n):
        if leaf[at] <= leaf[other]:
            pair = rows.columns[0].values[at], rows.columns[0].values[other]
            cost = Fraction(height_of_lowest_node_over(parent, *pair), whole) * rows.fixed.unit
            assert abs(called(space.tree_cost)(rows.cell, 0, leaf[at], leaf[other]) - cost) < 1


def box_of(rows, members, at, low, high):
    """Box some rows, one after the other."""
    called(space.set_box)(rows.cell, low, high, at, members[0])
    for row in members[1:]:
        called(space.widen_box)(rows.cell, low, high, at, row)


@given(mixed_tables(max_rows=12), SMALL, st.data())
def test_boxes_cost_the_diversity_of_their_rows(case, small, data):
    rows = Rows(case, small)
    some = st.lists(st.integers(0, rows.n - 1), min_size=1, max_size=5)
    low, high = np.zeros((2, rows.d), np.int32), np.zeros((2, rows.d), np.int32)
    for _ in range(6):
        first, second, row = data.draw(some), data.draw(some), data.draw(st.integers(0, rows.n - 1))
        box_of(rows, first, 0, low, high)
        box_of(rows, second, 1, low, high)
        now = called(space.box_cost)(rows.cell, low, high, 0)
        found = [
            now,
            called(space.joined_cost)(rows.cell, low, high, 0, row),
            called(space.joined_below)(rows.cell, low, high, 0, now, row, space.FAR),
        ]
        for limit in (found[2], found[2] + 1):
            is_below = found[2] if limit > found[2] else space.FAR
            assert called(space.joined_below)(rows.cell, low, high, 0, now, row, limit) == is_below
        called(space.unite)(low, high, 0, low, high, 1)
        found.append(called(space.box_cost)(rows.cell, low, high, 0))
        sets = [first, [*first, row], [*first, row], [*first, *second]]
        for cost, members in zip(found, sets, strict=True):
            assert abs(cost - rows.cost(members)) <= rows.d, "more than what is rounded"


@given(mixed_tables(max_rows=20, max_k=4), SMALL, st.data())
def test_a_partition_loses_the_sum_over_its_rows_and_has_its_classes_where_they_are(case, small, data):
    rows = Rows(case, small)
    classes = data.draw(good_classes(rows))
    order, ends = np.concatenate(classes).astype(np.int64), np.cumsum([len(c) for c in classes])
    loss = partition.partition_loss(rows.cell, order, ends)
    assert abs(loss - rows.loss(classes)) <= rows.n * rows.d

    scale = np.arange(1.0, rows.d + 1)
    centres = partition.class_centres(rows.cell, order, ends, scale)
    expected = [rows.cell.codes[members].mean(axis=0) * scale for members in classes]
    assert np.allclose(centres, expected)
