"""Pages from templates."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from shoal.report.numbers import percent, significant, whole
from shoal.web.projects import Project

# The tabs of a project: path, name, and what is done there.
TABS = (
    ("data", "Data"),
    ("hierarchies", "Hierarchies"),
    ("goals", "Goals"),
    ("run", "Run"),
    ("results", "Results"),
)
_TICKED = re.compile(r"`([^`]+)`")


@cache
def environment() -> Environment:
    """Return the templates; everything that they show is escaped."""
    made = Environment(
        loader=PackageLoader("shoal.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "whole": whole,
        "significant": significant,
        "percent": percent,
        "code": code,
        "segment": segment,
        "size": size,
    }
    made.globals |= {"tabs": TABS}
    return made


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a page."""
    text = environment().get_template(template).render(request=request, **context)
    return HTMLResponse(text, status)


def project_page(request: Request, template: str, project: Project, tab: str, **context: Any) -> HTMLResponse:
    """Render a page of a project.

    The template extends `project.html`. Besides its own context it gets `project`, `tab`, `base` (the address
    of the project), `api` (that of its calls) and `version` (of the recipe), which a page sends with its
    changes.
    """
    address = quote(project.name)
    return page(
        request,
        template,
        project=project,
        tab=tab,
        base=f"/projects/{address}",
        api=f"/api/projects/{address}",
        version=project.version(),
        **context,
    )


def code(text: str) -> Markup:
    """Show what is in backticks as code."""
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))


def segment(text: object) -> str:
    """Return a text as one segment of an address."""
    return quote(str(text), safe="")


def size(n_bytes: int) -> str:
    """Format the size of a file.

    >>> size(769_184), size(12)
    ('769 KB', '12 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes} bytes"
