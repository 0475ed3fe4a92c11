"""Calls about projects: list, open a table, upload one, the demo, the recipe."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from shoal.web.projects import Project
from shoal.web.state import Named, Shared
from shoal.web.uploads import received

router = APIRouter(prefix="/api", tags=["projects"])


class ProjectInfo(BaseModel):
    """A project."""

    name: str
    address: str = Field(description="The address of its page.")
    version: str = Field(description="Changes with the recipe.")


class OpenTable(BaseModel):
    """A table in the folder that becomes a project."""

    file: str = Field(
        description="Path of the table, relative to the folder that is served.", max_length=4096
    )
    name: str | None = Field(
        None, description="Name of the project; that of the file by default.", max_length=64
    )
    table: str | None = Field(
        None,
        description="The sheet of a workbook or the table of a database, if there are several.",
        max_length=255,
    )


class RecipeText(BaseModel):
    """The recipe of a project."""

    text: str = Field(description="TOML.")
    version: str | None = Field(
        None, description="The version that it replaces; refused if there is a newer one."
    )
    sections: dict[str, Any] | None = Field(None, description="The same, parsed; ignored when it is sent.")


def info(project: Project) -> ProjectInfo:
    """Describe a project."""
    return ProjectInfo(
        name=project.name, address=f"/projects/{quote(project.name)}/data", version=project.version()
    )


@router.get("/projects")
def list_projects(state: Shared) -> list[ProjectInfo]:
    """List the projects."""
    return [info(project) for project in state.projects.all()]


@router.get("/tables")
def list_tables(state: Shared) -> list[str]:
    """List the tables in the folder that are not part of a project."""
    return [state.served.relative(file) for file in state.served.tables()]


@router.post("/projects", status_code=201)
def open_table(asked: OpenTable, state: Shared) -> ProjectInfo:
    """Make a project of a table in the folder: it is inspected, and a recipe is drafted."""
    return info(state.projects.open_table(asked.file, asked.name, asked.table))


@router.post("/demo", status_code=201)
def open_demo(state: Shared) -> ProjectInfo:
    """Make the demo project, or return it."""
    return info(state.projects.demo())


@router.put("/upload", status_code=201)
async def upload_table(
    request: Request,
    state: Shared,
    file: Annotated[str, Query(description="Name of the file.", max_length=255)],
    table: Annotated[
        str | None,
        Query(
            description="The sheet of a workbook or the table of a database, if there are several.",
            max_length=255,
        ),
    ] = None,
) -> ProjectInfo:
    """Make a project of an uploaded table; the body is the file itself."""
    async with received(request, state.settings, state.served.path, file) as upload:
        project = await run_in_threadpool(state.projects.take_upload, upload.file, upload.name, table)
    return info(project)


@router.get("/projects/{name}")
def get_project(project: Named) -> ProjectInfo:
    """Describe a project."""
    return info(project)


@router.put("/projects/{name}/table/upload")
async def replace_table(
    request: Request,
    project: Named,
    state: Shared,
    file: Annotated[str, Query(description="Name of the file.", max_length=255)],
) -> ProjectInfo:
    """Replace the table of a project, for example by last night's; the body is the file itself."""
    async with received(request, state.settings, project.private, file) as upload:
        await run_in_threadpool(project.take_table, upload.file, upload.name)
    return info(project)


@router.get("/projects/{name}/recipe")
def get_recipe(project: Named) -> RecipeText:
    """Return the recipe of a project, as it is on disk."""
    return RecipeText(text=project.text(), version=project.version(), sections=project.sections())


@router.put("/projects/{name}/recipe")
def put_recipe(project: Named, given: RecipeText) -> RecipeText:
    """Replace the recipe of a project. It is validated first; all faults are reported at once."""
    project.replace_text(given.text, given.version)
    return get_recipe(project)
