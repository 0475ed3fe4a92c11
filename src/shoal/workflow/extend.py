"""Add new rows to an earlier release without revealing more about them than a separate release would."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from shoal.composition.companions import Companions
from shoal.composition.view import View
from shoal.dangers import Values, refuse, unique_raw
from shoal.errors import InfeasibleError, PromiseError, RecipeError, SensitiveUnprotectedWarning
from shoal.measure.loss import Loss
from shoal.measure.released import classes_of
from shoal.recipe import Recipe, Shape
from shoal.recode.inside import published_classes
from shoal.recode.publish import publish
from shoal.recode.view_columns import narrowed, view_recipes
from shoal.release.parts import Numbers, Part
from shoal.release.parts import together as all_numbers
from shoal.release.release import Release
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.encode import encode, kinds_of
from shoal.table.given import table_of
from shoal.table.orders import with_orders
from shoal.table.sensitive import comparable
from shoal.table.siblings import view_titles
from shoal.verifier import MeasuredGoal, verify_table
from shoal.workflow.earlier import earlier_reads, file_of, read_earlier
from shoal.workflow.extension import Extension, promised_tables
from shoal.workflow.newcomers import METHOD, Placed, place
from shoal.workflow.prepare import read_ledger
from shoal.workflow.stacking import together

_REASON = "extend: for the new classes; the earlier ones stay as they are"


def extend(
    release: str | Path | Release,
    data: Any,
    recipe: Recipe,
    *,
    ledger: str | Path | None = None,
    accept_composition: bool = False,
    target: str | Path | None = None,
    progress: Progress | None = None,
) -> Extension:
    """Add new rows to an earlier release; hold back those that would be too few.

    Anyone who has both releases can compare them and see which rows are new, class by class. So
    every class that gets new rows gets at least k, which meet all goals by themselves, and nothing that was
    published before changes:

    1. Each new row that is inside published classes is assigned to the narrowest of them (least
       weighted published cost, then the first in canonical order). Where those assigned to one class are k
       or more and meet the goals, they join it, and its published values stay the same.
    2. All other new rows form classes of their own, each of k or more that meet the goals, by systematic
       clustering with the recipe's seed. A class with the same published values as an earlier one
       is merged with it.
    3. Rows are held back where they are fewer than k, or where the goals cannot be met with them.

    Rows that can join a class do so even if too few rows then remain for step 2. With a subject column, k
    and the goals count the people of the new rows.

    Where a goal compares each class with the whole release (t-closeness, beta-likeness, delta-disclosure),
    and in several views, no row joins a published class. New classes are then compared with the new rows; the
    views show the columns of one clustering of the new rows, so together they reveal no more than that.

    Parameters
    ----------
    release : str, Path or Release
        The earlier release. It is verified first. For several views, the name that they share: X.csv.
    data : pandas, Polars or Arrow frame
        The new rows, raw, with the columns that the earlier raw table had.
    recipe : Recipe
        That of the earlier release. It must publish ranges as text.
    ledger : str or Path, optional
        The ledger that has the earlier release, or [output] ledger of the recipe. The new rows are checked
        together with the releases in it, other than those that this one extends; `write` enters the
        extension.
    accept_composition : bool, default False
        Extend even if they reveal too much together.
    target : str or Path, optional
        Where the extension will be written, if that is known: a run that was killed while it wrote that
        release is finished.
    progress : callable, optional
        Called with the name of a stage and the fraction that is done.

    Returns
    -------
    Extension
        Verified by another engine before it is returned; `write` it like a release.

    Warns
    -----
    SensitiveUnprotectedWarning
        When the new rows of a class share one sensitive value, even if the class as a whole does not.

    Raises
    ------
    PromiseError
        When the earlier release does not hold.
    InfeasibleError
        When the earlier classes, compared with the whole extension, no longer meet a goal.
    RecipeError, DataError, HierarchyError
        When the new rows do not fit the recipe, the recipe asks for what cannot be extended
        (`recipe.not_available`), or a column whose kind the recipe leaves open is now of another kind.

    Notes
    -----
    [kabir2011]_ let new rows join, and widen, classes that are already published. Anyone who compares
    the releases then learns where the new rows are, and can exclude rows of a class for somebody whose time
    of arrival is known: the forward, cross and backward attacks of [fung2008]_. So here published classes
    are frozen, and what remains after any exclusion is an earlier class, or new rows that are k or more.

    What can still be learned is which rows are new, and so that a person known to be new is among the
    new rows of a class. These are at least k rows, but not the whole class. Never add a row that was
    released before, or a person who is already in the release: that person then hides among those who
    are in both.

    References
    ----------
    .. [kabir2011] Kabir, Wang, Bertino. Efficient Systematic Clustering Method for k-Anonymization.
       Acta Informatica 48 (2011). doi:10.1007/s00236-010-0131-6
    .. [fung2008] Fung, Wang, Fu, Pei. Anonymity for Continuous Data Publishing. EDBT 2008.
       doi:10.1145/1353343.1353378

    Examples
    --------
    >>> import polars as pl, shoal
    >>> recipe = shoal.Recipe.from_roles(quasi=["age"], k=2)
    >>> release = shoal.anonymize(pl.DataFrame({"age": [31, 33, 58, 60]}), recipe)
    >>> extension = shoal.extend(release, pl.DataFrame({"age": [32, 45, 31]}), recipe)
    >>> extension.table["age"].to_list()
    ['[31, 33]', '[31, 33]', '[31, 33]', '[31, 33]', '[58, 60]', '[58, 60]']
    >>> extension.held_back["age"].to_list()
    [45]
    """
    import shoal.kernels  # noqa: F401  # loading Numba is not part of any stage

    if ledger is not None:
        recipe = recipe.changed({"output": {"ledger": str(ledger)}})
    _refuse_unavailable(recipe)
    entered = read_ledger(recipe, target)
    outside = [] if entered is None else entered.outside(file_of(release))
    companions = Companions.of(recipe, outside, accepted=accept_composition)
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        # A lazy frame is collected once; None would mean the recipe's own input.
        given = frames.to_polars(data) if data is None or isinstance(data, pl.LazyFrame) else data
        table = table_of(given, recipe, also=companions.known_before())
        asked, recipe = recipe, with_orders(recipe, table)
        recipes = view_recipes(recipe) if recipe.shape is Shape.VIEWS else [recipe]
        earlier, digest = read_earlier(release, recipe, recipes)
    with stage(timings, "encode", progress):
        all_rows = encode(table, recipe)
        encoded = all_rows.take(~_left_out(all_rows, recipe))
    with stage(timings, "cluster", progress) as tick:
        frozen = published_classes(earlier[0], recipe.quasi) if len(recipes) == 1 else None
        placed = place(encoded, frozen, recipe, tick)
    with stage(timings, "recode", progress):
        texts, rows = _texts(encoded, frozen, placed, recipes)
        added = [
            _added(table, of_view, encoded.order[rows], r) for of_view, r in zip(texts, recipes, strict=True)
        ]
        sizes = [_sizes(e, a, r) for e, a, r in zip(earlier, added, recipes, strict=True)]
        whole = [together(e, a, r) for e, a, r in zip(earlier, added, recipes, strict=True)]
    people = None if encoded.person is None else pa.array(encoded.person[rows])
    suppressed = all_rows.n_rows - encoded.n_rows
    parts = _parts(whole, sizes, suppressed, recipe, recipes)
    numbers = parts[0].numbers
    if len(parts) > 1:
        numbers = all_numbers(parts, min(part.numbers.released for part in parts) + suppressed)
    extension = Extension(
        parts=tuple(parts),
        numbers=numbers,
        rows=numbers.released + numbers.suppressed,
        method=METHOD,
        reason=_REASON,
        seed=recipe.method.seed,
        **_counts(sizes),
        recipe=recipe,
        timings=timings,
        kind=frames.kind_of(data),
        held_back=_rows_of(given, np.sort(encoded.order[placed.held_back])),
        added_tables=tuple((part.to_arrow(), people) for part in added),
        extends=digest,
        extended=None if isinstance(release, Release) else Path(release).absolute(),
        reads=recipe.files | earlier_reads(release),
        kinds=kinds_of(all_rows, asked),
        also=tuple(entered.manifests) if entered is not None else (),
        accepts_composition=accept_composition,
        ledger=entered,
        composition=_checked(companions, table, encoded, rows, texts, recipes),
    )
    # Whose the earlier rows are is not known: where people are counted, only the new rows can be looked at.
    for frame, of_view in zip(whole, recipes, strict=True):
        refuse(unique_raw(Values(frame if recipe.subject is None else table), of_view), of_view)
    with stage(timings, "verify", progress):
        extension.verify()
    _warn_unprotected(added[0], recipes[0])
    return extension


def _refuse_unavailable(recipe: Recipe) -> None:
    """Refuse what the rules of an extension do not cover, so that none is broken silently."""
    output = recipe.output
    reasons = {
        f'values = "{output.values}"': output.values != "generalize",
        f'bounds_as = "{output.bounds_as}"': output.bounds_as != "text",
        "goals about the risk of re-identification": bool(recipe.privacy.risk_goals),
        "an induced hierarchy": bool(recipe.induced),
        "perturbed columns": bool(recipe.perturbed),
        "pseudonyms": bool(recipe.pseudonyms),
        "suppressed cells": bool(recipe.privacy.suppress_cells),
        recipe.shape.value: recipe.shape not in (Shape.CLASSES, Shape.VIEWS),
    }
    found = [what for what, applies in reasons.items() if applies]
    if found:
        message = f"A release of this recipe cannot be extended yet: it has {', '.join(found)}."
        hint = "anonymize the earlier and the new rows together instead, and withdraw the earlier release"
        raise RecipeError("recipe.not_available", message, hint)


def _left_out(encoded: Encoded, recipe: Recipe) -> npt.NDArray[np.bool_]:
    """Mark the rows that lack a value where the recipe suppresses these, within its limit."""
    if recipe.privacy.missing != "suppress":
        return np.zeros(encoded.n_rows, dtype=bool)
    marks = encoded.missing_rows()
    allowed = recipe.privacy.max_suppressed
    if marks.sum() > recipe.privacy.may_suppress(encoded.n_rows):
        raise InfeasibleError(
            "infeasible.suppression",
            f"{marks.sum()} of {encoded.n_rows} new rows lack a quasi value, but only a share of {allowed} "
            "may be left out.",
            "add them when they are complete, or raise max_suppressed",
        )
    return marks


def _texts(
    encoded: Encoded, frozen: pl.DataFrame | None, placed: Placed, recipes: Sequence[Recipe]
) -> tuple[list[pl.DataFrame], npt.NDArray[np.int64]]:
    """Return the published quasi values of the rows added, view by view, and which encoded rows these are."""
    joining, fresh = np.flatnonzero(placed.joins >= 0), np.flatnonzero(placed.labels >= 0)
    labels = placed.labels[fresh]
    texts = []
    for recipe in recipes:
        new = pl.DataFrame(schema=dict.fromkeys(recipe.quasi, pl.String))
        if len(fresh):
            published = publish(narrowed(encoded.take(fresh), recipe.quasi), labels, recipe)
            new = published.classes[published.labels]
        texts.append(new if frozen is None else pl.concat([frozen[placed.joins[joining]], new]))
    return texts, np.concatenate([joining, fresh])


def _added(
    table: pl.DataFrame, texts: pl.DataFrame, rows: npt.NDArray[np.int64], recipe: Recipe
) -> pl.DataFrame:
    """Assemble the released columns of the new rows."""
    others = {name: frames.series(table, name).gather(rows) for name in recipe.named("sensitive", "keep")}
    return pl.DataFrame({**{name: texts[name] for name in texts.columns}, **others})


def _sizes(earlier: pl.DataFrame, added: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Count the earlier and the added rows of each class, from the published texts alone.

    Another engine verifies the release, but only this function has both tables, so the promise about
    the rows added is checked here.
    """
    keys = {
        str(at): pl.concat([frames.series(earlier, name), frames.series(added, name)], rechunk=True)
        for at, name in enumerate(recipe.quasi)
    }
    is_new = np.arange(earlier.height + added.height) >= earlier.height
    counts = [(~pl.col("new")).sum().alias("earlier"), pl.col("new").sum().alias("added")]
    sizes = pl.DataFrame({**keys, "new": is_new}).group_by(list(keys)).agg(counts)
    if sizes["added"].is_between(1, recipe.privacy.k - 1).any():
        message = f"Some class would get fewer than {recipe.privacy.k} new rows; nothing was released."
        raise PromiseError("promise.broken", message, "this is a bug in shoal: please report it")
    return sizes


def _parts(
    whole: Sequence[pl.DataFrame],
    sizes: Sequence[pl.DataFrame],
    suppressed: int,
    recipe: Recipe,
    recipes: Sequence[Recipe],
) -> list[Part]:
    """Return the tables with their numbers; goals are those that another engine measures in all rows."""
    titles = view_titles(len(whole)) if len(whole) > 1 else [""]
    parts = []
    for at, promised in enumerate(promised_tables(recipe)):
        verdict = verify_table(whole[at].to_arrow(), promised)
        missed = [goal for goal in verdict.goals if not goal.holds and goal.type != "k-anonymity"]
        if missed:
            goal = missed[0]
            message = (
                f"With the new rows, the classes of the earlier release no longer meet {goal.type} of "
                f"`{goal.column}`: asked {goal.asked}, achieved {goal.achieved}."
            )
            raise InfeasibleError(
                "infeasible.goal", message, "wait for other rows, or publish them separately"
            )
        numbers = _numbers(sizes[at], suppressed, recipe.privacy.k, verdict.goals[1:])
        parts.append(Part(titles[at], whole[at], recipes[at], numbers))
    return parts


def _numbers(sizes: pl.DataFrame, suppressed: int, k: int, goals: Sequence[MeasuredGoal]) -> Numbers:
    """Return the numbers of an extension that follow from the sizes of its classes, and the goals."""
    whole = sizes["earlier"].cast(pl.Int64) + sizes["added"].cast(pl.Int64)
    released, smallest = int(whole.sum()), int(whole.min())  # type: ignore[arg-type]
    loss = Loss(dm=int((whole * whole).sum()), c_avg=released / len(whole) / k)
    own = MeasuredGoal("k-anonymity", None, asked=k, achieved=smallest, holds=smallest >= k, counts="rows")
    return Numbers(
        released=released,
        suppressed=suppressed,
        classes=len(whole),
        k=smallest,
        goals=(own, *goals),
        loss=loss,
        loss_tight=loss,
    )


def _counts(sizes: Sequence[pl.DataFrame]) -> dict[str, Any]:
    """Count the earlier and the added rows, and their classes."""
    earlier = [each["earlier"].cast(pl.Int64) for each in sizes]
    added = [each["added"].cast(pl.Int64) for each in sizes]
    return {
        "earlier": min(int(counts.sum()) for counts in earlier),
        "added": int(added[0].sum()),
        "joined": min(int(new.filter(old > 0).sum()) for old, new in zip(earlier, added, strict=True)),
        "new_classes": sum(int((counts == 0).sum()) for counts in earlier),
    }


def _checked(
    companions: Companions,
    table: pl.DataFrame,
    encoded: Encoded,
    rows: npt.NDArray[np.int64],
    texts: Sequence[pl.DataFrame],
    recipes: Sequence[Recipe],
) -> dict[str, Any] | None:
    """Check the rows added together with other releases about the same people, as a release of their own.

    Nothing new is revealed about the people of the earlier rows: what is published of them does not change.
    """
    if not companions.also or not len(rows):
        return None
    for of_view, recipe in zip(texts, recipes, strict=True):
        classes, class_of = classes_of(of_view, recipe.quasi)
        labels = np.full(table.height, -1, np.int32)
        labels[encoded.order[rows]] = class_of
        released = np.flatnonzero(labels >= 0)
        shown = recipe.named("sensitive", "keep")
        values = {name: comparable(frames.series(table, name)).gather(released) for name in shown}
        view = View(tuple(recipe.quasi), classes, labels[released], pl.DataFrame(values), labels)
        companions.views.append(view)
    return companions.check(table)


def _rows_of(data: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return some rows of the caller's frame; a detour through Polars would lose pandas' types."""
    kind = frames.kind_of(data)
    if kind == "pandas":
        return data.iloc[rows]
    return data.take(rows) if kind == "pyarrow" else frames.to_polars(data)[rows]


def _warn_unprotected(added: pl.DataFrame, recipe: Recipe) -> None:
    """Warn when the new rows of a class share one sensitive value, which comparing the releases reveals."""
    keys = {str(at): frames.series(added, name) for at, name in enumerate(recipe.quasi)}
    for name in recipe.named("sensitive") if added.height else ():
        pairs = pl.DataFrame({**keys, "value": frames.series(added, name)})
        kinds = pairs.group_by(list(keys)).agg(pl.col("value").n_unique())["value"]
        alike = int((kinds == 1).sum())
        if alike:
            warnings.warn(
                f"The new rows of {alike} of {len(kinds)} classes share one value of `{name}`: an attacker "
                "who compares the two releases learns that value for everyone in these rows. k-anonymity "
                "does not protect against this.",
                SensitiveUnprotectedWarning,
                stacklevel=3,
            )
