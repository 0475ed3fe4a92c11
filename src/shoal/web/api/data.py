"""Calls about the data: what is in the table, the roles of its columns, and what they reveal."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from shoal.recipe.sections import Danger as DangerName
from shoal.recipe.sections import Kind, Reason, Role
from shoal.web.inspected import inspected
from shoal.web.projects import Project, Sections
from shoal.web.state import Named, Shared

router = APIRouter(prefix="/api/projects/{name}", tags=["data"])


class ColumnFound(BaseModel):
    """What was found out about a column, and what is suggested for it."""

    name: str
    kind: str
    kind_reason: str
    precision: str | None
    distinct: int
    missing: int
    unique_share: float
    meaning: str | None
    role: str = Field(description="The suggested role.")
    reason: str
    frequent: list[str] = Field(description="Frequent values, each in at least ten rows.")
    publishes: str = Field(description="How a class with several values would be published.")


class Found(BaseModel):
    """What is in the table."""

    rows: int
    unique: int = Field(description="Rows that are unique on all columns that others may know.")
    columns: list[ColumnFound]
    combinations: list[dict[str, Any]] = Field(description="Sets of columns that single people out.")
    dependencies: list[str]
    notes: list[str]


class ColumnsChange(BaseModel):
    """A change of one column or of many; what is left out stays as it is."""

    columns: list[str] = Field(min_length=1, max_length=10_000)
    role: Role | None = None
    kind: Kind | Literal["found"] | None = Field(default=None, description='"found": as the run finds it.')
    weight: float | None = Field(default=None, ge=0.001, le=1000)
    accept: dict[DangerName, Reason | None] | None = Field(
        default=None, description="Dangers that are accepted, each with the reason; null takes it back."
    )
    version: str | None = None


class ColumnsChanged(BaseModel):
    """The columns after a change."""

    version: str
    columns: dict[str, dict[str, Any]]


class DangerFound(BaseModel):
    """Something that a release would reveal although every promise holds."""

    name: str
    columns: list[str]
    message: str
    accept_on: list[str] = Field(description="The columns on which it can be accepted.")
    accepted: bool
    reason: str | None
    refused: bool = Field(description="Whether a run is refused unless it is accepted.")
    remedy: str


@router.get("/inspection")
def get_inspection(project: Named, state: Shared) -> Found:
    """Return what is in the table, as `shoal inspect` does."""
    return Found.model_validate(inspected(project, state.projects.inspections))


@router.patch("/columns")
def change_columns(project: Named, asked: ColumnsChange) -> ColumnsChanged:
    """Change the role or the kind of columns, or accept dangers. All of it is written, or nothing."""
    recipe = project.change(lambda sections: edit_columns(sections, asked), asked.version)
    chosen = {name: recipe.columns[name] for name in asked.columns if name in recipe.columns}
    return ColumnsChanged(
        version=project.version(),
        columns={name: {"role": column.role, "kind": column.kind} for name, column in chosen.items()},
    )


def edit_columns(sections: Sections, asked: ColumnsChange) -> None:
    """Write a change into the sections of a recipe."""
    columns = sections.setdefault("columns", {})
    for name in asked.columns:
        column = columns.setdefault(name, {"role": "drop"})
        if asked.role is not None:
            column["role"] = asked.role
        if asked.weight is not None:
            column["weight"] = asked.weight
        if asked.kind == "found":
            column.pop("kind", None)
        elif asked.kind is not None:
            column["kind"] = asked.kind
        if asked.accept is not None:
            _accept(column, asked.accept)


def _accept(column: dict[str, Any], changes: dict[DangerName, str | None]) -> None:
    given = column.get("accept", {})
    reasons: dict[str, str] = dict(given) if isinstance(given, dict) else dict.fromkeys(given, "")
    for danger, reason in changes.items():
        if reason is None:
            reasons.pop(danger, None)
        else:
            reasons[danger] = reason
    if reasons:
        column["accept"] = reasons
    else:
        column.pop("accept", None)


@router.get("/dangers")
def get_dangers(project: Named, state: Shared) -> list[DangerFound]:
    """Return what a release would reveal although every promise holds, as far as it is known before a run."""
    return found_dangers(project, state)


def found_dangers(project: Project, state: Shared) -> list[DangerFound]:
    """Look for dangers in the table of a project."""
    recipe = project.recipe()
    return [
        DangerFound(
            name=danger.name,
            columns=list(danger.columns),
            message=danger.message,
            accept_on=list(danger.accepted_on),
            accepted=danger.accepted,
            reason=danger.reason,
            refused=bool(danger.refused_as),
            remedy=danger.remedy,
        )
        for danger in state.previews.of(recipe).dangers(recipe)
    ]
