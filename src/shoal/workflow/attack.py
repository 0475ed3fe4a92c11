"""`shoal.attack`: attack a release given as files, frames or a `Release`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.attacks import Attacks
from shoal.attacks import attack as attack_tables
from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.release.distributed import Distributed
from shoal.release.release import Release
from shoal.stages import Progress, stage
from shoal.table.frames import to_polars
from shoal.table.orders import with_orders


def attack(
    original: Any,
    released: Any,
    recipe: Recipe | None = None,
    *,
    earlier: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Attacks:
    """Find out what an attacker gets out of a release, next to the raw table and to what was promised.

    Parameters
    ----------
    original : str, Path, or pandas, Polars or Arrow table
        The raw table.
    released : str, Path, Release, or pandas, Polars or Arrow table
        The release, of shoal or of another tool. For several views or two tables: the name that the files
        share, or a `Release`.
    recipe : Recipe, optional
        What was promised, and the kinds and hierarchies of the columns; default: that of the `Release`.
    earlier : sequence of str or Path
        Earlier releases about the same people, to be combined with this one. Their recipes are read from the
        manifests next to them; without a manifest, an earlier release has the recipe of this one.
    progress : callable, optional
        Called with stage, completed share and status.

    Returns
    -------
    Attacks
        One result for each attack; `holds` is False if one of them breaks a promise.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 33, 58, 60], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> release = shoal.anonymize(people, quasi=["age"], sensitive=["disease"], k=2)
    >>> attacks = shoal.attack(people, release)
    >>> attacks.holds, attacks[0].attack, attacks[0].success
    (True, 'classes-worst', 0.5)
    """
    if isinstance(released, Release):
        recipe = released.recipe if recipe is None else recipe
        released = _tables(released)
    if recipe is None:
        message = "The recipe of the release is needed."
        raise RecipeError("recipe.invalid", message, "shoal.attack(original, released, recipe)")
    if isinstance(released, (str, Path)):
        recipe = recipe.beside(released)
    if not isinstance(original, (str, Path)):
        frame = to_polars(original)
        recipe = with_orders(recipe, frame)
        original = frame.to_arrow()
    if not isinstance(released, (str, Path, list)):
        released = to_polars(released).to_arrow()
    with stage({}, "attack", progress) as tick:
        return attack_tables(original, released, recipe, earlier=earlier, tick=tick)


def _tables(release: Release) -> Any:
    """Return the table of a release, or a list of its tables."""
    frames = [part.frame for part in release.parts]
    tables = [frame.to_arrow() for frame in frames if not isinstance(frame, Distributed)]
    if len(tables) < len(frames):
        message = "A release that Spark holds cannot be attacked."
        raise RecipeError("recipe.not_available", message, "write it, and attack the folder")
    return tables if len(tables) > 1 else tables[0]
