"""pyCANON, an outside checker, measures our releases."""

import warnings

import pandas as pd
import pytest
from hypothesis import given

import shoal
from shoal.recipe import Recipe
from tests.profiles import few, slow
from tests.strategies import tables

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pycanon import anonymity


pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@few()
@given(tables(max_rows=40))
def test_pycanon_finds_the_same_k(case):
    release = shoal.anonymize(case.table, case.recipe)
    # pyCANON drops missing values of a single column, so they get a text here.
    frame = release.frame.to_pandas().astype(object).fillna("missing")
    assert anonymity.k_anonymity(frame, case.recipe.quasi) == release.k


@slow
def test_pycanon_finds_the_same_k_on_adult8(adult8, tmp_path):
    recipe = Recipe.load(adult8)
    path = shoal.anonymize(recipe).write(tmp_path / "adult.csv")
    frame = pd.read_csv(path, dtype=str)
    assert anonymity.k_anonymity(frame, recipe.quasi) == 10 == shoal.verify(path, recipe).k


def test_pycanon_is_the_real_thing():
    frame = pd.DataFrame({"a": ["x", "x", "y"]})
    assert anonymity.k_anonymity(frame, ["a"]) == 1
    with pytest.raises(ValueError, match="Values not defined"):
        anonymity.k_anonymity(frame, ["b"])
