"""Incognito against a brute force over the whole lattice, and by hand."""

from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import incognito
from shoal.table.encode import encode
from tests.reference import incognito as reference
from tests.strategies import TREES, tables


@given(tables(max_rows=20, kinds=TREES), st.sampled_from([0, 0, 2, 20]), st.booleans())
def test_choice_is_that_of_brute_force(case, may_suppress, large_keys):
    encoded = encode(case.table, case.recipe)
    k = case.recipe.privacy.k
    columns = case.twin_columns(encoded.order)
    with mock.patch.object(incognito, "_MAX_KEY", 0 if large_keys else 1 << 62):
        clusterer = incognito.Incognito(k, may_suppress=may_suppress)
        result = clusterer.fit(encoded)
        search = incognito._Search(encoded, k, may_suppress, clusterer.goals_and_tally())
        found = {tuple(vector) for vector in np.argwhere(search.admissible(None)).tolist()}
    assert found == reference.anonymous_vectors(columns, k, may_suppress)
    levels, labels = reference.incognito(columns, k, may_suppress=may_suppress)
    assert result.levels == levels
    assert result.labels.tolist() == labels


TREE = {"zip": {"prefix": 1}}


def test_a_worked_table():
    # 111 112 121 122 211, k = 2, levels: 1**, 11*. Level 1: 11* (2), 12* (2), 21* (1): no. Level 2: 1** (4),
    # 2** (1): no. Level 3: all rows. One row left out: level 1 costs 4 x 1/3 + 1 = 7/3, less than level 2
    # with 4 x 2/3 + 1 and level 3 with 5.
    table = pl.DataFrame({"zip": ["111", "112", "121", "122", "211"]})
    encoded = shoal.encode(table, quasi=["zip"], hierarchies=TREE)
    strict = incognito.Incognito(2).fit(encoded)
    assert (strict.levels, strict.labels.tolist()) == ((3,), [0] * 5)
    lenient = incognito.Incognito(2, may_suppress=1).fit(encoded)
    assert (lenient.levels, lenient.labels.tolist()) == ((1,), [0, 0, 1, 1, -1])


def test_whole_columns_are_published_at_one_level():
    table = pl.DataFrame({"zip": ["111", "111", "121", "122"], "age": [20, 20, 29, 36], "s": list("abcd")})
    release = shoal.anonymize(
        table, quasi=["zip", "age"], sensitive=["s"], k=2, method="incognito", hierarchies=TREE
    )
    # zip needs 12* for the last two, and so 11* for the first two, who agree on 111. Ages span 17 years
    # from 20: intervals of 2, 4, 8 and 16 years ([28, 35] and [36, 36] part the last two at 8), so 16
    # years: [20, 35] and [36, 36] still do. Only the root is left.
    assert release.table["zip"].to_list() == ["11*", "11*", "12*", "12*"]
    assert release.table["age"].to_list() == ["*"] * 4


@pytest.mark.parametrize(
    ("values", "spec", "published"),
    [
        # 34 whole numbers from 1: widths 3, 6, 12, 24. [1, 3] has three rows, [1, 6] and [31, 36] have four.
        ([1, 2, 3, 4, 31, 32, 33, 34], {"kind": "numeric"}, ["[1, 6]", "[31, 36]"]),
        # Eight positions: widths 1 (the values themselves), 2 and 4. [a, b] and [g, h] have four.
        (list("aabbhhgg"), {"kind": "ordinal", "order": list("abcdefgh")}, ["[a, b]", "[g, h]"]),
        # 32 days: widths 2, 4, 8, 16. Days 1 and 2, and 31 and 32, have four rows each.
        (
            ["2026-01-01", "2026-01-02", "2026-01-31", "2026-02-01"] * 2,
            {"kind": "date"},
            ["[2026-01-01, 2026-01-02]", "[2026-01-31, 2026-02-01]"],
        ),
    ],
)
def test_default_intervals_are_published_in_the_columns_own_terms(values, spec, published):
    recipe = {
        "columns": {"q": {"role": "quasi", **spec}},
        "privacy": {"k": 4},
        "method": {"name": "incognito"},
    }
    release = shoal.anonymize(pl.DataFrame({"q": values}), shoal.Recipe.from_dict(recipe))
    assert sorted(set(release.table["q"])) == published
