"""How often each sensitive value occurs in each class, and in all parts together.

The same counts as the other engine makes: a missing cell is no value, of several columns that count jointly
each combination is one value, and with people a value counts once for each person who has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.verifier.spark.cells import key, text_forms, with_values
from shoal.verifier.spark.classes import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Counts:
    """Three tables.

    Parameters
    ----------
    counted : DataFrame
        For each class and value how often it is there (``n``).
    whole : DataFrame
        The same for the release.
    totals : DataFrame
        For each class its rows, the sum of its counts (``total``), and how many rows or people have any value
        (``bearers``).
    """

    counted: DataFrame
    whole: DataFrame
    totals: DataFrame


def count_values(source: Source, names: Sequence[str]) -> Counts:
    """Count the values of one column, or the combinations of several."""
    table = source.table
    columns, stored = [table.column(name) for name in names], [table.stored(name) for name in names]
    valued = with_values(source.cells, columns, stored, marked=table.marked)
    values = [valued[f"v{at}"] for at in range(len(names))]
    return _count(source, valued.withColumn("value", values[0] if len(values) == 1 else key(values)))


def texts(source: Source, name: str) -> list[str]:
    """List the different texts of a sensitive column: to find the place of each in an order or a tree."""
    table = source.table
    forms = text_forms(source.cells, table.column(name), table.stored(name), marked=table.marked)
    return [text for (text,) in forms.select("text").distinct().collect()]


def count_places(source: Source, name: str, places: Mapping[str, int]) -> Counts:
    """Count the values of a column by the place that each of its texts has."""
    table = source.table
    column = table.column(name)
    forms = text_forms(source.cells, column, table.stored(name), marked=table.marked)
    placed = source.spark.createDataFrame(list(places.items()), "text string, value bigint")
    valued = source.cells.join(forms, source.cells[column] == forms["raw"]).join(placed, "text")
    return _count(source, valued.drop("raw", "text"))


def _count(source: Source, valued: DataFrame) -> Counts:
    number = "count(DISTINCT person)" if source.people else "sum(times)"
    ask = source.spark.sql
    valued = source.keep(valued)
    counted = source.keep(
        ask(f"SELECT class, value, {number} AS n FROM {{valued}} GROUP BY class, value", valued=valued)
    )
    whole = source.keep(ask(f"SELECT value, {number} AS n FROM {{valued}} GROUP BY value", valued=valued))
    totals = ask(
        "SELECT class, n_rows, coalesce(total, 0) AS total, coalesce(bearers, 0) AS bearers FROM {classes} "
        "LEFT JOIN (SELECT class, sum(n) AS total FROM {counted} GROUP BY class) USING (class) "
        f"LEFT JOIN (SELECT class, {number} AS bearers FROM {{valued}} GROUP BY class) USING (class)",
        classes=source.classes,
        counted=counted,
        valued=valued,
    )
    return Counts(counted, whole, source.keep(totals))
