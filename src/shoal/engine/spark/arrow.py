"""Arrow batches on a worker, as Polars frames of a useful size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl
import pyarrow as pa

from shoal.table.read import cleaned

ROWS = 200_000  # Spark's own batches are small: Polars would spend its time on calls


def frames(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], missing: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Put batches together and give them their real names; texts are trimmed, missing values marked."""
    for table in chunks(batches):
        plain = pl.DataFrame(pl.from_arrow(table))
        named = {name: plain[column] for name, column in zip(names, plain.columns, strict=True)}
        yield cleaned(pl.DataFrame(named), list(missing))


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put batches together, as long as they are small."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def to_batches(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    """Return a frame as the batches that Spark takes: plain strings, not views."""
    yield from frame.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()
