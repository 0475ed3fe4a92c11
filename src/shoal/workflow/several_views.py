"""A release in several views of one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from shoal.cluster.clusterer import ClusterResult
from shoal.cluster.registry import choose
from shoal.dangers import refuse
from shoal.dangers import together as dangers_together
from shoal.engine import local
from shoal.errors import Fault, ShoalError
from shoal.recipe import Recipe
from shoal.recode.view_columns import narrowed, view_recipes
from shoal.release.parts import together
from shoal.release.release import Release
from shoal.stages import Progress, stage
from shoal.table.columns import Encoded
from shoal.table.encode import encode, kinds_of
from shoal.table.siblings import view_titles
from shoal.workflow.job import Job
from shoal.workflow.one_table import make_part


@dataclass(frozen=True, repr=False)
class View:
    """The input of a view: its recipe, its columns, and its classes."""

    recipe: Recipe
    encoded: Encoded
    found: ClusterResult


def make_views(job: Job) -> Release:
    """Make a release in several views.

    With ``views_by = "clustering"`` each view has its own classes. With ``"projection"`` the whole table is
    clustered once and each view shows some columns of that one release: an attacker who has all views
    learns no more than from the release in one table.
    """
    recipe, timings, progress = job.recipe, job.timings, job.progress
    by_projection = recipe.output.views_by == "projection"
    make = _projected if by_projection else _clustered
    views, remarks = make(job.table, recipe, timings, progress)
    parts, titles = [], view_titles(len(views))
    for at, view in enumerate(views):
        own: dict[str, float] = {}
        share = _part(progress, at, len(views))
        part = make_part(job, view.encoded, view.found, view.recipe, own, share, titles[at])
        part.numbers.wait_for_bound(share)
        _add(timings, own)
        parts.append(part)
    dangers = dangers_together([list(part.dangers) for part in parts])
    refuse(dangers, recipe)
    found = {name: kind for view in views for name, kind in kinds_of(view.encoded, job.asked).items()}
    method, reason = choose(recipe.method.name, job.table.height)
    return Release(
        parts=tuple(parts),
        numbers=together(parts, job.table.height),
        method=method.name,
        reason=reason,
        seed=recipe.method.seed,
        remarks=(*remarks, *_keep_remarks(recipe)),
        dangers=dangers,
        kinds={name: found[name] for name in recipe.quasi},
        **job.about(),
    )


def _clustered(
    table: pl.DataFrame, recipe: Recipe, timings: dict[str, float], progress: Progress | None
) -> tuple[list[View], list[str]]:
    """Cluster each view separately; return the views and the method's remarks."""
    recipes = view_recipes(recipe)
    with stage(timings, "encode", progress):
        encoded = _encoded(table, recipes)
    views, remarks = [], []
    for at, (asked, columns) in enumerate(zip(recipes, encoded, strict=True)):
        method, _ = choose(asked.method.name, table.height)
        own: dict[str, float] = {}
        with stage(own, "cluster", _part(progress, at, len(recipes))) as tick:
            found = local.run(columns, asked, method, tick)
        _add(timings, own)
        remarks += [f"View {at + 1}: {remark}" for remark in found.remarks]
        views.append(View(asked, columns, replace(found, remarks=())))
    return views, remarks


def _projected(
    table: pl.DataFrame, recipe: Recipe, timings: dict[str, float], progress: Progress | None
) -> tuple[list[View], list[str]]:
    """Cluster the whole table; return some of its columns for each view.

    What a class publishes in a column depends only on its rows in that column, so classes published with
    fewer columns are the projection of the whole release; those that become identical are merged.
    """
    method, _ = choose(recipe.method.name, table.height)
    with stage(timings, "encode", progress):
        encoded = encode(table, recipe)
    with stage(timings, "cluster", progress) as tick:
        found = local.run(encoded, recipe, method, tick)
    views = []
    for asked in view_recipes(recipe):
        levels = found.levels and tuple(
            level
            for column, level in zip(encoded.columns, found.levels, strict=True)
            if column.name in asked.quasi
        )
        classes = replace(found, levels=levels, remarks=())
        views.append(View(asked, narrowed(encoded, asked.quasi), classes))
    return views, list(found.remarks)


def _encoded(table: pl.DataFrame, recipes: Sequence[Recipe]) -> list[Encoded]:
    """Encode all views; collect the faults of all of them before reporting any."""
    encoded, errors = [], []
    for recipe in recipes:
        try:
            encoded.append(encode(table, recipe))
        except ShoalError as error:
            errors.append(error)
    if errors:
        faults: dict[Fault, None] = dict.fromkeys(fault for error in errors for fault in error.faults)
        raise type(errors[0]).from_faults(list(faults))
    return encoded


def _keep_remarks(recipe: Recipe) -> list[str]:
    kept = recipe.named("keep")
    if not kept or len(recipe.views) == 1:
        return []
    listed = ", ".join(f"`{name}`" for name in kept)
    what = f"Kept column {listed} is" if len(kept) == 1 else f"Kept columns {listed} are"
    return [f"{what} in view 1 only: a rare value would link the views."]


def _part(progress: Progress | None, at: int, parts: int) -> Progress | None:
    """Report the progress of one view as its share of a stage."""
    if progress is None:
        return None
    return lambda name, share, text="": progress(name, (at + share) / parts, text)


def _add(timings: dict[str, float], own: dict[str, float]) -> None:
    for name, seconds in own.items():
        timings[name] = timings.get(name, 0.0) + seconds
