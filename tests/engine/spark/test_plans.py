"""The plans of queries, which Spark logs and shows: no sensitive value is in them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engine.spark.aggregates import count_released
from shoal.release.distributed import published_names
from tests.engine.spark.made import in_spark, plans_of

# Whole classes share the most frequent value, some rows lack one, and one value is a person's own.
ILL = ["mark3r"] * 12 + [None] * 8 + ["mark3r", "flu", None, "cold"] * 4 + ["own"] + ["flu"] * 3
TABLE = pl.DataFrame({"age": [at // 4 for at in range(len(ILL))], "ill": ILL})


def test_the_most_frequent_value_is_in_no_plan(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = plans_of(spark, monkeypatch)
    release = shoal.anonymize(
        in_spark(spark, TABLE), quasi=["age"], sensitive=["ill"], k=4, method="mondrian", bound=False
    )
    assert len(plans) > 10
    assert not any("mark3r" in plan for plan in plans)

    run = release.parts[0].frame.run  # type: ignore[union-attr]
    _, (found,) = count_released(
        run.classes, published_names(run), ["o0"], with_people=False, with_label=False
    )
    assert (found.distinct, found.missing, found.own) == (4, 12, 1)
    assert (found.alike, found.alike_rows, found.alike_values, found.alike_frequent) == (5, 20, 2, 3)
    release.close()
