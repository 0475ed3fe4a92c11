"""From a table to the two tables of Anatomy."""

from __future__ import annotations

import secrets
import warnings

import polars as pl

from shoal.anatomized import Anatomized
from shoal.cluster.registry import METHODS
from shoal.dangers import Scene, Values, find_dangers
from shoal.engine import local
from shoal.errors import IdentityUnprotectedWarning, KnownSeedWarning
from shoal.recipe import Recipe
from shoal.recode.anatomy import take_apart
from shoal.stages import Progress, stage
from shoal.table.encode import encode, kinds_of
from shoal.table.frames import series

_SECRET_BITS = 128  # the state of the generator that a seed starts


def anatomize(
    table: pl.DataFrame,
    recipe: Recipe,
    *,
    values: Values,
    asked: Recipe,
    kind: str,
    timings: dict[str, float],
    progress: Progress | None = None,
) -> Anatomized:
    """Make a release in two tables that nobody has verified yet: verify it before it leaves the house.

    `values` are those of the table; `asked` is the recipe before kinds were found; `kind` is that of the
    frame that was given; `timings` has what was done before.
    """
    table = _without_empty(table, *recipe.named("sensitive"))
    with stage(timings, "encode", progress):
        encoded = encode(table, recipe)
    with stage(timings, "cluster", progress) as tick:
        found = local.run(encoded, _with_secret_seed(recipe), METHODS["anatomy"], tick)
    with stage(timings, "recode", progress):
        parts = take_apart(table, encoded.in_input_order(found.labels), recipe)
        scene = Scene(values, encoded, recipe, found.labels, None, "groups")
    release = Anatomized(
        parts=parts,
        recipe=recipe,
        rows=table.height,
        released=parts.quasi.height,
        suppressed=table.height - parts.quasi.height,
        seed=recipe.method.seed if _is_seeded(recipe) else None,
        timings=timings,
        kind=kind,
        dangers=find_dangers(scene),
        kinds=kinds_of(encoded, asked),
    )
    _warn(release)
    return release


def _without_empty(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Take an empty text for a missing value: a file does not tell them apart, and it is no value."""
    values = series(table, name)
    if values.dtype != pl.String:
        return table
    mended = values.set(values == "", None)
    return pl.DataFrame({n: mended if n == name else series(table, n) for n in table.columns})


def _is_seeded(recipe: Recipe) -> bool:
    return "seed" in recipe.method.model_fields_set


def _with_secret_seed(recipe: Recipe) -> Recipe:
    """Return the recipe with a seed of the system's own randomness, unless it was given one.

    Quasi values, groups and counts are published. With the order in which rows were drawn they show
    which value is whose, so the seed has to be secret: the default that everybody knows is none.
    """
    if _is_seeded(recipe):
        return recipe
    method = recipe.method.model_copy(update={"seed": secrets.randbits(_SECRET_BITS)})
    return recipe.model_copy(update={"method": method})


def _warn(release: Anatomized) -> None:
    warnings.warn(
        "Anatomy publishes quasi values as they are: whoever knows them finds a person's row, and k = "
        f"{release.recipe.privacy.k} is not promised. It hides which of a group's sensitive values is whose, "
        "and nothing else.",
        IdentityUnprotectedWarning,
        stacklevel=5,
    )
    if release.seed is not None:
        warnings.warn(
            "The groups follow from the seed that was given: whoever knows or guesses it can tell whose "
            "value is whose. For a release leave the seed out.",
            KnownSeedWarning,
            stacklevel=5,
        )
