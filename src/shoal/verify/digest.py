"""The manifest beside a release says which bytes it describes."""

from __future__ import annotations

import hashlib
import json
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
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if str(release["sha256"]).lower() == digest:
        return []
    return [Problem("verify.digest", "The file is not the one that its manifest describes.")]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) else None
