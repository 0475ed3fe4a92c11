"""The lower bound of the loss of a Spark table: rows of a sample are compared with all rows, on the workers.

Only the nearest row is looked for (see `bound.lower_bound`): boxes and drag need all rows in one place. The
driver gets the codes of the rows drawn, and one distance for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.bound.lower_bound import SEED, Bound, estimated, rounding
from shoal.engine.cells.sample import Space
from shoal.engine.spark.rows import SparkRows
from shoal.engine.spark.tasks import limit_threads
from shoal.recipe import Recipe
from shoal.table.codebook import Codebook
from shoal.table.columns import RangeColumn

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

SAMPLED = 1_000  # rows that are drawn
_MIN_SAMPLED, _DISTANCES = 300, 2_000_000  # fewer rows where k is large: each has k distances in every part
_BUCKETS = 16  # bits of the key by which rows are counted to draw some of them
_KEY_BITS = 63
_TUPLES = 1_000_000  # different rows that a worker compares at a time


@dataclass(frozen=True)
class _Chosen:
    """Rows that are compared with all others.

    Parameters
    ----------
    codes : ndarray of shape (n_columns, n), int32
        Different ones.
    times : ndarray of int64
        How many rows each represents, if these are all rows.
    drawn : ndarray of int64, or None
        Which of them each draw was, in the order of drawing; None if these are all rows.
    """

    codes: IntArray
    times: LongArray
    drawn: LongArray | None


def lower_bound(rows: SparkRows, recipe: Recipe, missing: int) -> Bound | None:
    """Bound the loss of all releases that a recipe allows; None for those that publish no boxes.

    `missing` rows are left out because they lack a value; they are not among `rows`.
    """
    if not recipe.shape.is_generalized:
        return None
    k, fixed, encoded = recipe.privacy.k, rows.codebook.fixed(), rows.codebook.empty()
    chosen = _chosen(rows, max(_MIN_SAMPLED, min(SAMPLED, _DISTANCES // k)))
    near = _nearest(rows, chosen.codes, k)
    slack = _slack(rows.codebook)
    if chosen.drawn is None:
        terms = np.maximum(0.0, near - slack) / fixed.unit
        total, how = float(chosen.times @ terms), "nearest row, all rows"
    else:
        total, how = estimated(near[chosen.drawn], slack, fixed.unit, rows.root.rows, "nearest row")
    return Bound(total + missing * float(encoded.weights.sum()), chosen.drawn is not None, how)


def _slack(codebook: Codebook) -> float:
    """Return by how many fixed-point steps a distance can differ from its exact value, for any values."""
    encoded, fixed = codebook.empty(), codebook.fixed()
    full = [c.weight * fixed.unit for c in encoded.columns if isinstance(c, RangeColumn)]
    # Both ends of a range are rounded to a step, on a span that is rounded too.
    ends = fsum(2 * (0.5 + abs(round(width) - width)) for width in full)
    return rounding(encoded, fixed) + ends


def _chosen(rows: SparkRows, number: int) -> _Chosen:
    """Draw rows; choose all if few of them differ.

    Rows have numbers, from 0 on, in the order of their keys and codes, however they are stored. Equal rows
    are interchangeable, so their order among themselves does not matter. Numbers are drawn with replacement
    from a generator that knows only how many rows there are. So each draw takes every row with the same
    probability, whatever the others take: what `lower_limit` requires.
    """
    from pyspark.sql import functions as f

    bucket = f.shiftright("key", _KEY_BITS - _BUCKETS).cast("int").alias("bucket")
    frame = rows.frame.select(bucket, "key", *_codes(rows))
    counts = {row.bucket: row["count"] for row in frame.groupBy("bucket").count().collect()}
    if len(counts) <= number:  # only then there may be few different rows
        few = frame.groupBy(*_codes(rows)).count().limit(number + 1).collect()
        if len(few) <= number:
            found = np.array(sorted(tuple(row) for row in few), np.int64)
            return _Chosen(_columns(found[:, :-1]), found[:, -1], None)
    random = np.random.Generator(np.random.PCG64(SEED))
    drawn = _rows_at(rows, frame, counts, random.integers(sum(counts.values()), size=number))
    codes, which, times = np.unique(drawn, axis=1, return_inverse=True, return_counts=True)
    return _Chosen(np.ascontiguousarray(codes), times.astype(np.int64), which.ravel().astype(np.int64))


def _rows_at(rows: SparkRows, frame: Any, counts: dict[int, int], numbers: LongArray) -> IntArray:
    """Return the codes of the rows with these numbers."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    buckets = np.array(sorted(counts))
    ends = np.cumsum([counts[bucket] for bucket in buckets.tolist()])
    of_number = np.searchsorted(ends, numbers, side="right")
    places = numbers - np.append(0, ends)[of_number]
    draws = zip(range(len(numbers)), buckets[of_number].tolist(), places.tolist(), strict=True)
    wanted = f.broadcast(
        rows.frame.sparkSession.createDataFrame(list(draws), "draw int, bucket int, place bigint")
    )
    near = frame.join(f.broadcast(wanted.select("bucket").distinct()), "bucket", "left_semi")
    tuples = near.groupBy("bucket", "key", *_codes(rows)).agg(f.count(f.lit(1)).alias("n"))
    order = Window.partitionBy("bucket").orderBy("key", *_codes(rows))
    placed = tuples.withColumn("end", f.sum("n").over(order))
    is_there = (f.col("place") < f.col("end")) & (f.col("place") >= f.col("end") - f.col("n"))
    found = placed.join(wanted, "bucket").where(is_there).select("draw", *_codes(rows)).collect()
    return _columns(np.array(sorted(tuple(row) for row in found), np.int64)[:, 1:])


def _codes(rows: SparkRows) -> list[str]:
    return [f"x{at}" for at in range(len(rows.codebook.quasi))]


def _columns(found: LongArray) -> IntArray:
    return np.ascontiguousarray(found.T.astype(np.int32))


def _nearest(rows: SparkRows, codes: IntArray, k: int) -> FloatArray:
    """Return the distance from each of some rows to the k-th nearest of all rows, itself included."""
    from pyspark.sql import functions as f

    task = NearestRows(codes, rows.space, k)
    parts = rows.frame.select(*_codes(rows)).mapInArrow(task, "at int, near array<int>")
    least = f.sort_array(f.flatten(f.collect_list("near")))
    found = parts.groupBy("at").agg(f.get(least, k - 1).alias("far")).collect()
    nearest = np.zeros(codes.shape[1])
    for row in found:
        nearest[row.at] = row.far
    return nearest


@dataclass(frozen=True)
class NearestRows:
    """Find the rows of a part that are nearest to some rows.

    Parameters
    ----------
    codes : ndarray of shape (n_columns, n), int32
        Those rows.
    """

    codes: IntArray
    space: Space
    k: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the k least distances from each of them."""
        limit_threads()
        import pyarrow as pa

        near: list[IntArray] = [np.zeros(0, np.int32)] * self.codes.shape[1]
        for tuples in self._tuples(batches):
            found = self._distances(tuples)
            near = [np.sort(np.append(*both))[: self.k] for both in zip(near, found, strict=True)]
        ends = np.cumsum([0, *map(len, near)])
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(np.concatenate(near)))
        numbers = pa.array(np.arange(len(near)), pa.int32())
        yield pa.RecordBatch.from_arrays([numbers, lists], names=["at", "near"])

    def _tuples(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        """Yield different rows and how often each occurs, not too many at a time."""
        import polars as pl

        from shoal.engine.spark.arrow import chunks

        waiting: list[pl.DataFrame] = []
        for table in chunks(batches):
            rows = pl.DataFrame(pl.from_arrow(table))
            waiting.append(rows.group_by(rows.columns).len("rows"))
            if sum(part.height for part in waiting) >= _TUPLES:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)

    def _distances(self, tuples: pl.DataFrame) -> list[IntArray]:
        from shoal.bound.parts import least_distances

        values = np.array([tuples[name].to_numpy() for name in tuples.columns[:-1]], np.int32)
        sizes = tuples["rows"].to_numpy().astype(np.int64)
        return least_distances(self.codes, values, sizes, self.space.span, self.space.trees, self.k)


def _joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    rows = pl.concat(parts)
    return rows.group_by(rows.columns[:-1]).agg(pl.col("rows").sum())
