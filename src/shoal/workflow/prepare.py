"""Read a table and make a release of the shape that the recipe asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.bound.result import Bounding
from shoal.cluster.clusterer import check_feasible
from shoal.composition.companions import Companions
from shoal.composition.earlier import earlier_files
from shoal.dangers import Danger, Scene, Values, find_rules, refuse, unique_raw, warn_of
from shoal.engine.spark.input import is_spark, refuse_connect
from shoal.errors import DataError
from shoal.protect.entries import with_released_names
from shoal.protect.protecting import protect
from shoal.recipe import Recipe, Shape
from shoal.recode.publish import publish
from shoal.release.ledger import Ledger, check_ledger
from shoal.release.release import Release
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.encode import encode
from shoal.table.given import table_of
from shoal.table.induced import with_induced
from shoal.table.orders import with_orders
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
    bound: Bounding = True,
    progress: Progress | None = None,
    show_plan: Callable[[str], None] | None = None,
    target: str | Path | None = None,
) -> Release:
    """Make a release that has not been verified yet: verify it before handing it out.

    `data` is a frame, or None for the file that the recipe names. `show_plan` is called with a sentence about
    the cells of a Spark table before they are clustered. `target` is where the release will be written, if
    that is known.
    """
    import shoal.kernels  # noqa: F401  # loading Numba is not part of any stage

    if recipe.engine.name == "spark" or is_spark(data):
        from shoal.workflow.distributed import make_distributed

        refuse_connect(data)
        return make_distributed(data, recipe, also=also, bound=bound, progress=progress, show_plan=show_plan)
    ledger = read_ledger(recipe, target or recipe.output.path)
    also = with_ledger(also, [] if ledger is None else ledger.manifests)
    companions = Companions.of(recipe, also, accepted=accept_composition)
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        raw = _with_identifiers(data, recipe, companions.known_before())
        found = with_orders(recipe, raw)
        protected = protect(raw, found)
        table = protected.table
        found = with_induced(found, table)
        companions = replace(companions, recipe=found)
        if recipe.shape is not Shape.TWO_TABLES:  # these promise no k
            check_feasible(table.height, recipe.privacy.k)
        job = Job(table, raw, found, recipe, Values(table), companions, bound, timings, progress)
        _refuse_unique(job)  # before any work is done
    release = _MAKERS[recipe.shape](job)
    if companions.are_several and recipe.shape is not Shape.TWO_TABLES:
        with stage(timings, "composition", progress):
            release = replace(release, composition=companions.check(table))
    warn_of(release.dangers)
    reads = recipe.files | earlier_files(companions.also)
    entries = protected.entries
    frame = release.parts[0].frame
    if isinstance(frame, pl.DataFrame):
        entries = with_released_names(entries, frame)
    protection = (*entries, *release.protection)
    return replace(release, kind=frames.kind_of(data), reads=reads, protection=protection, ledger=ledger)


def read_ledger(recipe: Recipe, target: str | Path | None) -> Ledger | None:
    """Read the ledger that the recipe names; None without one."""
    if recipe.output.ledger is None:
        return None
    path = Path(recipe.output.ledger)
    check_ledger(path)
    ledger = Ledger.read(path, target)
    if target is not None:
        ledger.refuse_replacing(target)
    return ledger


def with_ledger(also: Iterable[str | Path], manifests: Iterable[Path]) -> list[Path]:
    """Return the manifests that are named, and those of a ledger that are not among them."""
    named = [Path(path) for path in also]
    known = {path.resolve() for path in named}
    return [*named, *(path for path in manifests if path.resolve() not in known)]


_MAKERS = {
    Shape.CLASSES: make_one_table,
    Shape.BOXES: make_one_table,
    Shape.TWO_TABLES: make_two_tables,
    Shape.VIEWS: make_views,
}


def _refuse_unique(job: Job) -> None:
    """Refuse columns that single rows out; with all else that must be accepted, as far as it is known yet."""
    recipe, rows = job.recipe, job.table.height
    found = unique_raw(job.values, recipe, lost=recipe.privacy.may_suppress(rows))
    if all(danger.accepted or not danger.refused_as for danger in found):
        return
    refuse([*found, *supposed_rules(job.values, recipe)], recipe)


def supposed_rules(values: Values, recipe: Recipe) -> list[Danger]:
    """Find columns that reveal others before there are classes.

    Without classes, nobody knows which cells will be generalized: rules between columns are counted as if
    all of them were.
    """
    encoded = encode(values.table, recipe)
    labels = np.zeros(encoded.n_rows, dtype=np.int32)
    published = publish(encoded, labels, recipe) if recipe.shape.is_generalized else None
    return [_supposed(danger) for danger in find_rules(Scene(values, encoded, recipe, labels, published))]


def _supposed(danger: Danger) -> Danger:
    """Say that the numbers are those of a table in which every value is generalized."""
    if danger.name != "recoverable":
        return danger
    message = f"{danger.message[0].lower()}{danger.message[1:]}"
    return replace(danger, message=f"If all values were generalized: {message}")


def _with_identifiers(data: Any, recipe: Recipe, also: Collection[str]) -> pl.DataFrame:
    """Return the table with its identifiers, to detect repeated ones; without those that cannot be read."""
    try:
        return table_of(data, recipe, also={*also, *recipe.named("identifier")}, code=False)
    except DataError:
        return table_of(data, recipe, also={*also, *recipe.pseudonyms}, code=False)
