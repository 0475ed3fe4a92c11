"""Encoding: canonical order and codes against slow and obvious ones."""

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import hashing
from shoal.recipe import Recipe
from shoal.table.encode import encode
from tests.strategies import tables

MASK = (1 << 64) - 1


def mixed(value):
    """SplitMix64's finalizer, in unbounded integers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def row_hash(seed, texts):
    """The keyed hash of one row's texts: FNV-1a of each, mixed one after the other."""
    state = seed
    for text in texts:
        value = 0x9E3779B97F4A7C15
        if text is not None:
            value = 0xCBF29CE484222325
            for byte in text.encode():
                value = ((value ^ byte) * 0x100000001B3) & MASK
        state = mixed(state ^ mixed(value))
    return state


@given(st.integers(0, MASK), st.lists(st.none() | st.text(max_size=6), min_size=1, max_size=5))
def test_hash_equals_its_slow_twin(seed, texts):
    arrow = pl.Series(texts, dtype=pl.String).to_arrow(compat_level=pl.CompatLevel.oldest())
    state = np.full(len(texts), seed, np.uint64)
    _, offsets, data = arrow.buffers()
    hashing.add_texts(
        state,
        np.frombuffer(offsets, np.int64)[: len(texts) + 1],
        np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8),
        np.array([text is not None for text in texts]),
    )
    assert state.tolist() == [row_hash(seed, [text]) for text in texts]


@given(tables(max_rows=30))
def test_rows_are_sorted_by_quasi_values_then_by_hash(case):
    encoded = encode(case.table, case.recipe)
    leaf_order = [_leaves_depth_first(case.recipe.columns[name].hierarchy) for name in case.recipe.quasi]
    rows = case.table.rows()
    n_quasi = len(case.recipe.quasi)

    def quasi_key(row):
        pairs = zip(row, leaf_order, strict=False)
        return [
            (value is None, 0 if value is None else value if leaves is None else leaves.index(value))
            for value, leaves in pairs
        ]

    seen = Counter()
    keys = []
    for row in rows:
        # Rows alike in everything are told apart by how many came before: any of them will do.
        other = row_hash(case.recipe.method.seed, [row[n_quasi]])
        keys.append((quasi_key(row), mixed(other ^ mixed(seen[row]))))
        seen[row] += 1
    assert [rows[at] for at in encoded.order] == [
        row for _, row in sorted(zip(keys, rows, strict=True), key=first)
    ]
    assert sorted(encoded.order.tolist()) == list(range(len(rows)))


def first(pair):
    return pair[0]


def _leaves_depth_first(hierarchy):
    if hierarchy is None:
        return None
    found = []

    def walk(name, below):
        if not below:
            found.append(name)
        for child, children in below.items():
            walk(child, children)

    (root, below), *_ = hierarchy.items()
    walk(root, below)
    return found


def test_equal_tuples_are_mixed_not_sorted_by_their_sensitive_value():
    # 200 equal rows, half of them ill. In runs of one value, every class of ten would be homogeneous;
    # mixed by a fair coin, there are about 100 changes from one value to the other.
    table = pl.DataFrame({"age": [30] * 200, "ill": ["no", "yes"] * 100})
    encoded = encode(table, Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2))
    in_order = table["ill"].gather(encoded.order)
    changes = (in_order != in_order.shift()).sum()
    assert 70 < changes < 130


def test_tuples_are_numbered_in_canonical_order():
    table = pl.DataFrame({"a": [2, 1, 2, 1], "b": ["x", "x", "x", "y"]})
    encoded = encode(table, Recipe.from_roles(quasi=["a", "b"], k=2))
    assert encoded.tuple_of_row.tolist() == [0, 1, 2, 2]


def test_built_hierarchies_are_used():
    table = pl.DataFrame(
        {
            "age": ["20", "24", "25"],
            "zip": ["10", "11", "20"],
            "day": ["2026-01-01", "2026-01-31", "2026-02-01"],
        }
    )
    recipe = Recipe.from_roles(
        quasi=["age", "zip", "day"],
        k=2,
        changes={
            "columns": {
                "age": {"hierarchy": {"intervals": [5, 10]}},
                "zip": {"hierarchy": {"prefix": 1}},
                "day": {"hierarchy": {"dates": ["month", "year"]}},
            }
        },
    )
    labels = {column.name: set(column.tree.labels) for column in encode(table, recipe).columns}
    assert {"[20, 24]", "[25, 29]", "[20, 29]"} <= labels["age"]
    assert {"1*", "2*"} <= labels["zip"]
    assert {"2026-01", "2026-02", "2026"} <= labels["day"]
