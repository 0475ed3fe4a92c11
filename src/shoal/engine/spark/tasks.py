"""What Spark runs on its workers. Everything heavy is imported late, after the worker's threads are limited.

Each function gets batches or groups of rows as Arrow tables and returns such. Columns have plain names:

- x0, x1, ...: fixed-point positions and leaves, by which rows are cut, range columns first
- q0, q1, ...: the numbers of the range columns
- g0, g1, ...: the values that the goals count
- o0, o1, ...: the sensitive and kept columns, as they are released
- key, hash, person, label: the key for samples, the hash of the other values, the person, the class label
- state: whether the row is kept, left out for a missing value, or has a value that no dictionary has

Published classes have

- p0, p1, ...: the published quasi columns
- rows: a list with the o0, g0, person and label of each row
- a0, a1, ...: what the class achieves of each goal
- cell: the number of its cell
- size, people, most: its rows, its people, and its rows with the most frequent label
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    import pyarrow as pa

    from shoal.cluster.registry import MethodInfo
    from shoal.engine.cells.sample import Sample, Space
    from shoal.recipe import Recipe
    from shoal.table.codebook import Codebook, RangeBook
    from shoal.table.columns import Encoded, SensitiveColumn


def limit_threads() -> None:
    """Use one thread in a worker: Spark runs as many workers as there are cores."""
    program = getattr(sys.modules["__main__"], "__spec__", None)
    if program is None or not program.name.startswith("pyspark."):
        return  # in any other process threads are somebody else's choice
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")


COUNTED_VALUES = "book int, key string, n bigint"  # the number of a dictionary, a value, its rows
STATISTICS = -1  # in place of the number of a dictionary
_MOST_VALUES = 20_000  # of a column in one part of the rows, for a dictionary that may not be needed


@dataclass(frozen=True)
class Survey:
    """Count what the cells of each column look like, and on the way the values of dictionaries.

    Which dictionaries are needed follows from the statistics of the whole table. A survey makes those that
    will probably be, so that the table need not be read again.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    missing: tuple[str, ...]
    dictionaries: Dictionaries

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the values of each dictionary, and last a row with the statistics of a partition."""
        limit_threads()
        import polars as pl

        from shoal.engine.spark.arrow import frames, to_batches
        from shoal.table.frames import series
        from shoal.table.statistics import statistics

        rows, listed = 0, True
        found: dict[str, Any] = {}
        for frame in frames(batches, self.names, self.missing):
            rows += frame.height
            for name in self.columns:
                part = statistics(series(frame, name))
                found[name] = found[name].joined(part) if name in found else part
            counted = self._counted(frame) if listed else None
            listed = counted is not None
            for values in counted or ():
                yield from to_batches(values)
        columns = {name: each.to_dict() for name, each in found.items()}
        text = json.dumps({"rows": rows, "columns": columns, "listed": listed})
        last = {"book": [STATISTICS], "key": [text], "n": [1]}
        yield from to_batches(pl.DataFrame(last, {"book": pl.Int32, "key": pl.String, "n": pl.Int64}))

    def _counted(self, frame: pl.DataFrame) -> list[pl.DataFrame] | None:
        """Return the values of some rows; None if they are many, or not what they were taken for."""
        from shoal.errors import ShoalError

        try:
            parts = self.dictionaries.counted(frame)
        except ShoalError:
            return None
        return parts if all(part.height <= _MOST_VALUES for part in parts) else None


@dataclass(frozen=True)
class Dictionaries:
    """Count the different values of the columns that need a dictionary, and of what the goals count."""

    names: tuple[str, ...]
    missing: tuple[str, ...]
    recipe: Recipe
    columns: tuple[str, ...]
    as_stored: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the values of each batch, with the number of their dictionary."""
        limit_threads()
        from shoal.engine.spark.arrow import frames, to_batches

        for frame in frames(batches, self.names, self.missing):
            for part in self.counted(frame):
                yield from to_batches(part)

    def counted(self, frame: pl.DataFrame) -> list[pl.DataFrame]:
        """Return the values of each dictionary that some rows have."""
        import polars as pl

        from shoal.table.codebook import sensitive_keys

        keys = [self._canonical(frame, name) for name in self.columns]
        goals = self.recipe.privacy.column_goals
        keys += [sensitive_keys(frame, goal, self.recipe, self.as_stored) for goal in goals]
        parts = []
        for book, values in enumerate(keys):
            different = pl.DataFrame({"key": values.drop_nulls()}).group_by("key").len("n")
            number = pl.lit(book, dtype=pl.Int32).alias("book")
            parts.append(different.select(number, "key", pl.col("n").cast(pl.Int64)))
        return parts

    def _canonical(self, frame: pl.DataFrame, name: str) -> pl.Series:
        import polars as pl

        from shoal.table.codebook import settled
        from shoal.table.frames import series

        column = self.recipe.columns[name]
        if column.kind == "ordinal":  # what its order does not list is counted by the driver
            column = column.model_copy(update={"kind": "categorical", "order": None})
        return settled(series(frame, name), column, as_stored=name in self.as_stored).cast(pl.String)


@dataclass(frozen=True)
class Prepare:
    """Encode rows by the codebook."""

    names: tuple[str, ...]
    missing: tuple[str, ...]
    codebook: Codebook

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the encoded rows of each batch, each with what becomes of it."""
        limit_threads()
        from shoal.engine.spark.arrow import frames, to_batches

        fixed = self.codebook.fixed()
        for frame in frames(batches, self.names, self.missing):
            yield from to_batches(self._prepared(frame, fixed.span))

    def _prepared(self, frame: pl.DataFrame, spans: Any) -> pl.DataFrame:
        import numpy as np
        import polars as pl

        from shoal.engine.cells.sample import sample_keys
        from shoal.table.codebook import RangeBook
        from shoal.table.encode import row_hashes
        from shoal.table.frames import series
        from shoal.table.sensitive import comparable

        book, recipe = self.codebook, self.codebook.recipe
        ranges = [(b, b.numbers(series(frame, b.name))) for b in book.quasi if isinstance(b, RangeBook)]
        trees = [b.codes(series(frame, b.name)) for b in book.quasi if not isinstance(b, RangeBook)]
        positions = [b.positions(v, int(s)) for (b, v), s in zip(ranges, spans, strict=True)]
        codes = np.array([*positions, *(leaves.to_numpy() for leaves in trees)], np.int32)
        codes = codes.reshape(len(positions) + len(trees), frame.height)
        columns: dict[str, Any] = {f"x{at}": pl.Series(column) for at, column in enumerate(codes)}
        columns |= {f"q{at}": values for at, (_, values) in enumerate(ranges)}
        goals = range(len(book.sensitive))
        columns |= {f"g{at}": book.sensitive[at].codes(frame, recipe) for at in goals}
        others = recipe.named("sensitive", "keep")
        columns |= {f"o{at}": series(frame, name) for at, name in enumerate(others)}
        columns["key"] = pl.Series((sample_keys(codes, recipe.method.seed) >> np.uint64(1)).astype(np.int64))
        columns["hash"] = pl.Series(row_hashes(frame, recipe).view(np.int64))
        columns["state"] = pl.Series(self._states(ranges, trees, [columns[f"g{at}"] for at in goals]))
        if recipe.subject is not None:
            columns["person"] = comparable(series(frame, recipe.subject))
        if recipe.label is not None:
            columns["label"] = series(frame, recipe.label).cast(pl.String)
        return pl.DataFrame(columns)

    def _states(
        self, ranges: list[tuple[RangeBook, pl.Series]], trees: list[pl.Series], goals: list[pl.Series]
    ) -> npt.NDArray[Any]:
        """Return what becomes of each row; a value that no dictionary has is not taken for a missing one."""
        import numpy as np

        from shoal.engine.spark.schema import KEPT, LEFT_OUT, UNKNOWN_VALUE
        from shoal.table.codebook import UNKNOWN, RangeBook

        absent, unknown = np.zeros((2, len([*(v for _, v in ranges), *trees][0])), bool)
        for book, values in ranges:
            absent |= values.is_null().to_numpy()
            unknown |= book.is_unknown(values)
        books = [book for book in self.codebook.quasi if not isinstance(book, RangeBook)]
        for tree, leaves in zip(books, trees, strict=True):
            absent |= (leaves == tree.empty.missing).to_numpy()
        for codes in (*trees, *goals):
            unknown |= (codes == UNKNOWN).to_numpy()
        left_out = absent & (self.codebook.recipe.privacy.missing == "suppress")
        return np.where(unknown, UNKNOWN_VALUE, np.where(left_out, LEFT_OUT, KEPT)).astype(np.int8)


@dataclass(frozen=True)
class CutCells:
    """Cut a cell that is too large on its sample."""

    space: Space
    sensitive: tuple[SensitiveColumn, ...]
    recipe: Recipe
    cell_rows: int
    rows: dict[int, int]

    def __call__(self, key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        """Return the cuts of one cell, as JSON."""
        limit_threads()
        import pyarrow as pa

        from shoal.engine.cells.sample import cut_by
        from shoal.engine.cells.tree import to_lists

        cell = key[0].as_py()
        found = cut_by(self.space, self._sample(table, self.rows[cell]), self.recipe, self.cell_rows)
        about = {
            "cuts": to_lists(found.cuts),
            "tuples": found.tuples,
            "codes": found.codes,
            "share": found.share,
        }
        return pa.table({"cell": pa.array([cell], pa.int32()), "found": [json.dumps(about)]})

    def _sample(self, table: pa.Table, rows: int) -> Sample:
        import numpy as np

        from shoal.engine.cells.sample import sample_of

        names = [name for name in table.column_names if name[0] in "xg"]
        keys = np.array([table[name].to_numpy() for name in names], np.int32)
        return sample_of(keys, table["n"].to_numpy(), self.sensitive, rows)


@dataclass(frozen=True)
class CellTask:
    """Cluster cells and publish their rows.

    Parameters
    ----------
    paths : tuple of str
        Of the cells, by number.
    whole : tuple of ndarray
        For each goal, how many people of the table have each value.
    bins : tuple of int or None
        In which values of quasi columns are counted.
    """

    codebook: Codebook
    recipe: Recipe
    method: MethodInfo
    paths: tuple[str, ...]
    whole: tuple[npt.NDArray[Any], ...]
    bins: tuple[int | None, ...]
    schema: pa.Schema

    def __call__(self, key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        """Return the released rows of one cell, and one more row about it."""
        limit_threads()
        from shoal.engine.cells.clustering import cluster_cell
        from shoal.errors import ShoalError

        cell = key[0].as_py()
        path = self.paths[cell]
        frame, encoded = self._encoded(table)
        try:
            found = cluster_cell(encoded, self.recipe, self.method, path)
            return self._published(frame, encoded, found, path, cell)
        except ShoalError as error:  # Spark would wrap it into a text of its own
            return self._about({"path": path, "fault": vars(error.faults[0])})

    def alike(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of cells whose rows are all equal: they are published as they are."""
        limit_threads()
        import numpy as np

        from shoal.cluster.clusterer import ClusterResult
        from shoal.engine.spark.arrow import chunks
        from shoal.engine.spark.schema import SEVERAL

        for table in chunks(batches):
            frame, encoded = self._encoded(table)
            _, labels = np.unique(encoded.tuple_of_row, return_inverse=True)
            found = ClusterResult(labels.astype(np.int32))
            # What a batch holds is chance: rules that are learned from it would be too.
            yield from self._published(frame, encoded, found, "=", SEVERAL, learns=False).to_batches()

    def _encoded(self, table: pa.Table) -> tuple[pl.DataFrame, Encoded]:
        import numpy as np
        import polars as pl

        from shoal.table.codebook import RangeBook

        frame = pl.DataFrame(pl.from_arrow(table))
        ranges, trees = 0, sum(isinstance(book, RangeBook) for book in self.codebook.quasi)
        quasi = []
        for book in self.codebook.quasi:
            if isinstance(book, RangeBook):
                quasi.append(frame[f"q{ranges}"])
                ranges += 1
            else:
                quasi.append(frame[f"x{trees}"])
                trees += 1
        encoded = self.codebook.encode(
            quasi,
            [frame[f"g{at}"] for at in range(len(self.whole))],
            frame["hash"].to_numpy().view(np.uint64),
            label=None if self.recipe.label is None else frame["label"],
            person=None if self.recipe.subject is None else frame["person"],
            whole=list(self.whole),
        )
        return frame, encoded

    def _about(self, report: dict[str, Any], counted: dict[str, int] | None = None) -> pa.Table:
        """Return the row about a cell: nothing but its report, and how many rows have each value."""
        import pyarrow as pa

        nothing: dict[str, list[str | None]] = {field.name: [None] for field in self.schema}
        about = {"about": [json.dumps(report)], "counted": [json.dumps(counted or {})]}
        return pa.Table.from_pydict({**nothing, **about}, self.schema)

    def _rows(self, frame: pl.DataFrame, encoded: Encoded, labels: npt.NDArray[Any]) -> pa.Array:
        """Return what is released of the rows of each class besides its own columns, as lists."""
        import numpy as np
        import polars as pl
        import pyarrow as pa

        by_class = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
        fields = self.schema.field("rows").type.value_type
        chosen = frame.select([field.name for field in fields])[encoded.order[by_class]]
        arrow = chosen.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
        values = [arrow[field.name].combine_chunks().cast(field.type) for field in fields]
        ends = np.cumsum(np.bincount(labels[by_class]), dtype=np.int32)
        rows = pa.StructArray.from_arrays(values, fields=list(fields))
        return pa.ListArray.from_arrays(np.concatenate([[0], ends]).astype(np.int32), rows)

    def _published(
        self, frame: pl.DataFrame, encoded: Encoded, found: Any, path: str, cell: int, *, learns: bool = True
    ) -> pa.Table:
        import polars as pl
        import pyarrow as pa

        from shoal.engine.publishing import published_as
        from shoal.engine.spark.measured import achieved, class_counts, measured
        from shoal.engine.spark.revealed import revealed
        from shoal.engine.spark.values import counted_values

        published = published_as(encoded, found, self.recipe)
        inside = published.labels >= 0
        classes = published.classes
        columns = {f"p{at}": classes.get_column(name) for at, name in enumerate(classes.columns)}
        by_goal = achieved(encoded, published, self.recipe).T
        columns |= {f"a{at}": pl.Series(numbers) for at, numbers in enumerate(by_goal)}
        columns |= class_counts(encoded, published.labels, classes.height)
        columns["cell"] = pl.repeat(cell, classes.height, dtype=pl.Int32, eager=True)
        rows = pl.DataFrame(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
        rows = rows.append_column("rows", self._rows(frame, encoded, published.labels))
        for name in ("about", "counted"):
            rows = rows.append_column(name, pa.nulls(classes.height, pa.string()))
        report = {
            "path": path,
            "rows": len(inside),
            "suppressed": int((~inside).sum()),
            **measured(encoded, published, self.recipe),
            **revealed(frame, encoded, published, self.recipe, learns=learns),
        }
        about = self._about(report, counted_values(encoded, inside, self.bins))
        return pa.concat_tables([rows.select(self.schema.names).cast(self.schema), about])
