"""A release that Spark makes: one table, in cells, measured by sums and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

from shoal.bound.result import Bound, Bounding
from shoal.dangers import (
    MIN_ROWS,
    Danger,
    alike_danger,
    dominated_danger,
    duplicate_dangers,
    recoverable_dangers,
    refuse,
    repeated_dangers,
    sources,
    unique_dangers,
    warn_of,
)
from shoal.engine.cells.in_memory import cells_remark
from shoal.engine.spark.aggregates import (
    ClassCounts,
    ValueCounts,
    count_dominated,
    count_released,
)
from shoal.engine.spark.balance import check_released
from shoal.engine.spark.bounding import lower_bound
from shoal.engine.spark.frame import SparkTable
from shoal.engine.spark.goals import worst_classes
from shoal.engine.spark.input import read_input
from shoal.engine.spark.measured import total
from shoal.engine.spark.memory import refuse_small_workers
from shoal.engine.spark.progress import watched
from shoal.engine.spark.repeats import Repeats, count_repeats
from shoal.engine.spark.revealed import duplicates_of, recoverable_of
from shoal.engine.spark.run import CELL_ROWS, SparkRun, run
from shoal.engine.spark.settings import sized
from shoal.errors import InfeasibleError, RecipeError
from shoal.failures import clear_failures
from shoal.measure.loss import Loss
from shoal.recipe import Recipe
from shoal.recipe.goals import Goal
from shoal.release.distributed import Distributed, layout_of, published_names
from shoal.release.parts import Numbers, Part
from shoal.release.release import Release
from shoal.stages import BackgroundStage, Progress, stage
from shoal.table.codebook import RangeBook
from shoal.table.encode import kind_entry
from shoal.verifier import MeasuredGoal
from shoal.workflow.spark_profile import spark_profile

_ROUNDING = 1e-9  # of an entropy


def make_distributed(
    frame: Any | None,
    recipe: Recipe,
    *,
    also: Iterable[str | Path] = (),
    bound: Bounding = True,
    progress: Progress | None = None,
    show_plan: Callable[[str], None] | None = None,
) -> Release:
    """Make a release of a Spark DataFrame, or of the input of a recipe, that has not been verified yet."""
    if list(also):
        message = "Earlier releases cannot be checked together with a release of the engine `spark`."
        raise RecipeError("recipe.not_available", message, "leave out --also, or use the engine local")
    from shoal.verifier.spark.session import spark_session, steady

    recipe = recipe.changed({"engine": {"name": "spark"}})
    timings: dict[str, float] = {}
    if frame is None:
        with stage(timings, "start", progress):
            spark = spark_session(recipe.engine.master, recipe.engine.conf)
    else:
        spark = frame.sparkSession
    refuse_small_workers(spark)  # before the first of them starts
    with clear_failures(), steady(spark):
        with stage(timings, "count", progress) as tick, sized(spark, 0), watched(spark, tick):
            given = read_input(spark, recipe) if frame is None else frame
            repeats = _repeats(SparkTable.of(given, recipe), recipe)
        in_files = frame is None and recipe.input.table is None
        found = run(given, recipe, timings, progress, show_plan, in_files=in_files)
        try:
            bounding = (_bounding(found, recipe, timings, progress),) if bound else ()
            with stage(timings, "measure", progress) as tick, sized(spark, found.rows), watched(spark, tick):
                part = _part(found, recipe, repeats, bounding)
                refuse(part.dangers, recipe)
        except BaseException:
            found.close()
            raise
    release = Release(
        parts=(part,),
        recipe=recipe,
        numbers=part.numbers,
        rows=found.rows,
        method=found.method.name,
        reason=found.reason,
        seed=recipe.method.seed,
        timings=timings,
        kind="spark",
        remarks=part.remarks,
        dangers=list(part.dangers),
        kinds={
            book.name: kind_entry(
                str(book.column.kind),
                book.unit if isinstance(book, RangeBook) else book.empty.unit,
                recipe.columns[book.name].kind is None,
            )
            for book in found.codebook.quasi
        },
        reads=recipe.files,
    )
    warn_of(release.dangers)
    return release


def _bounding(
    found: SparkRun, recipe: Recipe, timings: dict[str, float], progress: Progress | None
) -> BackgroundStage[Bound | None]:
    """Bound the loss; other work waits, because it needs the same workers."""
    spark = found.classes.sparkSession
    with stage(timings, "bounding", progress) as tick, sized(spark, found.rows), watched(spark, tick):
        return BackgroundStage.done(timings, "bounding", lower_bound(found.encoded, recipe, found.missing))


def _repeats(table: SparkTable, recipe: Recipe) -> dict[str, Repeats]:
    """Count the values of kept columns and identifiers; refuse kept columns that single rows out."""
    kept = recipe.named("keep")
    identifiers = [] if recipe.subject is not None else table.usable(recipe.named("identifier"))
    repeats = count_repeats(table, [*kept, *identifiers], recipe)
    if kept:
        own, rows = {name: repeats[name].own for name in kept}, repeats[kept[0]].rows
        refuse(unique_dangers(own, rows, recipe, lost=recipe.privacy.may_suppress(rows)), recipe)
    return {name: repeats[name] for name in identifiers}


def _part(
    found: SparkRun,
    recipe: Recipe,
    repeats: dict[str, Repeats],
    bounding: tuple[BackgroundStage[Bound | None], ...],
) -> Part:
    layout, columns = layout_of(found), published_names(found)
    with_people = recipe.subject is not None
    counts, of_others = count_released(
        found.classes,
        columns,
        layout.others,
        with_people=with_people,
        with_label=recipe.label is not None,
    )
    values = dict(zip(recipe.named("sensitive", "keep"), of_others, strict=True))
    dangers = _dangers(found, counts, values, repeats, recipe)
    check_released(found.rows, counts.rows, found.suppressed, found.missing)
    suppressed = found.suppressed + found.missing
    rows = Distributed(found, layout, counts.classes, counts.rows)
    return Part(
        title="",
        frame=rows,
        recipe=recipe,
        numbers=Numbers(
            released=counts.rows,
            suppressed=suppressed,
            classes=counts.classes,
            k=counts.people,
            goals=_goals(found, counts, recipe),
            loss=_loss(found, counts, suppressed, "lost", recipe),
            loss_tight=_loss(found, counts, suppressed, "tight", recipe),
            bounding=bounding,
        ),
        profile=spark_profile(found, columns, counts, values, recipe),
        dangers=tuple(dangers),
        remarks=(cells_remark(found.plan, recipe.engine.cell_rows or CELL_ROWS),),
    )


def _goals(found: SparkRun, counts: ClassCounts, recipe: Recipe) -> tuple[MeasuredGoal, ...]:
    """Return every goal, asked and achieved."""
    people = "rows" if recipe.subject is None else "people"
    k = recipe.privacy.k
    goals = [MeasuredGoal("k-anonymity", None, k, counts.people, counts.people >= k, counts=people)]
    numbers = worst_classes(found.classes, layout_of(found).keys, found.sensitive, recipe)
    for goal, achieved in zip(recipe.privacy.column_goals, numbers, strict=True):
        if _fails(goal, achieved):
            message = (
                f"Classes of different cells are published alike and share people, so that {goal.type} is "
                f"{achieved}, not {goal.asked}."
            )
            raise InfeasibleError("infeasible.goal", message, "raise cell_rows, or use the engine local")
        goals.append(MeasuredGoal(goal.type, goal.column, goal.asked, achieved, True, goal.form, people))
    return tuple(goals)


def _fails(goal: Goal, achieved: float | None) -> bool:
    """Return whether the worst class misses a goal; None is infinity."""
    if goal.more_is_better:
        return achieved is not None and achieved < goal.asked - _ROUNDING
    return achieved is None or achieved > goal.asked


def _loss(found: SparkRun, counts: ClassCounts, suppressed: int, key: str, recipe: Recipe) -> Loss:
    """Measure the release, or its classes, from what the cells lost."""
    weights = [book.column.weight for book in found.codebook.quasi]
    lost = total(found.reports, key, len(weights))
    il = None
    if lost is not None:
        il = sum(w * part for w, part in zip(weights, lost, strict=True)) + suppressed * sum(weights)
    n = found.rows
    return Loss(
        il=il,
        gcp=None if il is None else il / (n * sum(weights)),
        distortion_ratio=_distortion_ratio(found, lost, suppressed),
        dm=counts.squares + n * suppressed,
        c_avg=n / counts.classes / recipe.privacy.k,
        cm=None if counts.majority is None else 1 - counts.majority / n,
    )


def _distortion_ratio(found: SparkRun, lost: list[float] | None, suppressed: int) -> float | None:
    trees = [book for book in found.codebook.quasi if not isinstance(book, RangeBook)]
    if lost is None or len(trees) < len(found.codebook.quasi):
        return None
    columns = sum(book.empty.tree.total_height > 0 for book in trees)
    most = found.rows * columns
    return (sum(lost) + suppressed * columns) / most if most else 0.0


def _dangers(
    found: SparkRun,
    counts: ClassCounts,
    values: dict[str, ValueCounts],
    repeats: dict[str, Repeats],
    recipe: Recipe,
) -> list[Danger]:
    """Report what the release reveals although every promise holds, as far as sums and counts show it."""
    dangers = unique_dangers({name: each.own for name, each in values.items()}, counts.rows, recipe)
    dangers += _rules(found, counts.rows, recipe)
    identifiers = {name: (each.known, each.different, each.repeated) for name, each in repeats.items()}
    dangers += repeated_dangers(identifiers, recipe)
    if recipe.subject is not None:
        number, share = count_dominated(found.classes, layout_of(found).keys)
        dangers += [dominated_danger(number, counts.classes, share, recipe)] if number else []
    for name in recipe.named("sensitive"):
        each = values[name]
        numbers = {
            "alike": each.alike,
            "classes": counts.classes,
            "rows": each.alike_rows,
            "values": each.alike_values,
            "distinct": each.distinct + (each.missing > 0),
            "frequent": each.alike_frequent,
        }
        dangers += [alike_danger(name, numbers, recipe)] if each.alike else []
    return dangers


def _rules(found: SparkRun, released: int, recipe: Recipe) -> list[Danger]:
    """Report columns that duplicate or reveal a quasi column, from what the cells have counted."""
    if released < MIN_ROWS:
        return []
    quasi = [book.name for book in found.codebook.quasi]
    copies = duplicate_dangers(duplicates_of(found.reports), quasi, released, recipe)
    pairs = product(sources(len(quasi), found.rows, recipe), quasi)
    counted = dict(zip(pairs, recoverable_of(found.reports), strict=True))
    known = {(danger.columns[0], danger.columns[1]) for danger in copies}
    return copies + recoverable_dangers(
        lambda names, column: counted[names, column], quasi, found.rows, recipe, known
    )
