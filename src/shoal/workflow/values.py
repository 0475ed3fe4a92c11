"""`shoal.values`: a release as numbers for statistics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.release.distributed import Distributed
from shoal.release.release import Release
from shoal.table import frames
from shoal.table.read import read_release
from shoal.table.write import manifest_path
from shoal.utility.values import How, published_values


def values(
    release: Release | str | Path | Any,
    recipe: Recipe | str | Path | None = None,
    *,
    how: How = "midpoint",
    variance: bool = False,
    seed: int = 0,
) -> Any:
    """Turn the ranges and nodes of a release into numbers for statistics.

    Only what is published is used, and the recipe: anyone who has the release gets the same numbers.

    Parameters
    ----------
    release : Release, str, Path, or pandas, Polars or Arrow frame
        A release, its file, or its table.
    recipe : Recipe, str or Path, optional
        The recipe of the release, or its manifest. A `Release` has its own; for a file, its manifest is
        found beside it.
    how : {"midpoint", "sample"}, default "midpoint"
        "midpoint" gives every cell the mean of what it may stand for: a number the middle of its range, a
        date the middle day, an ordinal value the middle position in its order (from 0), and a category one
        column for each value, `sex=f`, with the weight of that value. "sample" draws one of the values that
        a cell may stand for, so that the result looks like a raw table.
    variance : bool, default False
        With "midpoint", also add `age_variance`: the variance inside the range, for numbers, dates (in days)
        and ordinal values.
    seed : int, default 0
        For "sample": the same seed gives the same values.

    Returns
    -------
    frame
        Of the same kind as the release's table; Polars for a file. Columns that are not quasi are unchanged,
        but texts that are all numbers become numbers. A missing cell stays missing. A cell in which
        everything is lost (`*`) gets the distribution of the column's other rows.

    Notes
    -----
    All values inside a range, and all leaves below a node, count as equally likely. docs/utility.md says what
    bias remains.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 33, 58, 60], "sex": ["f", "f", "m", "f"]})
    >>> release = shoal.anonymize(people, quasi=["age", "sex"], k=2)
    >>> shoal.values(release).rows(named=True)[0]
    {'age': 32.0, 'sex=f': 1.0, 'sex=m': 0.0}
    >>> shoal.values(release, variance=True).rows(named=True)[2]
    {'age': 59.0, 'age_variance': 0.6666666666666666, 'sex=f': 0.5, 'sex=m': 0.5}
    """
    table, found, kinds, kind = _given(release, recipe)
    made = published_values(table, found, kinds, how=how, variance=variance, seed=seed)
    return frames.as_kind(made, kind)


def _given(
    release: Release | str | Path | Any, recipe: Recipe | str | Path | None
) -> tuple[pl.DataFrame, Recipe, dict[str, str], str]:
    """Return the table, its recipe, the kinds of its quasi columns and the kind of frame to return."""
    given = Recipe.load(recipe) if isinstance(recipe, (str, Path)) else recipe
    if isinstance(release, Release):
        kinds = {name: str(kind["kind"]) for name, kind in release.kinds.items()}
        return _only_table(release), given or release.recipe, kinds, release.kind
    if isinstance(release, (str, Path)):
        manifest = manifest_path(Path(release))
        if given is None and not manifest.exists():
            message = f"The manifest of {release} is not beside it, and no recipe is given."
            raise RecipeError("recipe.unreadable", message, "give the recipe of the release")
        found = (given or Recipe.load(manifest)).beside(release)
        table = read_release(Path(release), spreadsheet_safe=found.output.spreadsheet_safe)
        return table, found, _kinds_in(manifest), "polars"
    if given is None:
        message = "A table without its recipe cannot be read."
        raise RecipeError("recipe.invalid", message, "give the recipe of the release, or its manifest")
    beside = _kinds_in(Path(recipe)) if isinstance(recipe, (str, Path)) else {}
    return frames.to_polars(release), given, beside, frames.kind_of(release)


def _only_table(release: Release) -> pl.DataFrame:
    if len(release.parts) > 1 or isinstance(release.parts[0].frame, Distributed):
        held = (
            "Spark holds this release"
            if len(release.parts) == 1
            else f"This release has {release.shape.value}"
        )
        hint = "give one table of release.tables, in memory, and the recipe"
        raise RecipeError("recipe.not_available", f"{held}: it has no single table in memory.", hint)
    return release.frame


def _kinds_in(manifest: Path) -> dict[str, str]:
    """Return the kinds of the quasi columns that a manifest names; none if there is no manifest."""
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))["kinds"]
        return {str(name): str(kind["kind"]) for name, kind in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
