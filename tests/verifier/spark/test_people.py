"""People counted with the maker's own rows, which must be those that were written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.verifier import verify
from shoal.verifier.spark import verify_folder
from tests.engine.spark.made import plans_of
from tests.profiles import slow
from tests.verifier.spark.folders import codes, write_parts

NAMES = ("q.1", "s`", "kept")
# In the first class Ann has three rows and two values; the second has one row for each of three people.
ROWS = [
    ("[1, 2]", "a", "1.0", "Ann"), ("[1, 2]", "b", "2", "Ann"), ("[1, 2]", "a", "", "Ann"),
    ("[1, 2]", "a", "=1", "Bob"), ("*", "a", "7", "Ann"), ("*", "b", "7", "Cy"), ("*", "a", "8", "Di"),
    (None, "a", "8", "Di"), (None, "b", "8", "Eve"),
]  # fmt: skip
GOALS = [
    {"type": "l-diversity", "column": "s`", "variant": "frequency", "l": 1},
    {"type": "alpha-k", "column": "s`", "alpha": 0.5},
    {"type": "t-closeness", "column": "s`", "t": 0.01},
]
RECIPE = Recipe.from_dict(
    {
        "privacy": {"k": 2, "goal": GOALS},
        "columns": {
            "q.1": {"role": "quasi"},
            "s`": {"role": "sensitive"},
            "kept": {"role": "keep"},
            "who": {"role": "subject"},
        },
    }
)


def written(folder: Path) -> Path:
    """The maker marks what a spreadsheet would run."""
    rows = [(q, s, f"'{kept}" if kept.startswith("=") else kept) for q, s, kept, _ in ROWS]
    return write_parts(folder, NAMES, [rows[::2], rows[1::2]])


def own_rows(spark: Any, rows: list[Any]) -> Any:
    shuffled = [(who, kept or None, s, q) for q, s, kept, who in reversed(rows)]
    return spark.createDataFrame(shuffled, "p string, k string, s string, q string").toDF(
        "the person", "kept", "s`", "q.1"
    )


def test_people_are_counted_as_by_duckdb(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No table of people passes through the driver on its way to all machines."""
    folder = written(tmp_path / "out.csv")
    subjects = pa.array([row[3] for row in ROWS[::2] + ROWS[1::2]])
    plans = plans_of(spark, monkeypatch)

    one = verify(folder, RECIPE, subjects=subjects)
    other = verify_folder(spark, str(folder), RECIPE, people=own_rows(spark, ROWS), person="the person")

    assert one == other
    assert not any("Broadcast" in plan for plan in plans)
    assert sum("Join" in plan or "CartesianProduct" in plan for plan in plans) > 2
    assert (other.k, other.k_wildcard) == (2, 4)
    assert [goal.achieved for goal in other.goals[:3]] == [2, 1, 1.0]  # everybody of the first class has a
    assert {goal.counts for goal in other.goals} == {"people"}


def test_rows_that_are_given_to_another_person_are_counted_as_that_persons(
    spark: Any, tmp_path: Path
) -> None:
    """Nobody can see it in the files: a class of two people is one of one person then."""
    folder = written(tmp_path / "out.csv")
    people = own_rows(spark, [(*row[:3], "Di" if row[0] is None else row[3]) for row in ROWS])

    verdict = verify_folder(
        spark, str(folder), RECIPE.changed({"privacy": {"goal": []}}), people=people, person="the person"
    )

    assert codes(verdict) == ["verify.k"]
    assert (verdict.k, verdict.goals[0].counts) == (1, "people")


@slow
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:-1],
        lambda rows: [(rows[0][0], "b", *rows[0][2:]), (rows[1][0], "a", *rows[1][2:]), *rows[2:]],
        lambda rows: [("[1, 3]", *rows[0][1:]), *rows[1:]],
    ],
    ids=["a row less", "values exchanged in a class", "another label"],
)
def test_other_rows_than_those_written_are_a_problem(spark: Any, tmp_path: Path, change: Any) -> None:
    folder = written(tmp_path / "out.csv")
    people = own_rows(spark, change(ROWS))

    verdict = verify_folder(
        spark, str(folder), RECIPE.changed({"privacy": {"goal": []}}), people=people, person="the person"
    )

    assert codes(verdict)[0] == "verify.rows"
    assert "differ in" in verdict.problems[0].message
    assert verdict.goals[0].counts == "rows"


@slow
def test_other_columns_than_those_written_are_a_problem(spark: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "out.csv")
    people = own_rows(spark, ROWS).drop("kept")

    verdict = verify_folder(spark, str(folder), RECIPE, people=people, person="the person")

    assert codes(verdict)[0] == "verify.rows"


def test_a_row_of_nobody_is_refused(spark: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "out.csv")
    people = own_rows(spark, [*ROWS[:-1], (*ROWS[-1][:3], None)])

    with pytest.raises(DataError) as caught:
        verify_folder(spark, str(folder), RECIPE, people=people, person="the person")

    assert caught.value.code == "data.missing"
    assert "1 of 9 subjects are missing" in str(caught.value)
