"""The first page: the projects, and how to begin one."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from shoal.errors import ShoalError, TableChoiceError
from shoal.web.folder import EXTENSIONS
from shoal.web.projects import Project
from shoal.web.refusals import Refusal
from shoal.web.releases import Releases
from shoal.web.render import page
from shoal.web.state import Named, Shared

router = APIRouter(include_in_schema=False)


@router.get("/", response_class=HTMLResponse)
def projects(request: Request, state: Shared) -> HTMLResponse:
    """Show the projects and the tables in the folder."""
    return page(
        request,
        "projects.html",
        projects=[_summary(project) for project in state.projects.all()],
        tables=[(state.served.relative(file), file.stat().st_size) for file in state.served.tables()],
        folder=state.served.path,
        extensions=EXTENSIONS,
        max_upload=state.settings.max_upload,
    )


@router.post("/demo")
def demo(state: Shared) -> RedirectResponse:
    """Open the demo."""
    return _to(state.projects.demo())


@router.post("/open")
def open_table(
    request: Request, state: Shared, file: Annotated[str, Form()], table: Annotated[str | None, Form()] = None
) -> Response:
    """Make a project of a table in the folder; ask which one, if the file has several."""
    try:
        return _to(state.projects.open_table(file, table=table))
    except TableChoiceError as error:
        return page(request, "choose.html", file=file, error=error)


@router.get("/projects/{name}")
def project_page(project: Named) -> RedirectResponse:
    """Go to the first tab of a project."""
    return _to(project)


def _to(project: Project) -> RedirectResponse:
    return RedirectResponse(f"/projects/{quote(project.name)}/data", 303)


def _summary(project: Project) -> dict[str, object]:
    """Describe a project in one line; one whose recipe is faulty is listed too."""
    try:
        recipe = project.recipe()
    except (Refusal, ShoalError) as error:
        return {"name": project.name, "fault": error.message}
    return {
        "name": project.name,
        "fault": None,
        "table": recipe.input.path,
        "quasi": len(recipe.quasi),
        "k": recipe.privacy.k,
        "releases": len(Releases(project).all()),
    }
