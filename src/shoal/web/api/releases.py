"""Calls about releases: list, download, restore, verify, check together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from shoal.web.checking import check_together, verify_upload
from shoal.web.downloads import download
from shoal.web.releases import Releases
from shoal.web.state import Named, Shared
from shoal.web.uploads import received

router = APIRouter(prefix="/api/projects/{name}", tags=["releases"])
What = Literal["release", "manifest", "dossier", "recipe", "everything"]


class Versioned(BaseModel):
    """The version of the recipe that is replaced."""

    version: str | None = Field(None, description="Refused if the recipe has changed since.")


class Together(BaseModel):
    """Releases that are checked together."""

    releases: list[int] = Field(min_length=2, max_length=60)


@router.get("/releases")
def list_releases(project: Named) -> list[dict[str, Any]]:
    """List the releases of a project with the numbers by which they are compared."""
    return [made.summary() for made in Releases(project).all()]


@router.get("/releases/{number}")
def get_release(project: Named, number: int) -> dict[str, Any]:
    """Return the manifest of a release."""
    return Releases(project).get(number).facts()


@router.get("/releases/{number}/files/{what}", response_class=FileResponse)
def download_file(
    project: Named,
    number: int,
    what: What,
    part: Annotated[int, Query(description="Of several tables or dossiers, which.", ge=1, le=1000)] = 1,
) -> Response:
    """Download the release, its manifest, its dossier, its recipe, or all of them as ZIP."""
    return download(Releases(project).get(number), what, part)


@router.post("/releases/{number}/restore")
def restore_recipe(project: Named, number: int, asked: Versioned) -> dict[str, str]:
    """Make the recipe of a release the recipe of the project again."""
    Releases(project).restore(number, asked.version)
    return {"version": project.version()}


@router.post("/recipe/bring-back")
def bring_back(project: Named) -> dict[str, str]:
    """Undo the last restore: exchange the recipe with the one that it replaced."""
    project.bring_back()
    return {"version": project.version()}


@router.put("/verify/upload")
async def verify(
    request: Request,
    project: Named,
    state: Shared,
    file: Annotated[str, Query(description="Name of the file.", max_length=255)],
    release: Annotated[
        int | None, Query(description="Whose promises; found by the bytes by default.")
    ] = None,
    original: Annotated[bool, Query(description="Compare with the raw table, too.")] = False,
) -> dict[str, Any]:
    """Verify a file against the promises of a release; the body is the file itself, which is not kept."""
    async with received(request, state.settings, project.private, file) as upload:
        return await run_in_threadpool(verify_upload, project, upload, release, original=original)


@router.post("/together")
def together(project: Named, asked: Together) -> dict[str, Any]:
    """Check what releases of the project reveal together about the people in the table."""
    return check_together(project, asked.releases)
