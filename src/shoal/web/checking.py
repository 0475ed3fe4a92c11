"""Check files and releases: verify an upload, and check releases together. Other layers do the work."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from threading import Lock
from typing import Any

from shoal.recipe import Recipe
from shoal.table.leftovers import prefix
from shoal.table.write import sha256
from shoal.web.projects import HIERARCHIES, RECIPE, Project
from shoal.web.refusals import Refusal
from shoal.web.releases import Made, Releases
from shoal.web.uploads import Upload

_one_at_a_time = Lock()  # each may need as much memory as the table


def verify_upload(project: Project, upload: Upload, number: int | None, *, original: bool) -> dict[str, Any]:
    """Verify a file against the promises of a release: a given one, that with the same bytes, or the last."""
    from shoal.verifier import verify

    made, is_same = _promises(project, upload, number)
    if upload.file.suffix.lower() != made.target.suffix.lower():
        message = f"Release {made.number} is a {made.target.suffix} file, and this one is not."
        raise Refusal(415, "web.format", message, "choose the file as it was downloaded")
    folder = Path(tempfile.mkdtemp(prefix=prefix(), suffix=".check", dir=project.private))
    try:
        recipe = _beside(made, folder)
        released = folder / made.target.name
        os.replace(upload.file, released)
        with _one_at_a_time:
            verdict = verify(released, recipe, original=project.table() if original else None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"release": made.number, "same_bytes": is_same, **verdict.to_dict()}


def _promises(project: Project, upload: Upload, number: int | None) -> tuple[Made, bool]:
    """Return the release whose promises a file should keep, and whether it has the same bytes."""
    releases = Releases(project)
    digest = sha256(upload.file)
    single = [made for made in releases.all() if len(made.tables) == 1]
    same = [made for made in single if sha256(made.tables[0]) == digest]
    if number is not None:
        made = releases.get(number)
        if made not in single:
            message = f"Release {number} has several tables, which must be verified together."
            raise Refusal(409, "web.several", message, "use `shoal verify` on the downloaded files")
        return made, made in same
    if not single:
        message = "The project has no release whose promises a single file could keep."
        raise Refusal(409, "web.no_release", message, "run the recipe first")
    return (same or single)[-1], bool(same)


def _beside(made: Made, folder: Path) -> Recipe:
    """Copy what a release needs to be verified; return its recipe."""
    shutil.copyfile(made.manifest, folder / made.manifest.name)
    for file in made.folder.iterdir():
        if (
            file.is_file()
            and not file.is_symlink()
            and file not in made.tables
            and file.suffix in (".toml", ".csv")
        ):
            shutil.copyfile(file, folder / file.name)  # the recipe, and hierarchies that were induced
    (folder / HIERARCHIES).mkdir()
    for file in made.trees:
        shutil.copyfile(file, folder / HIERARCHIES / file.name)
    return Recipe.load(folder / RECIPE)


def check_together(project: Project, numbers: list[int]) -> dict[str, Any]:
    """Check what releases reveal together about the people in the table."""
    from shoal.workflow.together import check_releases

    releases = Releases(project)
    made = [releases.get(number) for number in sorted(set(numbers))]
    with _one_at_a_time:
        found = check_releases(made[-1].recipe(), [one.manifest for one in made])
    return {"releases": [one.number for one in made], **found}
