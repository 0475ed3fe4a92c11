"""What Spark counts in released rows: classes, their sizes, and what dangers need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import fsum
from operator import and_
from typing import Any

from shoal.engine.spark.schema import LABEL, MOST, PEOPLE, PERSON, ROWS, SIZE, rows_of
from shoal.failures import guarded

_SIZES = 100_000  # different class sizes that a report lists
MOST_TEXTS = 20_000  # published texts of a column that come to the driver
Texts = dict[tuple[str | None, str | None], int]  # pairs of bounds; of one text, that text twice


@dataclass(frozen=True)
class ClassCounts:
    """The classes of a release.

    Parameters
    ----------
    rows, classes : int
    people : int
        Those of the class with the fewest; rows, where each row is a person.
    squares : int
        The sum of the squared sizes.
    majority : int or None
        Rows that have the most frequent label of their class; None without a label.
    sizes : tuple of pairs of int
        How many classes have each size.
    texts : list of dict or None
        For each quasi column, how many rows have each published text, or pair of bounds; None where there
        are too many.
    """

    rows: int
    classes: int
    people: int
    squares: int
    majority: int | None
    sizes: tuple[tuple[int, int], ...]
    texts: list[Texts | None]


def count_released(
    pieces: Any,
    columns: Sequence[Sequence[str]],
    others: Sequence[str],
    *,
    with_people: bool,
    with_label: bool,
) -> tuple[ClassCounts, list[ValueCounts]]:
    """Count the classes, and the values of the other columns.

    Parameters
    ----------
    pieces : pyspark.sql.DataFrame
        The published classes of every cell. Those with equal published values are pieces of one class.
    columns : sequence of sequences of str
        The published columns of each quasi column: one, or two for bounds.
    others : sequence of str
        The other columns, of the rows in `pieces`.
    """
    keys = [name for names in columns for name in names]
    classes = _classes(pieces, keys, others).persist()
    try:
        joint = _joint(pieces, classes, keys) if with_people or with_label else None
        counts = _class_counts(classes, columns, joint, with_people=with_people, with_label=with_label)
        values = [_value_counts(pieces, classes, name, with_people=with_people) for name in others]
    finally:
        classes.unpersist()
    return counts, values


def _classes(pieces: Any, keys: Sequence[str], others: Sequence[str]) -> Any:
    """Return each class with its rows and people, and the least and greatest value of each other column.

    The numbers of people and of rows with the most frequent label are right for classes of one piece.
    """
    from pyspark.sql import functions as f

    found = [f.count(f.lit(1)).alias("pieces"), f.sum(SIZE).alias("n")]
    found += [f.sum(PEOPLE).alias(PEOPLE), f.sum(MOST).alias(MOST)]
    for name in others:
        values = f.col(f"{ROWS}.{name}")
        found += [
            f.min(f.array_min(values)).alias(f"{name}_low"),
            f.max(f.array_max(values)).alias(f"{name}_high"),
        ]
        found.append(f.sum(f.size(f.array_compact(values))).alias(f"{name}_n"))
    return pieces.groupBy(*keys).agg(*found)


def _joint(pieces: Any, classes: Any, keys: Sequence[str]) -> Any | None:
    """Return the rows of classes of several pieces; None if there are none."""
    from pyspark.sql import functions as f

    several = classes.where("pieces > 1").select(*(f.col(key).alias(f"k{at}") for at, key in enumerate(keys)))
    if several.isEmpty():
        return None
    same = [f.col(key).eqNullSafe(f.col(f"k{at}")) for at, key in enumerate(keys)]
    return rows_of(pieces.join(several, reduce(and_, same), "left_semi"))


def _class_counts(
    classes: Any, columns: Sequence[Sequence[str]], joint: Any | None, *, with_people: bool, with_label: bool
) -> ClassCounts:
    from pyspark.sql import functions as f

    keys = [name for names in columns for name in names]
    squares = f.sum((f.col("n") * f.col("n")).cast("decimal(38,0)")).alias("squares")
    is_one = f.col("pieces") == 1
    people_of_one = f.when(is_one, f.col(PEOPLE)) if with_people else f.col("n")
    totals = classes.agg(
        f.sum("n").alias("rows"),
        f.count(f.lit(1)).alias("classes"),
        f.min(people_of_one).alias("people"),
        f.sum(f.when(is_one, f.col(MOST))).alias("majority"),
        squares,
    ).collect()[0]
    people = [] if totals.people is None else [totals.people]
    majority = totals.majority or 0
    if joint is not None and with_people:
        people.append(_fewest_people(joint, keys))
    if joint is not None and with_label:
        majority += _majority(joint, keys)
    sizes = classes.groupBy("n").count().orderBy("n").limit(_SIZES).collect()
    return ClassCounts(
        rows=totals.rows or 0,
        classes=totals.classes,
        people=min(people, default=0),
        squares=int(totals.squares or 0),
        majority=majority if with_label else None,
        sizes=tuple((row.n, row["count"]) for row in sizes),
        texts=_texts(classes, columns),
    )


def _texts(classes: Any, columns: Sequence[Sequence[str]]) -> list[Texts | None]:
    """Count the rows with each published text of a column, or pair of bounds."""
    from pyspark.sql import functions as f

    published = f.array(*(_published(at, names) for at, names in enumerate(columns)))
    parts = classes.select("n", f.explode(published).alias("p")).select("n", "p.*")
    counted = parts.groupBy("at", "low", "high").agg(f.sum("n").alias("n")).persist()
    try:
        many = {row.at for row in counted.groupBy("at").count().where(f"count > {MOST_TEXTS}").collect()}
        few: list[Texts | None] = [None if at in many else {} for at in range(len(columns))]
        for row in counted.where(~f.col("at").isin(list(many))).collect():
            texts = few[row.at]
            assert texts is not None
            texts[row.low, row.high] = row.n
    finally:
        counted.unpersist()
    return few


def _published(at: int, names: Sequence[str]) -> Any:
    """Return what is published of one column: a text, or two bounds."""
    from pyspark.sql import functions as f

    low, high = names[0], names[-1]
    return f.struct(
        f.lit(at).alias("at"),
        f.col(low).cast("string").alias("low"),
        f.col(high).cast("string").alias("high"),
    )


def sum_lists(rows: Any, task: Any) -> list[float]:
    """Sum the lists of numbers that a task returns, one for each part of the rows."""
    lists = [row.numbers for row in rows.mapInArrow(guarded(task), "numbers array<double>").collect()]
    return [fsum(numbers) for numbers in zip(*lists, strict=True)]


def _fewest_people(rows: Any, keys: Sequence[str]) -> int:
    """Return the number of people of the class that has the fewest."""
    from pyspark.sql import functions as f

    of_classes = rows.groupBy(*keys).agg(f.count_distinct(PERSON).alias("n"))
    return int(of_classes.agg(f.min("n")).collect()[0][0])


def _majority(rows: Any, keys: Sequence[str]) -> int:
    """Count the rows that have the most frequent label of their class."""
    from pyspark.sql import functions as f

    labels = rows.groupBy(*keys, LABEL).count()
    most = labels.groupBy(*keys).agg(f.max("count").alias("most"))
    return int(most.agg(f.sum("most")).collect()[0][0] or 0)


@dataclass(frozen=True)
class ValueCounts:
    """A sensitive or kept column of a release.

    Parameters
    ----------
    distinct, missing : int
        Different values, and rows without one.
    own : int
        Rows whose value only they have, or only rows of the same person.
    alike : int
        Classes in which everybody has the same value, a missing one included.
    alike_rows : int
        Rows of these.
    alike_values : int
        Different values that these share.
    alike_frequent : int
        Such classes that share the most frequent value.
    """

    distinct: int
    missing: int
    own: int
    alike: int
    alike_rows: int
    alike_values: int
    alike_frequent: int


def _value_counts(pieces: Any, classes: Any, column: str, *, with_people: bool) -> ValueCounts:
    """Count the values of a column, and the classes that share one.

    No value comes to the driver, where it would get into the plan of a query, which Spark logs.
    """
    from pyspark.sql import functions as f

    people = f.count_distinct(PERSON) if with_people else f.count(f.lit(1))
    rows = pieces.selectExpr(f"inline({ROWS})").groupBy(f.col(column).alias("v"))
    counted = rows.agg(f.count(f.lit(1)).alias("n"), people.alias("people"))
    low, present = f.col(f"{column}_low"), f.col(f"{column}_n")
    is_one = (present == f.col("n")) & (low == f.col(f"{column}_high"))
    same = classes.where(is_one | (present == 0)).groupBy(low.alias("v"))
    shared = same.agg(f.count(f.lit(1)).alias("alike"), f.sum("n").alias("rows"))
    values = counted.unionByName(shared, allowMissingColumns=True).groupBy("v")
    sums = (f.coalesce(f.sum(of), f.lit(0)).alias(of) for of in ("n", "people", "alike", "rows"))
    is_own = f.col("v").isNotNull() & (f.col("people") == 1)
    found = (
        values.agg(*sums)
        .agg(
            f.count("v").alias("distinct"),
            f.sum(f.when(f.col("v").isNull(), f.col("n"))).alias("missing"),
            f.sum(f.when(is_own, f.col("n"))).alias("own"),
            f.sum("alike").alias("alike"),
            f.sum("rows").alias("alike_rows"),
            f.count_if(f.col("alike") > 0).alias("alike_values"),
            f.max_by("alike", f.struct("n", f.col("v").isNotNull(), "v")).alias("alike_frequent"),
        )
        .collect()[0]
    )
    return ValueCounts(**{name: number or 0 for name, number in found.asDict().items()})


def count_dominated(pieces: Any, keys: Sequence[str]) -> tuple[int, int]:
    """Count the classes in which one person has most of the rows; return the largest percentage too."""
    from pyspark.sql import functions as f

    people = rows_of(pieces).groupBy(*keys, PERSON).count()
    classes = people.groupBy(*keys).agg(f.sum("count").alias("n"), f.max("count").alias("most"))
    found = classes.agg(
        f.sum((2 * f.col("most") > f.col("n")).cast("int")).alias("dominated"),
        f.max(f.col("most") / f.col("n")).alias("worst"),
    ).collect()[0]
    return int(found.dominated or 0), round(100 * float(found.worst or 0))
