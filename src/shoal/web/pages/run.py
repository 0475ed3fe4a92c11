"""The page Run of a project: start, follow and cancel a run."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from shoal.errors import ShoalError
from shoal.web.jobs import Asked
from shoal.web.projects import Project
from shoal.web.refusals import Refusal, shoal_json
from shoal.web.releases import Made, Releases
from shoal.web.render import project_page
from shoal.web.state import Named, Shared

router = APIRouter(include_in_schema=False)

# The stages of a run, in order, in plain words.
STAGES = (
    ("compile", "Preparing for this machine"),
    ("read", "Reading the table"),
    ("encode", "Encoding"),
    ("cluster", "Searching for classes"),
    ("recode", "Generalizing"),
    ("measure", "Measuring"),
    ("composition", "Checking together with earlier releases"),
    ("write", "Writing"),
    ("verify", "Verifying with another engine"),
    ("bounding", "Bounding the loss"),
    ("report", "Writing the dossier"),
)


@router.get("/projects/{name}/run", response_class=HTMLResponse)
def run(request: Request, project: Named, state: Shared) -> HTMLResponse:
    """Show the last run, and how to start one."""
    job = state.jobs.of(project)
    fault, recipe = None, None
    try:
        recipe = project.recipe()
    except ShoalError as error:
        fault = shoal_json(error)["error"]
    except Refusal as refusal:
        fault = refusal.to_dict()["error"]
    return project_page(
        request,
        "run.html",
        project,
        "run",
        recipe=recipe,
        fault=fault,
        job=job.to_dict() if job else None,
        stages=STAGES,
        earlier=[made.summary() for made in _readable(project)],
        ticked=job.asked.also if job else [],
    )


@router.post("/projects/{name}/run")
def start(
    project: Named,
    state: Shared,
    also: Annotated[list[int] | None, Form()] = None,
    accept_composition: Annotated[bool, Form()] = False,
    no_bound: Annotated[bool, Form()] = False,
    analysis: Annotated[str, Form(max_length=1000)] = "",
) -> RedirectResponse:
    """Start a run."""
    formulas = [line.strip() for line in analysis.splitlines() if line.strip()]
    state.jobs.submit(project, Asked(also or [], accept_composition, not no_bound, formulas))
    return _back(project)


@router.post("/projects/{name}/run/cancel")
def cancel(project: Named, state: Shared) -> RedirectResponse:
    """Cancel the run."""
    state.jobs.cancel(project)
    return _back(project)


def _back(project: Project) -> RedirectResponse:
    return RedirectResponse(f"/projects/{quote(project.name)}/run", 303)


def _readable(project: Project) -> list[Made]:
    """List the releases whose manifests can be read."""
    found = []
    for made in Releases(project).all():
        try:
            made.facts()
        except Refusal:
            continue
        found.append(made)
    return found
