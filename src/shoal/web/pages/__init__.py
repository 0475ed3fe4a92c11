"""The pages: one file for each tab. A page reads; what it changes goes through the functions of the API."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """Return the routers of all pages."""
    from shoal.web.pages import data, docs, goals, hierarchies, projects, results, run

    return [page.router for page in (projects, data, hierarchies, goals, run, results, docs)]
