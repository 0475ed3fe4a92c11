"""The application: what is served where."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from shoal.web import api, pages
from shoal.web.api.errors import Failure
from shoal.web.folder import Folder
from shoal.web.jobs import Jobs
from shoal.web.previews import Previews
from shoal.web.problems import add_handlers
from shoal.web.projects import Projects
from shoal.web.security import Guard
from shoal.web.settings import Settings
from shoal.web.state import State

ABOUT = """\
The calls of shoal's own page. Programs send `Authorization: Bearer TOKEN` with the token that `shoal web`
printed in its address. Errors have the shape `{"error": {"code", "message", "hint", "faults"}}`; no message
contains a cell of a table.
"""


def create_app(settings: Settings) -> FastAPI:
    """Make the application."""
    served = Folder(settings.folder)
    projects = Projects(served, settings.demo_rows)
    state = State(settings, served, projects, Jobs(projects), Previews())

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        state.jobs.start()
        try:
            yield
        finally:
            state.jobs.stop()

    app = FastAPI(
        title="shoal",
        description=ABOUT,
        version=version("shoal"),
        docs_url=None,  # our own page: FastAPI's loads scripts from another host
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=running,
        responses={
            422: {"model": Failure, "description": "The request, the recipe or the table is at fault."}
        },
    )
    app.state.shoal = state
    for router in (*api.routers(), *pages.routers()):
        app.include_router(router)
    app.mount("/static", StaticFiles(packages=[("shoal.web", "static")]), name="static")
    add_handlers(app)
    app.add_middleware(Guard, settings=settings)
    return app
