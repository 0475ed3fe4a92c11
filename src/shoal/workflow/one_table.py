"""A release in one table: classes, or a box for each row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from shoal.bound.lower_bound import recipe_bound
from shoal.bound.result import Bound, effort_of
from shoal.cluster.clusterer import ClusterResult
from shoal.cluster.registry import choose
from shoal.dangers import Scene, find_dangers, refuse
from shoal.engine import local
from shoal.engine.publishing import published_as
from shoal.errors import GroupShiftWarning
from shoal.recipe import Recipe, Shape
from shoal.recode.publish import Published, publish
from shoal.release.parts import Numbers, Part
from shoal.release.release import Release
from shoal.report.profile import group_profile, profile
from shoal.stages import BackgroundStage, Progress, stage
from shoal.table.columns import Encoded
from shoal.table.encode import encode, kinds_of
from shoal.verifier import MeasuredGoal
from shoal.workflow.dossier import Made, gather_later
from shoal.workflow.job import Job
from shoal.workflow.publishing import (
    achieved_goals,
    class_costs,
    loss_of_costs,
    raw_columns,
    released_frame,
    tight_loss,
)

_MOST_BESIDE = 2_000_000  # rows: above, the bound and publishing would need too much memory at the same time


def make_one_table(job: Job) -> Release:
    """Make a release in one table."""
    recipe, timings = job.recipe, job.timings
    with stage(timings, "encode", job.progress):
        encoded = encode(job.table, recipe)
    method, reason = choose(recipe.method.name, job.table.height)
    with stage(timings, "cluster", job.progress) as tick:
        found = local.run(encoded, recipe, method, tick)
    part = make_part(job, encoded, found, recipe, timings, job.progress)
    refuse(part.dangers, recipe)
    if recipe.shape.needs_original:
        _warn_of_shift()
    return Release(
        parts=(part,),
        numbers=part.numbers,
        method=method.name,
        reason=reason,
        seed=recipe.method.seed,
        remarks=part.remarks,
        dangers=list(part.dangers),
        kinds=kinds_of(encoded, job.asked),
        protection=part.protection,
        **job.about(),
    )


def make_part(
    job: Job,
    encoded: Encoded,
    found: ClusterResult,
    recipe: Recipe,
    timings: dict[str, float],
    progress: Progress | None,
    title: str = "",
) -> Part:
    """Publish and measure what a method found in one table, or in one view of it."""
    table = job.table
    bounding = _bounding(job, encoded, found, recipe, timings, progress)
    with stage(timings, "recode", progress):
        published = published_as(encoded, found, recipe)
        frame, people = released_frame(table, encoded, published, recipe)
        job.companions.note(table, encoded, published, recipe)
    with stage(timings, "measure", progress):
        has_classes = recipe.shape.has_classes
        # Boxes of single rows form no classes: statements about rows then refer to groups.
        shown = published if has_classes else publish(encoded, found.labels, recipe)
        costs = class_costs(encoded, published, recipe)
        lost = loss_of_costs(encoded, published, costs, recipe)
        smallest, further = achieved_goals(encoded, published, recipe)
        k = smallest if found.ring is None else found.ring
        scene = Scene(job.values, encoded, recipe, shown.labels, published, recipe.shape.groups)
        described = profile(table, encoded, published.labels, published.classes, costs, recipe)
        if not has_classes:
            groups = group_profile(table, encoded, shown.labels, recipe)
            described = replace(groups, columns=described.columns)
        numbers = Numbers(
            released=frame.height,
            suppressed=table.height - frame.height,
            classes=published.classes.height,
            k=k,
            goals=(_k_anonymity(k, recipe, counts_people=people is not None), *further),
            loss=lost,
            # A box over k neighbours is already as tight as possible.
            loss_tight=tight_loss(encoded, published, recipe) if has_classes else lost,
            bounding=bounding,
        )
        is_one_table = job.recipe.shape is Shape.CLASSES
        made = Made(recipe, frame, people, numbers)
        return Part(
            title=title,
            frame=frame,
            recipe=recipe,
            numbers=numbers,
            profile=described,
            people=people,
            original=raw_columns(table, recipe) if recipe.shape.needs_original else None,
            labels=encoded.in_input_order(shown.labels),
            dangers=tuple(find_dangers(scene)),
            protection=_suppressed_cells(published),
            remarks=found.remarks,
            findings=gather_later(job.raw, encoded, made) if is_one_table else None,
        )


def _suppressed_cells(published: Published) -> tuple[dict[str, Any], ...]:
    """Say in how many rows the cell of a column was suppressed; rows with `*` are visible to everyone."""
    cells = published.suppressed_cells
    return tuple({"column": n, "method": "cell suppression", "rows": rows} for n, rows in cells.items())


def _bounding(
    job: Job,
    encoded: Encoded,
    found: ClusterResult,
    recipe: Recipe,
    timings: dict[str, float],
    progress: Progress | None,
) -> tuple[BackgroundStage[Bound | None], ...]:
    """Start to compute the lower bound of the loss if it is asked for."""
    if not job.bound:
        return ()
    # It uses all processors for a while; publishing and verifying do not.
    effort = effort_of(job.bound)

    def bounded(tick: Callable[[float], None]) -> Bound | None:
        return recipe_bound(encoded, recipe, effort=effort, classes=found.labels, progress=tick)

    started = BackgroundStage(timings, "bounding", bounded)
    if job.table.height > _MOST_BESIDE:
        started.result(progress)
    return (started,)


def _k_anonymity(k: int, recipe: Recipe, *, counts_people: bool) -> MeasuredGoal:
    asked = recipe.privacy.k
    counts = "people" if counts_people else "rows"
    return MeasuredGoal("k-anonymity", None, asked=asked, achieved=k, holds=k >= asked, counts=counts)


def _warn_of_shift() -> None:
    """Warn of what boxes of single rows do not protect against."""
    warnings.warn(
        "An attacker who knows for certain which row of this release belongs to one person can identify the "
        "rows of the whole group: boxes of single rows are protected by one secret shift per group.",
        GroupShiftWarning,
        stacklevel=5,
    )
