"""What may be overwritten: no file that was read, and a release only by one of the same recipe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from shoal.errors import OutputError


def refuse_overwriting(outputs: Iterable[Path], reads: Mapping[str, Path]) -> None:
    """Refuse to write to a file that is read, whatever name or link leads to it.

    Parameters
    ----------
    outputs : iterable of Path
        The files that would be written or removed.
    reads : mapping of str to Path
        The files that are read, by what they are: ``"the input"``.
    """
    for output in outputs:
        for what, path in reads.items():
            if _is_same_file(output, path):
                message = f"The output is {what} itself: {output} would be lost."
                raise OutputError("output.unwritable", message, "write to another file")


def replaces_release(places: Sequence[Path], manifest: Path, digest: str, *, force: bool) -> bool:
    """Say whether files are replaced; refuse where these are not a release of the same recipe.

    Parameters
    ----------
    places : sequence of Path
        The files that would be written.
    manifest : Path
        The manifest among them. Only what it describes is known to be a release.
    digest : str
        That of the recipe, as the manifest has it.
    force : bool
        Replace whatever is there.
    """
    there = [place for place in places if os.path.lexists(place)]
    if there and not force and _recipe_digest(manifest) != digest:
        message = f"{there[0]} exists and is not a release of this recipe."
        hint = "choose another name, or replace it: --force, in Python force=True"
        raise OutputError("output.exists", message, hint)
    return bool(there)


def _is_same_file(one: Path, other: Path) -> bool:
    # The system compares the files themselves: links and, where it ignores case, other spellings too.
    with suppress(OSError, ValueError):
        return one.samefile(other)
    return False  # one of them does not exist


def _recipe_digest(manifest: Path) -> str | None:
    """Return the digest of the recipe that a manifest speaks of; None where there is no such manifest."""
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))["recipe"]["sha256"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None
