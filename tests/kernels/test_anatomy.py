"""Anatomy's groups against the slow twin, on generated and on hand-worked tables."""
# ruff: noqa: E741 - l is the paper's name, and the world's

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster.anatomy import Anatomy, check_eligible, draw, groups
from shoal.errors import InfeasibleError, RecipeError
from shoal.recipe import Recipe
from shoal.recipe.options import AnatomyOptions
from shoal.table.encode import encode
from tests.cluster.test_by_hand import ANATOMY_MISSING, ANATOMY_NOT_ELIGIBLE, ANATOMY_TIES
from tests.reference.anatomy import anatomy

RECIPE = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2)


def codes(sensitive):
    """The values by rank, -1 for a missing one."""
    ranks = {value: at for at, value in enumerate(sorted({v for v in sensitive if v is not None}))}
    return np.array([ranks.get(value, -1) for value in sensitive], np.int32)


@st.composite
def cases(draw):
    l = draw(st.integers(2, 5))
    values = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", None][: draw(st.integers(l, 8))])
    sensitive = draw(st.lists(values, min_size=1, max_size=60))
    if draw(st.booleans()):
        sensitive.append(None)
    return sensitive, l, draw(st.permutations(range(len(sensitive))))


@given(cases())
def test_groups_are_those_of_the_twin(case):
    sensitive, l, priority = case
    try:
        expected = anatomy(sensitive, l, priority)
    except ValueError:
        with pytest.raises(InfeasibleError):
            check_eligible(codes(sensitive), l)
        return
    check_eligible(codes(sensitive), l)
    assert groups(codes(sensitive), l, np.array(priority)).tolist() == expected


@pytest.mark.parametrize("seed", range(120))
def test_a_table_gets_the_labels_of_the_twin(seed):
    random = np.random.Generator(np.random.PCG64([7, seed]))
    n, l = int(random.integers(60, 400)), int(random.integers(2, 5))
    illness = [None if v == 9 else f"i{v}" for v in random.integers(0, 10 + seed % 3, n).tolist()]
    people = pl.DataFrame({"age": random.integers(0, 50, n), "ill": pl.Series(illness, dtype=pl.String)})
    encoded = encode(people, RECIPE)
    sensitive = [illness[row] for row in encoded.order]
    expected = anatomy(sensitive, l, draw(n, seed).tolist())
    found = Anatomy(k=2, seed=seed, options=AnatomyOptions(l=l)).fit(encoded).labels
    assert found.tolist() == expected


@pytest.mark.parametrize("table", [ANATOMY_TIES, ANATOMY_MISSING], ids=["ties", "missing"])
def test_hand_worked_tables(table):
    assert groups(codes(table.sensitive), table.l, np.array(table.priority)).tolist() == table.groups


def test_what_is_not_eligible_is_refused_with_the_numbers():
    sensitive, l = ANATOMY_NOT_ELIGIBLE
    with pytest.raises(InfeasibleError, match="2 of the 3 rows with a sensitive value share one") as refused:
        check_eligible(codes(sensitive), l)
    assert (refused.value.code, refused.value.exit_status) == ("infeasible.goal", 3)


def test_a_lower_l_is_proposed_where_one_can_be_met():
    with pytest.raises(InfeasibleError) as refused:
        check_eligible(codes(["a", "a", "b", "c", "d", "e"]), 4)
    assert refused.value.hint == "lower l to 3"
    check_eligible(codes(["a", "a", "b", "c", "d", "e"]), 3)


def test_without_a_sensitive_column_there_is_nothing_to_group_by():
    encoded = shoal.encode(pl.DataFrame({"age": [1, 2, 3]}), quasi=["age"])
    with pytest.raises(RecipeError, match="sensitive column"):
        Anatomy(k=2).fit(encoded)


def test_progress_is_told(monkeypatch):
    monkeypatch.setattr("shoal.cluster.anatomy._GROUPS_PER_CALL", 10)
    told = []
    groups(np.arange(100, dtype=np.int32), 2, np.arange(100), told.append)
    assert told == [0.2, 0.4, 0.6, 0.8, 1.0]
