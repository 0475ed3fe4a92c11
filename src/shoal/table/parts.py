"""Where the tables of a release in several tables lie, beside X.csv, which is the name that they share.

Anatomy: X.quasi.csv and X.sensitive.csv. Views: X.1.csv, X.2.csv and so on. There is one manifest for
all of them, X.csv.manifest.json, which lists them by title with their digests.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from shoal.errors import OutputError
from shoal.table.write import check_target, manifest_path, report_path, sha256

_ANATOMY = ("quasi", "sensitive")
_VIEW = re.compile(r"view ([1-9][0-9]{0,5})")


def part_paths(path: Path) -> tuple[Path, Path]:
    """Return where the quasi and the sensitive table lie."""
    quasi, sensitive = (_beside(path, part) for part in _ANATOMY)
    return quasi, sensitive


def view_titles(number: int) -> list[str]:
    """Return what the manifest calls the views."""
    return [f"view {at}" for at in range(1, number + 1)]


def view_paths(path: Path, number: int) -> list[Path]:
    """Return where that many views lie."""
    return [_beside(path, str(at)) for at in range(1, number + 1)]


def check_whole(path: Path) -> None:
    """Refuse a place where one table cannot be written, or would take the manifest of several."""
    check_target(path)
    _refuse_beside([path.name], listed_tables(path))


def check_parts(path: Path) -> None:
    """Refuse a place where the two tables of Anatomy cannot be written, before any work is done.

    A release in one table that lies there under the name itself would lose its manifest, and whoever
    takes all files of that name would publish both releases.
    """
    check_target(path)
    parts = part_paths(path)
    own = [file.name for file in parts]
    others = [file for file in listed_tables(path) if file not in parts]
    _refuse_beside(own, [path, report_path(path), *others])
    for file in parts:
        check_target(file)


def check_views(path: Path, number: int) -> None:
    """Refuse a place where that many views cannot be written, likewise."""
    check_target(path)
    own = [file.name for file in view_paths(path, number)]
    _refuse_beside(own, [path, report_path(path), *part_paths(path)])
    for file in view_paths(path, number):
        check_target(file)
    stale_views(path, number)


def stale_views(path: Path, number: int) -> list[Path]:
    """List the views, with their reports, that an earlier release had beyond this number.

    Nobody may take them for views of this release. Only a file that the manifest describes, byte for
    byte, is one: another is somebody's own, and the release has to go elsewhere.
    """
    told = _files(path)
    found = []
    at = number + 1
    while (file := _beside(path, str(at))).exists():
        if not file.is_file() or told.get(f"view {at}") != sha256(file):
            _refuse_beside([f"{number} views"], [file])
        found += [place for place in (file, report_path(file)) if place.is_file()]
        at += 1
    return found


def _refuse_beside(own: list[str], others: list[Path]) -> None:
    """Refuse to write where files of another release of this name lie."""
    for file in others:
        if file.exists():
            listed = own[0] if len(own) == 1 else f"{', '.join(own[:-1])} and {own[-1]}"
            message = f"{file} is there already, and {listed} would lie beside it."
            raise OutputError("output.unwritable", message, "choose another name, or take that file away")


def _beside(path: Path, title: str) -> Path:
    return path.with_name(f"{path.stem}.{title}{path.suffix}")


def listed_tables(path: Path) -> list[Path]:
    """List the tables that lie beside `path` and that its manifest tells of."""
    titles = [view.group(1) for view in map(_VIEW.fullmatch, _files(path)) if view]
    titles += [title for title in _files(path) if title in _ANATOMY]
    return [file for title in titles if (file := _beside(path, title)).is_file()]


def _files(path: Path) -> dict[str, str]:
    """Return the digests of the files that the manifest of an earlier release lists, by title."""
    try:
        release = json.loads(manifest_path(path).read_text(encoding="utf-8"))["release"]
        files = release.get("files", {})
        return {str(title): str(digest) for title, digest in files.items()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}  # none, or not one of ours
