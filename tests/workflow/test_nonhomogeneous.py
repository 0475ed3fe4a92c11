"""NH: boxes over k neighbours on a ring, a secret shift, and the guarantee by an independent test."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import NH, Mondrian
from shoal.errors import GroupShiftWarning, RecipeError
from shoal.recipe import Recipe
from shoal.recode.publish import publish_ring
from shoal.table.encode import encode
from shoal.workflow.prepare import prepare
from tests.reference.kmember import TreeColumn
from tests.reference.nonhomogeneous import ANY, guarantee
from tests.strategies import tables


def recipe_of(case, **sections):
    return Recipe.from_dict({**case.recipe.to_dict(), "method": {"name": "nh"}, **sections})


def box_of(column, text):
    """A published text as the independent checker takes it."""
    if text is None or text == "*":
        return None if text is None else ANY
    if not isinstance(column, TreeColumn):
        ends = text.strip("[]").split(", ")
        return int(ends[0]), int(ends[-1])
    leaves = set(column.parent) - set(column.parent.values())
    return {leaf for leaf in leaves if text in column.path(leaf)}


@given(tables(max_rows=24), st.integers(0, 99))
def test_k_originals_fit_each_row_and_k_rows_each_original(case, seed):
    recipe = recipe_of(case)
    encoded = encode(case.table, recipe)
    k = recipe.privacy.k
    result = NH(k).fit(encoded)
    published = publish_ring(
        encoded, result.labels, recipe, k, random=np.random.Generator(np.random.PCG64(seed))
    )
    columns = case.twin_columns(encoded.order)
    texts = published.classes.rows()
    boxes = [
        [box_of(column, text) for column, text in zip(columns, texts[label], strict=True)]
        for label in published.labels
    ]
    rows = list(zip(*(column.values for column in columns), strict=True))
    assert guarantee(boxes, rows, k).holds
    # Each row's values are published with a box that covers it, and with one only.
    assert sorted(published.partner) == list(range(encoded.n_rows))
    groups = result.labels
    assert (groups[published.partner] == groups).all()


def test_a_worked_table():
    # Ages 1 2 4 8 9, k = 2. Mondrian (lower median 4): {1, 2, 4} and {8, 9}. On the first ring the boxes
    # are [1, 2], [2, 4] and [4, 1] = [1, 4]; on the second both are [8, 9].
    table = pl.DataFrame({"age": [1, 2, 4, 8, 9]})
    recipe = Recipe.from_roles(quasi=["age"], k=2, changes={"method": {"name": "nh"}})
    encoded = encode(table, recipe)
    labels = NH(2).fit(encoded).labels
    assert labels.tolist() == [0, 0, 0, 1, 1]
    published = publish_ring(encoded, labels, recipe, 2)
    texts = published.classes["age"].gather(published.labels).to_list()
    assert texts == ["[1, 2]", "[2, 4]", "[1, 4]", "[8, 9]", "[8, 9]"]
    # IL: 3 rows with widths 1/8, 2/8, 3/8 and 2 with 1/8: 8/8; Mondrian: 3 x 3/8 + 2 x 1/8 = 11/8.
    assert prepare(table, recipe).loss.il == pytest.approx(1.0)


def test_both_shifts_occur_and_nothing_else():
    table = pl.DataFrame({"age": [1, 2, 4]})
    recipe = Recipe.from_roles(quasi=["age"], k=2, changes={"method": {"name": "nh"}})
    encoded = encode(table, recipe)
    seen = Counter(
        tuple(publish_ring(encoded, np.zeros(3, np.int32), recipe, 2).partner.tolist()) for _ in range(60)
    )
    # Shift 0: each box with its own row's values. Shift 1: with the next one's on the ring.
    assert set(seen) == {(0, 1, 2), (1, 2, 0)}


def test_it_loses_no_more_than_the_groups_that_it_is_made_of():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.integers(0, 100, 300), "y": rng.integers(0, 100, 300)})
    roles = {"quasi": ["x", "y"], "k": 5}
    nh, mondrian = (
        prepare(table, Recipe.from_roles(**roles, changes={"method": {"name": name}})).loss.il
        for name in ("nh", "mondrian")
    )
    assert nh < mondrian
    assert Mondrian(5).fit(shoal.encode(table, quasi=["x", "y"])).sizes.min() >= 5


def test_the_release_is_verified_beside_the_original_and_warns(tmp_path):
    table = pl.DataFrame({"age": [1, 2, 4, 8, 9], "ill": list("abcab")})
    changes = {"method": {"name": "nh"}}
    recipe = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2, changes=changes)
    with pytest.warns(GroupShiftWarning):
        release = shoal.anonymize(table, recipe)
    assert (release.k, release.loss.dm, release.loss.c_avg) == (2, None, None)
    assert Counter(release.table["ill"]) == Counter(table["ill"])
    path = release.write(tmp_path / "out.csv")
    table.write_csv(tmp_path / "raw.csv")
    assert shoal.verify(path, recipe, original=tmp_path / "raw.csv").holds
    verdict = shoal.verify(path, recipe)
    assert not verdict.holds
    assert [problem.code for problem in verdict.problems] == ["verify.not_verifiable"]
    # Boxes that were shrunk cover too few.
    text = path.read_text(encoding="utf-8").replace("[2, 4]", "[4, 4]")
    path.write_text(text, encoding="utf-8")
    problems = shoal.verify(path, recipe, original=tmp_path / "raw.csv", manifest=False).problems
    assert "verify.fit" in [problem.code for problem in problems]


def test_the_manifest_says_nothing_about_the_shift(tmp_path):
    table = pl.DataFrame({"age": range(20), "ill": list("abcde") * 4})
    recipe = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=4, changes={"method": {"name": "nh"}})
    texts = set()
    manifests = set()
    for at in range(12):
        path = shoal.anonymize(table, recipe).write(tmp_path / f"{at}.csv")
        texts.add(path.read_bytes())
        manifest = (tmp_path / f"{at}.csv.manifest.json").read_text(encoding="utf-8")
        manifests.add("\n".join(line for line in manifest.splitlines() if '"sha256"' not in line))
    assert len(texts) > 1
    assert len(manifests) == 1


def test_typical_values_are_refused():
    with pytest.raises(RecipeError, match="publishes a box for each row"):
        Recipe.from_roles(
            quasi=["age"], k=2, changes={"method": {"name": "nh"}, "output": {"values": "microaggregate"}}
        )
