"""How often the values of kept columns and identifiers repeat in the input: counted before any other work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.engine.spark.frame import SparkTable
from shoal.engine.spark.tasks import limit_threads
from shoal.failures import guarded
from shoal.recipe import Recipe

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


@dataclass(frozen=True)
class Repeats:
    """The values of a column.

    Parameters
    ----------
    rows : int
        Rows of the table.
    known, different : int
        Rows that have a value, and different values.
    own : int
        Rows whose value only they have, or only rows of the same person.
    """

    rows: int = 0
    known: int = 0
    different: int = 0
    own: int = 0

    @property
    def repeated(self) -> int:
        """Rows whose value others have too."""
        return self.known - self.own


def count_repeats(table: SparkTable, columns: Sequence[str], recipe: Recipe) -> dict[str, Repeats]:
    """Count the values of some columns by their hashes: no value comes to the driver."""
    from pyspark.sql import functions as f

    if not columns:
        return {}
    used = [*columns, *([] if recipe.subject is None else [recipe.subject])]
    chosen = table.frame.select(*(table.plain(name) for name in used))
    task = HashedValues(tuple(used), tuple(recipe.input.missing), tuple(columns), recipe.subject)
    parts = chosen.mapInArrow(guarded(task), "at int, value bigint, n bigint, low bigint, high bigint")
    values = parts.groupBy("at", "value").agg(
        f.sum("n").alias("n"), f.min("low").alias("low"), f.max("high").alias("high")
    )
    is_known, n = f.col("value").isNotNull(), f.col("n")
    is_own = is_known & ((n == 1) | (f.col("low") == f.col("high")))
    found = values.groupBy("at").agg(
        f.sum("n").alias("rows"),
        f.sum(f.when(is_known, n).otherwise(0)).alias("known"),
        f.count("value").alias("different"),
        f.sum(f.when(is_own, n).otherwise(0)).alias("own"),
    )
    counted = {row.at: Repeats(row.rows, row.known, row.different, row.own) for row in found.collect()}
    return {name: counted.get(at, Repeats()) for at, name in enumerate(columns)}


@dataclass(frozen=True)
class HashedValues:
    """Count the values of columns in one part of a table, by their hashes.

    Values are equal if the verifier considers them equal, as in `dangers.scene`.
    """

    names: tuple[str, ...]
    missing: tuple[str, ...]
    columns: tuple[str, ...]
    subject: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return each value of a batch: its rows, and the lowest and highest person among them."""
        limit_threads()
        import polars as pl

        from shoal.engine.spark.arrow import frames, to_batches

        for frame in frames(batches, self.names, self.missing):
            nobody = pl.DataFrame({"low": [0], "high": [1]})  # different: each row is a person
            person = None if self.subject is None else _hashes(frame[self.subject])
            for at, name in enumerate(self.columns):
                values = pl.DataFrame({"value": _hashes(frame[name]), "person": person})
                people = [pl.col("person").min().alias("low"), pl.col("person").max().alias("high")]
                counted = values.group_by("value").agg(pl.len().cast(pl.Int64).alias("n"), *people)
                if person is None:
                    counted = counted.drop("low", "high").join(nobody, how="cross")
                number = pl.lit(at, dtype=pl.Int32).alias("at")
                yield from to_batches(counted.select(number, "value", "n", "low", "high"))


def _hashes(values: pl.Series) -> pl.Series:
    """Hash values; a missing one stays missing."""
    import polars as pl

    from shoal.table.sensitive import comparable

    texts = comparable(values.fill_nan(None) if values.dtype.is_float() else values)
    hashes = texts.hash(seed=0).reinterpret(signed=True)
    return hashes.set(texts.is_null(), None).cast(pl.Int64)
