"""A codebook found part by part, as on a cluster, without one: the workers' tasks run here."""

import operator
from collections import Counter
from types import SimpleNamespace
from unittest import mock

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.engine.spark import columns, survey, tasks
from shoal.engine.spark.frame import SparkTable


def batches(part):
    """The rows of a part in two batches, under plain names."""
    plain = part.rename({name: f"c{at}" for at, name in enumerate(part.columns)})
    table = plain.to_arrow(compat_level=pl.CompatLevel.oldest())
    half = len(part) // 2
    yield from [*table[:half].to_batches(), *table[half:].to_batches()]


class PartedFrame:
    """As much of a Spark DataFrame as finding a codebook needs."""

    def __init__(self, parts):
        self.parts = parts

    def limit(self, _):
        return SimpleNamespace(toArrow=lambda: pa.Table.from_batches(batches(self.parts[0]))[:0])

    def map(self, task):
        """The batches that a task makes of each part."""
        return [made for part in self.parts for made in task(batches(part))]

    def mapInArrow(self, task, _):
        return Counted(Counter(row for made in self.map(task) for row in _counted_rows(made)))


def _counted_rows(made):
    for row in made.to_pylist():
        yield from [(row["book"], row["key"])] * row["n"]


class Counted:
    """As much of a Spark DataFrame as the counts of values need; they are summed already."""

    def __init__(self, counts):
        self.counts = counts

    def where(self, condition):
        _, sign, number = condition.split()
        holds = {"=": operator.eq, ">=": operator.ge}[sign]
        return Counted({key: n for key, n in self.counts.items() if holds(key[0], int(number))})

    def persist(self):
        return self

    def unpersist(self):
        pass

    def collect(self):
        return [SimpleNamespace(book=book, key=key, n=n) for (book, key), n in self.counts.items()]


def table_of(parts):
    return SparkTable(PartedFrame(parts), tuple(parts[0].columns))


def codebook_of(parts, recipe):
    """Find the codebook of all parts together."""
    with mock.patch.multiple(survey, _summed=lambda counts: counts, _large=lambda counts: {}):
        return columns.find_codebook(table_of(parts), recipe)


def prepared(parts, codebook):
    """The encoded rows of all parts, one after the other."""
    task = tasks.Prepare(tuple(parts[0].columns), tuple(codebook.recipe.input.missing), codebook)
    return pl.concat([pl.DataFrame(pl.from_arrow(made)) for made in table_of(parts).frame.map(task)])


def encoded_by(parts, codebook):
    """All rows as `CellTask` encodes the rows of a cell."""
    frame = prepared(parts, codebook)
    whole = tuple(np.zeros(book.empty.n_values, np.int64) for book in codebook.sensitive)
    task = tasks.CellTask(codebook, codebook.recipe, None, (), whole, bins=None, schema=None)
    return task._encoded(frame.to_arrow())[1]
