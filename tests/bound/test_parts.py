"""The nearest rows, part by part: together they are those of the whole table."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.bound.parts import least_distances
from shoal.bound.scans import Scans
from shoal.recipe import Recipe
from shoal.table.encode import encode
from tests.strategies import EVERY_KIND, tables


def distances(scans, ones, part, k):
    """The least distances from some tuples to the tuples of a part."""
    codes = np.concatenate([scans.fixed.position, scans.fixed.leaf])
    fixed = scans.fixed
    return least_distances(codes[:, ones], codes[:, part], scans.size[part], fixed.span, fixed.trees, k)


@given(tables(max_rows=30, max_k=6, kinds=EVERY_KIND), st.integers(0, 2**32 - 1))
def test_parts_give_the_nearest_row_of_the_whole_table(case, seed):
    k = case.recipe.privacy.k
    scans = Scans(encode(case.table, case.recipe), k)
    of_part = np.random.default_rng(seed).integers(3, size=scans.m)
    parts = [distances(scans, scans.order, of_part == part, k) for part in range(3)]
    merged = [np.sort(np.concatenate(found))[k - 1] for found in zip(*parts, strict=True)]
    assert merged == scans.nearest(scans.order, lambda share: None).tolist()


@given(tables(max_rows=8, max_k=4, kinds=EVERY_KIND))
def test_a_part_returns_all_of_its_rows_if_it_has_fewer_than_k(case):
    scans = Scans(encode(case.table, case.recipe), case.recipe.privacy.k)
    everything = np.ones(scans.m, dtype=bool)
    found = distances(scans, scans.order, everything, 100)
    assert {len(near) for near in found} == {int(scans.size.sum())}
    assert all((np.diff(near) >= 0).all() and near[0] == 0 for near in found)


def test_many_rows_that_are_asked_about_do_not_crowd_out_those_of_the_part():
    # More rows without a size than the kernel keeps at a time, all of them nearer than those of the part.
    ones = np.arange(5_000, dtype=np.int32)[None]
    values, sizes = np.array([[9_000, 9_010]], np.int32), np.array([1, 3])
    encoded = encode(pl.DataFrame({"q": [0, 10_000]}), Recipe.from_roles(quasi=["q"], k=2))
    trees = Scans(encoded, 2).fixed.trees
    found = least_distances(ones, values, sizes, np.array([10_000], np.int32), trees, 2)
    assert [near.tolist() for near in found[:2]] == [[9_000, 9_010], [8_999, 9_009]]
