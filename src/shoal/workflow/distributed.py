"""A release that Spark makes: one table, in cells, measured by sums and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from shoal.dangers import Danger, alike_danger, dominated_danger, unique_dangers, warn_of
from shoal.engine.cells.in_memory import cells_remark
from shoal.engine.spark.aggregates import (
    ClassCounts,
    ValueCounts,
    count_classes,
    count_dominated,
    count_values,
)
from shoal.engine.spark.goals import worst_classes
from shoal.engine.spark.measured import total
from shoal.engine.spark.run import CELL_ROWS, SparkRun, run
from shoal.errors import RecipeError
from shoal.measure.loss import Loss
from shoal.recipe import Recipe
from shoal.release.distributed import Distributed, layout_of
from shoal.release.parts import Numbers, Part
from shoal.release.release import Release
from shoal.report.profile import ColumnProfile, Profile, SensitiveProfile
from shoal.report.scale import SMALLEST
from shoal.stages import Progress, stage
from shoal.table.codebook import RangeBook
from shoal.verifier import MeasuredGoal
from shoal.workflow.spark_input import read_input


def make_distributed(
    frame: Any | None,
    recipe: Recipe,
    *,
    also: Iterable[str | Path] = (),
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
    with steady(spark):
        found = run(
            read_input(spark, recipe) if frame is None else frame, recipe, timings, progress, show_plan
        )
        try:
            with stage(timings, "measure", progress):
                part = _part(found, recipe)
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
            book.name: {"kind": str(book.column.kind), "found": recipe.columns[book.name].kind is None}
            for book in found.codebook.quasi
        },
        reads=recipe.files,
    )
    warn_of(release.dangers)
    return release


def _part(found: SparkRun, recipe: Recipe) -> Part:
    layout = layout_of(found)
    with_people = recipe.subject is not None
    counts = count_classes(
        found.released, layout.keys, with_people=with_people, with_label=recipe.label is not None
    )
    values = {
        name: count_values(found.released, f"o{at}", layout.keys, with_people=with_people)
        for at, name in enumerate(recipe.named("sensitive", "keep"))
    }
    dangers = _dangers(found, counts, values, recipe)
    suppressed = found.rows - counts.rows
    return Part(
        title="",
        frame=Distributed(found, layout, counts.classes, counts.rows),
        recipe=recipe,
        numbers=Numbers(
            released=counts.rows,
            suppressed=suppressed,
            classes=counts.classes,
            k=counts.people,
            goals=_goals(found, counts, recipe),
            loss=_loss(found, counts, suppressed, "lost", recipe),
            loss_tight=_loss(found, counts, suppressed, "tight", recipe),
        ),
        profile=_profile(found, counts, values, suppressed, recipe),
        dangers=tuple(dangers),
        remarks=(cells_remark(found.plan, recipe.engine.cell_rows or CELL_ROWS),),
    )


def _goals(found: SparkRun, counts: ClassCounts, recipe: Recipe) -> tuple[MeasuredGoal, ...]:
    people = "rows" if recipe.subject is None else "people"
    k = recipe.privacy.k
    goals = [MeasuredGoal("k-anonymity", None, k, counts.people, counts.people >= k, counts=people)]
    numbers = worst_classes(found.released, layout_of(found).keys, found.sensitive, recipe)
    for goal, achieved in zip(recipe.privacy.goal, numbers, strict=True):
        variant = getattr(goal, "variant", getattr(goal, "distance", None))
        goals.append(MeasuredGoal(goal.type, goal.column, goal.asked, achieved, True, variant, people))
    return tuple(goals)


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
    found: SparkRun, counts: ClassCounts, values: dict[str, ValueCounts], recipe: Recipe
) -> list[Danger]:
    """Report what the release reveals although every promise holds, as far as sums and counts show it."""
    dangers = unique_dangers({name: each.own for name, each in values.items()}, counts.rows, recipe)
    if recipe.subject is not None:
        number, share = count_dominated(found.released, layout_of(found).keys)
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


def _profile(
    found: SparkRun, counts: ClassCounts, values: dict[str, ValueCounts], suppressed: int, recipe: Recipe
) -> Profile:
    lost = total(found.reports, "lost", len(found.codebook.quasi))
    columns = tuple(
        ColumnProfile(
            book.name,
            str(book.column.kind),
            book.column.weight,
            None if lost is None else (lost[at] + suppressed) / found.rows,
            (),
        )
        for at, book in enumerate(found.codebook.quasi)
    )
    sensitive = tuple(_sensitive(name, values[name]) for name in recipe.named("sensitive"))
    return Profile(columns, sensitive, counts.sizes, recipe.shape.groups)


def _sensitive(name: str, values: ValueCounts) -> SensitiveProfile:
    missing = values.missing if values.missing == 0 or values.missing >= SMALLEST else None
    return SensitiveProfile(name=name, distinct=values.distinct, missing=missing, alike=values.alike)
