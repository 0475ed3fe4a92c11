"""The page Results of a project: its releases side by side, and each of them."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from shoal.web.charts import risk_against_loss
from shoal.web.differences import differences
from shoal.web.dossier import dossier_style, read_dossier
from shoal.web.refusals import Refusal, not_found
from shoal.web.releases import Releases
from shoal.web.render import project_page
from shoal.web.state import Named

router = APIRouter(include_in_schema=False)


@router.get("/projects/{name}/results", response_class=HTMLResponse)
def results(
    request: Request, project: Named, chosen: Annotated[list[int] | None, Query(alias="with")] = None
) -> HTMLResponse:
    """Show the releases, and those that were chosen side by side."""
    made, unreadable = [], []
    for one in Releases(project).all():
        try:
            made.append((one, one.summary(), one.facts()))
        except Refusal:
            unreadable.append(one.number)
    compared = [entry for entry in made if entry[0].number in (chosen or [])]
    return project_page(
        request,
        "results.html",
        project,
        "results",
        releases=[summary for _, summary, _ in made],
        unreadable=unreadable,
        chart=risk_against_loss([summary for _, summary, _ in made]),
        compared=[summary for _, summary, _ in compared],
        differing=differences([facts.get("recipe") or {} for _, _, facts in compared]),
        chosen=chosen or [],
        can_undo=project.can_bring_back(),
    )


@router.get("/projects/{name}/results/{number}", response_class=HTMLResponse)
def release(request: Request, project: Named, number: int, part: int = 1) -> HTMLResponse:
    """Show one release: what the dossier says, and its files."""
    made = Releases(project).get(number)
    reports = made.reports
    if not 1 <= part <= max(1, len(reports)):
        raise not_found(f"dossier {part} of this release")
    return project_page(
        request,
        "release.html",
        project,
        "results",
        made=made,
        summary=made.summary(),
        tables=made.tables,
        reports=reports,
        part=part,
        dossier=read_dossier(reports[part - 1]) if reports else None,
    )


@router.post("/projects/{name}/results/{number}/restore")
def restore(project: Named, number: int) -> RedirectResponse:
    """Make the recipe of a release the recipe of the project again."""
    Releases(project).restore(number)
    return RedirectResponse(f"/projects/{quote(project.name)}/goals", 303)


@router.post("/projects/{name}/results/undo")
def undo(project: Named) -> RedirectResponse:
    """Undo a restore."""
    project.bring_back()
    return RedirectResponse(f"/projects/{quote(project.name)}/results", 303)


@router.get("/dossier.css")
def style() -> Response:
    """Return the style sheet of dossiers."""
    return Response(dossier_style(), media_type="text/css")
