"""The lower bound of the loss of a Spark table: rows of a sample are compared with all rows, on the workers.

Only the nearest row is looked for (see `bound.lower_bound`): boxes and drag need all rows in one place. The
rows drawn go from worker to worker; the driver gets one distance for each, and no codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.bound.estimates import SEED, estimated
from shoal.bound.result import Bound
from shoal.bound.terms import rounding
from shoal.engine.cells.sample import Space
from shoal.engine.spark.rows import SparkRows
from shoal.engine.spark.settings import on_disks
from shoal.engine.spark.tasks import limit_threads
from shoal.failures import guarded
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
_TUPLES = 250_000  # different rows that a worker compares at a time: some megabytes, for they are one cell


@dataclass(frozen=True)
class _Chosen:
    """Rows that are compared with all others.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The codes of each row, with its number (`at`): in the order of drawing or, if these are all different
        rows that there are, in the order of their codes; then also how many rows have them (`times`).
    is_drawn : bool
    """

    frame: Any
    is_drawn: bool


def lower_bound(rows: SparkRows, recipe: Recipe, missing: int) -> Bound | None:
    """Bound the loss of all releases that a recipe allows; None for those that publish no boxes.

    `missing` rows are left out because they lack a value; they are not among `rows`.
    """
    if not recipe.shape.is_generalized:
        return None
    k, fixed, encoded = recipe.privacy.k, rows.codebook.fixed(), rows.codebook.empty()
    chosen = _chosen(rows, max(_MIN_SAMPLED, min(SAMPLED, _DISTANCES // k)))
    near = _nearest(rows, chosen.frame, k)
    slack = _slack(rows.codebook)
    if chosen.is_drawn:
        total, how = estimated(near, slack, fixed.unit, rows.root.rows, "nearest row")
    else:
        times = _in_order(chosen.frame.select("at", "times").collect())
        terms = np.maximum(0.0, near - slack) / fixed.unit
        total, how = float(times @ terms), "nearest row, all rows"
    return Bound(total + missing * float(encoded.weights.sum()), chosen.is_drawn, how)


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
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    bucket = f.shiftright("key", _KEY_BITS - _BUCKETS).cast("int").alias("bucket")
    frame = rows.frame.select(bucket, "key", *_codes(rows))
    counts = {row.bucket: row["count"] for row in frame.groupBy("bucket").count().collect()}
    if len(counts) <= number:  # only then there may be few different rows
        different = frame.groupBy(*_codes(rows)).agg(f.count(f.lit(1)).alias("times"))
        if different.limit(number + 1).count() <= number:
            place = f.row_number().over(Window.orderBy(*_codes(rows))) - 1
            return _Chosen(different.withColumn("at", place), False)
    random = np.random.Generator(np.random.PCG64(SEED))
    numbers = random.integers(sum(counts.values()), size=number)
    return _Chosen(_rows_at(rows, frame, counts, numbers), True)


def _rows_at(rows: SparkRows, frame: Any, counts: dict[int, int], numbers: LongArray) -> Any:
    """Return the codes of the rows with these numbers, and which of them each is (`at`)."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    buckets = np.array(sorted(counts))
    ends = np.cumsum([counts[bucket] for bucket in buckets.tolist()])
    of_number = np.searchsorted(ends, numbers, side="right")
    places = numbers - np.append(0, ends)[of_number]
    draws = zip(range(len(numbers)), buckets[of_number].tolist(), places.tolist(), strict=True)
    wanted = f.broadcast(
        rows.frame.sparkSession.createDataFrame(list(draws), "at int, bucket int, place bigint")
    )
    near = frame.join(f.broadcast(wanted.select("bucket").distinct()), "bucket", "left_semi")
    tuples = near.groupBy("bucket", "key", *_codes(rows)).agg(f.count(f.lit(1)).alias("n"))
    order = Window.partitionBy("bucket").orderBy("key", *_codes(rows))
    placed = tuples.withColumn("end", f.sum("n").over(order))
    is_there = (f.col("place") < f.col("end")) & (f.col("place") >= f.col("end") - f.col("n"))
    return placed.join(wanted, "bucket").where(is_there).select("at", *_codes(rows))


def _codes(rows: SparkRows) -> list[str]:
    return [f"x{at}" for at in range(len(rows.codebook.quasi))]


def _nearest(rows: SparkRows, chosen: Any, k: int) -> FloatArray:
    """Return the distance from each of some rows to the k-th nearest of all rows, itself included.

    Each part of the rows meets the rows chosen by a Cartesian product, which Spark makes without its driver;
    a broadcast would pass through it. So that there are few pairs, many rows are packed into one cell.
    """
    from pyspark.sql import functions as f

    codes = _codes(rows)
    ones = on_disks(
        chosen.select("at", *codes).repartition(1).mapInArrow(guarded(pack_chosen), "ones binary")
    )
    packed = rows.frame.select(*codes).mapInArrow(guarded(pack_rows), "tuples binary")
    try:
        pairs = packed.crossJoin(ones.hint("shuffle_replicate_nl"))
        task = NearestRows(len(codes), rows.space, k)
        parts = pairs.mapInArrow(guarded(task), "at int, near array<int>")
        least = f.sort_array(f.flatten(f.collect_list("near")))
        found = parts.groupBy("at").agg(f.get(least, k - 1).alias("far")).collect()
    finally:
        ones.unpersist()
    return _in_order(found).astype(np.float64)


def _in_order(found: list[Any]) -> LongArray:
    """Return the numbers of rows (`at`, number) by `at`, which has no gaps."""
    return np.array([number for _, number in sorted(tuple(row) for row in found)], np.int64)


def pack_chosen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put the codes of the rows chosen into one cell, in their order."""
    limit_threads()
    import polars as pl
    import pyarrow as pa

    rows = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches))).sort("at").drop("at")
    yield _packed("ones", rows)


def pack_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put the codes of different rows, and how often each occurs, into a cell, not too many at a time."""
    limit_threads()
    import polars as pl

    from shoal.engine.spark.arrow import chunks

    waiting: list[pl.DataFrame] = []
    for table in chunks(batches):
        rows = pl.DataFrame(pl.from_arrow(table))
        waiting.append(rows.group_by(rows.columns).len("rows").cast(pl.Int32))
        if sum(part.height for part in waiting) >= _TUPLES:
            yield _packed("tuples", _joined(waiting))
            waiting = []
    if waiting:
        yield _packed("tuples", _joined(waiting))


def _joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    rows = pl.concat(parts)
    return rows.group_by(rows.columns[:-1]).agg(pl.col("rows").sum())


def _packed(name: str, rows: pl.DataFrame) -> pa.RecordBatch:
    import pyarrow as pa

    columns = np.array([column.to_numpy() for column in rows], np.int32)
    return pa.RecordBatch.from_arrays([pa.array([columns.tobytes()], pa.binary())], names=[name])


def _unpacked(cell: bytes, columns: int) -> IntArray:
    return np.frombuffer(cell, np.int32).reshape(columns, -1)


@dataclass(frozen=True)
class NearestRows:
    """Find the rows of a part that are nearest to some rows.

    Parameters
    ----------
    columns : int
        Quasi columns.
    """

    columns: int
    space: Space
    k: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the k least distances from each of them."""
        limit_threads()
        import pyarrow as pa

        near: list[IntArray] = []
        for tuples, ones in self._pairs(batches):
            found = self._distances(tuples, ones)
            near = near or [np.zeros(0, np.int32)] * len(found)
            near = [np.sort(np.append(*both))[: self.k] for both in zip(near, found, strict=True)]
        ends = np.cumsum([0, *map(len, near)])
        values = pa.array(np.concatenate([np.zeros(0, np.int32), *near]))
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)
        numbers = pa.array(np.arange(len(near)), pa.int32())
        yield pa.RecordBatch.from_arrays([numbers, lists], names=["at", "near"])

    def _pairs(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[IntArray, IntArray]]:
        for batch in batches:
            for row in range(batch.num_rows):
                tuples, ones = (batch.column(name)[row].as_py() for name in ("tuples", "ones"))
                yield _unpacked(tuples, self.columns + 1), _unpacked(ones, self.columns)

    def _distances(self, tuples: IntArray, ones: IntArray) -> list[IntArray]:
        from shoal.bound.parts import least_distances

        sizes = tuples[-1].astype(np.int64)
        return least_distances(ones, tuples[:-1], sizes, self.space.span, self.space.trees, self.k)
