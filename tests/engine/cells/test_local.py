"""The engine of one machine, cell by cell: every promise holds, and the result depends on the table alone."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, RecipeError
from tests import test_contract
from tests.engine.spark.made import people, recipe
from tests.profiles import few, some
from tests.test_contract import threads

ILL = "^ill.*$"
METHODS = ["mondrian", "k-member", "kaca", "local-search"]
QUICK = {"local-search": {"effort": "quick"}}
GOALS = [
    {"type": "l-diversity", "column": ILL, "variant": "distinct", "l": 2},
    {"type": "t-closeness", "column": ILL, "t": 0.5},
    {"type": "t-closeness", "column": "größe", "t": 0.3, "distance": "ordered"},
]

SUPPRESS = {"missing": "suppress", "max_suppressed": 0.6}


def asked(method, **sections):
    chosen = {"name": method, "options": QUICK.get(method, {})}
    return recipe(cell_rows=60, k=4, **{"method": chosen, **sections})


def cells_of(release):
    (remark,) = [remark for remark in release.remarks if "clustered by itself" in remark]
    return int(remark.split()[0])


def bytes_of(release, file):
    release.write(file, force=True)
    return file.read_bytes()


@pytest.mark.parametrize("method", some(METHODS, 2, 1))
def test_every_promise_holds_in_cells(method):
    """The verifier has checked the release; here published values are compared with the raw ones."""
    table, columns = test_contract.people(400)
    given_recipe = test_contract.recipe_for(method, columns, 4, options=QUICK.get(method, {}))
    given_recipe = given_recipe.changed({"engine": {"cell_rows": 60}})
    assert test_contract.check_release(table, given_recipe) == set(range(400))
    assert cells_of(shoal.anonymize(table, given_recipe, bound=False)) >= 5


@pytest.mark.parametrize(
    ("method", "privacy", "subject"),
    some(
        [
            ("mondrian", {"goal": GOALS[:1]}, True),
            ("mondrian", {"goal": GOALS[1:]}, False),
            ("k-member", {"goal": GOALS[1:]}, True),
            ("k-member", SUPPRESS, False),
            ("kaca", {"goal": GOALS[:1]}, False),
            ("kaca", SUPPRESS, True),
            ("local-search", {"goal": GOALS}, False),
            ("local-search", {"goal": GOALS[:1], **SUPPRESS}, True),
        ],
        3,
    ),
)
def test_goals_people_and_missing_values_in_cells(method, privacy, subject):
    columns = {"who": {"role": "subject" if subject else "drop"}}
    table = people(300, 1)
    release = shoal.anonymize(table, asked(method, privacy=privacy, columns=columns), bound=False)
    assert release.k >= 4
    assert release.rows == 300 == release.released + release.suppressed
    assert all(goal.holds for goal in release.goals)
    if "missing" in privacy:
        quasi = list(release.recipe.quasi)
        complete = table[quasi].drop_nulls().height
        assert release.released <= complete
        assert release.frame[quasi].null_count().sum_horizontal().item() == 0
    if subject:
        labels = release.labels
        for label in set(labels[labels >= 0].tolist()):
            assert table["who"].filter(pl.Series(labels == label)).n_unique() >= 4


@pytest.mark.parametrize("method", some(METHODS, 3))
def test_neither_order_nor_threads_change_a_byte(method, tmp_path):
    table, given_recipe = people(300, 2), asked(method, privacy={"goal": GOALS[:1]})
    with threads(1):
        one = bytes_of(shoal.anonymize(table, given_recipe, bound=False), tmp_path / "one.csv")
    with threads(2):
        shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
        two = bytes_of(shoal.anonymize(shuffled, given_recipe, bound=False), tmp_path / "two.csv")
    assert one == two


@pytest.mark.parametrize(
    ("method", "subject"),
    some([("mondrian", True), ("k-member", False), ("kaca", True), ("local-search", False)], 2),
)
def test_one_cell_is_the_table(method, subject, tmp_path):
    columns = {"who": {"role": "subject" if subject else "drop"}}
    privacy = {"goal": GOALS[:1], "max_suppressed": 0.1}
    table, given_recipe = people(150, 3), asked(method, privacy=privacy, columns=columns)
    in_one = shoal.anonymize(table, given_recipe.changed({"engine": {"cell_rows": 150}}), bound=False)
    sections = given_recipe.to_dict()
    del sections["engine"]
    whole = shoal.anonymize(table, shoal.Recipe.from_dict(sections), bound=False)
    assert cells_of(in_one) == 1
    assert bytes_of(in_one, tmp_path / "one.csv") == bytes_of(whole, tmp_path / "whole.csv")


@few()
@given(st.integers(0, 10**6), st.sampled_from(METHODS), st.integers(16, 80), st.floats(0, 0.9))
def test_small_tables_in_small_cells(seed, method, cell_rows, missing):
    table = people(120, seed, missing=missing)
    given_recipe = recipe(k=4, cell_rows=cell_rows, method={"name": method, "options": QUICK.get(method, {})})
    release = shoal.anonymize(table, given_recipe, bound=False)
    sizes = Counter(release.frame[list(given_recipe.quasi)].rows())
    assert min(sizes.values()) >= 4
    assert sum(sizes.values()) == 120


def test_equal_rows_fill_a_cell():
    random = np.random.Generator(np.random.PCG64(4))
    ages = [7] * 180 + random.integers(0, 90, 120).tolist()
    table = pl.DataFrame({"age": ages, "sex": ["f"] * 180 + random.choice(["f", "m"], 120).tolist()})
    asked = shoal.Recipe.from_roles(quasi=["age", "sex"], k=4, changes={"engine": {"cell_rows": 40}})
    release = shoal.anonymize(table, asked, bound=False)
    assert Counter(release.frame.rows())[("7", "f")] >= 180
    assert cells_of(release) > 2


def test_what_is_infeasible_is_said():
    with pytest.raises(InfeasibleError):
        shoal.anonymize(people(30), recipe(k=40, cell_rows=1000))
    goal = {"type": "l-diversity", "column": ILL, "variant": "distinct", "l": 9}
    with pytest.raises(InfeasibleError):
        shoal.anonymize(people(300), recipe(privacy={"goal": [goal]}))
    with pytest.raises(RecipeError, match="too small for k = 40"):
        recipe(k=40, cell_rows=100)
