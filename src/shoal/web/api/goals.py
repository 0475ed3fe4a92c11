"""Calls about the goals: k, further goals, the method, texts for the dossier, and the preview."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from shoal.web.projects import Sections
from shoal.web.state import Named, Shared

router = APIRouter(prefix="/api/projects/{name}", tags=["goals"])


class GoalsChange(BaseModel):
    """A change of what a release promises and of how it is made; what is left out stays as it is."""

    k: int | None = Field(None, description="Smallest class size.")
    goals: list[dict[str, Any]] | None = Field(None, description="All further goals, as in a recipe.")
    missing: Literal["category", "suppress", "error"] | None = None
    max_suppressed: float | None = Field(None, description="Share of the rows that may be left out.")
    method: str | None = None
    effort: Literal["", "quick", "normal", "high"] | None = Field(None, description='"": as suits the table.')
    seed: int | None = None
    values: Literal["generalize", "microaggregate"] | None = None
    about: dict[Literal["purpose", "author", "recipient", "date"], str] | None = Field(
        None, description="Texts for the dossier; an empty one is removed."
    )
    version: str | None = None


class Changed(BaseModel):
    """The recipe after a change."""

    version: str


class PreviewProblem(BaseModel):
    """Why the settings cannot be met."""

    code: str
    message: str
    hint: str


class PreviewFound(BaseModel):
    """What a release would lose, estimated."""

    k: int
    gcp: float | None = Field(description="The loss, as a share of all that can be lost.")
    floor: float | None = Field(description="What no release loses less than, estimated.")
    feasible: bool
    problems: list[PreviewProblem]
    rows: int
    sample_rows: int = Field(description="How many rows were searched.")
    method: str
    notes: list[str]


@router.patch("/goals")
def change_goals(project: Named, asked: GoalsChange) -> Changed:
    """Change what a release promises. All of it is written, or nothing."""
    project.change(lambda sections: edit_goals(sections, asked), asked.version)
    return Changed(version=project.version())


@router.get("/preview")
def get_preview(project: Named, state: Shared) -> PreviewFound:
    """Estimate what a release would lose, by a quick search on a part of the table; nothing is written."""
    recipe = project.recipe()
    found = state.previews.of(recipe).preview(recipe)
    return PreviewFound.model_validate(found.to_dict())


def edit_goals(sections: Sections, asked: GoalsChange) -> None:
    """Write a change into the sections of a recipe."""
    privacy = sections.setdefault("privacy", {})
    if asked.k is not None:
        privacy["k"] = asked.k
    if asked.goals is not None:
        privacy["goal"] = asked.goals
        if not asked.goals:
            del privacy["goal"]
    if asked.missing is not None:
        privacy["missing"] = asked.missing
    if asked.max_suppressed is not None:
        privacy["max_suppressed"] = float(asked.max_suppressed)
    if asked.values is not None:
        sections.setdefault("output", {})["values"] = asked.values
    _edit_method(sections, asked)
    if asked.about is not None:
        _edit_about(sections, {str(key): text for key, text in asked.about.items()})


def _edit_method(sections: Sections, asked: GoalsChange) -> None:
    method = sections.setdefault("method", {})
    if asked.method is not None and asked.method != method.get("name", "auto"):
        method["name"] = asked.method
        effort = method.pop("options", {}).get("effort")  # the other options belong to the other method
        if effort is not None and asked.method in ("auto", "local-search"):
            method["options"] = {"effort": effort}
    if asked.seed is not None:
        method["seed"] = asked.seed
    if asked.effort is not None:
        options = method.setdefault("options", {})
        options.pop("seconds", None)
        if asked.effort:
            options["effort"] = asked.effort
        else:
            options.pop("effort", None)
    for key in [key for key, value in method.items() if value == {}]:
        del method[key]
    if not method:
        del sections["method"]


def _edit_about(sections: Sections, texts: dict[str, str]) -> None:
    about = sections.setdefault("about", {})
    for key, text in texts.items():
        if text.strip():
            about[key] = text.strip()
        else:
            about.pop(key, None)
    if not about:
        del sections["about"]
