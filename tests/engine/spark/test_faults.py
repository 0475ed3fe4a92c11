"""What cannot be released is one clear error: no stack of Spark's, no cell, nothing kept, nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engine.spark import survey
from shoal.errors import DataError, InfeasibleError, PromiseError, RecipeError, ShoalError
from shoal.recipe import Recipe
from tests.engine.spark.made import in_spark, persisted
from tests.profiles import slow

SECRET = "mark3r"
TABLE = pl.DataFrame(
    {
        "age": [at % 40 for at in range(200)],
        "town": [f"{SECRET} {at % 30}" for at in range(200)],
        "ill": [f"{SECRET} {at % 3}" for at in range(200)],
        "id": [f"{SECRET} {at}" for at in range(200)],
        "code": [at % 30 for at in range(200)],
    }
)
COLUMNS = {
    "age": {"role": "quasi"},
    "town": {"role": "quasi"},
    "ill": {"role": "sensitive"},
    "id": {"role": "drop"},
    "code": {"role": "drop"},
}


def asked(**sections: Any) -> Recipe:
    return Recipe.from_dict(
        {"columns": COLUMNS, "privacy": {"k": 4}, "engine": {"name": "spark", "cell_rows": 50}},
        changes=sections,
    )


def refused(spark: Any, kind: type[ShoalError], code: str, make: Any) -> ShoalError:
    """Run something that must fail; return the error."""
    with pytest.raises(kind) as caught:
        make()
    assert caught.value.code == code
    assert SECRET not in str(caught.value)
    assert "Exception" not in str(caught.value)
    assert "\tat " not in str(caught.value)
    assert persisted(spark) == 0
    return caught.value


GOAL = {"type": "l-diversity", "column": "ill", "variant": "distinct", "l": 4}
SECTIONS: dict[str, tuple[dict[str, Any], type[ShoalError], str]] = {
    "k above the rows": (
        {"privacy": {"k": 201}, "engine": {"cell_rows": 1000}}, InfeasibleError, "infeasible.rows",
    ),
    "a goal that no table meets": ({"privacy": {"goal": [GOAL]}}, InfeasibleError, "infeasible.goal"),
    "numbers that are none": ({"columns": {"town": {"kind": "numeric"}}}, DataError, "data.kind"),
    "an order that lacks values": (
        {"columns": {"town": {"kind": "ordinal", "order": ["a", "b"]}}}, DataError, "data.order",
    ),
    "a kept identifier": ({"columns": {"id": {"role": "keep"}}}, RecipeError, "danger.unique_kept"),
    "a column that reveals another": (
        {"columns": {"code": {"role": "keep"}}}, RecipeError, "danger.recoverable",
    ),
    "no such column": ({"columns": {"nose": {"role": "quasi"}}}, RecipeError, "recipe.unknown_column"),
}  # fmt: skip


# Found late in a run.
LONG = ("k above the rows", "a goal that no table meets", "a column that reveals another")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=slow) if name in LONG else name for name in SECTIONS]
)
def test_what_cannot_be_released_is_an_error(spark: Any, name: str) -> None:
    sections, kind, code = SECTIONS[name]
    frame = in_spark(spark, TABLE)
    refused(spark, kind, code, lambda: shoal.anonymize(frame, asked(**sections)))


@pytest.mark.parametrize(
    "sections",
    [
        {"method": {"name": "incognito"}},
        {"method": {"name": "nh"}},
        {"method": {"name": "anatomy"}},
        {"output": {"views": "equal"}},
        {"method": {"name": "local-search", "options": {"seconds": 3}}},
        {"engine": {"cell_rows": 12}},
    ],
    ids=str,
)
def test_recipes_that_need_the_whole_table_are_refused(sections: dict[str, Any]) -> None:
    with pytest.raises(RecipeError) as caught:
        asked(**sections)
    assert "recipe.invalid" in {fault.code for fault in caught.value.faults}


def test_a_frame_in_spark_is_held_to_the_same(spark: Any, tmp_path: Path) -> None:
    """A recipe may not name the engine: the frame does."""
    frame = in_spark(spark, TABLE.select("age", "town"))
    for given in ({"method": "incognito"}, {"method": "nh"}, {"views": "equal"}):
        refused(
            spark, RecipeError, "recipe.invalid",
            lambda given=given: shoal.anonymize(frame, quasi=["age", "town"], k=4, **given),
        )  # fmt: skip
    refused(
        spark, RecipeError, "recipe.not_available",
        lambda: shoal.anonymize(frame, quasi=["age", "town"], k=4, also=[tmp_path / "x.manifest.json"]),
    )  # fmt: skip


def test_frames_of_connect_are_refused() -> None:
    """Connect has no jobs that could be cancelled; a class from its module is enough to see that."""
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    with pytest.raises(RecipeError) as caught:
        shoal.anonymize(frame, quasi=["age"], k=2)
    assert caught.value.code == "recipe.not_available"
    assert "Spark Connect" in caught.value.message
    assert "classic" in caught.value.hint


def test_odd_columns_are_refused_by_name(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = in_spark(spark, TABLE)
    twice = frame.select("age", "age")
    refused(spark, DataError, "data.duplicate_column", lambda: shoal.anonymize(twice, quasi=["age"], k=2))
    lists = frame.selectExpr("age", "array(town) AS `a list`")
    error = refused(
        spark, DataError, "data.kind", lambda: shoal.anonymize(lists, quasi=["age", "a list"], k=2)
    )
    assert "`a list`" in str(error)
    monkeypatch.setattr(survey, "MAX_VALUES", 29)
    error = refused(spark, DataError, "data.too_many_values", lambda: shoal.anonymize(frame, asked()))
    assert "`town` has 30 different values" in str(error)


@slow
def test_a_million_different_texts_are_refused_by_name(spark: Any) -> None:
    frame = spark.range(1_000_000).selectExpr(f"concat('{SECRET} ', id) AS `a.text`", "id % 7 AS age")
    error = refused(
        spark, DataError, "data.too_many_values", lambda: shoal.anonymize(frame, quasi=["a.text", "age"], k=2)
    )
    assert "`a.text` has 1,000,000 different values" in str(error)


def test_a_table_without_rows_is_refused(spark: Any) -> None:
    frame = in_spark(spark, TABLE).where("age < 0")
    refused(spark, DataError, "data.empty", lambda: shoal.anonymize(frame, asked()))


@slow
def test_what_is_not_kept_is_not_released(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine loses a row on its way to the verifier."""
    frame = in_spark(spark, TABLE)
    monkeypatch.setattr("shoal.release.distributed.Distributed.frame", _without_a_row)
    error = refused(spark, PromiseError, "promise.broken", lambda: shoal.anonymize(frame, asked()))
    assert "deleted" in str(error)


def _without_a_row(self: Any) -> Any:
    plain = self.run.released.select(*(plain for plain, _ in self.layout.columns)).toDF(*self.columns)
    return plain.limit(self.height - 1)
