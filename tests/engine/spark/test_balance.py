"""Rows in = rows released + rows left out: a lost, doubled or new row is an error, never "suppressed"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engine.spark import run as engine
from shoal.engine.spark.balance import check_cells, check_encoded, check_released
from shoal.engine.spark.rows import SparkRows
from shoal.errors import EngineError
from shoal.recipe import Recipe
from shoal.workflow import distributed
from tests.engine.spark.made import in_spark, persisted

N_ROWS = 300
TABLE = pl.DataFrame(
    {
        "age": [at % 40 for at in range(N_ROWS)],
        "town": [["a", "b", "mark3r"][(at > 5) + (at > 290)] for at in range(N_ROWS)],
        "ill": [["flu", "cold", "gout"][at % 3] for at in range(N_ROWS)],
    }
)
DIVERSE = {"type": "l-diversity", "column": "ill", "l": 2}
ALL_MAY_GO = {"max_suppressed": 1.0}


def asked(**privacy: Any) -> Recipe:
    changes = {"method": {"name": "mondrian"}, "privacy": {"goal": [DIVERSE], **privacy}}
    return Recipe.from_roles(quasi=["age", "town"], sensitive=["ill"], k=4, changes=changes)


def refused(spark: Any, recipe: Recipe) -> EngineError:
    with pytest.raises(EngineError) as caught:
        shoal.anonymize(in_spark(spark, TABLE, 2), recipe, bound=False)
    assert caught.value.code == "engine.rows"
    assert "mark3r" not in str(caught.value)
    assert persisted(spark) == 0
    return caught.value


def found_before(monkeypatch: pytest.MonkeyPatch, condition: str, rows: int) -> None:
    """Let the first reading of the table see other rows than all later ones."""
    plain = engine.find_codebook

    def find_codebook(table: Any, recipe: Recipe) -> Any:
        return replace(plain(replace(table, frame=table.frame.where(condition)), recipe), rows=rows)

    monkeypatch.setattr(engine, "find_codebook", find_codebook)


@pytest.mark.parametrize(
    "condition",
    ["c1 <> 'mark3r'", "c0 > 1", "c2 <> 'gout'"],
    ids=["a category", "a number", "a goal's value"],
)
def test_a_value_that_the_first_reading_did_not_find_is_not_a_missing_one(
    spark: Any, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    found_before(monkeypatch, condition, N_ROWS)
    number = in_spark(spark, TABLE, 2).toDF("c0", "c1", "c2").where(f"NOT ({condition})").count()
    assert number > 0
    error = refused(spark, asked(missing="suppress", **ALL_MAY_GO))
    assert error.message.startswith(f"{number} of {N_ROWS} rows have values")


def test_rows_that_the_first_reading_did_not_count_are_found(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_before(monkeypatch, "true", N_ROWS + 7)
    assert refused(spark, asked(**ALL_MAY_GO)).message == (
        "The table had 307 rows when it was first read, and 300 later."
    )


def lost_before_clustering(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SparkRows.in_cells

    def in_cells(self: SparkRows, *given: Any) -> Any:
        rows = plain(self, *given)
        return rows.limit(N_ROWS - 20) if len(given) > 1 else rows  # only where cells are clustered

    monkeypatch.setattr(SparkRows, "in_cells", in_cells)


def lost_after_clustering(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*given: Any, **how: Any) -> Any:
        made = engine.run(*given, **how)
        return replace(made, classes=made.classes.limit(made.classes.count() - 1))

    monkeypatch.setattr(distributed, "run", run)


@pytest.mark.parametrize("lose", [lost_before_clustering, lost_after_clustering])
def test_lost_rows_are_not_called_suppressed(
    spark: Any, monkeypatch: pytest.MonkeyPatch, lose: Callable[[pytest.MonkeyPatch], None]
) -> None:
    lose(monkeypatch)
    refused(spark, asked(**ALL_MAY_GO))


def test_rows_that_cells_and_missing_values_leave_out_add_up(spark: Any) -> None:
    table = TABLE.with_columns(age=pl.when(pl.int_range(pl.len()) % 50 > 0).then("age"))
    recipe = asked(missing="suppress", max_suppressed=0.3)
    release = shoal.anonymize(in_spark(spark, table, 2), recipe, bound=False)
    found = release.parts[0].frame.run  # type: ignore[union-attr]
    assert found.missing == 6
    assert release.suppressed == found.missing + found.suppressed
    assert release.released + release.suppressed == N_ROWS
    release.close()


def test_every_number_is_compared() -> None:
    cells = [{"rows": 6, "suppressed": 1}, {"rows": 4, "suppressed": 2}]
    check_encoded(12, 10, 2, 0)
    check_cells(cells, 10, 3)
    check_released(12, 7, 3, 2)
    for wrong in ((12, 10, 1, 0), (12, 10, 3, 0), (12, 10, 2, 1)):
        with pytest.raises(EngineError, match="first read"):
            check_encoded(*wrong)
    for rows, allowed in ((9, 3), (11, 3), (10, 2)):
        with pytest.raises(EngineError):
            check_cells(cells, rows, allowed)
    for numbers in ((12, 6, 3, 2), (12, 8, 3, 2)):
        with pytest.raises(EngineError, match="does not add up"):
            check_released(*numbers)
