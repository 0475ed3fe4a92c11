"""Theorem 3 of [he2012]: a table that meets definition 3 as a whole is split into classes that do.

.. [he2012] He, Chen, Chen, Dong, Wang, Huang. Clustering-Based k-Anonymity. PAKDD 2012.
"""
# ruff: noqa: E741 - l is the papers' name, and the world's

from collections import Counter

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.cluster.cb import CB
from shoal.errors import InfeasibleError
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.recipe.options import CBOptions
from shoal.table.encode import encode
from tests.reference.goals import is_frequent
from tests.strategies import tables


def figure_5(values, l):
    """The rows by value, dealt round-robin into floor(n / l) groups."""
    by_value = sorted(range(len(values)), key=lambda row: values[row])
    n_groups = len(values) // l
    return [[values[row] for row in by_value[group::n_groups]] for group in range(n_groups)]


VALUES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40)


@given(VALUES, st.integers(1, 6))
def test_the_paper_splits_into_l_diverse_groups(values, l):
    assume(is_frequent(values, l))
    groups = figure_5(values, l)
    assert sorted(value for group in groups for value in group) == sorted(values)
    for group in groups:
        assert len(group) >= l
        assert max(Counter(group).values()) == 1  # no value has more rows than there are groups
        assert is_frequent(group, l)


def with_goal(case, l, **more):
    sections = case.recipe.to_dict()
    goal = {"type": "l-diversity", "variant": "frequency", "column": "label", "l": l}
    sections["privacy"] |= {"goal": [goal]}
    sections["method"] |= {"name": "cb", **more}
    return Recipe.from_dict(sections)


def check(frame, recipe, l):
    for _, rows in frame.group_by(recipe.quasi):
        assert len(rows) >= recipe.privacy.k
        assert is_frequent(rows["label"].to_list(), l)


# Both directions, on releases: what the whole table meets every class does, and what it fails nobody can.
@given(tables(max_rows=40), st.sampled_from([1, 2, 2, 3]), st.sampled_from(["goal", "option"]))
def test_cb_releases_what_the_whole_table_meets(case, l, asked):
    if asked == "goal":
        recipe = with_goal(case, l)
    else:
        sections = case.recipe.to_dict()
        sections["method"] |= {"name": "cb", "options": {"l": l}}
        recipe = Recipe.from_dict(sections)
    if is_frequent(case.table["label"].to_list(), l):
        release = shoal.anonymize(case.table, recipe)
        assert release.suppressed == 0
        check(release.frame, recipe, l)
    else:
        with pytest.raises(InfeasibleError) as caught:
            shoal.anonymize(case.table, recipe)
        assert caught.value.code == "infeasible.goal"


# The clusterer itself keeps it, before any repair: the goal does to CB what the option does.
@given(tables(max_rows=40), st.sampled_from([2, 3]))
def test_the_goal_is_kept_by_splitting_and_dealing_alone(case, l):
    assume(is_frequent(case.table["label"].to_list(), l))
    recipe = with_goal(case, l)
    encoded = encode(case.table, recipe)
    goals = GoalSet.of(encoded, recipe).kernel
    k = recipe.privacy.k
    by_goal = CB(k, options=CBOptions(rounds=3), goals=goals).fit(encoded).labels
    by_option = CB(k, options=CBOptions(rounds=3, l=l)).fit(encoded).labels
    labels = case.table["label"].gather(encoded.order)
    for found in (by_goal, by_option):
        for number in range(found.max() + 1):
            values = labels.filter(pl.Series(found == number)).to_list()
            assert len(values) >= k
            assert is_frequent(values, l)
