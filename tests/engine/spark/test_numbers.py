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
from tests.profiles import slow

pytestmark = slow

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


def check_numbers(
    spark: Any, table: pl.DataFrame, asked: Recipe, *, but: tuple[str, ...] = ()
) -> dict[str, Any]:
    here = numbers(shoal.anonymize(table, asked, bound=False))
    release = shoal.anonymize(in_spark(spark, table), asked)
    there = numbers(release)
    release.close()
    for name, number in flat(here).items():
        if name.split("/")[1] in but:
            continue
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
    """Every class of every cell is published as [0, 200], and together they are the whole table."""
    table = pl.DataFrame(
        {
            "age": [at * 37 % 100 for at in range(300)],
            "ill": ["flu" if (at * 37 % 100 < 50) != (at % 10 == 0) else "gout" for at in range(300)],
        }
    )
    goals = [
        {"type": "t-closeness", "column": "ill", "t": 0.9},
        {"type": "l-diversity", "column": "ill", "variant": "entropy", "l": 1.0},
    ]
    asked = Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi", "grid": 200.0}, "ill": {"role": "sensitive"}},
            "privacy": {"k": 5, "goal": goals},
            "engine": {"cell_rows": 60},
            "method": {"name": "mondrian"},
            "output": {"bounds": "snapped"},
        }
    )
    # Spark sums the tight loss of the cells' own classes, before they become one.
    told = check_numbers(spark, table, asked, but=("loss_tight",))
    assert (told["classes"], told["goals"][1]["achieved"]) == (1, 0)


def test_equal_rows_in_several_partitions_are_one_class(spark: Any) -> None:
    """In some partitions nobody of that class has the rare illness."""
    ages = [7] * 240 + [at % 60 for at in range(160)]
    ills = ["gout" if at % 60 == 0 or (at >= 240 and at % 2) else "flu" for at in range(400)]
    table = pl.DataFrame({"age": ages, "ill": ills})
    goal = {"type": "l-diversity", "column": "ill", "variant": "entropy", "l": 1.0}
    columns = {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    asked = Recipe.from_dict(
        {
            "columns": columns,
            "privacy": {"k": 40, "goal": [goal]},
            "engine": {"cell_rows": 160},
            "method": {"name": "mondrian"},
        }
    )
    told = check_numbers(spark, table, asked)
    assert 1 < told["goals"][1]["achieved"] < 1.2


def test_a_user_sees_no_warning_of_sparks(spark: Any) -> None:
    table = pl.DataFrame({"a": [1, 1, 2, 2] * 5})
    frame = in_spark(spark, table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = shoal.anonymize(frame, quasi=["a"], k=2)
        assert sorted(row.a for row in release.table.collect()) == ["1"] * 10 + ["2"] * 10
        release.close()
