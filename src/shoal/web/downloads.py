"""Files of a release, as downloads."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import quote

from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from shoal.table.leftovers import prefix
from shoal.web.refusals import not_found
from shoal.web.releases import Made

_BINARY = "application/octet-stream"  # the browser must save it, not show it


def download(made: Made, what: str, part: int) -> Response:
    """Return a file of a release as a download."""
    stem = f"{made.project.name}-release-{made.number}"
    match what:
        case "release":
            return _file(_chosen(made.tables, part, "table"))
        case "manifest":
            return _file(made.manifest)
        case "dossier":
            return _file(_chosen(made.reports, part, "dossier"))
        case "recipe":
            text = made.portable_recipe()
            return Response(text, media_type=_BINARY, headers=_attached(f"{stem}.toml"))
        case _:
            return _zipped(made, f"{stem}.zip")


def _chosen(files: list[Path], part: int, what: str) -> Path:
    if part > len(files):
        raise not_found(f"{what} {part} in this release")
    return files[part - 1]


def _file(path: Path) -> FileResponse:
    return FileResponse(path, media_type=_BINARY, headers=_attached(path.name))


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}"}


def _zipped(made: Made, name: str) -> FileResponse:
    """Return the whole folder of a release; the raw table is not in it."""
    handle, path = tempfile.mkstemp(prefix=prefix(), suffix=".zip", dir=made.project.private)  # mode 0600
    with os.fdopen(handle, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(made.folder.rglob("*")):
            if file.is_file() and not file.is_symlink() and not file.name.startswith("."):
                packed.write(file, file.relative_to(made.folder))
    remove = BackgroundTask(Path(path).unlink, missing_ok=True)
    return FileResponse(path, media_type=_BINARY, headers=_attached(name), background=remove)
