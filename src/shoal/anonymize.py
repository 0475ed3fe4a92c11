"""The facade: a table and a recipe in, a release out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.cluster.clusterer import check_feasible
from shoal.cluster.registry import choose
from shoal.engine import local
from shoal.errors import RecipeError, SensitiveUnprotectedWarning
from shoal.measure.loss import loss
from shoal.measure.profile import profile
from shoal.measure.published import published_costs
from shoal.measure.readings import tight_costs
from shoal.recipe import Recipe, column_faults
from shoal.recode.publish import Published, publish
from shoal.release import Release
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.encode import encode as encode_columns
from shoal.table.read import mark_missing, read
from shoal.verify import verify_table


def anonymize(
    data: Any,
    recipe: Recipe | None = None,
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    identifiers: Iterable[str] = (),
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    k: int | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    method: str = "auto",
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Publish a table so that every row hides among at least k that look alike.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame, or Recipe
        The table; or a recipe whose [input] names a file.
    recipe : Recipe, optional
        What to do with a frame. Without it, say so with the parameters below.
    quasi, sensitive, identifiers, keep, drop : iterables of str
        The columns of each role. Every column needs one.
    k : int
        Smallest class size.
    hierarchies : mapping of str to str or dict, optional
        By column: a file, a nested table, or `{"intervals": [5, 10]}` and the like.
    method, seed, options
        How the classes are found.
    progress : callable, optional
        Called with the name of a stage and the share of it that is done.

    Returns
    -------
    Release
        Verified by another engine before it is returned.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 33, 58, 60], "sex": ["f", "f", "m", "f"]})
    >>> shoal.anonymize(people, quasi=["age", "sex"], k=2).table.rows()
    [('[31, 33]', 'f'), ('[31, 33]', 'f'), ('[58, 60]', '{f, m}'), ('[58, 60]', '{f, m}')]
    """
    if isinstance(data, Recipe):
        recipe, data = data, None
    if recipe is None:
        recipe = _recipe_from_arguments(
            quasi, sensitive, identifiers, keep, drop, k, hierarchies, method, seed, options
        )
    release = prepare(data, recipe, progress=progress)
    with stage(release.timings, "verify", progress):
        release.accept(verify_table(release.frame.to_arrow(), recipe, rows=release.released))
    return release


def encode(
    data: Any,
    recipe: Recipe | None = None,
    *,
    quasi: Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> Encoded:
    """Turn the quasi columns of a table into what clusterers take.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame
        The table.
    recipe : Recipe, optional
        Kinds, weights and hierarchies. Without it, name the columns with the parameters below.
    quasi : iterable of str
        The columns to encode, in order; others are left out.
    hierarchies : mapping of str to str or dict, optional
        By column, as for `anonymize`.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 58, 33, 60], "sex": ["f", "m", "f", "f"]})
    >>> encoded = shoal.encode(people, quasi=["age", "sex"])
    >>> encoded
    Encoded(4 rows, 2 quasi columns)
    >>> shoal.cluster.KMember(k=2, seed=1).fit_predict(encoded)  # one label for each row of people
    array([1, 0, 1, 0], dtype=int32)
    """
    if recipe is None:
        columns: dict[str, Any] = {name: {"hierarchy": tree} for name, tree in (hierarchies or {}).items()}
        changes = {"columns": {**columns, "default": "drop"}}
        recipe = Recipe.from_roles(quasi=quasi, k=2, changes=changes)  # k plays no part here
    return encode_columns(table_of(data, recipe), recipe)


def prepare(data: Any, recipe: Recipe, *, progress: Progress | None = None) -> Release:
    """Make a release that nobody has verified yet: verify it before it leaves the house.

    `data` is a frame, or None for the file that the recipe names.
    """
    import shoal.kernels  # noqa: F401  # loading Numba is not part of any stage

    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        table = table_of(data, recipe)
        check_feasible(table.height, recipe.privacy.k)
    with stage(timings, "encode", progress):
        encoded = encode_columns(table, recipe)
    method, reason = choose(recipe.method.name, table.height)
    with stage(timings, "cluster", progress) as tick:
        found = local.run(encoded, recipe, method, tick)
    with stage(timings, "recode", progress):
        published = publish(encoded, found.labels, recipe, found.levels)
        frame = _released_frame(table, encoded, published, recipe)
    with stage(timings, "measure", progress):
        sizes = np.bincount(published.labels[published.labels >= 0])
        boxes = recipe.output.values == "generalize"
        costs = published_costs(encoded, published.classes) if boxes else None
        k = recipe.privacy.k
        release = Release(
            frame=frame,
            recipe=recipe,
            method=method.name,
            reason=reason,
            rows=table.height,
            released=frame.height,
            suppressed=table.height - frame.height,
            classes=len(sizes),
            k=int(sizes.min()),
            loss=loss(encoded, published.labels, costs, k),
            loss_tight=loss(encoded, published.labels, tight_costs(encoded, published.labels), k),
            profile=profile(table, encoded, published.labels, published.classes, costs, recipe),
            timings=timings,
            kind=frames.kind_of(data),
            remarks=found.remarks,
        )
    _warn_unprotected(release)
    return release


def table_of(data: Any, recipe: Recipe) -> pl.DataFrame:
    """Read or convert the table and compare its columns with the recipe's."""
    if data is not None:
        table = mark_missing(frames.to_polars(data), recipe.input.missing)
    elif recipe.input.path is not None:
        table = read(recipe.resolve(recipe.input.path), recipe.input)
    else:
        raise RecipeError("recipe.invalid", "The recipe names no input.", 'add [input] path = "..."')
    faults = column_faults(recipe, table.columns)
    if faults:
        raise RecipeError.from_faults(faults)
    return table


def _released_frame(
    table: pl.DataFrame, encoded: Encoded, published: Published, recipe: Recipe
) -> pl.DataFrame:
    """Put the published columns together, in canonical order: sorted by what is published.

    Columns are built from the recipe alone, so nothing that has no role can slip through.
    """
    inside = published.labels >= 0
    others = recipe.named("sensitive", "keep")
    # Classes are numbered in the order of their texts, so this sorts by all published columns.
    # Numbers for names: Polars would take a column called "*" or "^a.*$" for a pattern.
    keys = {"class": pl.Series(published.labels[inside])}
    keys |= {
        str(at): frames.series(table, name).gather(encoded.order[inside]) for at, name in enumerate(others)
    }
    rows = pl.DataFrame(keys).sort(list(keys), nulls_last=True)
    columns = {name: rows[str(at)] for at, name in enumerate(others)}
    for name in published.classes.columns:
        columns[name] = frames.series(published.classes, name).gather(rows["class"])
    written = [made for name in table.columns for made in published.names.get(name, [name])]
    return pl.DataFrame({name: columns[name] for name in written if name in columns})


def _warn_unprotected(release: Release) -> None:
    """Warn when a class shares one sensitive value: k says nothing about that."""
    for column in release.profile.sensitive:
        if column.alike:
            warnings.warn(
                f"{column.alike} of {release.classes} classes share one value of `{column.name}`: whoever "
                "knows that a person is in such a class knows that value. k-anonymity does not protect "
                "against this.",
                SensitiveUnprotectedWarning,
                stacklevel=3,
            )


def _recipe_from_arguments(
    quasi: Iterable[str],
    sensitive: Iterable[str],
    identifiers: Iterable[str],
    keep: Iterable[str],
    drop: Iterable[str],
    k: int | None,
    hierarchies: Mapping[str, Any] | None,
    method: str,
    seed: int,
    options: Mapping[str, Any] | None,
) -> Recipe:
    if k is None:
        raise RecipeError("recipe.invalid", "k is missing.", "say how many rows a class needs: k=5")
    changes = {
        "columns": {name: {"hierarchy": given} for name, given in (hierarchies or {}).items()},
        "method": {"name": method, "seed": seed, "options": dict(options or {})},
    }
    return Recipe.from_roles(
        quasi=quasi, sensitive=sensitive, identifiers=identifiers, keep=keep, drop=drop, k=k, changes=changes
    )
