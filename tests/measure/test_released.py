"""A release measured from its file alone loses what `anonymize` says it does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.measure.released import measure_release
from shoal.recipe import Recipe
from shoal.risks.distribution import risk
from shoal.table.encode import encode
from shoal.table.read import read_release
from shoal.workflow.measure import measure_tables
from tests.profiles import slow
from tests.strategies import tables


@given(
    tables(max_rows=40), st.sampled_from(["csv", "parquet", "arrow"]), st.sampled_from(["text", "columns"])
)
def test_losses_of_the_file_equal_the_reported_ones(tmp_path_factory, case, ending, bounds_as):
    recipe = Recipe.from_dict({**case.recipe.to_dict(), "output": {"bounds_as": bounds_as}})
    release = shoal.anonymize(case.table, recipe)
    path = release.write(tmp_path_factory.mktemp("release") / f"out.{ending}")
    found = measure_release(encode(case.table, recipe), read_release(path), recipe)
    assert found.to_dict() == pytest.approx(release.loss.to_dict())


@pytest.mark.parametrize("n_rows", [3_000, pytest.param(30_162, marks=slow)])
def test_overview_of_adult(adult8, tmp_path, n_rows):
    part = tmp_path / "adult.csv"
    lines = (adult8.parent / "adult.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    part.write_text("".join(lines[: n_rows + 1]), encoding="utf-8")
    recipe = Recipe.load(adult8, changes={"method": {"name": "mondrian"}, "input": {"path": str(part)}})
    release = shoal.anonymize(recipe)
    numbers = measure_tables(recipe, release.write(tmp_path / "out.csv"))
    assert numbers["raw"]["k"] == 1
    assert numbers["raw"]["risk"]["highest"] == 1
    assert numbers["raw"]["risk"]["unique"] > n_rows // 3
    assert numbers["k"] == 10
    assert numbers["risk"]["highest"] == pytest.approx(0.1)
    assert numbers["risk"]["below_k"] == 0
    assert numbers["loss"]["il"] == pytest.approx(release.loss.il)
    assert numbers["loss"]["cm"] == pytest.approx(release.loss.cm)
    assert numbers["measures"]["distortion"] is None  # ages have no hierarchy here
    assert 0 < numbers["measures"]["gcp_leaves"] < 1


def test_risk_by_hand():
    # Classes of 1, 2 and 5 rows: highest 1/1, average 3 classes / 8 rows, one unique, 3 rows below k = 3.
    found = risk(np.array([1, 2, 5]), 3)
    assert (found.highest, found.average, found.unique, found.below_k) == (1.0, 3 / 8, 1, 3)
