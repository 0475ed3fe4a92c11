"""The verification itself: load the release, look at it from all sides, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.recipe import Recipe
from shoal.verify.digest import digest_problems
from shoal.verify.form import form_problems
from shoal.verify.goal import build_classes, measure, unmeasured
from shoal.verify.header import header_problems, quasi_columns, released_columns
from shoal.verify.load import Loaded, existing, load, load_arrow
from shoal.verify.original import original_problems
from shoal.verify.session import Session, UnreadableError, session
from shoal.verify.verdict import Problem, Verdict, conclude, count

if TYPE_CHECKING:
    import pyarrow as pa


def verify(
    path: str | Path,
    recipe: Recipe,
    *,
    original: str | Path | None = None,
    rows: int | None = None,
    named_only: bool = False,
    manifest: bool = True,
) -> Verdict:
    """Recompute every promise of a release from the file alone.

    Parameters
    ----------
    path : str or Path
        The release: .csv, .tsv, .parquet, .arrow or .feather.
    recipe : Recipe
        What was promised: the columns, k and the other goals.
    original : str or Path, optional
        The raw table, to check that no row was invented and no sensitive or kept value changed.
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
    release = existing(path)
    raw = None if original is None else existing(original, any_ending=True)
    problems = digest_problems(release) if manifest else []
    with session() as open_session:
        try:
            safe = recipe.output.spreadsheet_safe
            loaded = load(open_session, release, released_columns(recipe), spreadsheet_safe=safe)
        except UnreadableError as fault:
            return _unread(recipe, [*problems, Problem(fault.code, fault.message)])
        verdict = _judge(open_session, loaded, recipe, rows, named_only, problems)
        if raw is None:
            return verdict
        more = original_problems(open_session, loaded, raw, recipe)
        return conclude(verdict.rows, verdict.classes, verdict.k, verdict.goals, [*verdict.problems, *more])


def verify_table(
    table: pa.Table, recipe: Recipe, *, rows: int | None = None, named_only: bool = False
) -> Verdict:
    """Recompute every promise of a release that is a pyarrow table in memory.

    See `verify`. Prefer the file where there is one: what is handed out is what must hold.
    """
    with session() as open_session:
        try:
            loaded = load_arrow(open_session, table, "released")
        except UnreadableError as fault:
            return _unread(recipe, [Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, recipe, rows, named_only, [])


def _judge(
    open_session: Session,
    loaded: Loaded,
    recipe: Recipe,
    rows: int | None,
    named_only: bool,
    before: Sequence[Problem],
) -> Verdict:
    """Check columns, rows, forms and goals of a loaded release."""
    problems = [*before, *header_problems(loaded.names, recipe, named_only=named_only)]
    problems += _row_problems(loaded.rows, rows)
    quasi = quasi_columns(recipe, loaded.names)
    if not all(loaded.has_once(name) for name in quasi):
        # Classes by fewer columns would be larger than they are: better no number than that one.
        return conclude(loaded.rows, 0, 0, unmeasured(recipe), problems)
    classes, k = build_classes(open_session, loaded, quasi)
    problems += form_problems(open_session, loaded, recipe)
    findings = measure(open_session, loaded, recipe)
    problems += [finding.problem for finding in findings if finding.problem]
    return conclude(loaded.rows, classes, k, [finding.goal for finding in findings], problems)


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
