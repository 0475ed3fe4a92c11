"""Whole numbers that look like codes are named, quantities are not."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.engine.codes import looks_like_codes
from shoal.recipe import Recipe
from shoal.table.columns import RangeColumn
from shoal.table.encode import encode


def column_of(name: str, rows: dict[int, int]) -> RangeColumn:
    values = [value for value, n in rows.items() for _ in range(n)]
    recipe = Recipe.from_roles(quasi=[name], k=2)
    (column,) = encode(pl.DataFrame({name: values}), recipe).columns
    assert isinstance(column, RangeColumn)
    return column


UNEVEN = dict(zip(range(1, 11), [900, 100, 800, 200, 950, 150, 700, 90, 600, 50], strict=True))
FALLING = {value: 1000 >> value for value in range(8)}
BELL = dict(zip(range(1, 8), [50, 200, 500, 800, 500, 200, 50], strict=True))


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("region", dict.fromkeys(range(1, 11), 20), True),
        ("regionCode", dict.fromkeys((1, 2, 3), 20), True),
        ("ZIP_CODE_2", dict.fromkeys(range(10, 40), 9), True),
        ("k3", UNEVEN, True),  # sizes of neighbours have nothing to do with each other
        ("k3", dict.fromkeys((11, 12, 21, 22, 31, 32, 99), 60), True),  # most of the range is empty
        ("k3", FALLING, False),  # as numbers of children
        ("k3", BELL, False),  # as a score
        ("k3", {1: 9, 2: 3, 3: 8, 4: 2, 5: 9}, False),  # too few rows to tell
        ("age", UNEVEN, False),
        ("birth_year", UNEVEN, False),
        ("income_group", UNEVEN, False),
        ("region", dict.fromkeys((0, 1), 20), False),  # a range of two values is the set of both
        ("region", dict.fromkeys(range(1000), 3), False),
    ],
)
def test_codes_and_quantities(name: str, rows: dict[int, int], expected: bool) -> None:
    assert looks_like_codes(column_of(name, rows)) is expected


def test_a_release_says_so_unless_the_recipe_gives_a_kind() -> None:
    table = pl.DataFrame(
        {"region": [at % 7 + 1 for at in range(70)], "age": [20 + at % 30 for at in range(70)]}
    )
    release = shoal.anonymize(table, quasi=["region", "age"], k=5)
    given = Recipe.from_dict(
        {
            "columns": {"region": {"role": "quasi", "kind": "numeric"}, "age": {"role": "quasi"}},
            "privacy": {"k": 5},
        }
    )

    (remark,) = [text for text in release.remarks if "codes" in text]
    assert remark.startswith("Column `region` has 7 different whole numbers and is taken for a number")
    assert 'kind = "categorical" in [columns.region]' in remark
    assert not [text for text in shoal.anonymize(table, given).remarks if "codes" in text]
