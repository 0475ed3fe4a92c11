"""Both engines release the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.engine.cells import planning
from shoal.engine.spark import rows
from shoal.recipe import Recipe
from tests.engine.spark.made import GRIDS, by_local, by_spark, in_spark, people, persisted, recipe
from tests.profiles import slow, some

ILL, SIZE = "^ill.*$", "größe"
DIVERSE = {"type": "l-diversity", "column": ILL, "variant": "entropy", "l": 1.8}
CLOSE = {"type": "t-closeness", "column": ILL, "t": 0.4}
IN_ORDER = {"type": "t-closeness", "column": SIZE, "t": 0.3, "distance": "ordered"}
APART = {"type": "range", "column": SIZE, "e": 2.5}
CASES: dict[str, dict[str, Any]] = {
    "local-search, l-diversity, range": {
        "method": {"name": "local-search", "options": {"effort": "quick"}},
        "privacy": {"goal": [DIVERSE, APART]},
    },
    "mondrian, t-closeness, bounds in columns": {
        "method": {"name": "mondrian"},
        "privacy": {"goal": [CLOSE, IN_ORDER]},
        "output": {"bounds_as": "columns"},
    },
    "k-member, people, microaggregated": {
        "method": {"name": "k-member"},
        "columns": {"who": {"role": "subject"}},
        "output": {"values": "microaggregate"},
    },
    "kaca, missing suppressed, snapped": {
        "method": {"name": "kaca"},
        "privacy": {"missing": "suppress", "max_suppressed": 0.6},
        "columns": GRIDS,
        "output": {"bounds": "snapped"},
    },
}


@pytest.mark.parametrize("name", some(CASES, 2))
def test_both_engines_release_the_same_rows(spark: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_WORTHWHILE", 0)  # cells are planned with equal rows counted, few as they are
    seed = list(CASES).index(name)
    table, asked = people(700, seed % 3), recipe(**CASES[name])

    assert by_spark(in_spark(spark, table), asked) == by_local(table, asked)
    assert persisted(spark) == 0


ASKED_FOR: dict[str, dict[str, Any]] = {
    "l-diversity, range": {"privacy": {"goal": [DIVERSE, APART]}},
    "t-closeness": {"privacy": {"goal": [CLOSE, IN_ORDER]}},
    "people": {"columns": {"who": {"role": "subject"}}},
    "people, l-diversity": {"columns": {"who": {"role": "subject"}}, "privacy": {"goal": [DIVERSE]}},
}
METHODS = {
    "local-search": {"name": "local-search", "options": {"effort": "quick"}},
    **{name: {"name": name} for name in ("mondrian", "k-member", "kaca")},
}


@slow
@pytest.mark.parametrize("goals", ASKED_FOR)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_and_goal_on_three_tables(spark: Any, method: str, goals: str) -> None:
    """Some cells of every column are missing."""
    asked = recipe(method=METHODS[method], **ASKED_FOR[goals])
    for seed in range(3):
        table = people(600, 10 + seed, missing=0.05 * seed)
        assert by_spark(in_spark(spark, table, 2 + seed), asked) == by_local(table, asked)


OTHERS = ("oka", "systematic", "cb", "threshold", "c-means")


@slow
@pytest.mark.parametrize("method", OTHERS)
def test_the_other_methods_release_the_same_rows(spark: Any, method: str) -> None:
    table = people(600, 20, missing=0.05)
    asked = recipe(method={"name": method})
    assert by_spark(in_spark(spark, table), asked) == by_local(table, asked)
    assert persisted(spark) == 0


PAID = {"type": "l-diversity", "column": "salary-class", "l": 2}, {
    "type": "t-closeness", "column": "salary-class", "t": 0.5,
}  # fmt: skip


@slow
@pytest.mark.parametrize("goals", [[], PAID], ids=["k", "l-diversity, t-closeness"])
@pytest.mark.parametrize("method", METHODS)
def test_adult_is_released_alike(spark: Any, adult8: Path, method: str, goals: list[dict[str, Any]]) -> None:
    """With goals, some cells of a column are missing too."""
    from shoal.workflow.prepare import table_of

    changes = {"engine": {"cell_rows": 400}, "privacy": {"k": 5, "goal": [*goals]}, "method": METHODS[method]}
    asked = Recipe.load(adult8).changed(changes)
    table = table_of(None, asked)[:3000]
    if goals:
        nothing = pl.when(pl.int_range(pl.len()) % 19 > 0).then("workclass")
        table = table.with_columns(nothing.alias("workclass"))

    assert by_spark(in_spark(spark, table, 2), asked) == by_local(table, asked)


@slow
def test_a_cell_with_fewer_than_k_people_is_merged_alike(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two people have many rows far from all others: cuts are made by rows, and then people are counted."""
    far = [{"a": 1000 + at, "who": f"far {at % 2}"} for at in range(120)]
    table = pl.DataFrame([*far, *({"a": at % 50, "who": f"p{at}"} for at in range(280))])
    failed: list[frozenset[str]] = []
    plain = planning._without

    def without(partition: Any, failing: frozenset[str]) -> Any:
        failed.append(failing)
        return plain(partition, failing)

    monkeypatch.setattr(planning, "_without", without)
    columns = {"a": {"role": "quasi"}, "who": {"role": "subject"}}
    sections = {"columns": columns, "privacy": {"k": 5}, "engine": {"cell_rows": 60}}
    asked = Recipe.from_dict({**sections, "method": {"name": "mondrian"}})
    assert by_spark(in_spark(spark, table, 3), asked) == by_local(table, asked)
    assert any(failed)


@slow
def test_equal_rows_and_values_that_differ_little_are_released_alike(spark: Any) -> None:
    """Most rows are equal; in the second table they only look so on a line that an outlier makes long."""
    n = 400
    many = pl.DataFrame({"a": [7] * 240 + [at % 50 for at in range(160)], "b": ["x"] * 240 + ["y"] * 160})
    far = [10**12 + at for at in range(20)]
    near = pl.DataFrame({"a": [at % 90 for at in range(n - 20)] + far, "b": ["x"] * n})
    asked = Recipe.from_roles(quasi=["a", "b"], k=4, changes={"engine": {"cell_rows": 50}})
    for table in (many, near):
        assert by_spark(in_spark(spark, table, 5), asked) == by_local(table, asked)


@slow
def test_a_group_of_equal_rows_larger_than_a_cell_is_released_alike(spark: Any) -> None:
    n = 100_000
    number = pl.int_range(n, eager=True)
    equal = number % 5 < 3
    table = pl.DataFrame(
        {
            "age": (number * 7919 % 83).set(equal, 40),
            "pay": (number * 104_729 % 5_003).set(equal, 1_000),
            "town": pl.Series(["x"] * n).zip_with(equal, (number % 11).cast(pl.String)),
            "ill": number % 7,
        }
    )
    assert table.filter(equal).select("age", "pay", "town").unique().height == 1
    changes = {"engine": {"cell_rows": 20_000}, "method": METHODS["local-search"]}
    asked = Recipe.from_roles(quasi=["age", "pay", "town"], sensitive=["ill"], k=10, changes=changes)
    assert by_spark(in_spark(spark, table, 4), asked) == by_local(table, asked)


@slow
@pytest.mark.parametrize("output", [{"bounds_as": "columns"}, {"values": "microaggregate"}], ids=str)
def test_months_years_and_codes_are_released_alike(spark: Any, output: dict[str, str]) -> None:
    n = 300
    table = pl.DataFrame(
        {
            "month": [f"{at % 12 + 1:02}.{1950 + at * 7 % 40}" if at % 9 else None for at in range(n)],
            "year": [1950 + at * 11 % 40 for at in range(n)],
            "quarter": [f"{1950 + at * 3 % 40}/{at % 12 + 1:02}" for at in range(n)],
            "job": [["2212", "2221", "0110", "9", "5131"][at % 5] for at in range(n)],
        }
    )
    columns = {
        "month": {"role": "quasi"},
        "year": {"role": "quasi", "kind": "date"},
        "quarter": {"role": "quasi", "hierarchy": {"dates": ["quarter", "decade"]}},
        "job": {"role": "quasi", "hierarchy": "isco"},
    }
    asked = Recipe.from_dict(
        {"columns": columns, "privacy": {"k": 3}, "engine": {"cell_rows": 60}, "output": output}
    )

    assert by_spark(in_spark(spark, table, 4), asked) == by_local(table, asked)


@slow
def test_missing_values_everywhere_and_empty_partitions_are_released_alike(spark: Any) -> None:
    """One column has no value at all, some rows have none, and more partitions than rows hold them."""
    table = pl.DataFrame(
        {
            "nothing": pl.Series([None] * 60, dtype=pl.String),
            "no number": pl.Series([None] * 60, dtype=pl.Float64),
            "a": [None if at % 4 == 0 else at % 17 for at in range(60)],
            "b": [None if at % 4 == 0 else "xyz"[at % 3] for at in range(60)],
        }
    )
    asked = Recipe.from_roles(quasi=table.columns, k=3, changes={"engine": {"cell_rows": 20}})
    spread = in_spark(spark, table, 12).where("a > 5 OR a IS NULL")  # some partitions are empty now
    kept = table.filter((pl.col("a") > 5) | pl.col("a").is_null())
    assert by_spark(spread, asked) == by_local(kept, asked)


@slow
def test_a_table_without_any_value_is_released_alike(spark: Any) -> None:
    types = {"a.b": pl.String, "`c`": pl.Int64, 'say "d"': pl.Float64, "e": pl.Date, "ill": pl.String}
    table = pl.DataFrame({name: pl.Series([None] * 90, dtype=of) for name, of in types.items()})
    *quasi, ill = table.columns
    asked = Recipe.from_roles(quasi=quasi, sensitive=[ill], k=3, changes={"engine": {"cell_rows": 30}})
    assert by_spark(in_spark(spark, table, 4), asked) == by_local(table, asked)


@slow
def test_a_column_of_a_million_numbers_is_released_alike(spark: Any) -> None:
    number = pl.int_range(1_000_000, eager=True)
    table = pl.DataFrame({"a": number * 7919 % 1_000_003}).with_columns(b=pl.col("a") % 5)
    assert table["a"].n_unique() == 1_000_000
    changes = {"engine": {"cell_rows": 200_000}, "method": {"name": "mondrian"}}
    asked = Recipe.from_roles(quasi=["a", "b"], k=5, changes=changes)
    assert by_spark(in_spark(spark, table, 4), asked) == by_local(table, asked)
