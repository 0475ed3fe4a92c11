"""Columns that are released as they are and have values that no other row has; see `verifier.dangers`."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from shoal.recipe import Recipe
from shoal.verifier.dangers import MIN_ROWS, unique_findings, unique_looked_at
from shoal.verifier.spark.cells import value_forms
from shoal.verifier.spark.reading import Table
from shoal.verifier.verdict import Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def find_unique(table: Table, recipe: Recipe) -> tuple[list[Problem], list[str]]:
    """Count the rows of each such column that have a value of their own; all columns by one query."""
    names = unique_looked_at(table, recipe) if table.number >= MIN_ROWS else []
    if not names:
        return [], []
    every = reduce(lambda one, other: one.unionAll(other), [_own_rows(table, name) for name in names])
    own = {name: int(rows) for name, rows in every.collect()}
    return unique_findings(own, table.number, recipe)


def _own_rows(table: Table, name: str) -> DataFrame:
    from pyspark.sql import functions as sql

    column = table.column(name)
    different = table.rows.groupBy(column).agg(sql.count(sql.lit(1)).alias("times"))
    forms = value_forms(different, column, table.stored(name), marked=table.marked)
    values = (
        different.join(forms, different[column] == forms["raw"])
        .groupBy("value")
        .agg(sql.sum("times").alias("n"))
    )
    return values.agg(sql.lit(name).alias("name"), sql.count_if(values["n"] == 1).alias("own"))
