"""A release in two tables: quasi and sensitive values apart, joined by groups (Anatomy)."""

from __future__ import annotations

import secrets
import warnings
from typing import Any

import polars as pl

from shoal.cluster.registry import METHODS
from shoal.dangers import Scene, find_dangers, refuse
from shoal.engine import local
from shoal.errors import IdentityUnprotectedWarning, KnownSeedWarning
from shoal.measure.loss import Loss
from shoal.recipe import Recipe
from shoal.recode.separate import Parts, separate
from shoal.release.parts import Numbers, Part
from shoal.release.release import Release
from shoal.report.profile import group_profile
from shoal.stages import stage
from shoal.table.encode import encode, kinds_of
from shoal.table.frames import series
from shoal.table.siblings import TITLES
from shoal.verifier import MeasuredGoal
from shoal.workflow.job import Job

_SECRET_BITS = 128  # the state of the generator that a seed starts
# Quasi values are published unchanged. What is lost is their link to the sensitive values, which no
# measure of generalization captures: 0 would look like the best of all releases.
_NO_LOSS = Loss()


def make_two_tables(job: Job) -> Release:
    """Make a release in two tables."""
    recipe, timings, progress = job.recipe, job.timings, job.progress
    table = _without_empty(job.table, *recipe.named("sensitive"))
    with stage(timings, "encode", progress):
        encoded = encode(table, recipe)
    with stage(timings, "cluster", progress) as tick:
        found = local.run(encoded, _with_secret_seed(recipe), METHODS[recipe.method.name], tick)
    with stage(timings, "recode", progress):
        tables = separate(table, encoded.in_input_order(found.labels), recipe)
        scene = Scene(job.values, encoded, recipe, found.labels, None, recipe.shape.groups)
        dangers = tuple(find_dangers(scene))
        refuse(dangers, recipe)
        profile = group_profile(table, encoded, found.labels, recipe)
    numbers = Numbers(
        released=tables.quasi.height,
        suppressed=table.height - tables.quasi.height,
        classes=tables.groups,
        k=None,  # rows do not look alike
        goals=(_diversity(tables, recipe),),
        loss=_NO_LOSS,
        loss_tight=_NO_LOSS,
    )
    quasi, sensitive = TITLES
    release = Release(
        parts=(  # one report about both
            Part(quasi, tables.quasi, recipe, numbers, profile, dangers=dangers),
            Part(sensitive, tables.sensitive, recipe, numbers),
        ),
        numbers=numbers,
        method=recipe.method.name,
        seed=recipe.method.seed if _is_seeded(recipe) else None,
        dangers=list(dangers),
        kinds=kinds_of(encoded, job.asked),
        **job.about(),
    )
    _warn(release)
    return release


def _diversity(tables: Parts, recipe: Recipe) -> MeasuredGoal:
    """Return the promise for every group: at least l values, none with a share above 1 / l."""
    options: Any = recipe.options
    (column,) = recipe.named("sensitive")
    achieved = tables.diversity
    return MeasuredGoal("l-diversity", column, options.l, achieved, achieved >= options.l)


def _without_empty(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Treat an empty text as missing: a file does not distinguish the two."""
    values = series(table, name)
    if values.dtype != pl.String:
        return table
    filled = values.set(values == "", None)
    return pl.DataFrame({n: filled if n == name else series(table, n) for n in table.columns})


def _is_seeded(recipe: Recipe) -> bool:
    return "seed" in recipe.method.model_fields_set


def _with_secret_seed(recipe: Recipe) -> Recipe:
    """Return the recipe with a seed from the system's own randomness, unless one was given.

    Quasi values, groups and counts are published. Together with the order in which rows were drawn they
    reveal whose value is whose, so the seed must be secret: a well-known default would not be.
    """
    if _is_seeded(recipe):
        return recipe
    method = recipe.method.model_copy(update={"seed": secrets.randbits(_SECRET_BITS)})
    return recipe.model_copy(update={"method": method})


def _warn(release: Release) -> None:
    warnings.warn(
        "Anatomy publishes quasi values unchanged: anyone who knows them finds a person's row, and k = "
        f"{release.recipe.privacy.k} is not promised. It hides which of a group's sensitive values is whose, "
        "and nothing else.",
        IdentityUnprotectedWarning,
        stacklevel=5,
    )
    if release.seed is not None:
        warnings.warn(
            "The given seed determines the groups: anyone who knows or guesses it can work out whose value "
            "is whose. For a release, leave the seed out.",
            KnownSeedWarning,
            stacklevel=5,
        )
