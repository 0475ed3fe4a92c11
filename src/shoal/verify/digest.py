"""The manifest beside a release says which bytes it describes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.verify.verdict import Problem


def digest_problems(path: Path) -> list[Problem]:
    """Compare the file's bytes with its manifest; nothing to say where there is none."""
    beside = path.with_name(path.name + ".manifest.json")
    if not beside.exists():
        return []
    manifest = _read(beside)
    if manifest is None:
        return [Problem("verify.digest", "The manifest beside the file cannot be read.")]
    release = manifest.get("release")
    if not isinstance(release, dict) or "sha256" not in release:
        return []
    if str(release["sha256"]).lower() == _digest(path):
        return []
    return [Problem("verify.digest", "The file is not the one that its manifest describes.")]


def parts_digest_problems(named: Path, files: Mapping[str, Path]) -> list[Problem]:
    """Compare several files with the manifest of the name that they share."""
    beside = named.with_name(named.name + ".manifest.json")
    if not beside.exists():
        return []
    manifest = _read(beside)
    if manifest is None:
        return [Problem("verify.digest", "The manifest beside the files cannot be read.")]
    release = manifest.get("release")
    told = release.get("files") if isinstance(release, dict) else None
    told = told if isinstance(told, dict) else {}
    changed = [title for title, file in files.items() if str(told.get(title)).lower() != _digest(file)]
    return [
        Problem("verify.digest", f"The {title} file is not the one that its manifest describes.")
        for title in changed
    ]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) else None
