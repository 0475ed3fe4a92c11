"""Protect files from being overwritten: input files always, a release by one of another recipe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from shoal.errors import OutputError
from shoal.table.formats import is_several
from shoal.table.parts import files_of


def refuse_overwriting(outputs: Iterable[Path], reads: Mapping[str, Path]) -> None:
    """Refuse to write to a file that is read, under any name or link.

    Parameters
    ----------
    outputs : iterable of Path
        The files that would be written or removed.
    reads : mapping of str to Path
        The files that are read, by description, such as ``"the input"``.
    """
    for output in outputs:
        for what, path in reads.items():
            if any(_is_same_file(output, file) for file in _files(path)):
                message = f"The output {output} would overwrite {what}."
                raise OutputError("output.unwritable", message, "write to another file")


def replaces_release(places: Sequence[Path], manifest: Path, digest: str, *, force: bool) -> bool:
    """Return whether files are replaced; refuse if they are not a release of the same recipe.

    Parameters
    ----------
    places : sequence of Path
        The files that would be written.
    manifest : Path
        The manifest among them, which identifies a release.
    digest : str
        Digest of the recipe, as in the manifest.
    force : bool
        Replace any existing files.
    """
    existing = [place for place in places if os.path.lexists(place)]
    if existing and not force and _recipe_digest(manifest) != digest:
        message = f"{existing[0]} exists and is not a release of this recipe."
        hint = "choose another name, or replace it with --force (in Python: force=True)"
        raise OutputError("output.exists", message, hint)
    return bool(existing)


def _files(path: Path) -> list[Path]:
    """Return the files that are read: those of a folder or a pattern, and the folder itself."""
    try:
        return [path, *files_of(path)] if is_several(path) else [path]
    except (OSError, ValueError):
        return [path]


def _is_same_file(one: Path, other: Path) -> bool:
    # Compares the files themselves, so links and, on case-insensitive systems, other spellings count.
    with suppress(OSError, ValueError):
        return one.samefile(other)
    return False  # one of them does not exist


def _recipe_digest(manifest: Path) -> str | None:
    """Return the recipe digest in a manifest; None if there is no valid manifest."""
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))["recipe"]["sha256"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None
