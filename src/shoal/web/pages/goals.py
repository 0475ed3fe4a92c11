"""The page Goals of a project."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from shoal.cluster.registry import METHODS
from shoal.errors import ShoalError
from shoal.web.projects import Sections
from shoal.web.render import project_page
from shoal.web.state import Named

router = APIRouter(include_in_schema=False)

# Each goal: its name in plain words, what it promises, and its number with a usual value.
GOALS: dict[str, dict[str, Any]] = {
    "l-diversity": {
        "title": "Different values in every class",
        "promise": "An attacker who finds a person's class is still left with at least l possible values.",
        "number": ("l", 2, 1, "any"),
        "forms": ("variant", ("distinct", "frequency", "entropy", "recursive")),
    },
    "t-closeness": {
        "title": "Every class like the whole",
        "promise": "The values of a class are spread as in the whole release, up to a distance of t.",
        "number": ("t", 0.2, 0, 0.01),
        "forms": ("distance", ("equal", "ordered", "hierarchical")),
    },
    "alpha-k": {
        "title": "No value too frequent",
        "promise": "In no class does one value make up more than the share alpha.",
        "number": ("alpha", 0.5, 0.01, 0.01),
    },
    "beta-likeness": {
        "title": "No value much more frequent",
        "promise": "In no class does a value's share grow by more than beta times its share in the whole.",
        "number": ("beta", 1, 0.01, 0.1),
        "forms": ("variant", ("basic", "enhanced")),
    },
    "delta-disclosure": {
        "title": "No value much likelier or unlikelier",
        "promise": "In no class is a value more or less likely than in the whole by a factor of e^delta.",
        "number": ("delta", 1, 0.01, 0.1),
    },
    "range": {
        "title": "Numbers that are far apart",
        "promise": "In every class the largest number is at least e above the smallest.",
        "number": ("e", 1, 0, "any"),
    },
    "average-risk": {
        "title": "Low risk on average",
        "promise": "The risk of being re-identified, averaged over all rows, is at most the threshold.",
        "number": ("threshold", 0.1, 0.001, 0.001),
        "no_column": True,
    },
}
ABOUT = {
    "purpose": "What the release is for",
    "author": "Who makes it",
    "recipient": "Who receives it",
    "date": "When",
}


@router.get("/projects/{name}/goals", response_class=HTMLResponse)
def goals(request: Request, project: Named) -> HTMLResponse:
    """Show k, the goals, the method and the texts, with a preview."""
    sections = project.sections()
    try:
        project.checked(sections)
        faults: Any = ()
    except ShoalError as error:
        faults = error.faults
    shown = _shown(sections)
    others = [goal for goal in shown["goals"] if goal.get("type") not in GOALS]
    return project_page(
        request, "goals.html", project, "goals", faults=faults, kinds=GOALS, others=others, about=ABOUT,
        methods={name: info.idea for name, info in METHODS.items()}, **shown,
    )  # fmt: skip


def _shown(sections: Sections) -> dict[str, Any]:
    """Return the values of the controls, whether or not the recipe is valid."""
    privacy, method, output, texts = (
        _table(sections.get(key)) for key in ("privacy", "method", "output", "about")
    )
    columns = _table(sections.get("columns"))
    return {
        "k": privacy.get("k", 5),
        "goals": [goal for goal in privacy.get("goal", []) if isinstance(goal, dict)],
        "missing": privacy.get("missing", "category"),
        "max_suppressed": 100 * _number(privacy.get("max_suppressed")),
        "method": method.get("name", "auto"),
        "seed": method.get("seed", 0),
        "effort": _table(method.get("options")).get("effort", ""),
        "values": output.get("values", "generalize"),
        "texts": {key: str(texts.get(key, "")) for key in ABOUT},
        "sensitive": [name for name, column in columns.items() if _table(column).get("role") == "sensitive"],
    }


def _table(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _number(given: Any) -> float:
    return float(given) if isinstance(given, (int, float)) else 0.0
