"""Extend a release as `shoal extend` does: new rows are read from files, and what must wait is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError, OutputError
from shoal.recipe import Input, Recipe
from shoal.release.paths import Places
from shoal.release.signing import load_key
from shoal.stages import Progress
from shoal.table.formats import FORMATS
from shoal.table.overwriting import refuse_overwriting
from shoal.table.read import read
from shoal.table.write import temporary, unwritable
from shoal.workflow.extend import extend
from shoal.workflow.extension import Extension
from shoal.workflow.publish import entered


def extend_files(
    earlier: Path,
    new: Sequence[Path],
    recipe: Recipe,
    *,
    held_back: Path | None = None,
    accept_composition: bool = False,
    force: bool = False,
    sign: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Extend a release by the rows of files, write it verified, and return its numbers and its files.

    Parameters
    ----------
    earlier : Path
        The release; several views: the name that they share.
    new : sequence of Path
        Files with the new rows, all with the columns of the raw table.
    recipe : Recipe
        That of the earlier release, with the output path of the extension.
    held_back : Path, optional
        Where the rows that must wait are written, readable by their owner only; without it, next to the first
        file of new rows. Nothing is written if there are none.
    accept_composition, force, sign, progress
        As in `publish`.
    """
    target = Path(recipe.output.path or "")
    if sign is not None:
        load_key(sign)  # before any work is done
    places = Places.of(recipe, target, report=False, signed=sign is not None)
    places.check()
    waiting = held_back or _beside(new[0])
    _refuse_held_back(waiting, places, new, force=force)
    reads = {f"file {at} of new rows": file.absolute() for at, file in enumerate(new, 1)}
    refuse_overwriting([*places.all, *places.stale(), waiting], reads | recipe.files)
    rows = _rows(new, recipe)
    extension = extend(
        earlier, rows, recipe, accept_composition=accept_composition, target=target, progress=progress
    )
    replaced = any(place.exists() for place in places.all)
    written = _write(extension, waiting, recipe.input, force=force, sign=sign, progress=progress)
    return {
        **extension.to_dict(),
        "held_back_file": None if written is None else str(written),
        "output": str(target),
        "manifest": str(places.manifest),
        **({"files": [str(table) for table in places.tables]} if len(places.tables) > 1 else {}),
        **({"signature": str(places.signatures[0])} if places.signatures else {}),
        **entered(extension),
        "replaced": replaced,
    }


def _beside(new: Path) -> Path:
    """Return where rows that must wait are written: next to the new rows, in a format that is read too."""
    ending = new.suffix if new.suffix.lower() in FORMATS else ".csv"
    return new.with_name(f"{new.stem}.held-back{ending}")


def _refuse_held_back(waiting: Path, places: Places, new: Sequence[Path], *, force: bool) -> None:
    """Refuse a place for the rows that must wait: they are raw data."""
    if waiting.suffix.lower() not in FORMATS or FORMATS[waiting.suffix.lower()].write is None:
        message = f"The rows that are held back cannot be written to {waiting}."
        raise OutputError("output.unwritable", message, f"extensions: {', '.join(FORMATS)}")
    if not waiting.parent.is_dir():
        message = f"The folder {waiting.parent} for the rows that are held back does not exist."
        raise OutputError("output.unwritable", message, "create the folder, or write elsewhere")
    if any(os.path.abspath(waiting) == os.path.abspath(place) for place in places.all):
        message = f"{waiting} is both for the release and for the rows that are held back."
        raise OutputError("output.unwritable", message, "choose another name for --held-back")
    if os.path.lexists(waiting) and waiting not in new and not force:
        message = f"{waiting}, for the rows that are held back, exists."
        raise OutputError("output.exists", message, "choose another name with --held-back, or add --force")


def _rows(new: Sequence[Path], recipe: Recipe) -> pl.DataFrame:
    """Read the new rows with all columns; what is held back is written with all of them."""
    tables = [read(file, recipe.reading) for file in new]
    for file, table in zip(new, tables, strict=True):
        if table.columns != tables[0].columns:
            message = f"{file} does not have the same columns in the same order as {new[0]}."
            raise DataError("data.unreadable", message, "give files with the columns of the raw table")
    try:
        return pl.concat(tables, how="vertical_relaxed")
    except pl.exceptions.PolarsError:  # its message may show a cell
        message = "The files of new rows have columns of types that do not fit together."
        raise DataError("data.kind", message, "give files of one format") from None


def _write(
    extension: Extension,
    waiting: Path,
    given: Input,
    *,
    force: bool,
    sign: Path | None,
    progress: Progress | None,
) -> Path | None:
    """Write the rows that must wait, then the release; if that fails, neither."""
    if not len(extension.held_back):
        extension.write(force=force, sign=sign, progress=progress)
        return None
    with temporary(waiting) as file:
        try:
            _write_raw(extension.held_back, file, given)
            os.replace(file, waiting)  # temporary files are readable by their owner only, and this stays so
        except OSError as error:
            raise unwritable(waiting, error) from None
    try:
        extension.write(force=force, sign=sign, progress=progress)
    except BaseException:
        with suppress(OSError):
            waiting.unlink()
        raise
    return waiting


def _write_raw(rows: pl.DataFrame, path: Path, given: Input) -> None:
    """Write raw rows so that the recipe's [input] reads them again."""
    written = FORMATS[path.suffix.lower()]
    if not written.is_text:
        assert written.write is not None  # `_refuse_held_back` refuses the others
        written.write(rows, path)
        return
    text = rows.write_csv(
        separator=given.separator or written.separator,
        include_header=given.header,
        null_value=given.missing[0] if given.missing else "",
    )
    path.write_bytes(text.encode(given.encoding or "utf-8"))
