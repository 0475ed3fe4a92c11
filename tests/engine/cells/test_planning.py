"""Planning cells: by a slow stand-in for a table, whose cuts are obvious, and by the table in memory."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engine.cells.clustering import recipe_of_cells
from shoal.engine.cells.counts import CellCount, Feasible
from shoal.engine.cells.in_memory import RowsInMemory
from shoal.engine.cells.planning import plan_cells
from shoal.engine.cells.sample import CutSample
from shoal.engine.cells.tree import LEAF, Cut, is_alike
from shoal.recipe import Recipe
from shoal.table.columns import SensitiveColumn
from shoal.table.encode import encode
from tests.engine.cells.test_tree import path_of
from tests.test_contract import people, recipe_for


def asked(k, l=None):  # noqa: E741  # the letter of the paper
    goals = [] if l is None else [{"type": "l-diversity", "column": "s", "variant": "distinct", "l": l}]
    columns = {"q": {"role": "quasi"}, "s": {"role": "sensitive"}}
    return Recipe.from_dict({"columns": columns, "privacy": {"k": k, "goal": goals}})


class ListedRows:
    """Rows as a list of codes, values and people; a large cell is cut at the middle of its first column."""

    def __init__(self, rows, n_values):
        self.rows, self.n_values = rows, n_values

    def cells(self, partition):
        found = {path: [] for path in partition.paths}
        for row in self.rows:
            found[path_of(row[0], partition)].append(row)
        return list(found.values())

    def count(self, partition):
        return [self.counted(cell) for cell in self.cells(partition)]

    def counted(self, cell):
        values = np.zeros(self.n_values, np.int64)
        for value, _ in {(value, person) for _, value, person in cell}:
            values[value] += 1
        persons = {person for _, _, person in cell}
        return CellCount(len(cell), len(persons), (values,), (len(persons),))

    def cut(self, partition, rows, shares, cell_rows):
        cells = self.cells(partition)
        assert all(len(cells[number]) == size > cell_rows for number, size in rows.items())
        assert shares.keys() == rows.keys()
        return {number: self.cut_one(cells[number]) for number in rows}

    def cut_one(self, cell):
        codes = [code for code, _, _ in cell]
        (most, times), *_ = Counter(codes).most_common(1)
        node = LEAF
        for column in range(len(most)):
            found = sorted(code[column] for code in codes)
            above = [code for code in found if code > found[0]]
            if above:
                node = Cut(column, found[0], max(found[0], found[len(found) // 2] - 1), LEAF, LEAF)
                break
        # Few different rows: as if the whole cell had been looked at.
        return CutSample(node, 10**6, most, times / len(cell))


def check_plan(plan, rows, feasible, cell_rows, can_merge):
    assert sum(cell.rows for cell in plan.counts) == len(rows.rows)
    for path, counted, cell in zip(
        plan.partition.paths, plan.counts, rows.cells(plan.partition), strict=True
    ):
        again = rows.counted(cell)
        assert (counted.rows, counted.people, counted.holders) == (again.rows, again.people, again.holders)
        assert counted.values[0].tolist() == again.values[0].tolist()
        assert feasible(counted) or len(plan.counts) == 1
        if is_alike(path):
            assert len({code for code, _, _ in cell}) == 1
        elif not can_merge:
            assert len(cell) <= cell_rows
    clustered = [c.rows for p, c in zip(plan.partition.paths, plan.counts, strict=True) if not is_alike(p)]
    assert plan.largest == max(clustered, default=0)


codes = st.tuples(st.integers(0, 9), st.integers(0, 2))
tables = st.lists(st.tuples(codes, st.integers(0, 2), st.integers(0, 30)), min_size=1, max_size=80)


def feasible_of(recipe, rows):
    whole = rows.counted(rows.rows).values[0]
    sensitive = (SensitiveColumn(("s",), np.zeros(0, np.int32), rows.n_values, whole=whole),)
    return Feasible(sensitive if recipe.privacy.goal else (), recipe)


@given(tables, st.integers(1, 4), st.sampled_from([None, 2]), st.integers(4, 20))
def test_counts_are_exact_and_cells_meet_what_is_asked(listed, k, l, cell_rows):  # noqa: E741
    rows = ListedRows(listed, 3)
    feasible = feasible_of(asked(max(2, k), l), rows)
    feasible.k = k
    check_plan(plan_cells(rows, feasible, cell_rows), rows, feasible, cell_rows, can_merge=k > 1 or l)


def test_equal_rows_are_a_cell_of_their_own_and_the_others_are_cut():
    listed = [((5, 1), at % 3, at) for at in range(60)] + [((at, 0), at % 3, at) for at in range(40)]
    rows = ListedRows(listed, 3)
    feasible = feasible_of(asked(2), rows)
    plan = plan_cells(rows, feasible, 10)
    check_plan(plan, rows, feasible, 10, can_merge=False)
    assert (plan.partition.paths[0], plan.counts[0].rows) == ("=0", 60)


def test_a_group_of_equal_rows_that_misses_a_goal_goes_back_to_the_others():
    listed = [((5, 1), 0, at) for at in range(60)] + [((at, 0), at % 3, 60 + at) for at in range(40)]
    rows = ListedRows(listed, 3)
    feasible = feasible_of(asked(2, l=2), rows)
    plan = plan_cells(rows, feasible, 10)
    check_plan(plan, rows, feasible, 10, can_merge=True)
    assert plan.partition.alike == ()


@pytest.mark.parametrize("k", [3, 40])
def test_a_table_in_memory_is_cut_into_small_cells_with_exact_counts(k):
    table, columns = people(2000)
    goal = [{"type": "l-diversity", "column": "label", "variant": "distinct", "l": 2}]
    recipe = recipe_for("mondrian", columns, k).changed({"privacy": {"goal": goal}})
    rows = RowsInMemory(encode(table, recipe), recipe)
    feasible = Feasible(rows.sensitive, recipe)

    plan = plan_cells(rows, feasible, 200)

    cells = plan.partition.route(rows.codes)
    assert np.bincount(cells).tolist() == [cell.rows for cell in plan.counts]
    for number, cell in enumerate(plan.counts):
        values = np.bincount(rows.sensitive[0].codes[cells == number], minlength=2)
        assert (cell.people, cell.values[0].tolist()) == (cell.rows, values.tolist())
    assert all(map(feasible, plan.counts))
    assert len(plan.counts) >= 10
    if k == 3:
        assert plan.largest <= 200


def test_what_may_be_suppressed_is_shared_out():
    columns = people(9)[1]
    recipe = recipe_for("mondrian", columns, 3).changed(
        {"privacy": {"max_suppressed": 0.1, "missing": "suppress"}}
    )
    close = recipe.changed({"privacy": {"goal": [{"type": "t-closeness", "column": "label", "t": 0.2}]}})

    assert recipe_of_cells(recipe, 1000, 40).privacy.max_suppressed == pytest.approx(60 / 960, abs=1e-8)
    assert recipe_of_cells(recipe, 1000, 40).privacy.missing == "category"
    assert recipe_of_cells(recipe, 1000, 100).privacy.max_suppressed == 0
    assert recipe_of_cells(close, 1000, 40).privacy.max_suppressed == 0
