"""The verification itself: load the release, run every check, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import RecipeError
from shoal.recipe import (
    Address,
    Recipe,
    Shape,
    file_of_table,
    is_address,
    located,
    omitted_faults,
    split_name,
)
from shoal.verifier.cells.codes_at_ends import code_problems
from shoal.verifier.cells.published import check_cells
from shoal.verifier.dangers import accepted_remarks, danger_findings
from shoal.verifier.goals.classes import Source, build_classes, check_subjects, load_people
from shoal.verifier.goals.registry import measure, unmeasured
from shoal.verifier.goals.wildcard import wildcard_k
from shoal.verifier.header import header_problems, quasi_columns, released_columns
from shoal.verifier.loss import box_losses, class_losses
from shoal.verifier.manifest import (
    Claims,
    Counted,
    claimed_suppressed,
    digest,
    digest_problems,
    folder_digest_problems,
    has_digests,
    number_problems,
    read_manifest,
    rows_digest_problems,
)
from shoal.verifier.order import is_shuffled, order_problems
from shoal.verifier.originals.averages import average_problems
from shoal.verifier.originals.boxes_per_row import measure_fit
from shoal.verifier.originals.original import existing_original, load_original, original_problems
from shoal.verifier.postgres.release import fetch
from shoal.verifier.pseudonyms import pseudonym_problems
from shoal.verifier.reading.load import Loaded, existing, load, load_arrow, load_parts
from shoal.verifier.reading.parts import Parts, list_parts
from shoal.verifier.reading.session import Session, UnreadableError, session
from shoal.verifier.several_views import (
    has_views,
    one_verdict,
    promised_views,
    view_digest_problems,
    view_files,
)
from shoal.verifier.signature import with_signature
from shoal.verifier.two_tables import verify_parts
from shoal.verifier.verdict import Problem, Verdict, conclude, count

if TYPE_CHECKING:
    import pyarrow as pa

NOT_COUNTED = "People were not counted: the file does not show which rows belong to the same person."


def verify(
    path: str | Path,
    recipe: Recipe,
    *,
    original: str | Path | pa.Table | None = None,
    rows: int | None = None,
    manifest: bool = True,
    subjects: pa.Array | None = None,
    public_key: str | Path | None = None,
) -> Verdict:
    """Recompute every promise of a release from the file alone.

    Parameters
    ----------
    path : str or Path
        The release: .csv, .tsv, .parquet, .arrow or .feather; or a folder X.csv or X.parquet of
        part-00000.csv, part-00001.csv and so on, which together are one table. For Anatomy the name that
        its two files share: X.csv for X.quasi.csv and X.sensitive.csv; likewise for several views: X.csv
        for X.1.csv, X.2.csv and so on, all of which are verified. Or a table of a database, as
        ``postgresql://host/database#table``, with its manifest in the working directory.
    recipe : Recipe
        What was promised: the columns, k and the other goals.
    original : str, Path or pyarrow.Table, optional
        The raw table, a file or a folder of files, to check that no row was invented and no sensitive or
        kept value changed.
        NH cannot be verified without it: there the originals that fit each row are counted, and
        the rows that each original fits.
    rows : int, optional
        How many rows the maker says it released; for several views, in each.
    manifest : bool, default True
        Compare the file with the digest and the numbers in ``<path>.manifest.json``, where there is one.
    subjects : pyarrow.Array, optional
        The person of each row of the file, in its order; never released, so only the maker has it. With it,
        k and all goals count people instead of rows.
    public_key : str or Path, optional
        The key (Ed25519, PEM) with which the manifest must be signed.

    Returns
    -------
    Verdict
        It holds only when the file could be read, has rows, and has no problem.

    Raises
    ------
    DataError
        When the release or the original is missing, is a directory or has an unknown ending, and
        when the original cannot be read, or a row has no subject. An unreadable release is not an error
        but a verdict.
    """
    _check_subjects(subjects, recipe)
    place = located(path)
    if isinstance(place, Address):
        return _verify_stored(place, recipe, original, rows, manifest=manifest)
    recipe = recipe.beside(path)
    verdict = _verdict(path, recipe, original, rows, subjects, manifest=manifest)
    return with_signature(verdict, path, public_key) if manifest or public_key is not None else verdict


def _verdict(
    path: str | Path,
    recipe: Recipe,
    original: str | Path | pa.Table | None,
    rows: int | None,
    subjects: pa.Array | None,
    *,
    manifest: bool,
) -> Verdict:
    """Verify a release of any shape; see `verify`."""
    if recipe.shape is Shape.TWO_TABLES:
        if original is not None and (not isinstance(original, (str, Path)) or is_address(str(original))):
            message = "A release of the method `anatomy` can be compared only with a file."
            raise RecipeError("recipe.invalid", message, "give the path of the original")
        return verify_parts(path, recipe, original=original, rows=rows, manifest=manifest)
    raw = existing_original(original, recipe.input)
    if has_views(recipe):
        return _verify_views(path, _Task(recipe, raw, rows), manifest=manifest)
    release = existing(path, folder=True)
    claims = read_manifest(release) if manifest else Claims()
    return _verify_file(release, _Task(recipe, raw, rows, subjects, claims))


def _verify_stored(
    place: Address,
    recipe: Recipe,
    original: str | Path | pa.Table | None,
    rows: int | None,
    *,
    manifest: bool,
) -> Verdict:
    """Verify a table of a database by what is read from it."""
    if recipe.shape in (Shape.TWO_TABLES, Shape.VIEWS):
        message = f"A release in {recipe.shape.value} cannot be verified in a database."
        raise RecipeError("recipe.not_available", message, "export the tables to files")
    address, table = place.split_table()
    if table is None or split_name(table) is None:
        message = f"The table of the release in {address} is not named."
        raise RecipeError("recipe.invalid", message, "name it after a #: postgresql://host/database#table")
    recipe = recipe.beside(file_of_table(table))
    claims = read_manifest(file_of_table(table)) if manifest else Claims()
    raw = existing_original(original, recipe.input)
    found, digest = fetch(address, table, in_order=is_shuffled(recipe))
    problems = rows_digest_problems(claims, digest)
    with session(found, raw, in_order=is_shuffled(recipe)) as open_session:
        try:
            loaded = load_arrow(open_session, found, "released")
        except UnreadableError as fault:
            return _unread(recipe, [*problems, Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, _Task(recipe, raw, rows, None, claims), problems)


@dataclass(frozen=True)
class _Task:
    """What a release is compared with; see `verify`."""

    recipe: Recipe
    raw: Path | pa.Table | None
    rows: int | None
    subjects: pa.Array | None = None
    claims: Claims = field(default_factory=Claims)


def _needs_order(task: _Task) -> bool:
    """Return whether the position of a row in the file matters."""
    return task.subjects is not None or is_shuffled(task.recipe)


def _verify_views(path: str | Path, task: _Task, *, manifest: bool) -> Verdict:
    """Verify every view as a separate table."""
    parts = promised_views(task.recipe)
    files = view_files(path, len(parts))
    claims = read_manifest(Path(path)) if manifest else Claims()
    before = view_digest_problems(claims, files)
    verdicts = [
        _verify_file(file, replace(task, recipe=part, claims=claims.of_view(at)))
        for at, (file, part) in enumerate(zip(files, parts, strict=True))
    ]
    return one_verdict(verdicts, before, claims)


def _verify_file(release: Path, task: _Task) -> Verdict:
    """Verify one file, or the parts in one folder."""
    parts = list_parts(release) if release.is_dir() else None
    problems = _digest_problems(release, task.claims, parts)
    with session(release, task.raw, in_order=_needs_order(task)) as open_session:
        try:
            safe = task.recipe.output.spreadsheet_safe
            expected = released_columns(task.recipe)
            if parts is None:
                loaded = load(open_session, release, expected, spreadsheet_safe=safe)
            else:
                loaded = load_parts(open_session, parts.files, expected, spreadsheet_safe=safe)
        except UnreadableError as fault:
            return _unread(task.recipe, [*problems, Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, task, problems)


def _digest_problems(release: Path, claims: Claims, parts: Parts | None) -> list[Problem]:
    """Compare a file, or all parts of a folder, with the manifest."""
    if parts is None:
        return digest_problems(claims, release)
    digests = {file.name: digest(file) for file in parts.files} if has_digests(claims) else {}
    return [*parts.problems, *folder_digest_problems(claims, digests)]


def verify_table(
    table: pa.Table,
    recipe: Recipe,
    *,
    original: str | Path | pa.Table | None = None,
    rows: int | None = None,
    subjects: pa.Array | None = None,
) -> Verdict:
    """Recompute every promise of a release that is a pyarrow table in memory.

    See `verify`. Prefer the file where there is one: it is what is handed out.
    """
    _check_subjects(subjects, recipe)
    if recipe.shape is Shape.TWO_TABLES:
        message = "A release of the method `anatomy` has two tables."
        raise RecipeError("recipe.invalid", message, "verify both with verify_part_tables")
    if has_views(recipe):
        message = "A release in several views has several tables."
        raise RecipeError("recipe.invalid", message, "verify each with its recipe of promised_views")
    task = _Task(recipe, existing_original(original, recipe.input), rows, subjects)
    with session(table, task.raw, in_order=_needs_order(task)) as open_session:
        try:
            loaded = load_arrow(open_session, table, "released")
        except UnreadableError as fault:
            return _unread(recipe, [Problem(fault.code, fault.message)])
        return _judge(open_session, loaded, task, [])


def _judge(open_session: Session, loaded: Loaded, task: _Task, before: Sequence[Problem]) -> Verdict:
    """Check columns, rows, cells and goals of a loaded release; compare it with original and manifest."""
    recipe, subjects = task.recipe, task.subjects
    if faults := omitted_faults(recipe, quasi=task.raw is not None):
        raise RecipeError.from_faults(faults)
    original = None if task.raw is None else load_original(open_session, task.raw, recipe)
    against_original = [] if original is None else original_problems(open_session, loaded, original, recipe)
    problems = [*before, *header_problems(loaded.names, recipe)]
    problems += row_problems(loaded.rows, task.rows)
    remarks = [NOT_COUNTED] if recipe.named("subject") and subjects is None else []
    quasi = quasi_columns(recipe, loaded.names)
    if not all(loaded.has_once(name) for name in quasi):
        # Classes by fewer columns would be too large: no number is better than a wrong one.
        return conclude(
            loaded.rows, 0, 0, unmeasured(recipe), [*problems, *against_original], remarks=remarks
        )
    source = Source(open_session, loaded, recipe)
    if subjects is not None:
        source, found = _with_people(source, subjects)
        problems += found
    problems += code_problems(open_session, loaded, recipe)
    problems += pseudonym_problems(open_session, loaded, original, recipe)
    others = [*recipe.named("sensitive", "keep"), *recipe.pseudonyms]
    problems += order_problems(open_session, loaded, [*quasi, *others], recipe)
    classes, k = build_classes(source, quasi)
    cells = check_cells(open_session, loaded, recipe)
    dangers, noted = danger_findings(source, quasi)
    problems += [*cells.problems, *dangers]
    remarks += [*cells.remarks, *noted, *accepted_remarks(recipe)]
    has_classes = recipe.shape.has_classes
    if has_classes:
        findings = measure(source, quasi)
        problems += [finding.problem for finding in findings if finding.problem]
        goals = [finding.goal for finding in findings]
    else:
        fit = measure_fit(open_session, loaded, original, recipe)
        problems += fit.problems
        goals = [fit.goal, *unmeasured(recipe)[1:]]
        k = int(fit.goal.achieved or 0)
    problems += against_original
    if original is not None and recipe.output.values == "microaggregate":
        problems += average_problems(open_session, loaded, original, recipe)
    losses = _losses(source, original, task.claims, quasi if has_classes else [])
    suppressed = None if original is None else original.rows - loaded.rows
    counted_goals = goals if has_classes or original is not None else None
    counted = Counted(loaded.rows, classes, counted_goals, suppressed, losses, at_least=not has_classes)
    problems += number_problems(task.claims, counted)
    wildcard = wildcard_k(source, quasi, k) if has_classes else None
    return conclude(
        loaded.rows,
        classes,
        k,
        goals,
        problems,
        has_classes=has_classes,
        k_wildcard=wildcard,
        remarks=remarks,
    )


def _losses(
    source: Source, original: Loaded | None, claims: Claims, quasi: Sequence[str]
) -> dict[str, float | None]:
    """Recompute the losses in a manifest; without the original, with its own number of suppressed rows."""
    if "loss" not in claims.sections or not source.loaded.rows:
        return {}
    losses: dict[str, float | None] = {}
    suppressed = claimed_suppressed(claims)
    if original is not None:
        suppressed = max(0, original.rows - source.loaded.rows)
        if source.recipe.output.values == "generalize":
            losses |= box_losses(source, original, suppressed)
    return losses | (class_losses(source, quasi, suppressed) if quasi else {})


def _check_subjects(subjects: pa.Array | None, recipe: Recipe) -> None:
    """Refuse subjects that do not apply."""
    if subjects is None:
        return
    if not recipe.shape.has_classes:
        message = f"Method `{recipe.method.name}` counts rows, not people."
        raise RecipeError("recipe.invalid", message, "verify it without subjects")
    if has_views(recipe):
        message = "Several views are several files, each with its own order."
        raise RecipeError("recipe.invalid", message, "verify each with its recipe of promised_views")
    check_subjects(subjects)


def _with_people(source: Source, subjects: pa.Array) -> tuple[Source, list[Problem]]:
    """Count people, unless it is unclear which row is whose."""
    rows = source.loaded.rows
    if len(subjects) != rows:
        message = f"The file has {count(rows, 'row')}, but the subjects of {len(subjects)} are known."
        return source, [Problem("verify.rows", message)]
    load_people(source.session, subjects)
    return replace(source, people=True), []


def row_problems(found: int, expected: int | None) -> list[Problem]:
    """Compare the number of rows with the expected one; a file without rows is a problem in itself."""
    problems = []
    if found == 0:
        problems.append(Problem("verify.empty", "The file has no rows."))
    if expected is not None and expected != found:
        message = f"The file has {count(found, 'row')}, but {expected} should have been released."
        problems.append(Problem("verify.rows", message))
    return problems


def _unread(recipe: Recipe, problems: Sequence[Problem]) -> Verdict:
    """Return the verdict on a file that could not be read."""
    return conclude(0, 0, 0, unmeasured(recipe), problems)
