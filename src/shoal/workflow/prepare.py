"""Read a table and make a release of the shape that the recipe asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.cluster.clusterer import check_feasible
from shoal.composition.companions import Companions
from shoal.composition.earlier import earlier_files
from shoal.dangers import Values, refuse_unique, warn_of
from shoal.engine.spark.input import is_spark
from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe, Shape
from shoal.release.release import Release
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.induced import with_induced
from shoal.table.orders import leaves_kind_open, with_orders
from shoal.table.read import mark_missing, read, used_columns
from shoal.workflow.job import Job
from shoal.workflow.one_table import make_one_table
from shoal.workflow.several_views import make_views
from shoal.workflow.two_tables import make_two_tables


def prepare(
    data: Any,
    recipe: Recipe,
    *,
    also: Iterable[str | Path] = (),
    accept_composition: bool = False,
    bound: bool = True,
    progress: Progress | None = None,
    show_plan: Callable[[str], None] | None = None,
) -> Release:
    """Make a release that has not been verified yet: verify it before handing it out.

    `data` is a frame, or None for the file that the recipe names. `show_plan` is called with a sentence about
    the cells of a Spark table before they are clustered.
    """
    import shoal.kernels  # noqa: F401  # loading Numba is not part of any stage

    if recipe.engine.name == "spark" or is_spark(data):
        from shoal.workflow.distributed import make_distributed

        return make_distributed(data, recipe, also=also, bound=bound, progress=progress, show_plan=show_plan)
    companions = Companions.of(recipe, also, accepted=accept_composition)
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        table = _with_identifiers(data, recipe, companions.known_before())
        found = with_induced(with_orders(recipe, table), table)
        companions = replace(companions, recipe=found)
        if recipe.shape is not Shape.TWO_TABLES:  # these promise no k
            check_feasible(table.height, recipe.privacy.k)
        job = Job(table, found, recipe, Values(table), companions, bound, timings, progress)
        refuse_unique(job.values, found)  # before any work is done
    release = _MAKERS[recipe.shape](job)
    if companions.are_several and recipe.shape is not Shape.TWO_TABLES:
        with stage(timings, "composition", progress):
            release = replace(release, composition=companions.check(table))
    warn_of(release.dangers)
    reads = recipe.files | earlier_files(companions.also)
    return replace(release, kind=frames.kind_of(data), reads=reads)


_MAKERS = {
    Shape.CLASSES: make_one_table,
    Shape.BOXES: make_one_table,
    Shape.TWO_TABLES: make_two_tables,
    Shape.VIEWS: make_views,
}


def _with_identifiers(data: Any, recipe: Recipe, also: Collection[str]) -> pl.DataFrame:
    """Return the table with its identifiers, to detect repeated ones; without those that cannot be read."""
    try:
        return table_of(data, recipe, also={*also, *recipe.named("identifier")})
    except DataError:
        return table_of(data, recipe, also=also)


def table_of(data: Any, recipe: Recipe, *, also: Collection[str] = ()) -> pl.DataFrame:
    """Read or convert the table and compare its columns with the recipe's.

    Columns that the recipe does not use are dropped here, whatever their type, except for those named
    in `also`. A quasi column whose type has an order keeps that type, for `with_orders`.
    """
    choose = used_columns(recipe, also)
    if data is not None:
        table = mark_missing(frames.to_polars(data, choose), recipe.input.missing)
    elif recipe.input.path is not None:
        table = read(recipe.resolve(recipe.input.path), recipe.input, choose)
    else:
        raise RecipeError("recipe.invalid", "The recipe names no input.", 'add [input] path = "..."')
    ordered = [name for name in recipe.quasi if leaves_kind_open(recipe, name)]
    columns = {name: frames.series(table, name) for name in table.columns}
    return pl.DataFrame(
        {
            name: values.cast(pl.String) if values.dtype == pl.Enum and name not in ordered else values
            for name, values in columns.items()
        }
    )
