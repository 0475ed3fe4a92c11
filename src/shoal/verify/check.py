"""The verification itself: load the release, look at it from all sides, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.verify.anatomy import verify_parts
from shoal.verify.digest import digest_problems
from shoal.verify.form import form_problems
from shoal.verify.goal import build_classes, measure, unmeasured
from shoal.verify.header import header_problems, quasi_columns, released_columns
from shoal.verify.load import Loaded, existing, load, load_arrow
from shoal.verify.nonhomogeneous import NAME, measure_fit
from shoal.verify.original import load_original, original_problems
from shoal.verify.session import Session, UnreadableError, session
from shoal.verify.verdict import Problem, Verdict, conclude, count

if TYPE_CHECKING:
    import pyarrow as pa


def verify(
    path: str | Path,
    recipe: Recipe,
    *,
    original: str | Path | pa.Table | None = None,
    rows: int | None = None,
    named_only: bool = False,
    manifest: bool = True,
) -> Verdict:
    """Recompute every promise of a release from the file alone.

    Parameters
    ----------
    path : str or Path
        The release: .csv, .tsv, .parquet, .arrow or .feather. For Anatomy the name that its two files
        share: X.csv for X.quasi.csv and X.sensitive.csv.
    recipe : Recipe
        What was promised: the columns, k and the other goals.
    original : str, Path or pyarrow.Table, optional
        The raw table, to check that no row was invented and no sensitive or kept value changed.
        NH cannot be verified without it: there the originals that fit each row are counted, and
        the rows that each original fits.
    rows : int, optional
        How many rows the maker says it released.
    named_only : bool, default False
        Leave columns alone that the recipe does not name; otherwise they are a problem.
    manifest : bool, default True
        Compare the file with the digest in ``<path>.manifest.json``, where there is one.

    Returns
    -------
    Verdict
        It holds only when the file could be read, has rows, and nothing is wrong with it.

    Raises
    ------
    DataError
        When the release or the original is missing, is a directory or has an unknown ending, and
        when the original cannot be read. A release that cannot be read is a verdict.
    """
    if recipe.method.name == "anatomy":
        if original is not None and not isinstance(original, (str, Path)):
            message = "A release of the method `anatomy` is compared with a file only."
            raise RecipeError("recipe.invalid", message, "give the path of the original")
        return verify_parts(path, recipe, original=original, rows=rows, manifest=manifest)
    release = existing(path)
    raw = existing(original, any_ending=True) if isinstance(original, (str, Path)) else original
    problems = digest_problems(release) if manifest else []
    with session() as open_session:
        try:
            safe = recipe.output.spreadsheet_safe
            loaded = load(open_session, release, released_columns(recipe), spreadsheet_safe=safe)
        except UnreadableError as fault:
            return _unread(recipe, [*problems, Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, recipe, rows, named_only, problems, raw)


def verify_table(
    table: pa.Table,
    recipe: Recipe,
    *,
    original: str | Path | pa.Table | None = None,
    rows: int | None = None,
    named_only: bool = False,
) -> Verdict:
    """Recompute every promise of a release that is a pyarrow table in memory.

    See `verify`. Prefer the file where there is one: what is handed out is what must hold.
    """
    if recipe.method.name == "anatomy":
        message = "A release of the method `anatomy` has two tables."
        raise RecipeError("recipe.invalid", message, "verify both with verify_part_tables")
    raw = existing(original, any_ending=True) if isinstance(original, (str, Path)) else original
    with session() as open_session:
        try:
            loaded = load_arrow(open_session, table, "released")
        except UnreadableError as fault:
            return _unread(recipe, [Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, recipe, rows, named_only, [], raw)


def _judge(
    open_session: Session,
    loaded: Loaded,
    recipe: Recipe,
    rows: int | None,
    named_only: bool,
    before: Sequence[Problem],
    raw: Path | pa.Table | None,
) -> Verdict:
    """Check columns, rows, forms and goals of a loaded release, and compare it with the original."""
    original = None if raw is None else load_original(open_session, raw, recipe)
    beside = [] if original is None else original_problems(open_session, loaded, original, recipe)
    problems = [*before, *header_problems(loaded.names, recipe, named_only=named_only)]
    problems += _row_problems(loaded.rows, rows)
    quasi = quasi_columns(recipe, loaded.names)
    if not all(loaded.has_once(name) for name in quasi):
        # Classes by fewer columns would be larger than they are: better no number than that one.
        return conclude(loaded.rows, 0, 0, unmeasured(recipe), [*problems, *beside])
    classes, k = build_classes(open_session, loaded, quasi)
    problems += form_problems(open_session, loaded, recipe)
    if recipe.method.name == NAME:
        fit = measure_fit(open_session, loaded, original, recipe)
        goals = [fit.goal, *unmeasured(recipe)[1:]]
        problems += [*fit.problems, *beside]
        return conclude(loaded.rows, classes, int(fit.goal.achieved), goals, problems, has_classes=False)
    findings = measure(open_session, loaded, recipe)
    problems += [finding.problem for finding in findings if finding.problem]
    goals = [finding.goal for finding in findings]
    return conclude(loaded.rows, classes, k, goals, [*problems, *beside])


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
