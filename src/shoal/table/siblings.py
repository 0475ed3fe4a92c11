"""Where the tables of a release in several tables lie, beside X.csv, which is the name that they share.

Anatomy: X.quasi.csv and X.sensitive.csv. Views: X.1.csv, X.2.csv and so on. There is one manifest for
all of them, X.csv.manifest.json, which lists them by title with their digests.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from shoal.errors import OutputError
from shoal.table.write import manifest_path, report_path, sha256

TITLES = ("quasi", "sensitive")  # of the tables of Anatomy
_VIEW = re.compile(r"view ([1-9][0-9]{0,5})")


def part_paths(path: Path) -> tuple[Path, Path]:
    """Return where the quasi and the sensitive table of Anatomy lie."""
    quasi, sensitive = (beside(path, part) for part in TITLES)
    return quasi, sensitive


def view_titles(number: int) -> list[str]:
    """Return what the manifest calls the views."""
    return [f"view {at}" for at in range(1, number + 1)]


def view_paths(path: Path, number: int) -> list[Path]:
    """Return where that many views lie."""
    return [beside(path, str(at)) for at in range(1, number + 1)]


def stale_views(path: Path, number: int) -> list[Path]:
    """List the views, with their reports, that an earlier release had beyond this number.

    Nobody may take them for views of this release. Only a file that the manifest describes, byte for
    byte, is one: another is somebody's own, and the release has to go elsewhere.
    """
    told = _files(path)
    found = []
    at = number + 1
    while (file := beside(path, str(at))).exists():
        if not file.is_file() or told.get(f"view {at}") != sha256(file):
            refuse_beside([f"{number} views"], [file])
        found += [place for place in (file, report_path(file)) if place.is_file()]
        at += 1
    return found


def refuse_beside(own: list[str], others: list[Path]) -> None:
    """Refuse to write where files of another release of this name lie."""
    for file in others:
        if file.exists():
            listed = own[0] if len(own) == 1 else f"{', '.join(own[:-1])} and {own[-1]}"
            message = f"{file} is there already, and {listed} would lie beside it."
            raise OutputError("output.unwritable", message, "choose another name, or take that file away")


def beside(path: Path, title: str) -> Path:
    """Return where the table of that title lies."""
    return path.with_name(f"{path.stem}.{title}{path.suffix}")


def listed_tables(path: Path) -> list[Path]:
    """List the tables that lie beside `path` and that its manifest tells of."""
    titles = [view.group(1) for view in map(_VIEW.fullmatch, _files(path)) if view]
    titles += [title for title in _files(path) if title in TITLES]
    return [file for title in titles if (file := beside(path, title)).is_file()]


def _files(path: Path) -> dict[str, str]:
    """Return the digests of the files that the manifest of an earlier release lists, by title."""
    try:
        release = json.loads(manifest_path(path).read_text(encoding="utf-8"))["release"]
        files = release.get("files", {})
        return {str(title): str(digest) for title, digest in files.items()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}  # none, or not one of ours
