"""Write a release to a table of a database, verified there and by reading it back, before anybody sees it.

Everything happens in one transaction, which is committed last: after the files have their names. If anything
fails, the database undoes the transaction and the files are what they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import OutputError, RecipeError
from shoal.recipe import Address, Recipe, shareable, shared_digest
from shoal.recipe.database_faults import target_faults
from shoal.release.acceptance import accept, accept_inside
from shoal.release.manifest import RowsDigest
from shoal.release.paths import Places
from shoal.release.signing import load_key
from shoal.release.writing import note_earlier, split, typed_frame, write_hierarchy
from shoal.stages import Progress, stage
from shoal.table.overwriting import refuse_overwriting, replaces_release
from shoal.table.postgres.connecting import Database, DatabaseError, opened
from shoal.table.postgres.replacing import refuse_loss
from shoal.table.postgres.writing import Target, begin, find_target, give_name, refuse_input, write_staged
from shoal.table.write import all_or_nothing, check_place, move_into_place, temporary, write_bytes, write_text
from shoal.verifier import verify_table
from shoal.verifier.postgres import Stored, digest_of, read_back, verify_inside

if TYPE_CHECKING:
    from shoal.release.release import Release


def check_database(
    recipe: Recipe,
    address: Address,
    table: str,
    reads: Mapping[str, Path],
    *,
    report: bool,
    force: bool,
    signed: bool = False,
) -> bool:
    """Refuse a release that cannot be written, before any work is done; return whether one is replaced."""
    places = _checked_places(recipe, table, reads, report=report, force=force, signed=signed)
    with _writing(address) as database:
        return _find(database, recipe, address, table, places, force=force).replaced is not None


def write_database(
    release: Release,
    address: Address,
    table: str | None,
    *,
    report: bool,
    analyses: Sequence[str],
    force: bool,
    sign: Path | None,
    progress: Progress | None,
) -> Path:
    """Write the table, the manifest and the report; see `Release.write`. Return the manifest's path."""
    from shoal.release.reports import charts_meanwhile, report_texts

    recipe = release.recipe
    if faults := target_faults(address.dsn, table, recipe.shape):
        raise RecipeError.from_faults(faults)
    assert table is not None
    key = None if sign is None else load_key(sign)
    places = _checked_places(recipe, table, release.reads, report=report, force=force, signed=key is not None)
    note_earlier(release, places.target)
    with ExitStack() as stack:
        charts = stack.enter_context(charts_meanwhile(release)) if report else []
        made = [stack.enter_context(temporary(place)) for place in places.all]
        database = stack.enter_context(_writing(address))
        target = _find(database, recipe, address, table, places, force=force)
        begin(database, target)
        with stage(release.timings, "write", progress):
            staged = write_staged(database, target, _frame(release))
        with stage(release.timings, "verify", progress) as tick:
            digest = _verify(release, database, target, staged, tick)
        release.numbers.wait_for_bound(progress)
        _, manifest, reports, hierarchies, signatures = split(made, places)
        text = json.dumps(release.manifest(digest), indent=2, ensure_ascii=False) + "\n"
        write_text(text, manifest)
        if key is not None:
            write_bytes(key.sign(text.encode()), signatures[0])
        if report:
            with stage(release.timings, "report", progress):
                (page,) = report_texts(release, places.reported, [digest], charts, analyses)
                write_text(page, reports[0])
        for name, file in zip(places.hierarchies, hierarchies, strict=True):
            write_hierarchy(recipe, name, file)
        give_name(database, target, staged)  # last: from here on readers of an earlier release wait
        stale = places.stale()
        with all_or_nothing(*places.all, *stale):
            for file, place in zip(made, places.all, strict=True):
                move_into_place(file, place)
            for file in stale:
                file.unlink()
            database.commit()
    return places.manifest


def _checked_places(
    recipe: Recipe, table: str, reads: Mapping[str, Path], *, report: bool, force: bool, signed: bool
) -> Places:
    """Return where the files go; refuse to replace files that are read, or of another recipe."""
    places = Places.of_table(recipe, table, report=report, signed=signed)
    check_place(places.target)
    refuse_overwriting(places.all, reads)
    replaces_release(places.all, places.manifest, _digest(recipe), force=force)
    return places


def _find(
    database: Database, recipe: Recipe, address: Address, table: str, places: Places, *, force: bool
) -> Target:
    """Find the target; refuse to replace the input, or a table that the manifest does not describe."""
    target = find_target(database, address, table)
    refuse_input(database, target, recipe.source, recipe.input)
    if target.replaced is not None:
        refuse_loss(database, target.replaced, target.shown)
    if target.replaced is not None and not force:
        with database.explained():
            stored = Stored.of(database.cursor, target.schema, target.name)
            there = digest_of(stored, read_back(stored))
        if _claimed(places.manifest, recipe) != there:
            message = (
                f"The table `{target.shown}` exists and is not the release that {places.manifest} describes."
            )
            hint = "choose another name, or replace it with --force (in Python: force=True)"
            raise OutputError("output.exists", message, hint)
    return target


def _claimed(manifest: Path, recipe: Recipe) -> str | None:
    """Return the digest of the rows in the manifest of an earlier release of this recipe."""
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
        is_same = found["recipe"]["sha256"] == _digest(recipe)
        return str(found["release"]["rows_sha256"]) if is_same else None
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def _digest(recipe: Recipe) -> str:
    return shared_digest(shareable(recipe))


def _frame(release: Release) -> pl.DataFrame:
    (part,) = release.parts
    if not isinstance(part.frame, pl.DataFrame):
        message = "A release that Spark holds cannot be written to a database."
        raise RecipeError("recipe.not_available", message, "write it to files")
    return typed_frame(part.frame, part.recipe)


def _verify(release: Release, database: Database, target: Target, staged: str, tick: Any) -> RowsDigest:
    """Let the database recompute every promise, then DuckDB from what is read back; return the digest."""
    (part,) = release.parts
    recipe = part.recipe
    known: dict[str, Any] = {"rows": part.numbers.released, "subjects": part.people}
    with database.explained():
        inside = verify_inside(database.cursor, target.schema, staged, recipe, **known)
        accept_inside(inside, part.numbers, release.shape)
        tick(0.4)
        stored = Stored.of(database.cursor, target.schema, staged)
        rows = read_back(stored, in_order=part.people is not None or recipe.output.order == "shuffled")
        tick(0.6)
    accept(verify_table(rows, recipe, original=part.original, **known), part.numbers, release.shape)
    return RowsDigest(digest_of(stored, rows))


@contextmanager
def _writing(address: Address) -> Iterator[Database]:
    """Connect; a failure leaves the database as it was."""
    try:
        with opened(address) as database:
            yield database
    except DatabaseError as failure:
        message = f"The release cannot be written to {address}: {failure.reason}."
        raise OutputError(
            "output.unwritable", message, f"{failure.hint}; the database was not changed"
        ) from None
