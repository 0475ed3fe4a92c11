"""Write a release that Spark holds: a folder of files, verified before it gets its name."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OutputError
from shoal.failures import clear_failures
from shoal.recipe import EXTENSIONS, Recipe, shareable, shared_digest
from shoal.release.acceptance import accept, agree
from shoal.release.distributed import Distributed
from shoal.release.replacing import give_back, replaced
from shoal.release.signing import load_key, signature_path
from shoal.release.writing import note_earlier
from shoal.stages import Progress, stage
from shoal.table.leftovers import prefix, remove_leftovers
from shoal.table.overwriting import refuse_overwriting, replaces_release
from shoal.table.write import (
    all_or_nothing,
    manifest_path,
    move_into_place,
    report_path,
    temporary,
    unwritable,
    write_bytes,
    write_text,
)
from shoal.verifier import Verdict, verify
from shoal.verifier.reading.parts import list_parts
from shoal.verifier.spark import verify_folder, verify_frame
from shoal.verifier.spark.reading import read_facts

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from shoal.release.release import Release

FORMATS = (".parquet", ".csv")
_BOTH = 5_000_000  # rows up to which DuckDB verifies too


def check_folder(target: Path) -> None:
    """Refuse a place where no folder can be written, before any work is done."""
    if target.suffix.lower() not in FORMATS:
        known = target.suffix.lower() in EXTENSIONS
        message = f"The engine `spark` does not write {target.suffix or 'files without an extension'}."
        hint = f"use {' or '.join(FORMATS)}" + (", or the engine local" if known else "")
        raise OutputError("output.unwritable", message, hint)
    if target.is_file():
        raise OutputError("output.unwritable", f"The output {target} is a file.", "name a folder")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        message = f"The folder {target.parent} of the output does not exist or cannot be written to."
        raise OutputError("output.unwritable", message, "choose a folder that you may write to")


def write_folder(
    release: Release,
    rows: Distributed,
    path: str | Path | None,
    *,
    report: bool,
    force: bool,
    sign: Path | None,
    progress: Progress | None,
) -> Path:
    """Write the folder, the manifest and the report; see `Release.write`."""
    target = Path(path or release.recipe.output.path or "")
    key = None if sign is None else load_key(sign)
    check_folder(target)
    give_back(target)
    note_earlier(release, target)
    places = [target, manifest_path(target), *([report_path(target)] if report else [])]
    refuse_overwriting(places, release.reads)
    replaces_release(places, places[1], shared_digest(shareable(release.recipe)), force=force)
    from shoal.engine.spark.progress import watched
    from shoal.engine.spark.settings import sized

    with clear_failures(), _hidden_folder(target) as hidden, sized(rows.spark, rows.height):
        made = hidden / f"rows{target.suffix.lower()}"
        with stage(release.timings, "write", progress) as tick, watched(rows.spark, tick):
            _write_rows(release, rows, made)
        with stage(release.timings, "verify", progress) as tick, watched(rows.spark, tick):
            _verify_written(release, rows, made)
            digests = _digests(rows.spark, made)
        _finish(release, made, places, digests, report=report, key=key, progress=progress)
    return target


@contextmanager
def _hidden_folder(target: Path) -> Iterator[Path]:
    """Yield a folder next to the target whose name starts with a dot; remove it in the end."""
    remove_leftovers(target.parent)
    try:
        made = Path(tempfile.mkdtemp(prefix=prefix(), suffix=target.suffix, dir=target.parent))
    except OSError as error:
        raise unwritable(target, error) from None
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write_rows(release: Release, rows: Distributed, folder: Path) -> None:
    """Let workers write files, and move those of their chosen attempts into the folder, in order.

    A copy of a task may still write when all is done, because Spark has lost sight of it: it does so in a
    place that is never released, and that it cannot make.
    """
    from shoal.engine.spark.files import in_files, write_files

    folder = folder.absolute()  # as workers know it, whatever folder they run in
    parted = in_files(rows.run.classes, rows.layout, rows.height, rows.classes)
    safe = release.recipe.output.spreadsheet_safe
    attempts = folder.with_name(f"attempts{folder.suffix}")
    for place in (attempts, folder):
        place.mkdir()
    written = write_files(parted, rows.layout, attempts, spreadsheet_safe=safe)
    for at, file in enumerate(written):
        file.rename(folder / f"part-{at:05}{folder.suffix}")


def _verify_written(release: Release, rows: Distributed, folder: Path) -> None:
    """Let Spark recompute every promise from the files, and DuckDB too where they are few."""
    known: dict[str, Any] = {"rows": rows.height, "manifest": False}
    people: dict[str, Any] = {}
    if release.recipe.subject is not None:
        frame, name = rows.with_people()
        people = {"people": frame, "person": name}
    found = verify_folder(rows.spark, folder, release.recipe, **known, **people)
    accept(found, release.numbers, release.shape)
    if _is_verified_twice(release):
        again = verify(folder, release.recipe, **known)
        accept(again, release.numbers, release.shape)
        agree(found, again)


def _digests(spark: Any, folder: Path) -> dict[str, str]:
    """Return the digest of each file, by its name: workers read the files, in pieces."""
    facts = read_facts(spark, list_parts(folder).files, digests=True)
    return {name: digest for name, digest, _ in sorted(facts)}


def _is_verified_twice(release: Release) -> bool:
    return release.numbers.released <= _BOTH and release.recipe.subject is None


def verify_rows(release: Release, rows: Distributed) -> None:
    """Let Spark recompute every promise from the rows that it holds; raise if one is broken."""
    accept(measured_rows(rows, release.recipe), release.numbers, release.shape)


def measured_rows(rows: Distributed, recipe: Recipe) -> Verdict:
    """Return the verdict about the rows that Spark holds."""
    from shoal.engine.spark.settings import sized

    frame, person = (rows.frame(), "") if recipe.subject is None else rows.with_people()
    with sized(rows.spark, rows.height):
        return verify_frame(rows.spark, frame, recipe, rows=rows.height, person=person)


def _finish(
    release: Release,
    made: Path,
    places: list[Path],
    digests: dict[str, str],
    *,
    report: bool,
    key: Ed25519PrivateKey | None,
    progress: Progress | None,
) -> None:
    """Write manifest, signature and report, and give everything its name: all or nothing."""
    from shoal.release.reports import report_texts

    target, manifest, *reports = places
    signature = signature_path(manifest)
    with (
        temporary(manifest) as manifest_file,
        temporary(signature) as signature_file,
        temporary(report_path(target)) as report_file,
    ):
        text = json.dumps(release.manifest(digests), indent=2, ensure_ascii=False) + "\n"
        write_text(text, manifest_file)
        if key is not None:
            write_bytes(key.sign(text.encode()), signature_file)
        if report:
            with stage(release.timings, "report", progress):
                also = " and DuckDB" if _is_verified_twice(release) else ""
                (page,) = report_texts(release, [target.name], [None], files=len(digests), also=also)
                write_text(page, report_file)
        with all_or_nothing(manifest, signature, *reports), replaced(target, made):
            if key is None:
                signature.unlink(missing_ok=True)  # that of an earlier manifest
            else:
                move_into_place(signature_file, signature)
            for place in reports:
                move_into_place(report_file, place)
            move_into_place(manifest_file, manifest)  # last: before it, the digests show what is missing
