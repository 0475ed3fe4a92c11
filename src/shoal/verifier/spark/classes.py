"""The classes of a release in Spark, and how often each has which cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shoal.recipe import Recipe
from shoal.verifier.spark.cells import key
from shoal.verifier.spark.reading import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Source:
    """A release that is being verified.

    Parameters
    ----------
    cells : DataFrame
        How often (``times``) each class has each combination of cells, with its quasi cells; where people are
        counted each ``person`` has combinations of their own.
    classes : DataFrame
        For each ``class`` its quasi cells, its rows (``n_rows``) and its ``size``, of people where they are
        known.
    kept : list of DataFrame
        What Spark keeps for later queries, to be let go in the end.
    """

    spark: SparkSession
    table: Table
    recipe: Recipe
    cells: DataFrame
    classes: DataFrame
    people: bool = False
    kept: list[DataFrame] = field(default_factory=list)

    @property
    def counts(self) -> str:
        """What is counted, as a goal names it."""
        return "people" if self.people else "rows"

    def keep(self, frame: DataFrame) -> DataFrame:
        """Keep what several queries need: it is computed once."""
        self.kept.append(keep(self.spark, frame))
        return self.kept[-1]

    def release(self) -> None:
        """Let go of all that is kept."""
        while self.kept:
            self.kept.pop().unpersist()


def keep(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Compute a table once, when it is first needed.

    On a cluster Spark has to remember how, because a machine may be lost. In a single process nothing is lost
    that is not lost altogether, and queries on a table without a past are planned in half the time.
    """
    return frame.localCheckpoint(eager=False) if _is_local(spark) else frame.persist()


def _is_local(spark: SparkSession) -> bool:
    master = str(spark.conf.get("spark.master", ""))
    return master == "local" or master.startswith("local[")  # local-cluster has processes that may be lost


def build(
    spark: SparkSession,
    table: Table,
    recipe: Recipe,
    quasi: Sequence[str],
    people: DataFrame | None = None,
) -> Source:
    """Group the rows; `people` has the same columns and the ``person`` of each row.

    A class is named by its quasi cells, not by a number: numbers that Spark gives to rows change when it
    computes a piece again.
    """
    from pyspark.sql import functions as sql

    of_class = [table.column(name) for name in quasi]
    others = [table.column(name) for name in counted_columns(table, recipe) if name not in quasi]
    rows = table.rows if people is None else people
    grouped = rows.groupBy(*of_class, *others, *([] if people is None else ["person"]))
    named = key([sql.col(cell) for cell in of_class])
    cells = grouped.agg(sql.count(sql.lit(1)).alias("times")).withColumn("class", named)
    if people is None and not others:  # a class is one line already
        size = sql.col("times")
        cells = keep(spark, cells.withColumns({"n_rows": size, "size": size}))
        return Source(spark, table, recipe, cells, cells, kept=[cells])
    cells = keep(spark, cells)
    size = sql.sum("times") if people is None else sql.count_distinct(cells["person"])
    classes = cells.groupBy(*of_class).agg(sql.sum("times").alias("n_rows"), size.alias("size"))
    classes = keep(spark, classes.withColumn("class", named))
    return Source(spark, table, recipe, cells, classes, people is not None, [cells, classes])


def counted_columns(table: Table, recipe: Recipe) -> list[str]:
    """List the columns that goals or the loss of the label are about, as far as the files have them."""
    wanted = {name for goal in recipe.privacy.goal for name in goal.columns}
    if recipe.label in recipe.named("sensitive", "keep"):
        wanted.add(str(recipe.label))
    return sorted(name for name in wanted if table.has_once(name))


@dataclass(frozen=True)
class ClassFacts:
    """What is asked about all classes together."""

    classes: int
    smallest: int
    small_classes: int  # those below k
    small_rows: int
    squares: int  # the sum of the squared numbers of rows
    any_empty: bool  # whether some quasi cell is empty


def class_facts(source: Source, quasi: Sequence[str]) -> ClassFacts:
    """Count the classes, and those smaller than k."""
    k = source.recipe.privacy.k
    empty = " OR ".join(f"{source.table.column(name)} IS NULL" for name in quasi)
    (found,) = source.spark.sql(
        "SELECT count(*), coalesce(min(size), 0), count_if(size < :k), "
        "coalesce(sum(n_rows) FILTER (WHERE size < :k), 0), "
        "coalesce(sum(CAST(n_rows AS DECIMAL(19, 0)) * n_rows), 0), "
        f"coalesce(bool_or({empty}), false) FROM {{classes}}",
        args={"k": k},
        classes=source.classes,
    ).collect()
    classes, smallest, small_classes, small_rows, squares = (int(number) for number in found[:5])
    return ClassFacts(classes, smallest, small_classes, small_rows, squares, bool(found[5]))
