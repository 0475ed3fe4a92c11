"""The page Hierarchies of a project."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from shoal.errors import ShoalError
from shoal.recipe.codes import CODES
from shoal.web.api.hierarchies import counted_of, list_columns, tree_state
from shoal.web.counted import Counted
from shoal.web.refusals import Refusal
from shoal.web.render import project_page
from shoal.web.state import Named
from shoal.web.trees import Desk
from shoal.workflow.column_tree import Builder

router = APIRouter(include_in_schema=False)

Known = Annotated[Counted, Depends(counted_of)]

# What can be built from values of each kind, the best first.
BUILDERS = {
    "numeric": ("cuts", "intervals", "prefix", "codes"),
    "date": ("dates",),
    "categorical": ("induce", "prefix", "codes", "flat"),
    "ordinal": ("flat",),
}
UNITS = {
    "week": "week",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
    "decade": "decade",
}


@router.get("/projects/{name}/hierarchies", response_class=HTMLResponse)
def hierarchies(
    request: Request, project: Named, counted: Known, column: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """Show the page."""
    return _page(request, project, counted, column)


@router.post("/projects/{name}/hierarchies/{column}", response_class=HTMLResponse)
def build(
    request: Request,
    project: Named,
    counted: Known,
    column: str,
    builder: Annotated[str, Form(max_length=20)],
    levels: Annotated[list[str], Form(max_length=200)] = [],  # noqa: B006
) -> Response:
    """Build a hierarchy, for browsers without JavaScript; with it, the page calls the API."""
    try:
        if builder not in get_args(Builder):
            raise Refusal(422, "web.invalid", "There is no such way to build a hierarchy.")
        chosen: Builder = builder  # type: ignore[assignment]
        Desk.open(project, column, counted).build(chosen, _levels(builder, levels))
    except (ShoalError, Refusal) as error:
        return _page(request, project, counted, column, {"builder": builder, "error": error})
    return RedirectResponse(f"{request.url.path.rpartition('/')[0]}?column={column}", 303)


def _levels(builder: str, given: list[str]) -> list[Any]:
    """Read what was typed: numbers are separated by commas or spaces."""
    texts = [part for text in given for part in text.replace(",", " ").split()]
    if builder in ("induce", "dates", "codes"):
        return [text for text in given if text]
    return [_number(text) for text in texts]


def _number(text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise Refusal(422, "web.invalid", "Something else than numbers was typed.", "for example 5, 10, 20")


def _page(
    request: Request, project: Named, counted: Counted, key: str, failed: dict[str, Any] | None = None
) -> Response:
    columns = list_columns(project)
    selected = next((one for one in columns if one.key == key), columns[0] if columns else None)
    context: dict[str, Any] = {"state": None, "problem": None, "builders": (), "natural": ""}
    if selected is not None:
        desk = Desk.open(project, selected.key, counted)
        try:
            context["natural"] = desk.natural_kind()
            context["state"] = tree_state(desk)
            context["builders"] = BUILDERS[context["natural"]]
        except ShoalError as error:
            context["problem"] = error
    others = [one for one in columns if one.role == "quasi" and one != selected]
    return project_page(
        request,
        "hierarchies.html",
        project,
        "hierarchies",
        columns=columns,
        selected=selected,
        others=others,
        codes=CODES,
        units=UNITS,
        failed=failed,
        **context,
    )
