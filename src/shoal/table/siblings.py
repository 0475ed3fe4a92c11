"""File names of a release in several tables, derived from the common name X.csv.

Anatomy: X.quasi.csv and X.sensitive.csv. Views: X.1.csv, X.2.csv and so on. One manifest,
X.csv.manifest.json, lists all of them by title with their digests.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from shoal.errors import OutputError
from shoal.recipe import MANIFEST_SUFFIX
from shoal.table.write import manifest_path, report_path, sha256

TITLES = ("quasi", "sensitive")  # of Anatomy's tables
_VIEW = re.compile(r"view ([1-9][0-9]{0,5})")


def part_paths(path: Path) -> tuple[Path, Path]:
    """Return the paths of Anatomy's quasi and sensitive tables."""
    quasi, sensitive = (sibling(path, part) for part in TITLES)
    return quasi, sensitive


def view_titles(number: int) -> list[str]:
    """Return the titles of the views in the manifest."""
    return [f"view {at}" for at in range(1, number + 1)]


def view_paths(path: Path, number: int) -> list[Path]:
    """Return the paths of this many views."""
    return [sibling(path, str(at)) for at in range(1, number + 1)]


def stale_views(path: Path, number: int) -> list[Path]:
    """List the views of an earlier release beyond this number, with their reports.

    They must not be mistaken for views of this release. Only a file whose digest is in the manifest is
    one; any other belongs to the user, and the release must be written elsewhere.
    """
    digests = _files(path)
    found = []
    at = number + 1
    while (file := sibling(path, str(at))).exists():
        if not file.is_file() or digests.get(f"view {at}") != sha256(file):
            refuse_siblings([f"{number} views"], [file])
        found += [place for place in (file, report_path(file)) if place.is_file()]
        at += 1
    return found


def refuse_siblings(own: list[str], others: list[Path]) -> None:
    """Refuse to write next to files of another release with the same name."""
    for file in others:
        if file.exists():
            listed = own[0] if len(own) == 1 else f"{', '.join(own[:-1])} and {own[-1]}"
            message = f"{file} already exists and could be mistaken for part of this release ({listed})."
            raise OutputError("output.unwritable", message, "choose another name, or move that file")


def sibling(path: Path, title: str) -> Path:
    """Return the path of the table with this title."""
    return path.with_name(f"{path.stem}.{title}{path.suffix}")


def listed_tables(path: Path) -> list[Path]:
    """List the existing tables that the manifest of `path` describes."""
    titles = [view.group(1) for view in map(_VIEW.fullmatch, _files(path)) if view]
    titles += [title for title in _files(path) if title in TITLES]
    return [file for title in titles if (file := sibling(path, title)).is_file()]


def release_of(path: Path) -> Path:
    """Return the release that a file belongs to: its manifest, a part of a folder, or one of several tables.

    Any other file is taken for a release itself.
    """
    if path.name.endswith(MANIFEST_SUFFIX):
        return path.with_name(path.name.removesuffix(MANIFEST_SUFFIX) or path.name)
    if path.name.startswith("part-") and path.parent.name and manifest_path(path.parent).is_file():
        return path.parent
    stem = path.stem.rpartition(".")[0]
    whole = path.with_name(stem + path.suffix) if stem else path
    return whole if path in listed_tables(whole) else path


def _files(path: Path) -> dict[str, str]:
    """Return the digests of the files that the manifest of an earlier release lists, by title."""
    try:
        release = json.loads(manifest_path(path).read_text(encoding="utf-8"))["release"]
        files = release.get("files", {})
        return {str(title): str(digest) for title, digest in files.items()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}  # no manifest, or not one of shoal's
