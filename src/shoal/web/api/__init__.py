"""The calls of the page, which are also the HTTP API for programs: one file for each subject."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """Return the routers of all calls."""
    from shoal.web.api import data, goals, hierarchies, projects, releases, runs

    return [calls.router for calls in (projects, data, hierarchies, goals, runs, releases)]
