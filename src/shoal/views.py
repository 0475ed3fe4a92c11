"""From a table to several views of it, one release together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import polars as pl

from shoal.cluster.clusterer import ClusterResult
from shoal.cluster.registry import choose
from shoal.dangers import together
from shoal.engine import local
from shoal.errors import Fault, ShoalError
from shoal.recipe import Recipe
from shoal.recode.views import narrowed, view_recipes
from shoal.release import Release
from shoal.stages import Progress, stage
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.viewed import ViewsRelease


@dataclass(frozen=True, repr=False)
class View:
    """What a view is made from: its recipe, its columns, and its classes."""

    recipe: Recipe
    encoded: Encoded
    found: ClusterResult


class Finish(Protocol):
    """Publish and measure what a method found in one table."""

    def __call__(
        self,
        table: pl.DataFrame,
        encoded: Encoded,
        found: ClusterResult,
        recipe: Recipe,
        *,
        kind: str,
        timings: dict[str, float],
        progress: Progress | None,
    ) -> Release:
        """Return the release; nobody has verified it yet."""


def make_views(
    table: pl.DataFrame,
    recipe: Recipe,
    *,
    finish: Finish,
    kind: str,
    timings: dict[str, float],
    progress: Progress | None = None,
) -> ViewsRelease:
    """Make a release in several views that nobody has verified yet: verify it before it leaves the house.

    With ``views_by = "clustering"`` each view has classes of its own. With ``"projection"`` the whole
    table is clustered once and each view shows some columns of that one release: whoever has all views
    knows no more than the release in one table would tell.

    `finish` is what a release in one table ends with; `timings` has what was done before.
    """
    by_projection = recipe.output.views_by == "projection"
    make = _projected if by_projection else _clustered
    views, remarks = make(table, recipe, timings, progress)
    releases = []
    for at, view in enumerate(views):
        own: dict[str, float] = {}
        releases.append(
            finish(
                table, view.encoded, view.found, view.recipe,
                kind=kind, timings=own, progress=_part(progress, at, len(views)),
            )
        )  # fmt: skip
        if releases[-1].bounding is not None:
            releases[-1].bounding.result(_part(progress, at, len(views)))
        _add(timings, own)
    return ViewsRelease(
        views=tuple(releases),
        recipe=recipe,
        rows=table.height,
        timings=timings,
        kind=kind,
        remarks=(*remarks, *_keep_remarks(recipe)),
        dangers=together([view.dangers for view in releases]),
    )


def _clustered(
    table: pl.DataFrame, recipe: Recipe, timings: dict[str, float], progress: Progress | None
) -> tuple[list[View], list[str]]:
    """Find classes in each view by itself; return the views and what the method has to say."""
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
    """Find classes in the whole table; return some of its columns for each view.

    What a class publishes in a column follows from its rows in that column alone, so classes published
    with fewer columns are the projection of the whole release; those that look alike there are one.
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
    """Encode all views; gather the faults of all of them before reporting any."""
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
    return [f"{what} in view 1 only: a value that few rows have would join the views."]


def _part(progress: Progress | None, at: int, parts: int) -> Progress | None:
    """Report the progress of one view as that of its share of a stage."""
    if progress is None:
        return None
    return lambda name, share, told="": progress(name, (at + share) / parts, told)


def _add(timings: dict[str, float], own: dict[str, float]) -> None:
    for name, seconds in own.items():
        timings[name] = timings.get(name, 0.0) + seconds
