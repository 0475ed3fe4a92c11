"""The classes of a block: what is kept of them is right after every step, and steps can be taken back."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.kernels.local_search import block as kernel
from shoal.kernels.local_search import block_search, cuts, passes, steps
from shoal.recipe import Recipe
from tests.kernels.calling import (
    ALL_GOOD,
    CHANGE,
    CREATE,
    DISSOLVE,
    END,
    HAS_CHANGED,
    JOIN,
    JOIN_ALL,
    LOSS,
    MOVE,
    RECREATE,
    REFRESH,
    SET,
    SETTLE,
    SHED,
    TAKE_BACK,
    UNITE_ALL,
    is_empty,
    search,
)
from tests.kernels.test_space import Rows, good_classes, labels_of, plain_rows, rows_with_goals
from tests.profiles import few
from tests.reference.kmember import NumericColumn
from tests.strategies import Case

KINDS = [SHED, CREATE, RECREATE, DISSOLVE]
STEPS = 12


@dataclass(frozen=True)
class Searched:
    """A block of all rows of a table, with all that the kernels need to search it."""

    rows: Rows
    classes: list
    spare: int = 0  # classes without rows
    seed: int = 0
    is_wide: bool = False  # rows move and swap among all classes

    @cached_property
    def block(self):
        block = kernel.empty_block(self.rows.cell, self.rows.n, self.room)
        labels = labels_of(self.classes, self.rows.n)
        search(SET, self.rows.cell, block, self.rooms, self.state, labels=labels, c=len(self.classes))
        return block

    @property
    def room(self):
        return len(self.classes) + self.spare

    @cached_property
    def state(self):
        return np.array([self.seed], np.uint64)

    @cached_property
    def rooms(self):
        """Room for everything that a search does."""
        cell, n = self.rows.cell, self.rows.n
        return block_search.Rooms(
            passes.pass_work(n, self.room, self.rows.d, self.is_wide), steps.step_work(cell, n, self.room),
            cuts.cut_work(cell, n), cuts.no_cuts(), cuts.no_cuts(),
        )  # fmt: skip

    def do(self, what, **given):
        """Do one of the things that `tests.kernels.calling` names."""
        return search(what, self.rows.cell, self.block, self.rooms, self.state, **given)

    def step(self, kind):
        """Make one step; tell whether it came to an end."""
        return bool(self.do(kind))

    def settle(self, temperature=0.0):
        self.do(SETTLE, temperature=temperature)

    def take_back(self):
        self.do(TAKE_BACK)

    def lists(self):
        """The rows of each class, as the list of the block has them."""
        return [list(self.listed(c)) for c in range(self.room)]

    def listed(self, c):
        row, before = int(self.block.head[c]), -1
        while row >= 0:
            assert self.block.before[row] == before
            yield row
            before, row = row, int(self.block.next[row])

    def sets(self):
        return [set(rows) for rows in self.lists()]

    def loss(self):
        """The loss, computed anew from the raw values."""
        return self.rows.loss([rows for rows in self.lists() if rows])

    def are_good(self):
        """Whether every class has k rows and is good, by what judges the release."""
        classes = [rows for rows in self.lists() if rows]
        if min(len(rows) for rows in classes) < self.rows.k:
            return False
        goals = self.rows.kept
        return goals is None or bool(goals.goals.judge(labels_of(classes, self.rows.n)).good.all())


def audit(searched):
    """Everybody is in one class, and what is kept of the classes is what is there."""
    block, lists = searched.block, searched.lists()
    assert sorted(row for rows in lists for row in rows) == list(range(searched.rows.n)), "rows got lost"
    for c, rows in enumerate(lists):
        assert block.size[c] == len(rows)
        assert all(block.home[row] == c for row in rows)
        assert block.cost[c] == (searched.rows.cost(rows) if rows else 0)
        audit_counts(searched, c, rows)
        if rows:
            audit_extremes(searched, c, rows)
            audit_nodes(searched, c)
            audit_limits(searched, c, rows)
        if block.fresh[c] and len(rows) > 1:
            others = [[other for other in rows if other != row] for row in rows]
            assert [block.without[row] for row in rows] == [searched.rows.cost(rest) for rest in others]
    assert searched.do(LOSS) == searched.loss()
    assert is_empty(searched.rows.cell.tally), "the tally is not empty again"


def audit_extremes(searched, c, rows):
    """The two lowest and the two highest codes of each column."""
    block, ordered = searched.block, np.sort(searched.rows.cell.codes[rows], axis=0)
    assert block.low[c].tolist() == ordered[0].tolist()
    assert block.high[c].tolist() == ordered[-1].tolist()
    if len(rows) > 1:
        assert block.low2[c].tolist() == ordered[1].tolist()
        assert block.high2[c].tolist() == ordered[-2].tolist()
    n_range = len(searched.rows.cell.span)
    assert block.range_low[:, c].tolist() == ordered[0][:n_range].tolist()
    assert block.range_high[:, c].tolist() == ordered[-1][:n_range].tolist()


def audit_counts(searched, c, rows):
    """The rows of a class with each value, and with any value of each goal."""
    block, goals = searched.block, searched.rows.cell.goals
    for g in range(len(block.value)):
        codes = goals.code[g, rows]
        counts = block.counts[c, goals.begin[g] : goals.begin[g + 1]]
        assert counts.tolist() == [np.count_nonzero(codes == value) for value in range(len(counts))]
        assert block.pairs[c, g] == np.count_nonzero(codes >= 0)


def audit_nodes(searched, c):
    """The nodes kept for a group of trees are the lowest over the class: the last, parents come first."""
    cell, block = searched.rows.cell, searched.block
    for group in np.flatnonzero(cell.is_joined):
        number = 0
        for tree in range(cell.group_at[group], cell.group_at[group + 1]):
            nodes = slice(cell.node_at[tree], cell.node_at[tree] + cell.n_nodes[tree])
            col = len(cell.span) + tree
            covers = cell.first_leaf[nodes] <= block.low[c, col]
            covers &= cell.last_leaf[nodes] >= block.high[c, col]
            number = number * cell.n_nodes[tree] + np.flatnonzero(covers)[-1]
        assert block.node[group, c] == number


def audit_limits(searched, c, rows):
    """What is kept for the question whether a row should move or swap to a class."""
    block, cost = searched.block, searched.rows.cost(rows)
    others = [[other for other in rows if other != row] for row in rows]
    least = min(searched.rows.cost(rest) if rest else 0 for rest in others) if block.fresh[c] else 0
    assert (block.least[c], block.loss[c]) == (least, len(rows) * cost)
    assert block.spare[c] == len(rows) * (2 * cost - least)


def audit_joins(searched, row, c):
    """What classes cost with a row, and with the rows of another one."""
    lists, cost = searched.lists(), searched.rows.cost
    searched.do(JOIN_ALL, row=row)
    searched.do(UNITE_ALL, c=c)
    for other, rows in enumerate(lists):
        if rows:
            joined = cost([*rows, row])
            assert searched.do(JOIN, row=row, c=other) == joined
            assert searched.rooms.near.cost[other] == joined
        if rows and lists[c]:
            assert searched.rooms.step.united[other] == cost([*rows, *lists[c]])


@st.composite
def searches(draw, rows):
    """A block with good classes, and with room for few more, so that room is used again."""
    found = draw(rows)
    assume(found.is_exact)
    classes = draw(good_classes(found))
    spare, seed = draw(st.integers(0, 3)), draw(st.integers(0, 2**64 - 1))
    return Searched(found, classes, spare, seed, draw(st.booleans()))


def whole(sets):
    """A partition, whatever its classes are called."""
    return {frozenset(rows) for rows in sets if rows}


def check_steps(searched, kinds, accepts):
    """Make steps one after the other; some stand."""
    audit(searched)
    for kind, accept in zip(kinds, accepts, strict=True):
        before, loss = searched.sets(), searched.loss()
        stands = searched.step(kind)
        if stands:
            audit(searched)
            assert bool(searched.do(HAS_CHANGED)) == (whole(searched.sets()) != whole(before))
            assert searched.are_good(), f"step {kind} came to an end with a class that is not good"
            assert searched.do(CHANGE) == searched.loss() - loss
            searched.settle()
            audit(searched)
            assert searched.do(CHANGE) == searched.loss() - loss
            stands = accept and bool(searched.do(ALL_GOOD))
            assert not accept or stands == searched.are_good()
        if stands:
            searched.do(END)
        else:
            searched.take_back()
            assert searched.sets() == before, "a step was not taken back"
        audit(searched)
        assert searched.are_good()


some_kinds = st.lists(st.sampled_from(KINDS), min_size=STEPS, max_size=STEPS)
some_accepted = st.lists(st.integers(0, 2).map(bool), min_size=STEPS, max_size=STEPS)


@given(searches(plain_rows(max_rows=30, max_k=4)), some_kinds, some_accepted)
def test_everything_is_right_after_every_step(searched, kinds, accepts):
    check_steps(searched, kinds, accepts)


@few()
@given(searches(rows_with_goals(max_k=3)), some_kinds, some_accepted)
def test_everything_is_right_after_every_step_under_goals(searched, kinds, accepts):
    check_steps(searched, kinds, accepts)


@given(searches(plain_rows(max_rows=30, max_k=4)), st.data())
def test_everything_is_right_after_any_moves(searched, data):
    """Rows taken out and put elsewhere one by one, down to empty classes and up again."""
    for _ in range(20):
        row = data.draw(st.integers(0, searched.rows.n - 1))
        c = data.draw(st.integers(0, searched.room - 1))
        searched.do(REFRESH, c=int(searched.block.home[row]))
        searched.do(MOVE, row=row, c=c)
        searched.do(REFRESH, c=c)
        audit(searched)
        audit_joins(searched, row, c)


def numbers(values, k, sizes, seed=0, spare=2):
    """A block of one numeric column, whose classes have these sizes in the order of the values."""
    recipe = Recipe.from_dict({"columns": {"q": {"role": "quasi"}}, "privacy": {"k": k}})
    rows = Rows(Case(pl.DataFrame({"q": values}), recipe, [NumericColumn(values)]), 256)
    classes = np.split(np.arange(len(values)), np.cumsum(sizes)[:-1])
    return Searched(rows, [members.tolist() for members in classes], spare, seed)


def test_a_class_that_an_inner_row_leaves_is_as_wide_as_before():
    searched = numbers([0, 1, 2, 3, 4, 10, 11], 2, [5, 2])
    for row in (2, 0):
        searched.do(REFRESH, c=0)
        searched.do(MOVE, row=row, c=1)
        audit(searched)
    assert searched.block.loss[:2].tolist() == [
        searched.rows.loss([rows]) for rows in ([1, 3, 4], [0, 2, 5, 6])
    ]


def check_fails_and_is_taken_back(searched, kind):
    before = searched.lists()
    assert not searched.step(kind)
    named = set(searched.block.touched[: searched.block.state[kernel.N_TOUCHED]].tolist())
    changed = {c for c, rows in enumerate(searched.lists()) if set(rows) != set(before[c])}
    assert changed, "the step failed before it did anything"
    assert changed <= named, "a class was changed and not saved"
    searched.take_back()
    assert searched.sets() == [set(rows) for rows in before]
    audit(searched)


def test_a_refill_that_runs_out_of_surplus_can_be_taken_back():
    # k = 3, sizes 4 and 3: a class around one of the four finds nobody else who could be spared.
    for seed in range(5):
        searched = numbers([0, 1, 2, 3, 10, 11, 12], 3, [4, 3], seed)
        if searched.step(CREATE) or searched.block.state[kernel.N_TOUCHED]:
            searched.take_back()
            check_fails_and_is_taken_back(searched, CREATE)


def test_a_refill_that_runs_out_half_way_can_be_taken_back():
    # k = 4, sizes 6 and 4: the new class gets two rows, and needs four.
    for seed in range(5):
        searched = numbers([0, 1, 2, 3, 4, 5, 10, 11, 12, 13], 4, [6, 4], seed)
        assert not searched.step(CREATE)
        searched.take_back()
        audit(searched)
        assert searched.sets()[0] == set(range(6))


def test_rows_that_nobody_takes_come_back():
    # There is no other class, so that the rows of a dissolved or narrowed one are nowhere half way.
    for kind in (SHED, DISSOLVE):
        for seed in range(5):
            check_fails_and_is_taken_back(numbers([0, 1, 2, 3, 4, 5, 6, 7], 2, [8], seed), kind)


def test_a_pool_that_is_parted_as_before_has_not_changed():
    # The only way to part these that loses nothing, in classes that may be called otherwise than before.
    was_named_anew = False
    for seed in range(20):
        searched = numbers([0, 0, 5, 5, 10, 10], 2, [2, 2, 2], seed)
        before = searched.sets()
        assert searched.step(RECREATE)
        assert not bool(searched.do(HAS_CHANGED))
        was_named_anew |= searched.sets() != before
    assert was_named_anew


def test_a_class_that_lost_all_rows_to_others_begins_anew():
    # Two classes of fives become one when they are pooled. Whoever then opens the empty one is alone in it.
    was_empty = False
    for seed in range(20):
        searched = numbers([5, 5, 5, 5, 9, 9, 9], 2, [2, 2, 3], seed, spare=0)
        if searched.step(RECREATE) and [] in searched.lists():
            searched.do(END)
            searched.do(MOVE, row=6, c=searched.lists().index([]))
            audit(searched)
            was_empty = True
    assert was_empty


def test_a_pool_is_parted_as_it_was_cut_when_it_has_more_parts_than_rows_in_one():
    # k = 2, three pairs of equal values, in three classes of unequal ones. Cuts find the pairs, and growth.
    was_pooled = False
    for seed in range(20):
        rows = numbers([0, 0, 5, 5, 10, 10], 2, [6]).rows
        searched = Searched(rows, [[0, 2], [1, 4], [3, 5]], spare=1, seed=seed)
        assert searched.step(RECREATE)
        if searched.block.state[kernel.N_TOUCHED] == 3:
            assert searched.loss() == 0
            was_pooled = True
    assert was_pooled
