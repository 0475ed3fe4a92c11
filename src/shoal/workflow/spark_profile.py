"""What a report may show of a release that Spark holds: the same as of others, from counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import BoolArray, FloatArray
from shoal.engine.spark.aggregates import ClassCounts, Texts, ValueCounts, sum_lists
from shoal.engine.spark.measured import total
from shoal.engine.spark.run import SparkRun
from shoal.engine.spark.tasks import limit_threads
from shoal.engine.spark.values import ValueRows, sum_values
from shoal.recipe import Recipe
from shoal.report.distribution import Cell, Grouping, bounds_text, distribution, spread
from shoal.report.profile import ColumnProfile, Profile, SensitiveProfile
from shoal.report.scale import SMALLEST
from shoal.table.columns import QuasiColumn

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = 6  # of sums whose last digits depend on how the rows are parted


def spark_profile(
    found: SparkRun,
    columns: Sequence[Sequence[str]],
    counts: ClassCounts,
    values: dict[str, ValueCounts],
    recipe: Recipe,
) -> Profile:
    """Describe a release; `columns` are the published columns of each quasi column."""
    lost = total(found.reports, "lost", len(columns))
    suppressed = found.rows - counts.rows
    before = sum_values(found.counted, found.codebook.quasi, found.bins)
    profiles = tuple(
        ColumnProfile(
            book.name,
            str(book.column.kind),
            book.column.weight,
            None if lost is None else (lost[at] + suppressed) / found.rows,
            _cells(found, before[at], counts.texts[at], columns[at]),
        )
        for at, book in enumerate(found.codebook.quasi)
    )
    sensitive = tuple(_sensitive(name, values[name]) for name in recipe.named("sensitive"))
    return Profile(profiles, sensitive, counts.sizes, recipe.shape.groups)


def _cells(found: SparkRun, before: ValueRows, texts: Texts | None, names: Sequence[str]) -> tuple[Cell, ...]:
    """Count the cells of one column before and after."""
    if texts is None:
        after = partial(_spread_by_workers, found, before, names)
    else:
        after = partial(_spread, before, texts, names)
    return distribution(before.column, before.counts, after, before.width)


def _spread(before: ValueRows, counted: Texts, names: Sequence[str], grouping: Grouping) -> FloatArray:
    in_order = sorted(counted, key=lambda pair: [(text is None, text or "") for text in pair])
    texts = [low if len(names) == 1 else bounds_text(low, high) for low, high in in_order]
    rows = np.array([counted[pair] for pair in in_order], np.float64)
    return spread(before.column, grouping, texts, rows, before.counts > 0)


def _spread_by_workers(
    found: SparkRun, before: ValueRows, names: Sequence[str], grouping: Grouping
) -> FloatArray:
    """Spread texts where they are: there are too many for one machine."""
    task = SpreadTexts(before.column, grouping, before.counts > 0)
    return np.round(sum_lists(found.released.select(*names), task), _DIGITS)


@dataclass(frozen=True)
class SpreadTexts:
    """Spread the published texts of one column, in a part of the rows, over the cells of a report."""

    column: QuasiColumn
    grouping: Grouping
    occurs: BoolArray

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of each cell."""
        limit_threads()
        import polars as pl
        import pyarrow as pa

        from shoal.engine.spark.arrow import chunks

        mass = np.zeros(len(self.grouping.labels))
        for table in chunks(batches):
            plain = pl.DataFrame(pl.from_arrow(table)).select(pl.all().cast(pl.String))
            counted = plain.group_by(plain.columns).len("rows").sort(plain.columns)
            pairs = zip(counted[plain.columns[0]], counted[plain.columns[-1]], strict=True)
            texts = [low if plain.width == 1 else bounds_text(low, high) for low, high in pairs]
            mass += spread(
                self.column, self.grouping, texts, counted["rows"].to_numpy().astype(np.float64), self.occurs
            )
        yield pa.RecordBatch.from_pydict({"numbers": [mass.tolist()]})


def _sensitive(name: str, values: ValueCounts) -> SensitiveProfile:
    missing = values.missing if values.missing == 0 or values.missing >= SMALLEST else None
    return SensitiveProfile(name=name, distinct=values.distinct, missing=missing, alike=values.alike)
