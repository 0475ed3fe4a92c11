"""Add new rows to an earlier release without revealing more about them than a separate release would."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import IntArray
from shoal.bound.lower_bound import NO_BOUND
from shoal.cluster.systematic import Systematic
from shoal.dangers import Values, refuse, unique_raw
from shoal.errors import DataError, InfeasibleError, PromiseError, RecipeError, SensitiveUnprotectedWarning
from shoal.measure.loss import Loss
from shoal.recipe import Recipe, Shape
from shoal.recipe.options import SystematicOptions
from shoal.recode.inside import narrowest_class
from shoal.recode.publish import publish
from shoal.release.manifest import Digest
from shoal.release.parts import Numbers, Part
from shoal.release.release import Release
from shoal.stages import Progress, Tick, stage
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.encode import encode, kinds_of
from shoal.table.given import table_of
from shoal.table.orders import with_orders
from shoal.table.read import read_release
from shoal.table.shuffling import written_order
from shoal.table.write import manifest_path, sha256
from shoal.verifier import MeasuredGoal, Verdict, verify, verify_table

_UNKNOWN = {"suppressed", "loss", "dangers", *NO_BOUND}  # of the earlier rows, and so of all
_METHOD, _REASON = "systematic", "extend: for the new classes; the earlier ones stay as they are"


@dataclass(frozen=True, repr=False, kw_only=True)
class Extension(Release):
    """An earlier release with new rows added: a release like any other, and what became of the new rows.

    `rows`, `released` and `suppressed` are as in any release: `released` counts the rows of the
    whole table, earlier and new; `suppressed` counts the new rows that lack a quasi value and are
    left out because the recipe says so. What the earlier release left out is unknown and not
    counted. Rows that are held back are in none of these.

    The loss of the earlier rows cannot be computed without their raw values, so `loss` and
    `loss_tight` have only `dm` and `c_avg`, for the rows released; everything else is None.
    `profile` is empty, and there is no report.

    Parameters
    ----------
    earlier : int
        Rows of the earlier release. All of them are in this one, unchanged.
    added : int
        New rows released: `released` = `earlier` + `added`.
    joined : int
        How many of them are in a class that the earlier release already has.
    new_classes : int
        Classes that the earlier release does not have.
    held_back : pandas, Polars or Arrow frame
        The new rows that cannot be released yet, fewer than k, as they were given. They are raw data:
        keep them with the raw table, and pass them in again with the next rows.
    """

    earlier: int
    added: int
    joined: int
    new_classes: int
    held_back: Any

    def manifest(self, *digests: Digest) -> dict[str, Any]:
        """Return what may be published with the release: no losses, and not how many rows are held back."""
        known = super().manifest(*digests)
        extends = {"sha256": self.extends, "rows": self.earlier}
        return {"extends": extends, **{key: known[key] for key in known if key not in _UNKNOWN}}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        counts = {name: getattr(self, name) for name in ("earlier", "added", "joined", "new_classes")}
        return {**super().to_dict(), **counts, "held_back": len(self.held_back)}

    def __repr__(self) -> str:
        held = ", ".join(f"{goal.type} {goal.achieved} (asked {goal.asked})" for goal in self.goals)
        return (
            f"Extension({self.released} rows in {self.classes} classes: {self.earlier} earlier, "
            f"{self.added} added; {len(self.held_back)} held back; {held})"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def extend(
    release: str | Path | Release, data: Any, recipe: Recipe, *, progress: Progress | None = None
) -> Extension:
    """Add new rows to an earlier release; hold back those that would be too few.

    Anyone who has both releases can compare them and see which rows are new, class by class. So
    every class that gets new rows gets at least k, and nothing that was published before changes:

    1. Each new row that is inside published classes is assigned to the narrowest of them (least
       weighted published cost, then the first in canonical order). Where k or more rows are assigned
       to one class, they join it, and its published values stay the same.
    2. All other new rows, if there are at least k, form classes of their own by systematic
       clustering with the recipe's seed. A class with the same published values as an earlier one
       is merged with it.
    3. Fewer than k rows are held back.

    Rows that can join a class do so even if too few rows then remain for step 2.

    Parameters
    ----------
    release : str, Path or Release
        The earlier release. It is verified first.
    data : pandas, Polars or Arrow frame
        The new rows, raw, with the columns that the earlier raw table had.
    recipe : Recipe
        That of the earlier release. It must publish ranges as text.
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
    RecipeError, DataError, HierarchyError
        When the new rows do not fit the recipe, the recipe asks for what cannot be extended
        (`recipe.not_available`), or a column whose kind the recipe leaves open is now of another kind.

    Notes
    -----
    [kabir2011]_ let new rows join, and widen, classes that are already published. Anyone who compares
    the releases then learns where the new rows are; so here published classes are frozen.

    What can still be learned is which rows are new, and so that a person known to be new is among the
    new rows of a class. These are at least k rows, but not the whole class. Never add a row that was
    released before, or a person who is already in the release: k counts rows, and a person with two
    rows hides among fewer than k others.

    References
    ----------
    .. [kabir2011] Kabir, Wang, Bertino. Efficient Systematic Clustering Method for k-Anonymization.
       Acta Informatica 48 (2011). doi:10.1007/s00236-010-0131-6

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

    _refuse_unavailable(recipe)
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        # A lazy frame is collected once; None would mean the recipe's own input.
        given = frames.to_polars(data) if data is None or isinstance(data, pl.LazyFrame) else data
        table = table_of(given, recipe)
        asked, recipe = recipe, with_orders(recipe, table)
        earlier, digest = _read_earlier(release, recipe)
    with stage(timings, "encode", progress):
        all_rows = encode(table, recipe)
        encoded = all_rows.take(~_left_out(all_rows, recipe))
    with stage(timings, "cluster", progress) as tick:
        frozen = _classes(earlier, recipe)
        box = _joined_box(encoded, frozen, recipe.privacy.k)
        rest = encoded.take(box < 0)
        labels = _cluster(rest, recipe, tick)
    with stage(timings, "recode", progress):
        texts, rows = _texts(encoded, frozen, box, rest, labels, recipe)
        added = _added(table, texts, rows, recipe)
        sizes = _sizes(earlier, added, recipe)
        frame = _together(earlier, added, recipe)
    held = np.sort(rest.order) if labels is None else np.zeros(0, np.int64)
    numbers = _numbers(sizes, all_rows.n_rows - encoded.n_rows, recipe.privacy.k)
    extension = Extension(
        parts=(Part("", frame, recipe, numbers),),
        numbers=numbers,
        rows=numbers.released + numbers.suppressed,
        method=_METHOD,
        reason=_REASON,
        seed=recipe.method.seed,
        **_counts(sizes),
        recipe=recipe,
        timings=timings,
        kind=frames.kind_of(data),
        held_back=_rows_of(given, held),
        extends=digest,
        reads=recipe.files | _earlier_reads(release),
        kinds=kinds_of(all_rows, asked),
    )
    refuse(unique_raw(Values(frame), recipe), recipe)
    with stage(timings, "verify", progress):
        extension.verify()
    _warn_unprotected(added, recipe)
    return extension


def _refuse_unavailable(recipe: Recipe) -> None:
    """Refuse what the rules of an extension do not cover, so that none is broken silently."""
    output = recipe.output
    reasons = {
        f'values = "{output.values}"': output.values != "generalize",
        f'bounds_as = "{output.bounds_as}"': output.bounds_as != "text",
        "goals besides k": bool(recipe.privacy.goal),
        "a subject column": bool(recipe.named("subject")),
        "an induced hierarchy": bool(recipe.induced),
        "perturbed columns": bool(recipe.perturbed),
        "pseudonyms": bool(recipe.pseudonyms),
        recipe.shape.value: recipe.shape is not Shape.CLASSES,
    }
    found = [what for what, applies in reasons.items() if applies]
    if found:
        message = f"A release of this recipe cannot be extended yet: it has {', '.join(found)}."
        hint = "anonymize the earlier and the new rows together instead, and withdraw the earlier release"
        raise RecipeError("recipe.not_available", message, hint)


def _read_earlier(release: str | Path | Release, recipe: Recipe) -> tuple[pl.DataFrame, str | None]:
    """Verify the earlier release and return its rows, quasi columns as texts, and its file's digest."""
    if isinstance(release, Release):
        verdict = verify_table(release.frame.to_arrow(), recipe)
        _check_holds(verdict)
        frame, digest = release.frame, None
    else:
        verdict = verify(release, recipe)
        _check_holds(verdict)
        frame = read_release(Path(release), spreadsheet_safe=recipe.output.spreadsheet_safe)
        digest = sha256(Path(release))
    if set(frame.columns) != {*recipe.quasi, *recipe.named("sensitive", "keep")}:
        raise _ambiguous()
    columns = {name: frames.series(frame, name) for name in frame.columns}
    frame = pl.DataFrame({n: c.cast(pl.String) if n in recipe.quasi else c for n, c in columns.items()})
    if (frame.height, _classes(frame, recipe).height) != (verdict.rows, verdict.classes):
        raise _ambiguous()
    return frame, digest


def _earlier_reads(release: str | Path | Release) -> dict[str, Path]:
    """Return the files of the earlier release, or those that it was made from, by description."""
    if isinstance(release, Release):
        return dict(release.reads)
    path = Path(release).absolute()
    return {"the earlier release": path, "the manifest of the earlier release": manifest_path(path)}


def _check_holds(verdict: Verdict) -> None:
    if not verdict.holds:
        broken = " ".join(f"{problem.code}: {problem.message}" for problem in verdict.problems)
        message = f"The earlier release does not keep what this recipe promises. {broken}"
        raise PromiseError("promise.broken", message, "extend it with the recipe that it was made with")


def _ambiguous() -> DataError:
    message = "The earlier release is ambiguous: two engines read different rows."
    return DataError("data.unreadable", message, "give the file as shoal wrote it")


def _classes(table: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Return the classes of a release in canonical order, quasi columns in recipe order."""
    # Numbers as names: Polars would take a column called "*" or "^a.*$" for a pattern.
    plain = pl.DataFrame({str(at): frames.series(table, name) for at, name in enumerate(recipe.quasi)})
    classes = plain.unique().sort(plain.columns, nulls_last=True)
    return pl.DataFrame({name: classes[str(at)] for at, name in enumerate(recipe.quasi)})


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


def _joined_box(encoded: Encoded, frozen: pl.DataFrame, k: int) -> IntArray:
    """Return the earlier class that each row joins; -1 where fewer than k would."""
    box = narrowest_class(encoded, frozen)
    counted = np.bincount(box[box >= 0], minlength=frozen.height)
    enough = np.append(counted >= k, False)  # -1 indexes the extra last entry
    return np.where(enough[box], box, np.int32(-1))


def _cluster(rest: Encoded, recipe: Recipe, progress: Tick) -> IntArray | None:
    """Cluster rows into new classes; None if they are too few."""
    if rest.n_rows < recipe.privacy.k:
        return None
    given = recipe.options
    options = given if isinstance(given, SystematicOptions) else None
    return Systematic(recipe.privacy.k, seed=recipe.method.seed, options=options).fit(rest, progress).labels


def _texts(
    encoded: Encoded,
    frozen: pl.DataFrame,
    box: IntArray,
    rest: Encoded,
    labels: IntArray | None,
    recipe: Recipe,
) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Return the published quasi values of the rows added, and the positions of these rows in the input."""
    texts, rows = [frozen[box[box >= 0]]], [encoded.order[box >= 0]]
    if labels is not None:
        published = publish(rest, labels, recipe)
        texts.append(published.classes[published.labels])
        rows.append(rest.order)
    return pl.concat(texts), np.concatenate(rows)


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


def _numbers(sizes: pl.DataFrame, suppressed: int, k: int) -> Numbers:
    """Return the numbers of an extension that follow from the sizes of its classes."""
    whole = sizes["earlier"].cast(pl.Int64) + sizes["added"].cast(pl.Int64)
    released, smallest = int(whole.sum()), int(whole.min())  # type: ignore[arg-type]
    loss = Loss(dm=int((whole * whole).sum()), c_avg=released / len(whole) / k)
    return Numbers(
        released=released,
        suppressed=suppressed,
        classes=len(whole),
        k=smallest,
        goals=(
            MeasuredGoal("k-anonymity", None, asked=k, achieved=smallest, holds=smallest >= k, counts="rows"),
        ),
        loss=loss,
        loss_tight=loss,
    )


def _counts(sizes: pl.DataFrame) -> dict[str, Any]:
    """Count the earlier and the added rows, and their classes."""
    earlier, added = sizes["earlier"].cast(pl.Int64), sizes["added"].cast(pl.Int64)
    return {
        "earlier": int(earlier.sum()),
        "added": int(added.sum()),
        "joined": int(added.filter(earlier > 0).sum()),
        "new_classes": int((earlier == 0).sum()),
    }


def _together(earlier: pl.DataFrame, added: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Combine earlier and new rows in canonical order: sorted by what is published, or then shuffled."""
    names = [*recipe.quasi, *recipe.named("sensitive", "keep")]
    columns = {
        str(at): _stacked(frames.series(earlier, name), frames.series(added, name))
        for at, name in enumerate(names)
    }
    rows = pl.DataFrame(columns).sort(list(columns), nulls_last=True)
    shuffle = written_order(rows.height, recipe)
    rows = rows if shuffle is None else rows[shuffle]
    return pl.DataFrame({name: rows[str(names.index(name))] for name in earlier.columns})


def _stacked(earlier: pl.Series, added: pl.Series) -> pl.Series:
    """Append new values to earlier ones, which do not change; as texts where the types do not fit."""
    if added.null_count() == len(added):
        added = pl.repeat(None, len(added), dtype=earlier.dtype, eager=True)
    elif earlier.null_count() == len(earlier):
        earlier = pl.repeat(None, len(earlier), dtype=added.dtype, eager=True)
    elif earlier.dtype.is_numeric() and added.dtype.is_numeric():
        added = _in_type(added, earlier.dtype)
    if earlier.dtype != added.dtype:
        earlier, added = _as_texts(earlier), _as_texts(added)
    return pl.concat([earlier.alias("values"), added.alias("values")], rechunk=True)


def _in_type(numbers: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Convert numbers to another type if that changes none of them."""
    typed = numbers.cast(dtype, strict=False)
    return typed if typed.cast(numbers.dtype, strict=False).equals(numbers) else numbers


def _as_texts(values: pl.Series) -> pl.Series:
    """Format values as in a CSV file."""
    if values.dtype == pl.String:
        return values
    lines = pl.DataFrame({"values": values}).write_csv(include_header=False, quote_style="never")
    texts = pl.Series(lines.split("\n")[:-1], dtype=pl.String)
    return texts.set(values.is_null(), None)


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
