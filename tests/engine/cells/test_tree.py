"""Trees of cuts: every row is in one cell, and dropping cuts loses none."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engine.cells.sample import OPEN_HIGH, OPEN_LOW
from shoal.engine.cells.tree import (
    LEAF,
    Cut,
    Leaf,
    Partition,
    cell_seed,
    from_lists,
    is_alike,
    replaced,
    to_lists,
    without,
)

COLUMNS, CODES = 3, range(-1, 7)
ends = st.sampled_from([OPEN_LOW, OPEN_HIGH, *CODES])
cuts = st.recursive(
    st.just(LEAF),
    lambda below: st.builds(Cut, st.integers(0, COLUMNS - 1), ends, ends, below, below),
    max_leaves=12,
)
row = st.tuples(*[st.sampled_from(CODES)] * COLUMNS)
rows = st.lists(row, max_size=60)
partitions = st.builds(Partition, cuts, st.lists(row, max_size=3, unique=True).map(tuple))


def path_of(row, partition):
    """The cell of one row, found step by step."""
    for number, group in enumerate(partition.alike):
        if row == group:
            return f"={number}"
    node, path = partition.cuts, ""
    while isinstance(node, Cut):
        inside = node.low <= row[node.column] <= node.high
        path += "i" if inside else "o"
        node = node.inside if inside else node.outside
    return path


def as_codes(rows):
    return np.array(rows, np.int32).reshape(len(rows), COLUMNS).T


@given(partitions, rows)
def test_every_row_goes_to_the_cell_that_the_cuts_lead_to(partition, rows):
    paths = partition.paths
    cells = partition.route(as_codes(rows))

    assert len(set(paths)) == len(paths)
    assert [paths[cell] for cell in cells] == [path_of(row, partition) for row in rows]
    assert [is_alike(path) for path in paths] == [at < len(partition.alike) for at in range(len(paths))]


@given(partitions, rows, st.data())
def test_without_some_cells_every_other_keeps_its_rows(partition, rows, data):
    paths = [path for path in partition.paths if not is_alike(path)]
    failing = frozenset(data.draw(st.lists(st.sampled_from(paths), unique=True)))
    fewer = Partition(without(partition.cuts, failing), partition.alike)

    before, after = (one.route(as_codes(rows)) for one in (partition, fewer))

    assert len(after) == len(rows)
    assert set(after.tolist()) <= set(range(len(fewer.paths)))
    for cell in set(before.tolist()):  # a cell may grow, but is never torn apart
        if partition.paths[cell] not in failing:
            assert len(set(after[before == cell].tolist())) == 1
    if failing - {""}:
        assert len(fewer.paths) < len(partition.paths)
    else:
        assert fewer == partition


def test_without_both_siblings_their_parent_is_the_cell():
    inner = Cut(1, 0, 2, LEAF, LEAF)
    tree = Cut(0, 0, 4, inner, LEAF)
    assert without(tree, frozenset({"ii", "io"})) == Cut(0, 0, 4, LEAF, LEAF)
    assert without(tree, frozenset({"o"})) == inner
    assert without(tree, frozenset({"ii"})) == Cut(0, 0, 4, LEAF, LEAF)
    assert without(LEAF, frozenset({""})) == LEAF


@given(cuts)
def test_lists_hold_a_tree(tree):
    assert from_lists(json.loads(json.dumps(to_lists(tree)))) == tree


@given(cuts)
def test_leaves_are_replaced_by_path(tree):
    seen = []
    grown = replaced(tree, lambda path: seen.append(path) or Cut(0, 1, 1, LEAF, LEAF))
    assert seen == Partition(tree).paths
    assert Partition(grown).paths == [path + side for path in seen for side in "io"]
    assert replaced(tree, lambda _: Leaf()) == tree


def test_seeds_of_cells_differ_and_stay_the_same():
    paths = ["", "i", "o", "ii", "io", "=0", "=1"]
    seeds = [cell_seed(7, path) for path in paths]
    assert seeds[0] == 7
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert cell_seed(7, "io") != cell_seed(8, "io")
    assert cell_seed(7, "io") == 5626070540074593846, "a release would change from one version to the next"


@pytest.mark.parametrize("group", [(1, 2), (1, 2, 3, 4)])
def test_a_group_of_another_number_of_columns_is_an_error(group):
    with pytest.raises(ValueError, match="zip"):
        Partition(LEAF, (group,)).route(as_codes([(1, 2, 3)]))
