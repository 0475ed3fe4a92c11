"""The facade: a table and a recipe in, a release out."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.anatomize import anatomize
from shoal.anatomized import Anatomized
from shoal.cluster.clusterer import ClusterResult, check_feasible
from shoal.cluster.registry import choose
from shoal.compose import Companions
from shoal.dangers import Scene, Values, find_dangers, refuse_unique, warn_of
from shoal.engine import local
from shoal.errors import DataError, GroupShiftWarning, RecipeError
from shoal.goals import COUNTED, LDiversity, from_text
from shoal.goals import Goal as AskedGoal
from shoal.measure.bound import recipe_bound
from shoal.measure.earlier import earlier_files
from shoal.measure.loss import Loss, loss
from shoal.measure.profile import profile
from shoal.measure.published import published_costs
from shoal.measure.readings import tight_costs
from shoal.privacy.goalset import GoalSet
from shoal.privacy.repair import repair
from shoal.recipe import WITHOUT_CLASSES, Recipe
from shoal.recode.publish import Published, publish, publish_ring
from shoal.release import Release
from shoal.stages import Meanwhile, Progress, stage
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.encode import encode as encode_columns
from shoal.table.encode import kinds_of
from shoal.table.orders import leaves_kind_open, with_orders
from shoal.table.read import mark_missing, read, used_columns
from shoal.table.readings import FloatArray
from shoal.verify import Goal, verify_table
from shoal.viewed import ViewsRelease
from shoal.views import make_views

if TYPE_CHECKING:
    import pyarrow as pa

_FEW_ROWS = 200_000


def anonymize(
    data: Any,
    recipe: Recipe | None = None,
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    identifiers: Iterable[str] = (),
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    subject: str | None = None,
    k: int | None = None,
    goals: Iterable[str | Mapping[str, Any]] = (),
    hierarchies: Mapping[str, Any] | None = None,
    accept: Mapping[str, Iterable[str]] | None = None,
    method: str = "auto",
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    views: str | list[list[str]] | None = None,
    views_by: str | None = None,
    also: Iterable[str | Path] = (),
    accept_composition: bool = False,
    bound: bool = True,
    progress: Progress | None = None,
) -> Release | Anatomized | ViewsRelease:
    """Publish a table so that every row hides among at least k that look alike.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame, or Recipe
        The table; or a recipe whose [input] names a file.
    recipe : Recipe, optional
        What to do with a frame. Without it, say so with the parameters below.
    quasi, sensitive, identifiers, keep, drop : iterables of str
        The columns of each role. Every column needs one.
    subject : str, optional
        The column that tells people apart, where one may have several rows: k and goals count people.
    k : int
        Smallest class size.
    goals : iterable of str or dict, optional
        Further privacy goals: `"l-diversity column=disease l=3"`, or the same as a mapping.
    hierarchies : mapping of str to str or dict, optional
        By column: a file, a nested table, or `{"intervals": [5, 10]}` and the like.
    accept : mapping of str to iterable of str, optional
        By column: the dangers that you take knowingly, such as `["unique"]`. They are still listed.
    method, seed, options
        How the classes are found.
    views : {"whole", "equal", "unequal", "nested"} or list of lists of str, optional
        Publish several tables instead of one: which quasi columns each has.
    views_by : {"clustering", "projection"}, optional
        Whether each has classes of its own, or all show the classes of one.
    also : iterable of str or Path, optional
        Manifests of earlier releases about the same people. What all tables give away together is
        checked, and refused if it is too much.
    accept_composition : bool, default False
        Publish even so; the check is made and reported.
    bound : bool, default True
        Compute how much every release must lose at least, a few seconds on large tables.
    progress : callable, optional
        Called with the name of a stage and the share of it that is done.

    Returns
    -------
    Release
        Verified by another engine before it is returned. Of the method `anatomy`: `Anatomized`. With
        views: `ViewsRelease`.

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
        if k is None:
            raise RecipeError("recipe.invalid", "k is missing.", "say how many rows a class needs: k=5")
        recipe = Recipe.from_roles(
            quasi=quasi,
            sensitive=sensitive,
            identifiers=identifiers,
            keep=keep,
            drop=drop,
            subject=() if subject is None else (subject,),
            k=k,
            changes={
                "columns": _described(hierarchies or {}, accept or {}),
                "privacy": {"goal": [from_text(g) if isinstance(g, str) else dict(g) for g in goals]},
                "method": {"name": method, "seed": seed, "options": dict(options or {})},
                "output": {"views": views, "views_by": views_by},
            },
        )
    release = prepare(
        data, recipe, also=also, accept_composition=accept_composition, bound=bound, progress=progress
    )
    if isinstance(release, Anatomized | ViewsRelease):
        with stage(release.timings, "verify", progress):
            release.check()
        return release
    with stage(release.timings, "verify", progress):
        table = release.frame.to_arrow()
        release.accept(
            verify_table(
                table,
                release.recipe,
                rows=release.released,
                original=release.original,
                subjects=release.people,
            )
        )
    if release.bounding is not None:
        release.bounding.result(progress)
    return release


def _described(
    hierarchies: Mapping[str, Any], accept: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, Any]]:
    """Return what the parameters say of columns besides their roles."""
    columns: dict[str, dict[str, Any]] = {name: {"hierarchy": given} for name, given in hierarchies.items()}
    for name, dangers in accept.items():
        taken = [dangers] if isinstance(dangers, str) else list(dangers)
        columns.setdefault(name, {})["accept"] = taken
    return columns


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
    table = table_of(data, recipe)
    return encode_columns(table, with_orders(recipe, table))


def prepare(
    data: Any,
    recipe: Recipe,
    *,
    also: Iterable[str | Path] = (),
    accept_composition: bool = False,
    bound: bool = True,
    progress: Progress | None = None,
) -> Release | Anatomized | ViewsRelease:
    """Make a release that nobody has verified yet: verify it before it leaves the house.

    `data` is a frame, or None for the file that the recipe names.
    """
    import shoal.kernels  # noqa: F401  # loading Numba is not part of any stage

    companions = Companions.of(recipe, also, accepted=accept_composition)
    reads = recipe.files | earlier_files(companions.also)
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        table = _with_identifiers(data, recipe, companions.known_before())
        asked, recipe = recipe, with_orders(recipe, table)
        companions = replace(companions, recipe=recipe)
        if recipe.method.name != "anatomy":  # which promises no k
            check_feasible(table.height, recipe.privacy.k)
        values = Values(table)
        refuse_unique(values, recipe)  # before any work is done
    kind = frames.kind_of(data)
    if recipe.method.name == "anatomy":
        apart = anatomize(
            table, recipe, values=values, asked=asked, kind=kind, timings=timings, progress=progress
        )
        warn_of(apart.dangers)
        return replace(apart, accepts_composition=accept_composition, reads=reads)
    finish = partial(_finished, values=values, asked=asked, companions=companions, bound=bound)
    if recipe.output.views != "whole":
        views = make_views(table, recipe, finish=finish, kind=kind, timings=timings, progress=progress)
        with stage(timings, "composition", progress):
            together = companions.check(table)
            each = tuple(replace(view, composition=together, reads=reads) for view in views.views)
            views = replace(views, views=each, composition=together, reads=reads)
        warn_of(views.dangers)
        return views
    with stage(timings, "encode", progress):
        encoded = encode_columns(table, recipe)
    method, _ = choose(recipe.method.name, table.height)
    with stage(timings, "cluster", progress) as tick:
        found = local.run(encoded, recipe, method, tick)
    release = finish(table, encoded, found, recipe, kind=kind, timings=timings, progress=progress)
    if companions.are_several:
        with stage(timings, "composition", progress):
            release = replace(release, composition=companions.check(table))
    warn_of(release.dangers)
    _warn_of_shift(release)
    return replace(release, reads=reads)


def _finished(
    table: pl.DataFrame,
    encoded: Encoded,
    found: ClusterResult,
    recipe: Recipe,
    *,
    values: Values,
    asked: Recipe,
    companions: Companions,
    bound: bool,
    kind: str,
    timings: dict[str, float],
    progress: Progress | None,
) -> Release:
    """Publish and measure what a method found; `asked` is the recipe before kinds were found."""
    method, reason = choose(recipe.method.name, table.height)
    bounding = None
    if bound:
        # It keeps all processors busy for a while, when publishing and verifying small tables do not.
        bounding = Meanwhile(timings, "bounding", lambda tick: recipe_bound(encoded, recipe, progress=tick))
        if table.height > _FEW_ROWS:  # otherwise both would need memory at the same time
            bounding.result(progress)
    with stage(timings, "recode", progress):
        published = published_as(encoded, found, recipe)
        frame, people = _released_frame(table, encoded, published, recipe)
        companions.note(table, encoded, published, recipe)
    with stage(timings, "measure", progress):
        # Boxes of single rows make no classes: what is said about the rows then is said by group.
        shown = published if found.ring is None else publish(encoded, found.labels, recipe)
        costs = published_class_costs(encoded, published, recipe)
        lost = published_loss(encoded, found, published, costs, recipe)
        smallest, goals = _achieved(encoded, published, recipe)
        word = "classes" if found.ring is None else "groups"
        scene = Scene(values, encoded, recipe, shown.labels, published, word)
        return Release(
            frame=frame,
            recipe=recipe,
            method=method.name,
            reason=reason,
            rows=table.height,
            released=frame.height,
            suppressed=table.height - frame.height,
            classes=published.classes.height,
            k=found.ring or smallest,
            loss=lost,
            # A box over k neighbours is as tight as it can be.
            loss_tight=lost if found.ring is not None else _tight_loss(encoded, published, recipe),
            bounding=bounding,
            profile=profile(
                table,
                encoded,
                shown.labels,
                shown.classes,
                costs if shown is published else published_class_costs(encoded, shown, recipe),
                recipe,
            ),
            timings=timings,
            kind=kind,
            remarks=found.remarks,
            original=None if found.ring is None else _original(table, recipe),
            further_goals=goals,
            people=people,
            dangers=find_dangers(scene),
            also=companions.also,
            accepts_composition=companions.accepted,
            kinds=kinds_of(encoded, asked),
        )


def published_as(encoded: Encoded, found: ClusterResult, recipe: Recipe) -> Published:
    """Publish what a method found: classes, whole columns at one level, or a box for each row."""
    if found.ring is not None:
        return publish_ring(encoded, found.labels, recipe, found.ring)
    published = publish(encoded, found.labels, recipe, found.levels)
    goals = GoalSet.of(encoded, recipe)
    # Classes that are published alike are one. That never harms a goal but where they share people.
    while goals is not None and goals.counts_people and not goals.judge(published.labels).good.all():
        mended = repair(encoded, published.labels, goals, may_suppress=0)
        published = publish(
            encoded, mended.labels, recipe
        )  # at their own extremes: levels may not cover them
    return published


def _achieved(encoded: Encoded, published: Published, recipe: Recipe) -> tuple[int, tuple[Goal, ...]]:
    """Return the size of the smallest class, in people, and what is achieved of every further goal."""
    goals = GoalSet.of(encoded, recipe) if published.classes.height else None
    if goals is None or recipe.method.name in WITHOUT_CLASSES:
        return int(np.bincount(published.labels[published.labels >= 0]).min()), ()
    judgement = goals.judge(published.labels)
    return judgement.people, tuple(
        Goal(
            type=asked.type,
            column=asked.column,
            asked=asked.asked,
            achieved=_number(achieved, asked),
            holds=holds,
            variant=getattr(asked, "variant", getattr(asked, "distance", None)),
            counts="people" if goals.counts_people else "rows",
        )
        for asked, achieved, holds in zip(goals.asked, judgement.achieved, judgement.holds, strict=True)
    )


def _number(achieved: float, asked: AskedGoal) -> int | float | None:
    """Return what JSON can hold: whole numbers where values are counted, nothing for infinity."""
    if not np.isfinite(achieved):
        return None
    return int(achieved) if isinstance(asked, LDiversity) and asked.variant in COUNTED else achieved


def published_loss(
    encoded: Encoded, found: ClusterResult, published: Published, costs: FloatArray | None, recipe: Recipe
) -> Loss:
    """Measure what was published; sizes of classes are not defined where there are none."""
    lost = loss(encoded, published.labels, costs, recipe.privacy.k)
    return lost if found.ring is None else replace(lost, dm=None, c_avg=None, cm=None)


def _tight_loss(encoded: Encoded, published: Published, recipe: Recipe) -> Loss:
    """Measure the classes' own values."""
    return loss(encoded, published.labels, tight_costs(encoded, published.labels), recipe.privacy.k)


def published_class_costs(encoded: Encoded, published: Published, recipe: Recipe) -> FloatArray | None:
    """Return what each class loses; typical values have no width."""
    return published_costs(encoded, published.classes) if recipe.output.values == "generalize" else None


def _original(table: pl.DataFrame, recipe: Recipe) -> pa.Table:
    """Keep the raw columns beside which alone boxes of single rows can be verified."""
    columns = {name: frames.series(table, name) for name in recipe.named("quasi", "sensitive", "keep")}
    for name in recipe.quasi:
        values = columns[name]
        if isinstance(values.dtype, pl.Datetime):
            # With a zone, DuckDB would show the time in that of the session.
            columns[name] = values.dt.replace_time_zone(None)
        elif isinstance(values.dtype, pl.Enum):
            columns[name] = values.cast(pl.String)
    return pl.DataFrame(columns).to_arrow()


def _with_identifiers(data: Any, recipe: Recipe, also: Collection[str]) -> pl.DataFrame:
    """Return the table with its identifiers, to see who repeats; without them where they cannot be read."""
    try:
        return table_of(data, recipe, also={*also, *recipe.named("identifier")})
    except DataError:
        return table_of(data, recipe, also=also)


def table_of(data: Any, recipe: Recipe, *, also: Collection[str] = ()) -> pl.DataFrame:
    """Read or convert the table and compare its columns with the recipe's.

    Columns that the recipe leaves out are left out here already, whatever their type, but for those
    named in `also`. A quasi column whose type has an order keeps that type, for `with_orders`.
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


def _released_frame(
    table: pl.DataFrame, encoded: Encoded, published: Published, recipe: Recipe
) -> tuple[pl.DataFrame, pa.Array | None]:
    """Put the published columns together, in canonical order: sorted by what is published.

    Columns are built from the recipe alone, so nothing that has no role can slip through. Returns the
    person of each row too, where a subject column tells: for the verifier, never to be written.
    """
    inside = published.labels >= 0
    order = encoded.order[published.partner[inside]]
    others = recipe.named("sensitive", "keep")
    # Classes are numbered in the order of their texts, so this sorts by all published columns.
    # Numbers for names: Polars would take a column called "*" or "^a.*$" for a pattern.
    keys = {"class": pl.Series(published.labels[inside])}
    keys |= {str(at): frames.series(table, name).gather(order) for at, name in enumerate(others)}
    people = {} if encoded.person is None else {"person": pl.Series(encoded.person[inside])}
    rows = pl.DataFrame({**keys, **people}).sort(list(keys), nulls_last=True)
    columns = {name: rows[str(at)] for at, name in enumerate(others)}
    for name in published.classes.columns:
        columns[name] = frames.series(published.classes, name).gather(rows["class"])
    written = [made for name in table.columns for made in published.names.get(name, [name])]
    frame = pl.DataFrame({name: columns[name] for name in written if name in columns})
    return frame, rows["person"].to_arrow() if people else None


def _warn_of_shift(release: Release) -> None:
    """Warn of what boxes of single rows do not protect against."""
    if release.original is not None:
        warnings.warn(
            "Whoever knows for certain which row of this release is one person's can tell the rows of the "
            "whole group apart: boxes of single rows hide behind one secret shift for each group.",
            GroupShiftWarning,
            stacklevel=3,
        )
