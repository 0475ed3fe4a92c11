"""Publish a table again after people have come and gone, so that all releases together reveal no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.cluster.clusterer import ClusterResult
from shoal.composition.companions import Companions
from shoal.composition.earlier import earlier_files
from shoal.dangers import Values, refuse, warn_of
from shoal.errors import DataError, InfeasibleError, RecipeError
from shoal.privacy.minvariance import invariant_groups, signatures_of
from shoal.recipe import Recipe, Shape, is_address
from shoal.release.record import Record
from shoal.release.release import Release
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.columns import Encoded, RangeColumn
from shoal.table.encode import encode, kinds_of
from shoal.table.given import table_of
from shoal.table.orders import with_orders
from shoal.table.sensitive import comparable
from shoal.table.write import all_or_nothing, manifest_path, sha256
from shoal.workflow.job import Job
from shoal.workflow.one_table import make_part
from shoal.workflow.prepare import read_ledger

METHOD = "m-invariance"


@dataclass(frozen=True, repr=False, kw_only=True)
class Republication(Release):
    """A release of a table that is published again and again: a release like any other, and its record.

    `rows` counts the rows that were released or suppressed; rows that are held back are not among them.

    Parameters
    ----------
    m : int
        How many different sensitive values each group has at least.
    held_back : int
        Rows that are not in this release, because no group can have them.
    stayed : int
        Rows released of people who were in an earlier release.
    record : Record
        What has to stay the same in the next release; `write` writes it before it writes the release.
    """

    m: int
    held_back: int
    stayed: int
    record: Record

    def write(self, path: str | Path | None = None, *, table: str | None = None, **options: Any) -> Path:
        """Write the record, then the release, with the options of `Release.write`.

        The record comes first: if the process is killed in between, it has people who were not published,
        which is safe, and never lacks one who was.
        """
        if table is not None or is_address(str(path)):
            raise _no_database()
        with self.record.locked():
            with all_or_nothing(self.record.path):
                self.record.write()
                written = super().write(path, **options)
            self.record.with_release(sha256(manifest_path(written))).write()
        return written

    def manifest(self, *digests: Any) -> dict[str, Any]:
        """Return what may be published with the release: not how many rows are held back, or stayed."""
        return {"republication": {"m": self.m, "column": self.record.column}, **super().manifest(*digests)}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {**super().to_dict(), "m": self.m, "held_back": self.held_back, "stayed": self.stayed}


def republish(
    data: Any,
    recipe: Recipe,
    record: str | Path,
    *,
    m: int | None = None,
    ledger: str | Path | None = None,
    accept_composition: bool = False,
    bound: bool = True,
    target: str | Path | None = None,
    progress: Progress | None = None,
) -> Republication:
    """Publish a table again, so that everybody who stays keeps a group with the same sensitive values.

    Each group has at least m rows, all with different sensitive values, and a person who was published before
    is in a group with the same set of values as then (m-invariance). Somebody who has all releases and knows
    when a person was in the table is left with at least m values, none more likely than another.

    No counterfeit rows are made, as the paper does: what shoal publishes are rows of the table. Where a
    set of values cannot be completed, rows are held back; they may be in the next release.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame, or None
        The whole table as it is now; None for the input of the recipe.
    recipe : Recipe
        With a subject column, which recognizes people, and one sensitive column.
    record : str or Path
        The private file that says which values the group of each person had. It is created with the first
        release. Keep it with the raw table, and never publish it.
    m : int, optional
        At least k, and k if left out; the same in all releases.
    ledger : str or Path, optional
        As for `anonymize`. Releases of this record are not checked against each other.
    accept_composition, bound, progress
        As for `anonymize`.
    target : str or Path, optional
        Where the release will be written, if that is known.

    Returns
    -------
    Republication
        Verified by another engine before it is returned; `write` it like a release.

    Notes
    -----
    Groups are not numbered in a release. Groups with the same published values look like one class, which
    reveals less than the paper's releases, where they have numbers. In each class no value has more than one
    row in m: the verifier checks that as l-diversity (frequency) with l = m.

    Which rows are held back depends on sensitive values: of a value that is too frequent, some rows must
    wait. Somebody who knows that a person is in the table and sees that the person is not in the release may
    conclude that the person's value is a frequent one.

    References
    ----------
    .. [xiao2007] Xiao, Tao. m-Invariance: Towards Privacy Preserving Re-publication of Dynamic Datasets.
       SIGMOD 2007. doi:10.1145/1247480.1247556
    """
    import shoal.kernels  # noqa: F401  # loading Numba is not part of any stage

    if ledger is not None:
        recipe = recipe.changed({"output": {"ledger": str(ledger)}})
    subject, column = _refuse_unavailable(recipe)
    known = Record.read(Path(record).absolute(), subject, column, m, recipe.privacy.k)
    if known.m < recipe.privacy.k:
        message = f"Groups of m = {known.m} different values are smaller than k = {recipe.privacy.k}."
        raise RecipeError("recipe.invalid", message, "raise m to k or more")
    recipe = _with_goal(recipe, column, known.m)
    entered = read_ledger(recipe, target or recipe.output.path)
    others = [] if entered is None else [p for p in entered.manifests if sha256(p) not in known.manifests]
    companions = Companions.of(recipe, others, accepted=accept_composition)
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        table = table_of(data, recipe, also={*companions.known_before(), subject})
        asked, recipe = recipe, with_orders(recipe, table)
    with stage(timings, "cluster", progress):
        encoded = encode(table, recipe)
        groups, people = _groups(table, encoded, known, recipe)
        kept = np.flatnonzero(groups >= 0)
        if not len(kept):
            message = f"No group of {known.m} rows with different values of `{column}` can be made."
            raise InfeasibleError(
                "infeasible.goal", message, "lower m in a new record, or wait for more people"
            )
    with stage(timings, "encode", progress):
        released = table[kept]
        encoded = encode(released, recipe)
        labels = np.unique(groups[kept], return_inverse=True)[1].astype(np.int32)[encoded.order]
    companions = replace(companions, recipe=recipe)
    job = Job(released, released, recipe, asked, Values(released), companions, bound, timings, progress)
    found = ClusterResult(labels)
    part = make_part(job, encoded, found, recipe, timings, progress)
    refuse(part.dangers, recipe)
    missed = [goal for goal in part.numbers.goals if not goal.holds]
    if missed:
        message = f"The groups do not meet {missed[0].type} of `{missed[0].column}`."
        raise InfeasibleError("infeasible.goal", message, "remove the goal, or lower it")
    composition = None
    if others:
        with stage(timings, "composition", progress):
            composition = companions.check(released)
    release = Republication(
        parts=(part,),
        numbers=part.numbers,
        method=METHOD,
        seed=recipe.method.seed,
        remarks=part.remarks,
        dangers=list(part.dangers),
        kinds=kinds_of(encoded, asked),
        **{**job.about(), "also": tuple(entered.manifests) if entered is not None else ()},
        m=known.m,
        held_back=table.height - len(kept),
        stayed=sum(person in known.people for person in people),
        record=known.with_people(people),
        composition=composition,
        kind=frames.kind_of(data),
        reads=recipe.files | earlier_files(others) | {"the record": known.path},
        ledger=entered,
    )
    with stage(timings, "verify", progress):
        release.verify()
    warn_of(release.dangers)
    release.numbers.wait_for_bound(progress)
    return release


def _refuse_unavailable(recipe: Recipe) -> tuple[str, str]:
    """Refuse what m-invariance does not cover; return the subject and the sensitive column."""
    sensitive = recipe.named("sensitive")
    reasons = {
        f"{len(sensitive)} sensitive columns": len(sensitive) != 1,
        "no subject column": recipe.subject is None,
        f'values = "{recipe.output.values}"': recipe.output.values != "generalize",
        "the engine spark": recipe.engine.name == "spark",
        "an induced hierarchy": bool(recipe.induced),
        "perturbed columns": bool(recipe.perturbed),
        "pseudonyms": bool(recipe.pseudonyms),
        "suppressed cells": bool(recipe.privacy.suppress_cells),
        'missing = "suppress"': recipe.privacy.missing == "suppress",
        recipe.shape.value: recipe.shape is not Shape.CLASSES,
    }
    found = [what for what, applies in reasons.items() if applies]
    if found:
        message = f"This table cannot be published again and again: the recipe has {', '.join(found)}."
        hint = "give one column the role subject and one the role sensitive; see docs/again.md"
        raise RecipeError("recipe.not_available", message, hint)
    if is_address(recipe.output.path):
        raise _no_database()
    assert recipe.subject is not None  # refused above
    return recipe.subject, sensitive[0]


def _no_database() -> RecipeError:
    message = "A table in a database cannot be published again and again."
    return RecipeError("recipe.not_available", message, "write the releases to files")


def _with_goal(recipe: Recipe, column: str, m: int) -> Recipe:
    """Return the recipe with what the verifier can check of m-invariance in one file."""
    goal = {"type": "l-diversity", "variant": "frequency", "column": column, "l": m}
    given = [asked.model_dump(exclude_unset=True) for asked in recipe.privacy.goal]
    return recipe if goal in given else recipe.changed({"privacy": {"goal": [*given, goal]}})


def _groups(
    table: pl.DataFrame, encoded: Encoded, known: Record, recipe: Recipe
) -> tuple[IntArray, dict[str, list[str]]]:
    """Return the group of each row in input order, -1 for rows held back, and everybody's signature."""
    people = comparable(frames.series(table, known.subject)).to_list()
    if len(set(people)) < len(people):
        message = (
            f"{len(people) - len(set(people))} rows have a person in `{known.subject}` who has another row."
        )
        raise DataError("data.kind", message, "give each person one row: m-invariance is about people")
    given = comparable(frames.series(table, known.column)).to_list()
    texts = sorted(
        {text for text in given if text is not None} | {v for s in known.people.values() for v in s}
    )
    number_of = {text: number for number, text in enumerate(texts)}
    values = np.array([-1 if text is None else number_of[text] for text in given], np.int32)
    order = _canonical(encoded, values, people)
    random = np.random.Generator(np.random.PCG64(recipe.method.seed))
    in_order = [people[row] for row in order.tolist()]
    points = _points(encoded)[np.argsort(encoded.order)[order]]
    labels, signature_of = invariant_groups(
        values[order], signatures_of(in_order, known.people, number_of), points, known.m, random
    )
    groups = np.full(table.height, -1, np.int32)
    groups[order] = labels
    texts_of = {group: [texts[number] for number in sorted(s)] for group, s in signature_of.items()}
    return groups, {p: texts_of[int(g)] for p, g in zip(in_order, labels, strict=True) if g >= 0}


def _canonical(encoded: Encoded, values: IntArray, people: list[str]) -> Any:
    """Order the rows by quasi codes, value and person: the order of the input does not matter."""
    codes = [encoded.in_input_order(column.codes) for column in encoded.columns]
    rank = {person: at for at, person in enumerate(sorted(people))}
    return np.lexsort([np.array([rank[person] for person in people]), values, *reversed(codes)])


def _points(encoded: Encoded) -> FloatArray:
    """Return where each encoded row is in each quasi column, from 0 to the column's weight."""
    columns = []
    for column in encoded.columns:
        if isinstance(column, RangeColumn):
            places = np.append(column.points, 1.0)  # a missing value has the code after the last one
        else:
            places = np.arange(column.missing + 1) / max(1, column.missing)
        columns.append(column.weight * places[column.codes])
    return np.stack(columns, axis=1)
