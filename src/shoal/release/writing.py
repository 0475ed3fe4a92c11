"""Write a release: verify it under temporary names, then move all files into place, or none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.dangers import earlier, warn_of
from shoal.hierarchy.files import from_nested
from shoal.hierarchy.nested import toml_text, with_origin
from shoal.recipe import Recipe, Shape, shareable, shared_digest
from shoal.release.manifest import EARLIER
from shoal.release.parts import Part
from shoal.release.paths import Places
from shoal.release.signing import load_key
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.formats import is_text
from shoal.table.induced import columns_for, origin
from shoal.table.overwriting import refuse_overwriting, replaces_release
from shoal.table.siblings import view_paths
from shoal.table.write import (
    all_or_nothing,
    move_into_place,
    sha256,
    temporary,
    write_bytes,
    write_table,
    write_text,
)

if TYPE_CHECKING:
    from shoal.release.release import Release


def write_release(
    release: Release,
    path: str | Path | None,
    *,
    report: bool,
    analyses: Sequence[str],
    force: bool,
    sign: Path | None,
    progress: Progress | None,
) -> Path:
    """Write all files of a release; see `Release.write`."""
    from shoal.release.reports import charts_meanwhile, report_texts

    target = Path(path or release.recipe.output.path or "")
    key = None if sign is None else load_key(sign)
    places = Places.of(release.recipe, target, report=report, signed=key is not None)
    places.check()
    note_earlier(release, target)
    refuse_replacing(release, places, force=force)
    with ExitStack() as stack:
        if release.ledger is not None:
            stack.enter_context(release.ledger.locked(target))
        charts = stack.enter_context(charts_meanwhile(release)) if report else []
        made = [stack.enter_context(temporary(place)) for place in places.all]
        tables, manifest, reports, hierarchies, signatures = split(made, places)
        with stage(release.timings, "write", progress) as tick:
            for at, part in enumerate(release.parts):
                _write_part(part, tables[at])
                tick((at + 1) / len(tables))
        with stage(release.timings, "verify", progress) as tick:
            release.verify_files(tables, tick)
        release.numbers.wait_for_bound(progress)
        digests = [sha256(file) for file in tables]
        text = json.dumps(release.manifest(*digests), indent=2, ensure_ascii=False) + "\n"
        write_text(text, manifest)
        if key is not None:
            write_bytes(key.sign(text.encode()), signatures[0])
        if report:
            with stage(release.timings, "report", progress) as tick:
                pages = report_texts(release, places.reported, digests, charts, analyses)
                for at, page in enumerate(pages):
                    write_text(page, reports[at])
                    tick((at + 1) / len(reports))
        for name, file in zip(places.hierarchies, hierarchies, strict=True):
            write_hierarchy(release.recipe, name, file)
        _move(made, places, release, text)
    return target


def write_reports(release: Release, target: Path, analyses: Sequence[str]) -> None:
    """Write only the reports; see `Release.report`."""
    from shoal.release.reports import report_texts

    number = len(release.parts)
    places = view_paths(target, number) if release.shape is Shape.VIEWS else [target]
    refuse_overwriting(places, release.reads)
    names = [place.stem for place in places]
    pages = report_texts(release, names, [None] * number, analyses=analyses)
    with ExitStack() as stack:
        made = [stack.enter_context(temporary(place)) for place in places]
        for file, page in zip(made, pages, strict=True):
            write_text(page, file)
        for file, place in zip(made, places, strict=True):
            move_into_place(file, place)


def refuse_replacing(release: Release, places: Places, *, force: bool) -> None:
    """Refuse to replace files that were read, or that are not a release of the same recipe."""
    reads = dict(release.reads)
    if release.ledger is not None:
        release.ledger.refuse_replacing(places.target)
        reads["the ledger"] = release.ledger.path
    refuse_overwriting([*places.all, *places.stale()], reads)
    replaces_release(places.all, places.manifest, shared_digest(shareable(release.recipe)), force=force)


def note_earlier(release: Release, target: Path) -> None:
    """Add, and warn of, earlier releases in the folder that were not checked with this one."""
    found = earlier(
        target,
        release.recipe,
        release.also,
        extends=release.extends,
        accepted=release.accepts_composition,
    )
    release.dangers[:] = [*(danger for danger in release.dangers if danger.code != EARLIER), *found]
    warn_of(found)


def split(
    made: Sequence[Path], places: Places
) -> tuple[Sequence[Path], Path, Sequence[Path], Sequence[Path], Sequence[Path]]:
    """Return the tables, the manifest, the reports, the hierarchies and the signatures."""
    file = dict(zip(places.all, made, strict=True))
    groups = (places.tables, places.reports, places.hierarchies.values(), places.signatures)
    tables, reports, hierarchies, signatures = ([file[place] for place in group] for group in groups)
    return tables, file[places.manifest], reports, hierarchies, signatures


def write_hierarchy(recipe: Recipe, name: str, path: Path) -> None:
    """Write the tree that was induced for a column, with its origin."""
    tree: Any = recipe.columns[name].hierarchy
    text = with_origin(toml_text(from_nested(tree, name)), origin(name, columns_for(name, recipe)))
    write_text(text, path)


def _write_part(part: Part, path: Path) -> None:
    """Write a table; in typed formats, texts that are whole numbers or dates get that type."""
    frame = part.frame
    assert isinstance(frame, pl.DataFrame)  # rows that Spark holds are written by Spark
    if not is_text(path):
        frame = typed_frame(frame, part.recipe)
    write_table(frame, path, spreadsheet_safe=part.recipe.output.spreadsheet_safe)


def typed_frame(frame: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Return a released table whose texts that are all whole numbers or dates have that type."""
    others = recipe.named("sensitive", "keep")
    columns = {name: frames.series(frame, name) for name in frame.columns}
    return pl.DataFrame({name: typed(c) if name in others else c for name, c in columns.items()})


def typed(values: pl.Series) -> pl.Series:
    """Return a text column as numbers or dates if every text is in canonical form, otherwise unchanged."""
    if values.dtype != pl.String:
        return values
    candidates = [values.cast(pl.Int64, strict=False), values.str.to_date("%Y-%m-%d", strict=False)]
    for typed in candidates:
        if typed.null_count() == values.null_count() and (typed.cast(pl.String) == values).all():
            return typed
    return values


def _move(made: Sequence[Path], places: Places, release: Release, manifest: str) -> None:
    """Give all files their names, and remove views that this release no longer has.

    The entry in the ledger comes first, the manifest last: if the process is killed in between, the ledger
    names a release without its manifest, which is found, and never lacks one that may have been published.
    """
    stale, ledger = places.stale(), release.ledger
    with all_or_nothing(*places.all, *stale, *([ledger.path] if ledger else [])):
        if ledger is not None:
            ledger.append(ledger.line(places.target, manifest, shareable(release.recipe), release.extended))
        for temporary_file, place in zip(made, places.all, strict=True):
            if place != places.manifest:
                move_into_place(temporary_file, place)
        for file in stale:
            file.unlink()
        move_into_place(made[places.all.index(places.manifest)], places.manifest)
