"""People instead of rows, and classes that an empty cell leaves open."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe
from shoal.verifier import MeasuredGoal, verify, verify_table
from tests.profiles import IS_SLOW, some

GOALS: list[dict[str, Any]] = [
    {"type": "l-diversity", "l": 1},
    {"type": "l-diversity", "variant": "frequency", "l": 1},
    {"type": "l-diversity", "variant": "entropy", "l": 1},
    {"type": "l-diversity", "variant": "recursive", "c": 1.5, "l": 1},
    {"type": "t-closeness", "t": 1.0},
    {"type": "t-closeness", "t": 1.0, "distance": "ordered"},
    {"type": "alpha-k", "alpha": 1.0},
    {"type": "beta-likeness", "beta": 100.0},
    {"type": "delta-disclosure", "delta": 100.0},
]


def recipe(
    *goals: dict[str, Any], k: int = 2, subject: bool = True, quasi: tuple[str, ...] = ("q",)
) -> Recipe:
    columns: dict[str, Any] = {name: {"role": "quasi"} for name in quasi}
    columns |= {"s": {"role": "sensitive"}} if goals else {}
    columns |= {"who": {"role": "subject"}} if subject else {}
    given = [{"column": "s", **goal} for goal in goals]
    return Recipe.from_dict({"privacy": {"k": k, "goal": given}, "columns": columns})


# Class 0: Ann has 1 twice and 2, Bob has 1 and a row without a value, Cid only the latter.
# Class 1: Ann again, with 3, and Dan with 3 and 2.
ROWS = [
    ("0", "1", "Ann"), ("0", "1", "Ann"), ("0", "2", "Ann"), ("0", "1", "Bob"), ("0", None, "Bob"),
    ("0", None, "Cid"), ("1", "3", "Ann"), ("1", "3", "Dan"), ("1", "2", "Dan"), ("1", "3", "Dan"),
]  # fmt: skip
# People: in class 0 value 1 has 2 and 2 has 1, of 2 with any; in class 1 value 3 has 2 and 2 has 1, of 2.
# In the file 1 has 2 (Ann, Bob), 2 has 2 (Ann, Dan), 3 has 2 (Ann, Dan): p is 1/3 for each.
BY_PEOPLE = [
    2,
    1,  # 2 // 2
    math.exp(-(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3)),
    1,  # 2 < 1.5 * 3, 2 >= 1.5 * 1
    1 / 3,  # q = (2/3, 1/3, 0): (1/3 + 0 + 1/3) / 2
    1 / 3,  # cumulated 1/3, 1/3, 0, over m - 1 = 2
    1.0,  # both who have a value have 1
    1.0,  # (2/3 - 1/3) / (1/3)
    None,
]
BY_ROWS = [2, 1, math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)), 1, 3 / 8, 3 / 8, 0.75, 1.0, None]


def as_table(rows: list[Any]) -> tuple[pa.Table, pa.Array]:
    q, s, who = (list(column) for column in zip(*rows, strict=True))
    return pa.table({"q": q, "s": pa.array(s, pa.string())}), pa.array(who)


def test_with_subjects_every_goal_counts_people() -> None:
    table, who = as_table(ROWS)

    verdict = verify_table(table, recipe(*GOALS), subjects=who)

    assert (verdict.rows, verdict.k, verdict.k_wildcard, verdict.remarks) == (10, 2, 2, ())
    assert [goal.achieved for goal in verdict.goals] == [2, *map(pytest.approx, BY_PEOPLE)]
    assert {goal.counts for goal in verdict.goals} == {"people"}


def test_without_subjects_rows_are_counted_and_that_is_said() -> None:
    table, _ = as_table(ROWS)

    verdict = verify_table(table, recipe(*GOALS))

    assert [goal.achieved for goal in verdict.goals] == [4, *map(pytest.approx, BY_ROWS)]
    assert {goal.counts for goal in verdict.goals} == {"rows"}
    remark = "People were not counted: the file does not show which rows belong to the same person."
    assert verdict.remarks == (remark,)
    assert verdict.to_dict()["remarks"] == [remark]
    assert remark in str(verdict)
    assert verify_table(table, recipe(*GOALS, subject=False)).remarks == ()


def test_one_person_with_many_rows_is_no_class_of_k() -> None:
    table, who = as_table([("0", "1", "Ann")] * 5 + [("1", "1", name) for name in "abc"])
    asked = recipe({"type": "l-diversity", "l": 1})

    verdict = verify_table(table, asked, subjects=who)

    assert verify_table(table, asked).holds
    assert verdict.goals[0] == MeasuredGoal("k-anonymity", None, 2, 1, False, counts="people")
    message = "5 rows are in 1 class smaller than k = 2; the smallest class has 1 person."
    assert [(p.code, p.message) for p in verdict.problems] == [("verify.k", message)]


@pytest.mark.parametrize("ending", some([".csv", ".tsv", ".parquet", ".arrow", ".feather", ""], 2))
def test_subjects_go_with_the_rows_of_the_file_in_order(tmp_path: Path, ending: str) -> None:
    """Threads read a large file in pieces; each row must still meet its own person."""
    half = 300_000 if IS_SLOW else 90_000  # more than DuckDB gives to one thread
    # Classes of two people with a row each, then classes of two people with three rows each: wherever
    # a row of the first half meets a subject of the second, its neighbour in the class has the same.
    classes = [i // 2 for i in range(half)] + [half + i // 6 for i in range(half)]
    people = [*range(half), *(half + i // 3 for i in range(half))]
    table = pa.table({"q": [f"class {c}" for c in classes]})
    path = tmp_path / f"out{ending}"
    if ending in (".csv", ".tsv"):
        options = arrow_csv.WriteOptions(delimiter="," if ending == ".csv" else "\t")
        arrow_csv.write_csv(table, path, options)
    elif ending == ".parquet":
        parquet.write_table(table, path, row_group_size=20_000)
    elif ending:
        feather.write_feather(table, path, compression="uncompressed", chunksize=20_000)
    subjects = pa.array(people)

    if ending:
        verdict = verify(path, recipe(), subjects=subjects)
    else:
        verdict = verify_table(table, recipe(), subjects=subjects)

    assert (verdict.k, verdict.holds) == (2, True)


def test_frequency_is_that_among_those_who_have_a_value() -> None:
    """Both have 1, and Ann has 2 and 3 besides: everybody there has 1, though it is half of the counts."""
    table, who = as_table([("0", "1", "Ann"), ("0", "2", "Ann"), ("0", "3", "Ann"), ("0", "1", "Bob")])
    asked = recipe({"type": "l-diversity", "variant": "frequency", "l": 2})

    verdict = verify_table(table, asked, subjects=who)

    assert (verdict.goals[1].achieved, verdict.goals[1].holds) == (1, False)
    assert verify_table(table, asked).goals[1].holds


def test_subjects_of_other_rows_are_a_problem() -> None:
    table, who = as_table(ROWS)

    verdict = verify_table(table, recipe(*GOALS), subjects=who[:-1])

    assert not verdict.holds
    message = "The file has 10 rows, but the subjects of 9 are known."
    assert ("verify.rows", message) in [(p.code, p.message) for p in verdict.problems]


def test_a_row_of_nobody_is_refused() -> None:
    table, _ = as_table(ROWS)

    with pytest.raises(DataError) as caught:
        verify_table(table, recipe(*GOALS), subjects=pa.array(["Xq7Secret", None] * 5))

    assert caught.value.code == "data.missing"
    assert "Secret" not in str(caught.value)


@pytest.mark.parametrize("method", ["nh", "anatomy"])
def test_methods_without_classes_take_no_subjects(tmp_path: Path, method: str) -> None:
    columns = {"q": {"role": "quasi"}, "s": {"role": "sensitive"}}
    asked = Recipe.from_dict({"privacy": {"k": 2}, "columns": columns, "method": {"name": method}})

    with pytest.raises(RecipeError):
        verify(tmp_path / "out.csv", asked, subjects=pa.array([1]))


CELL = st.sampled_from(["a", "b", None])
QUASI = ("x", "y", "w")


def compatible(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


@given(st.lists(st.tuples(CELL, CELL, CELL, st.integers(0, 4)), min_size=1, max_size=14), st.booleans())
def test_an_empty_cell_may_be_anything(rows: list[tuple[Any, ...]], people: bool) -> None:
    table = pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(QUASI)})
    who = [row[3] if people else at for at, row in enumerate(rows)]
    given_subjects = {"subjects": pa.array(who)} if people else {}

    verdict = verify_table(table, recipe(quasi=QUASI, subject=False), **given_subjects)

    expected = min(
        len({person for other, person in zip(rows, who, strict=True) if compatible(row[:3], other[:3])})
        for row in rows
    )
    assert verdict.k_wildcard == verdict.to_dict()["k_wildcard"] == expected
    assert verdict.k is not None
    assert verdict.k <= expected


def test_the_text_shows_both_numbers_where_they_differ() -> None:
    table = pa.table({"q": ["a", "a", "b", "b", "b", None, None]})

    verdict = verify_table(table, recipe(subject=False))

    assert (verdict.k, verdict.k_wildcard) == (2, 4)
    assert "the smallest of 2 (4 where an empty cell may be anything)." in str(verdict)


def test_thousands_of_classes_with_empty_cells_are_compared() -> None:
    draw = random.Random(5)
    names = tuple("abcdefgh")
    n_rows = 3_000 if IS_SLOW else 2_200
    cells = {
        name: [draw.choice("123456") if draw.random() > 0.2 else None for _ in range(n_rows)]
        for name in names
    }
    rows = list(zip(*cells.values(), strict=True))

    verdict = verify_table(pa.table(cells), recipe(quasi=names, subject=False))

    assert verdict.classes > n_rows - 100
    assert verdict.k_wildcard == min(
        sum(compatible(row, other) for other in rows) for row in rows[:400] + rows[-100:]
    )
