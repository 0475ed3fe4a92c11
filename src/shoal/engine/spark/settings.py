"""Settings of a Spark session for the time of a run; afterwards it has its own again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import ceil
from typing import Any

_ROWS = 500_000  # of one partition after a shuffle
_MAX_PARTITIONS = 2_000


@contextmanager
def with_settings(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Give a session other settings for a while."""
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, own in before.items():
            if own is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, own)


@contextmanager
def sized(spark: Any, rows: int) -> Iterator[None]:
    """Shuffle into as many partitions as the rows need: 200, Spark's default, are slow on small tables.

    Rows that are kept are not compressed: that takes longer than reading them a few times.
    """
    number = min(_MAX_PARTITIONS, max(2 * cores(spark), ceil(rows / _ROWS)))
    settings = {
        "spark.sql.shuffle.partitions": str(number),
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
    }
    with with_settings(spark, settings):
        yield


def on_disks(frame: Any) -> Any:
    """Keep rows on the workers' disks: in memory they would crowd out what tasks need."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


def cores(spark: Any) -> int:
    """Return how many tasks run at the same time, as far as the session knows."""
    return max(1, int(spark.sparkContext.defaultParallelism))
