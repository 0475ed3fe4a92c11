"""What Spark says about a release is what one machine says about it."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.recipe import Recipe
from tests.engine.spark.made import in_spark, people, recipe
from tests.engine.spark.test_parity import CLOSE, DIVERSE

LEFT_OUT = {"seconds", "timings", "remarks", "composition"}


def numbers(release: shoal.Release) -> dict[str, Any]:
    told = release.to_dict()
    return {key: value for key, value in told.items() if key not in LEFT_OUT and "bound" not in key}


def flat(told: Any, path: str = "") -> dict[str, Any]:
    """Nested numbers under one name each."""
    if isinstance(told, dict | list):
        pairs = told.items() if isinstance(told, dict) else enumerate(told)
        return {name: end for key, value in pairs for name, end in flat(value, f"{path}/{key}").items()}
    return {path: told}


def check_numbers(spark: Any, table: pl.DataFrame, asked: Recipe) -> dict[str, Any]:
    here = numbers(shoal.anonymize(table, asked, bound=False))
    release = shoal.anonymize(in_spark(spark, table), asked)
    there = numbers(release)
    release.close()
    for name, number in flat(here).items():
        if isinstance(number, float):
            assert flat(there)[name] == pytest.approx(number, rel=1e-9), name
        else:
            assert flat(there)[name] == number, name
    return there


def test_numbers_are_those_of_one_machine(spark: Any) -> None:
    privacy = {"goal": [CLOSE, DIVERSE], "max_suppressed": 0.05}
    asked = recipe(privacy=privacy, columns={"who": {"role": "subject"}}, method={"name": "mondrian"})
    check_numbers(spark, people(600), asked)


def test_classes_of_several_cells_that_look_alike_are_one(spark: Any) -> None:
    """Each half of the lands is a cell, and most classes of both publish the whole world.

    Most rows of the second table are equal, and lie in several partitions.
    """
    lands = ["a1", "a2", "b1", "b2"]
    tree = {"World": lands}
    n = 400
    table = pl.DataFrame(
        {
            "land": [lands[at % 4] for at in range(n)],
            "ill": [["flu", "gout", "cold"][(at // 4 + (at % 4 < 2) * (at % 3)) % 3] for at in range(n)],
        }
    )
    goals = [
        {"type": "t-closeness", "column": "ill", "t": 0.5},
        {"type": "l-diversity", "column": "ill", "variant": "entropy", "l": 1.5},
    ]
    columns = {"land": {"role": "quasi", "hierarchy": tree}, "ill": {"role": "sensitive"}}
    asked = Recipe.from_dict(
        {
            "columns": columns,
            "privacy": {"k": 60, "goal": goals},
            "engine": {"cell_rows": 240},
            "method": {"name": "k-member"},
        }
    )
    check_numbers(spark, table, asked)
    equal = table.with_columns(land=pl.Series(["a1"] * 300 + [lands[at % 4] for at in range(100)]))
    check_numbers(spark, equal, asked.changed({"privacy": {"k": 5}, "engine": {"cell_rows": 60}}))


def test_a_user_sees_no_warning_of_sparks(spark: Any) -> None:
    table = pl.DataFrame({"a": [1, 1, 2, 2] * 5})
    frame = in_spark(spark, table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = shoal.anonymize(frame, quasi=["a"], k=2)
        assert sorted(row.a for row in release.table.collect()) == ["1"] * 10 + ["2"] * 10
        release.close()
