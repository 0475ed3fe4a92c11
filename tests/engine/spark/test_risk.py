"""The risk of a release that Spark holds: the numbers of one machine, or an error about what is unknown."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError
from tests.engine.spark.made import in_spark

TABLE = pl.DataFrame({"age": [at % 23 for at in range(200)], "who": [f"p{at // 2}" for at in range(200)]})


def released(table: Any, **more: Any) -> shoal.Release:
    return shoal.anonymize(table, quasi=["age"], k=4, method="mondrian", bound=False, **more)


def test_what_follows_from_class_sizes_is_that_of_one_machine(spark: Any) -> None:
    one = released(TABLE.select("age")).risk
    made = released(in_spark(spark, TABLE.select("age")))
    other = made.risk
    made.close()
    assert (other.prosecutor, other.journalist, other.marketer) == (
        one.prosecutor,
        one.journalist,
        one.marketer,
    )
    assert (other.rows, other.classes, other.k, other.asked) == (one.rows, one.classes, one.k, one.asked)
    assert other.subsets == []
    assert "RiskReport(200 rows" in repr(other)
    assert other.to_dict()["remarks"]
    with pytest.raises(RecipeError, match="Spark holds the rows"):
        _ = other.per_person


def test_classes_of_people_are_not_taken_for_classes_of_rows(spark: Any) -> None:
    made = released(in_spark(spark, TABLE), subject="who")
    with pytest.raises(RecipeError, match="its classes are counted in rows, not people"):
        _ = made.risk
    made.close()
