"""The preview: exact on small tables, close on larger ones, and always the same."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.bound.nearest_rows import nearest_distances
from shoal.datasets import census, census_recipe
from shoal.engine.cells.neighbourhoods import Draws, Neighbourhoods
from shoal.privacy.feasible import Counted, faults_of_counts
from shoal.recipe import Recipe
from shoal.recipe.goals import AlphaK, LDiversity
from shoal.table.columns import Encoded, SensitiveColumn
from shoal.table.encode import encoded_columns
from shoal.table.fixed import fixed_columns
from shoal.workflow.preview import Preview

AGES = pl.DataFrame({"age": [0, 1, 2, 10], "ill": ["a", "a", "b", "b"]})


def recipe(k=2, goals=(), **privacy):
    changes = {"privacy": {"goal": list(goals), **privacy}}
    return Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=k, changes=changes)


def test_a_small_table_is_searched_whole():
    found = Preview(AGES).preview(recipe())
    # {0, 1} and {2, 10} would lose 2 x 0.1 + 2 x 0.8; {0, 1, 2, 10} all. Nearest rows: 1, 1, 1 and 8 of 10.
    assert found.gcp == pytest.approx((2 * 0.1 + 2 * 0.8) / 4)
    assert found.floor == pytest.approx((0.1 + 0.1 + 0.1 + 0.8) / 4)
    assert (found.rows, found.sample_rows, found.feasible) == (4, 4, True)


def test_k_and_goals_change_what_is_lost():
    preview = Preview(AGES)
    assert preview.preview(recipe(4)).gcp == pytest.approx(1.0)
    goal = {"type": "l-diversity", "column": "ill", "l": 2}
    # {0, 1} has no b. Quick search finds no better partition than one class.
    assert preview.preview(recipe(2, [goal])).gcp == pytest.approx(1.0)
    assert preview.preview(recipe(2)).gcp == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        (recipe(5), "infeasible.rows", "only 4 rows"),
        (recipe(2, [{"type": "l-diversity", "column": "ill", "l": 3}]), "infeasible.goal", "ill"),
        (recipe(2, [{"type": "alpha-k", "column": "ill", "alpha": 0.4}]), "infeasible.goal", "2 of 4"),
    ],
)
def test_what_is_infeasible_is_said(asked, code, words):
    found = Preview(AGES).preview(asked)
    assert [problem.code for problem in found.problems] == [code]
    assert words in found.problems[0].message
    assert (found.gcp, found.feasible) == (None, False)


def test_missing_values_that_may_not_be_suppressed_are_said():
    table = AGES.with_columns(age=pl.Series([0, 1, None, 10]))
    assert Preview(table).preview(recipe(missing="suppress")).problems[0].code == "infeasible.suppression"
    found = Preview(table).preview(recipe(3, missing="suppress", max_suppressed=0.25))
    assert found.gcp == pytest.approx(1.0)  # one row is left out, and the others lose all
    found = Preview(table).preview(recipe(missing="error"))
    assert found.problems[0].code == "data.missing"


@pytest.fixture(scope="module")
def people():
    return census(9000, seed=3)


def test_a_preview_does_not_depend_on_the_order_of_rows(people):
    asked = census_recipe(k=10).changed(
        {"privacy": {"goal": [{"type": "l-diversity", "column": "occupation", "l": 3}]}}
    )
    found = [
        Preview(rows).preview(asked) for rows in (people, people.sample(fraction=1, shuffle=True, seed=1))
    ]
    assert found[0] == found[1]
    assert found[0].sample_rows < found[0].rows


def test_a_preview_is_near_the_loss_of_the_run(people):
    asked = census_recipe(k=10, method="local-search").changed({"method": {"options": {"effort": "quick"}}})
    found = Preview(people).preview(asked)
    run = shoal.anonymize(people, asked, bound=False)
    assert found.gcp == pytest.approx(run.loss.gcp, rel=0.2)
    assert found.floor < run.loss.gcp


def test_roles_and_methods_change_the_preview(people):
    preview = Preview(people)
    few = preview.preview(census_recipe(k=5, quasi=3))
    assert few.gcp < preview.preview(census_recipe(k=5, quasi=7)).gcp
    assert preview.preview(census_recipe(k=5, quasi=3, method="mondrian")).method == "mondrian"
    other = preview.preview(census_recipe(k=5, quasi=3, method="incognito"))
    assert (other.method, other.gcp) == ("local-search", few.gcp)
    assert "incognito" in other.notes[0]
    assert preview.preview(census_recipe(k=5, quasi=3)) == few


def encoded_of(table, asked):
    return Encoded(tuple(encoded_columns(table, asked)), np.arange(table.height))


def test_cells_around_draws_part_the_table(people):
    fixed = fixed_columns(encoded_of(people, census_recipe()), np.arange(9000))
    draws = Draws(fixed)
    assert draws.chance.sum() == pytest.approx(1)
    chains = Neighbourhoods(fixed, draws, 500).chains(400)
    for chain in chains:
        assert len(chain[0].rows) == 9000
        for above, below in pairwise(chain):
            assert any(len(below.rows) == len(side) for side in above.sides)
            assert sum(len(side) for side in above.sides) == len(above.rows)
    cells = [chain[-1] for chain in chains]
    # 500 draws hit every cell of this table, about as often as was to be expected.
    assert sorted(row for cell in cells for row in cell.rows.tolist()) == list(range(9000))
    assert sum(cell.expected for cell in cells) == pytest.approx(1)
    assert all(abs(len(cell.drawn) - 500 * cell.expected) < 15 for cell in cells)


def test_cells_do_not_depend_on_the_sizes_asked_for_before(people):
    fixed = fixed_columns(encoded_of(people, census_recipe()), np.arange(9000))
    draws = Draws(fixed)
    around = Neighbourhoods(fixed, draws, 40)
    for room in (50, 400, 100, 1600, 50):  # of cells above 50 rooms, some cuts are shared
        alone = Neighbourhoods(fixed, draws, 40).chains(room)
        together = around.chains(room)
        assert [[cell.rows.tolist() for cell in chain] for chain in together] == [
            [cell.rows.tolist() for cell in chain] for chain in alone
        ]
        assert [chain[-1].drawn.tolist() for chain in together] == [
            chain[-1].drawn.tolist() for chain in alone
        ]


def test_nearest_distances_are_those_of_all_pairs():
    table = pl.DataFrame({"age": np.random.default_rng(1).integers(0, 50, 300), "ill": ["a", "b"] * 150})
    encoded = encoded_of(table, recipe())
    chosen = np.array([5, 17, 250])
    position = fixed_columns(encoded, np.arange(300)).position[0].astype(np.int64)
    expected = np.sort(abs(position[chosen][:, None] - position[None, :]), axis=1)[:, :40]
    assert (nearest_distances(encoded, chosen, 40) == expected).all()


@pytest.mark.parametrize(("may_suppress", "is_feasible"), [(0, False), (3, False), (4, True), (11, True)])
def test_rows_left_out_can_make_a_goal_feasible(may_suppress, is_feasible):
    column = SensitiveColumn(("ill",), np.zeros(0, np.int32), 2)
    counted = Counted(column, np.array([8, 4]), 12)
    goal = AlphaK(type="alpha-k", column="ill", alpha=0.5)
    faults = faults_of_counts([counted], [goal], 2, 12, may_suppress, shared=False)
    assert (not faults) == is_feasible


def test_leaving_rows_out_never_adds_values():
    counted = Counted(SensitiveColumn(("ill",), np.zeros(0, np.int32), 2), np.array([8, 4]), 12)
    goals = [LDiversity(type="l-diversity", column="ill", l=n) for n in (2, 3)]
    faults = faults_of_counts([counted, counted], goals, 2, 12, 12, shared=False)
    assert len(faults) == 1
    assert "3" in faults[0].message
