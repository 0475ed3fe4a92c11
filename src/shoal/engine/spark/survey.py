"""Read a Spark table for its statistics and its dictionaries: aggregates only, no rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.engine.spark import tasks
from shoal.engine.spark.frame import SparkTable
from shoal.errors import DataError, Fault
from shoal.recipe import Recipe
from shoal.table.statistics import Statistics

MAX_VALUES = 200_000  # of one dictionary: every worker holds it


@dataclass(frozen=True)
class Dictionary:
    """The different values of a column, and how many rows have each."""

    values: list[str]
    counts: list[int]


@dataclass(frozen=True)
class Survey:
    """What one reading of a table has shown.

    Parameters
    ----------
    rows : int
    statistics : dict of str to Statistics
    dictionaries : list of Dictionary, or None
        Of the columns listed, then of the goals; None if there are too many values for them.
    """

    rows: int
    statistics: dict[str, Statistics]
    dictionaries: list[Dictionary] | None


def take_survey(table: SparkTable, recipe: Recipe, columns: Sequence[str]) -> Survey:
    """Count what the columns look like that are encoded, and the values of those listed and of the goals."""
    missing = tuple(recipe.input.missing)
    names = tuple(
        dict.fromkeys(
            [*recipe.quasi, *(name for goal in recipe.privacy.column_goals for name in goal.columns)]
        )
    )
    wanted = tasks.Dictionaries(table.names, missing, recipe, tuple(columns))
    rows = table.mapped(tasks.Survey(table.names, names, missing, wanted), tasks.COUNTED_VALUES)
    counted = _summed(rows).persist()
    try:
        found = counted.where(f"book = {tasks.STATISTICS}").collect()
        parts = [json.loads(row.key) for row in found for _ in range(row.n)]  # equal ones have been summed
        are_few = all(part["listed"] for part in parts) and not _large(counted)
        number = len(columns) + len(recipe.privacy.column_goals)
        dictionaries = _collected(counted, number) if are_few else None
    finally:
        counted.unpersist()
    return Survey(sum(part["rows"] for part in parts), _joined(parts, names), dictionaries)


def _joined(parts: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Statistics]:
    """Add up the statistics of all partitions."""
    found = {name: Statistics(0, 0) for name in names}
    for part in parts:
        for name, counts in part["columns"].items():
            found[name] = found[name].joined(Statistics.from_dict(counts))
    return found


def count_values(
    table: SparkTable, recipe: Recipe, columns: Sequence[str], as_stored: Collection[str]
) -> list[Dictionary]:
    """Return the values of each column listed, then of what each goal counts."""
    titles = [f"`{name}`" for name in columns]
    titles += [", ".join(f"`{name}`" for name in goal.columns) for goal in recipe.privacy.column_goals]
    if not titles:
        return []
    missing = tuple(recipe.input.missing)
    task = tasks.Dictionaries(table.names, missing, recipe, tuple(columns), tuple(as_stored))
    counted = _summed(table.mapped(task, tasks.COUNTED_VALUES)).persist()
    try:
        large = _large(counted)
        if large:
            raise DataError.from_faults([_too_many(titles[book], size) for book, size in large.items()])
        return _collected(counted, len(titles))
    finally:
        counted.unpersist()


def _summed(counts: Any) -> Any:
    from pyspark.sql import functions as f

    return counts.groupBy("book", "key").agg(f.sum("n").alias("n"))


def _large(counted: Any) -> dict[int, int]:
    """Return the dictionaries that have too many values, and how many they have."""
    sizes = counted.groupBy("book").count().where(f"count > {MAX_VALUES} AND book >= 0").collect()
    return {row.book: row["count"] for row in sorted(sizes, key=lambda row: int(row.book))}


def _collected(counted: Any, number: int) -> list[Dictionary]:
    found: list[list[tuple[str, int]]] = [[] for _ in range(number)]
    for row in counted.where("book >= 0").collect():
        found[row.book].append((row.key, row.n))
    return [Dictionary([key for key, _ in pairs], [n for _, n in pairs]) for pairs in map(sorted, found)]


def _too_many(title: str, size: int) -> Fault:
    message = f"Column {title} has {size:,} different values; a dictionary may have {MAX_VALUES:,}."
    hint = 'drop it, shorten its values, or give it kind = "numeric" or "date" if that is what it is'
    return Fault("data.too_many_values", message, hint)
