"""Anonymize a Spark table: find its codebook, part it into cells, cluster and publish each on a worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shoal.cluster.clusterer import check_feasible
from shoal.cluster.registry import MethodInfo, choose
from shoal.engine.cells.clustering import recipe_of_cells
from shoal.engine.cells.counts import Feasible
from shoal.engine.cells.planning import Plan, plan_cells
from shoal.engine.cells.tree import is_alike
from shoal.engine.clustering import too_many_missing
from shoal.engine.spark import tasks
from shoal.engine.spark.balance import check_cells, check_encoded
from shoal.engine.spark.columns import find_codebook
from shoal.engine.spark.frame import SparkTable
from shoal.engine.spark.memory import refuse_large
from shoal.engine.spark.progress import watched
from shoal.engine.spark.rows import SparkRows
from shoal.engine.spark.schema import (
    ABOUT,
    COUNTED,
    KEPT,
    LEFT_OUT,
    arrow_schema,
    clustered_columns,
    prepared_schema,
    published_columns,
    released_schema,
    rows_of,
)
from shoal.engine.spark.settings import cores, on_disks, sized
from shoal.engine.spark.values import Bins, choose_bins
from shoal.errors import Fault, InfeasibleError
from shoal.failures import guarded, guarded_group
from shoal.recipe import Recipe
from shoal.stages import Progress, stage
from shoal.table.codebook import Codebook
from shoal.table.columns import SensitiveColumn

CELL_ROWS = 200_000  # of a cell, unless the recipe says otherwise
_MAX_TASKS = 4_000


@dataclass(frozen=True)
class SparkRun:
    """What the engine has made of a table.

    Parameters
    ----------
    encoded : SparkRows
        The encoded rows. They too are kept until `close`.
    classes : pyspark.sql.DataFrame
        Published classes in no order, those of different cells apart, as `tasks` describes them. They are
        kept by the workers until `close`.
    names : tuple of str
        The real names of the published and of the other columns.
    counted : pyspark.sql.DataFrame
        How many released rows of each cell have each value, as `values.sum_values` takes it; kept likewise.
    bins : tuple of int or None
        In which these values were counted.
    reports : list of dict
        What each cell reports about itself.
    sensitive : tuple of SensitiveColumn
        What the goals count, with the counts of the whole table.
    missing, suppressed : int
        Rows that were left out for a missing value, and by the cells.
    plan : Plan
        The cells.
    """

    table: SparkTable
    codebook: Codebook
    method: MethodInfo
    reason: str
    plan: Plan
    encoded: SparkRows
    classes: Any
    counted: Any
    bins: Bins
    names: tuple[str, ...]
    reports: list[dict[str, Any]]
    sensitive: tuple[SensitiveColumn, ...]
    rows: int
    missing: int
    suppressed: int
    close: Callable[[], None]

    @property
    def released(self) -> Any:
        """The released rows, in no order."""
        return rows_of(self.classes)


def run(
    frame: Any,
    recipe: Recipe,
    timings: dict[str, float],
    progress: Progress | None = None,
    show_plan: Callable[[str], None] | None = None,
    *,
    in_files: bool = False,
) -> SparkRun:
    """Cluster and publish the rows of a Spark DataFrame; `in_files` says that it is all that files have."""
    spark = frame.sparkSession
    table = SparkTable.of(frame, recipe)
    table = table.scanned(frame, cores(spark)) if in_files else table
    table = table.spread(cores(spark))
    with stage(timings, "read", progress) as tick:
        with sized(spark, 0), watched(spark, tick):
            codebook = find_codebook(table, recipe)
        check_feasible(codebook.rows, recipe.privacy.k)
    with sized(spark, codebook.rows):
        return _run(table, codebook, recipe, timings, progress, show_plan)


def _run(
    table: SparkTable,
    codebook: Codebook,
    recipe: Recipe,
    timings: dict[str, float],
    progress: Progress | None,
    show_plan: Callable[[str], None] | None,
) -> SparkRun:
    """Cluster and publish the rows of a table whose codebook is known."""
    spark = table.frame.sparkSession
    method, reason = choose(recipe.method.name, codebook.rows)
    prepared = _prepared(table, codebook)
    kept = [prepared]
    try:
        with stage(timings, "encode", progress) as tick, watched(spark, tick):
            rows, missing = _kept(SparkRows(prepared, codebook), recipe)
        cell_rows = recipe.engine.cell_rows or CELL_ROWS
        with stage(timings, "plan", progress) as tick, watched(spark, tick):
            planned = rows.condensed(cell_rows)
            kept.append(planned.frame)
            plan = plan_cells(planned, Feasible(rows.sensitive, codebook.recipe), cell_rows)
            equal = _equal_cells(rows, plan)
            largest = max((cell.rows for at, cell in enumerate(plan.counts) if at not in equal), default=0)
            refuse_large(plan, largest, codebook, spark, cell_rows, show_plan)
        cells = len(plan.partition.paths)
        with stage(timings, "cluster", progress) as tick, watched(spark, tick, expected=cells):
            bins = choose_bins(rows)
            cell_recipe = recipe_of_cells(codebook.recipe, codebook.rows, missing)
            made = _clustered(rows, plan, equal, table, method, cell_recipe, bins)
            kept.append(made)
            reports = _reports(made)
            check_cells(reports, rows.root.rows, recipe.privacy.may_suppress(codebook.rows) - missing)
    except BaseException:
        _close(*kept)
        raise
    names = [name for book in codebook.quasi for name, _ in published_columns(book, recipe)]
    classes = made.where(f"{ABOUT} IS NULL").drop(ABOUT, COUNTED)
    counted = made.where(f"{ABOUT} IS NOT NULL").select(COUNTED)
    return SparkRun(
        table, codebook, method, reason, plan, rows, classes, counted, bins,
        (*names, *recipe.named("sensitive", "keep")), reports, rows.sensitive, codebook.rows, missing,
        sum(report["suppressed"] for report in reports), partial(_close, *kept),
    )  # fmt: skip


def _close(*frames: Any) -> None:
    for frame in frames:
        frame.unpersist()


def _prepared(table: SparkTable, codebook: Codebook) -> Any:
    """Return the encoded rows, kept on the workers' disks: they are read several times."""
    task = tasks.Prepare(table.names, tuple(codebook.recipe.input.missing), codebook)
    return on_disks(table.mapped(task, prepared_schema(table, codebook)))


def _kept(encoded: SparkRows, recipe: Recipe) -> tuple[SparkRows, int]:
    """Return the rows that are not left out for a missing value, and how many are; check both."""
    total, counts = encoded.codebook.rows, encoded.by_state()
    missing = counts[LEFT_OUT].rows
    check_encoded(total, *(count.rows for count in counts))
    if missing > recipe.privacy.may_suppress(total):
        raise too_many_missing(missing, total, recipe.privacy.max_suppressed)
    rows = encoded.kept(counts[KEPT])
    check_feasible(rows.root.rows, recipe.privacy.k)
    if recipe.subject is not None:
        _check_subject(rows, recipe.subject)
    return rows, missing


def _check_subject(rows: SparkRows, subject: str) -> None:
    from pyspark.sql import functions as f

    from shoal.errors import DataError

    absent = rows.frame.where(f.col("person").isNull()).count()
    if absent:
        message = f"The subject column `{subject}` has {absent} missing values: whose rows are these?"
        raise DataError("data.missing", message, "fix the data, or remove these rows")


def _equal_cells(rows: SparkRows, plan: Plan) -> list[int]:
    """Return the cells whose rows are all equal: in others, different numbers have the same position."""
    from pyspark.sql import functions as f

    alike = [number for number, path in enumerate(plan.partition.paths) if is_alike(path)]
    numbers = [name for name in rows.frame.columns if name[0] == "q"]
    if not alike or not numbers:
        return alike
    differ = [f.max(name) > f.min(name) for name in numbers]
    differing = f.coalesce(f.greatest(*differ, f.lit(False)), f.lit(False)).alias("differing")
    cells = rows.in_cells(plan.partition).where(f.col("cell") < len(alike))
    found = {row.cell: row.differing for row in cells.groupBy("cell").agg(differing).collect()}
    return [number for number in alike if not found[number]]


def _clustered(
    rows: SparkRows,
    plan: Plan,
    equal: list[int],
    table: SparkTable,
    method: MethodInfo,
    recipe: Recipe,
    bins: Bins,
) -> Any:
    """Return the published classes of all cells, and one row about each.

    Each cell is a partition. Spark takes these in the order of their numbers: the largest cell is the first,
    so that no core is left with one in the end. Cells of equal rows have the last numbers.
    """
    from pyspark.sql import functions as f

    schema = released_schema(table, rows.codebook)
    sizes = [cell.rows for cell in plan.counts]
    order = sorted(range(len(sizes)), key=lambda cell: (cell in equal, -sizes[cell]))
    paths = tuple(plan.partition.paths[cell] for cell in order)
    numbers = np.argsort(order).tolist()
    task = tasks.CellTask(rows.codebook, recipe, method, paths, rows.whole, bins, arrow_schema(schema))
    cells = rows.in_cells(plan.partition, numbers).select("cell", *clustered_columns(rows.codebook))
    first_equal = len(paths) - len(equal)
    clustered = cells.where(f.col("cell") < first_equal) if equal else cells
    parted = clustered.repartitionById(max(1, min(_MAX_TASKS, first_equal)), f.col("cell"))
    made = parted.groupBy("cell").applyInArrow(guarded_group(task), schema)
    if equal:
        made = made.union(cells.where(f.col("cell") >= first_equal).mapInArrow(guarded(task.alike), schema))
    return on_disks(made)


def _reports(made: Any) -> list[dict[str, Any]]:
    """Return what the cells report; raise what one of them could not do."""
    rows = made.where(f"{ABOUT} IS NOT NULL").select(ABOUT).collect()
    reports = sorted((json.loads(row[0]) for row in rows), key=lambda report: report["path"])
    faults = [Fault(**report["fault"]) for report in reports if "fault" in report]
    if faults:
        raise InfeasibleError.from_faults(faults[:1])
    return reports
