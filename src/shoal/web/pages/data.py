"""The page Data of a project."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from shoal.errors import ShoalError
from shoal.recipe.sections import Kind, Role
from shoal.web.api.data import ColumnsChange, edit_columns
from shoal.web.inspected import inspected
from shoal.web.projects import Sections
from shoal.web.render import project_page
from shoal.web.state import Named, Shared

router = APIRouter(include_in_schema=False)

# What each role means for the people in the table.
ROLES = {
    "quasi": "generalized: others may know it",
    "sensitive": "released as it is: what the release is about",
    "keep": "released as it is: harmless",
    "identifier": "left out: names a person",
    "subject": "left out: shows which rows are about one person",
    "drop": "left out",
}
KINDS = ("numeric", "categorical", "ordinal", "date")


@router.get("/projects/{name}/data", response_class=HTMLResponse)
def data(request: Request, project: Named, state: Shared) -> HTMLResponse:
    """Show what is in the table, and the roles of its columns."""
    sections = project.sections()
    found = inspected(project, state.projects.inspections)
    try:
        project.checked(sections)
        faults: Any = ()
    except ShoalError as error:
        faults = error.faults
    return project_page(
        request, "data.html", project, "data", found=found, rows=_rows(found, sections), roles=ROLES,
        kinds=KINDS, faults=faults, table=project.table_of(sections).name,
    )  # fmt: skip


@router.post("/projects/{name}/data")
def change(
    project: Named,
    columns: Annotated[list[str], Form()],
    role: Annotated[Role | None, Form()] = None,
    kind: Annotated[Kind | None, Form()] = None,
) -> RedirectResponse:
    """Change the columns that are ticked, without a script."""
    asked = ColumnsChange(columns=columns, role=role, kind=kind)
    project.change(lambda sections: edit_columns(sections, asked))
    return RedirectResponse("data", status_code=303)


def _rows(found: dict[str, Any], sections: Sections) -> list[dict[str, Any]]:
    """Put together what was found about each column and what the recipe says about it."""
    given = sections.get("columns")
    columns = given if isinstance(given, dict) else {}
    fallback = columns.get("default") if isinstance(columns.get("default"), str) else ""
    rows = []
    for column in found["columns"]:
        asked = columns.get(column["name"])
        asked = asked if isinstance(asked, dict) else {}
        role = asked.get("role", fallback)
        rows.append(
            {**column, "given_role": role, "given_kind": asked.get("kind", ""), "suggested": column["role"]}
        )
    return rows
