"""The verification itself: load the release, look at it from all sides, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import RecipeError
from shoal.recipe import Recipe, omitted_faults
from shoal.verify.anatomy import verify_parts
from shoal.verify.classes import Source, build_classes, check_subjects, load_people
from shoal.verify.digest import digest_problems
from shoal.verify.form import form_problems, unchecked_forms
from shoal.verify.goal import measure, unmeasured
from shoal.verify.header import header_problems, quasi_columns, released_columns
from shoal.verify.load import Loaded, existing, load, load_arrow
from shoal.verify.nonhomogeneous import NAME, measure_fit
from shoal.verify.original import load_original, original_problems
from shoal.verify.session import Session, UnreadableError, session
from shoal.verify.verdict import Problem, Verdict, conclude, count
from shoal.verify.views import has_views, one_verdict, promised_views, view_digest_problems, view_files
from shoal.verify.wildcard import wildcard_k

if TYPE_CHECKING:
    import pyarrow as pa

_NOT_COUNTED = "People were not counted: the file does not say which rows are one person's."


def verify(
    path: str | Path,
    recipe: Recipe,
    *,
    original: str | Path | pa.Table | None = None,
    rows: int | None = None,
    named_only: bool = False,
    manifest: bool = True,
    subjects: pa.Array | None = None,
) -> Verdict:
    """Recompute every promise of a release from the file alone.

    Parameters
    ----------
    path : str or Path
        The release: .csv, .tsv, .parquet, .arrow or .feather. For Anatomy the name that its two files
        share: X.csv for X.quasi.csv and X.sensitive.csv; likewise for several views: X.csv for X.1.csv,
        X.2.csv and so on, all of which are verified.
    recipe : Recipe
        What was promised: the columns, k and the other goals.
    original : str, Path or pyarrow.Table, optional
        The raw table, to check that no row was invented and no sensitive or kept value changed.
        NH cannot be verified without it: there the originals that fit each row are counted, and
        the rows that each original fits.
    rows : int, optional
        How many rows the maker says it released; of several views, in each.
    named_only : bool, default False
        Leave columns alone that the recipe does not name; otherwise they are a problem.
    manifest : bool, default True
        Compare the file with the digest in ``<path>.manifest.json``, where there is one.
    subjects : pyarrow.Array, optional
        Whose each row of the file is, in its order; never released, so only the maker has it. With it k and
        all goals count people instead of rows.

    Returns
    -------
    Verdict
        It holds only when the file could be read, has rows, and nothing is wrong with it.

    Raises
    ------
    DataError
        When the release or the original is missing, is a directory or has an unknown ending, and
        when the original cannot be read, or a row has no subject. A release that cannot be read is a
        verdict.
    """
    _check_subjects(subjects, recipe)
    if recipe.method.name == "anatomy":
        if original is not None and not isinstance(original, (str, Path)):
            message = "A release of the method `anatomy` is compared with a file only."
            raise RecipeError("recipe.invalid", message, "give the path of the original")
        return verify_parts(path, recipe, original=original, rows=rows, manifest=manifest)
    if has_views(recipe):
        parts = promised_views(recipe)
        files = view_files(path, len(parts))
        before = view_digest_problems(path, files) if manifest else []
        how: Any = {"original": original, "rows": rows, "named_only": named_only, "manifest": False}
        return one_verdict([verify(f, part, **how) for f, part in zip(files, parts, strict=True)], before)
    release = existing(path)
    raw = existing(original, any_ending=True) if isinstance(original, (str, Path)) else original
    problems = digest_problems(release) if manifest else []
    with session(in_order=subjects is not None) as open_session:
        try:
            safe = recipe.output.spreadsheet_safe
            loaded = load(open_session, release, released_columns(recipe), spreadsheet_safe=safe)
        except UnreadableError as fault:
            return _unread(recipe, [*problems, Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, recipe, rows, named_only, problems, raw, subjects)


def verify_table(
    table: pa.Table,
    recipe: Recipe,
    *,
    original: str | Path | pa.Table | None = None,
    rows: int | None = None,
    named_only: bool = False,
    subjects: pa.Array | None = None,
) -> Verdict:
    """Recompute every promise of a release that is a pyarrow table in memory.

    See `verify`. Prefer the file where there is one: what is handed out is what must hold.
    """
    _check_subjects(subjects, recipe)
    if recipe.method.name == "anatomy":
        message = "A release of the method `anatomy` has two tables."
        raise RecipeError("recipe.invalid", message, "verify both with verify_part_tables")
    if has_views(recipe):
        message = "A release in several views has several tables."
        raise RecipeError("recipe.invalid", message, "verify each with its recipe of promised_views")
    raw = existing(original, any_ending=True) if isinstance(original, (str, Path)) else original
    with session(in_order=subjects is not None) as open_session:
        try:
            loaded = load_arrow(open_session, table, "released")
        except UnreadableError as fault:
            return _unread(recipe, [Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, recipe, rows, named_only, [], raw, subjects)


def _judge(
    open_session: Session,
    loaded: Loaded,
    recipe: Recipe,
    rows: int | None,
    named_only: bool,
    before: Sequence[Problem],
    raw: Path | pa.Table | None,
    subjects: pa.Array | None,
) -> Verdict:
    """Check columns, rows, forms and goals of a loaded release, and compare it with the original."""
    if faults := omitted_faults(recipe, quasi=recipe.method.name == NAME and raw is not None):
        raise RecipeError.from_faults(faults)
    original = None if raw is None else load_original(open_session, raw, recipe)
    beside = [] if original is None else original_problems(open_session, loaded, original, recipe)
    problems = [*before, *header_problems(loaded.names, recipe, named_only=named_only)]
    problems += _row_problems(loaded.rows, rows)
    remarks = [_NOT_COUNTED] if recipe.named("subject") and subjects is None else []
    remarks += unchecked_forms(recipe)
    quasi = quasi_columns(recipe, loaded.names)
    if not all(loaded.has_once(name) for name in quasi):
        # Classes by fewer columns would be larger than they are: better no number than that one.
        return conclude(loaded.rows, 0, 0, unmeasured(recipe), [*problems, *beside], remarks=remarks)
    source = Source(open_session, loaded, recipe)
    if subjects is not None:
        source, found = _with_people(source, subjects)
        problems += found
    classes, k = build_classes(source, quasi)
    problems += form_problems(open_session, loaded, recipe)
    if recipe.method.name == NAME:
        fit = measure_fit(open_session, loaded, original, recipe)
        goals = [fit.goal, *unmeasured(recipe)[1:]]
        problems += [*fit.problems, *beside]
        return conclude(loaded.rows, classes, int(fit.goal.achieved or 0), goals, problems, has_classes=False)
    findings = measure(source, quasi)
    problems += [finding.problem for finding in findings if finding.problem]
    goals = [finding.goal for finding in findings]
    wildcard = wildcard_k(source, quasi, k)
    problems += beside
    return conclude(loaded.rows, classes, k, goals, problems, k_wildcard=wildcard, remarks=remarks)


def _check_subjects(subjects: pa.Array | None, recipe: Recipe) -> None:
    """Refuse subjects that mean nothing."""
    if subjects is None:
        return
    if recipe.method.name in ("anatomy", NAME):
        message = f"Method `{recipe.method.name}` counts rows, not people."
        raise RecipeError("recipe.invalid", message, "verify it without subjects")
    if has_views(recipe):
        message = "Several views are several files, each with an order of its own."
        raise RecipeError("recipe.invalid", message, "verify each with its recipe of promised_views")
    check_subjects(subjects)


def _with_people(source: Source, subjects: pa.Array) -> tuple[Source, list[Problem]]:
    """Count people; not where it is unclear which row is whose."""
    rows = source.loaded.rows
    if len(subjects) != rows:
        message = f"The file has {count(rows, 'row')}, but the subjects of {len(subjects)} are known."
        return source, [Problem("verify.rows", message)]
    load_people(source.session, subjects)
    return replace(source, people=True), []


def _row_problems(found: int, told: int | None) -> list[Problem]:
    problems = []
    if found == 0:
        problems.append(Problem("verify.empty", "The file has no rows."))
    if told is not None and told != found:
        message = f"The file has {count(found, 'row')}, but {told} should have been released."
        problems.append(Problem("verify.rows", message))
    return problems


def _unread(recipe: Recipe, problems: Sequence[Problem]) -> Verdict:
    """Conclude about a file of which nothing is known."""
    return conclude(0, 0, 0, unmeasured(recipe), problems)
