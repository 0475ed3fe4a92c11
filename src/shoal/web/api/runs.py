"""Calls about runs: start, follow, cancel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from shoal.web.jobs import Asked, Job, Phase
from shoal.web.refusals import not_found
from shoal.web.state import Named, Shared, State

router = APIRouter(prefix="/api/projects/{name}", tags=["runs"])
_PAUSE, _SIGN_OF_LIFE = 0.2, 15.0  # seconds


class RunRequest(BaseModel):
    """What a run should do besides what the recipe says."""

    model_config = ConfigDict(extra="forbid")

    also: list[int] = Field([], description="Earlier releases with which this one is checked.", max_length=60)
    accept_composition: bool = Field(False, description="Publish even if they reveal too much together.")
    bound: bool = Field(True, description="Compute the lower bound of the loss.")
    analyses: list[str] = Field(
        [], description='Formulas that the dossier compares: "dead ~ age".', max_length=20
    )


class Run(BaseModel):
    """A run, from the queue to its end."""

    phase: Phase
    stage: str
    share: float = Field(description="How much of the stage is done.")
    text: str
    losses: list[tuple[float, float]] = Field(
        description="Seconds since the start, and Total IL at that time."
    )
    warnings: list[str]
    error: dict[str, Any] | None
    release: int | None = Field(description="The number of the release, once it is done.")
    result: dict[str, Any] | None
    seconds: float
    also: list[int]
    ahead: int = Field(description="How many runs come before it.")


def described(state: State, job: Job) -> dict[str, Any]:
    """Return a run as in JSON."""
    return {**job.to_dict(), "ahead": state.jobs.ahead_of(job)}


@router.post("/run", status_code=202)
def start_run(project: Named, state: Shared, asked: RunRequest) -> Run:
    """Run the recipe as it is now; it waits for other projects' runs."""
    job = state.jobs.submit(project, Asked(**asked.model_dump()))
    return Run(**described(state, job))


@router.get("/run")
def get_run(project: Named, state: Shared) -> Run:
    """Return the last run of a project."""
    job = state.jobs.of(project)
    if job is None:
        raise not_found("run of this project yet", "start one")
    return Run(**described(state, job))


@router.delete("/run")
def cancel_run(project: Named, state: Shared) -> Run:
    """Cancel the run of a project. Nothing of it is left."""
    return Run(**described(state, state.jobs.cancel(project)))


@router.get(
    "/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}}
)
async def follow_run(request: Request, project: Named, state: Shared) -> StreamingResponse:
    """Follow the last run as server-sent events; each holds the run as in `GET run`."""
    return StreamingResponse(_events(request, project, state), media_type="text/event-stream")


async def _events(request: Request, project: Named, state: State) -> AsyncIterator[str]:
    """Send the run whenever it has changed, until it has ended; comments keep the line open."""
    shown, silent = -1, 0.0
    while not await request.is_disconnected():
        job = state.jobs.of(project)
        if job is None:
            return
        if job.number != shown:
            shown, silent = job.number, 0.0
            is_over = not job.is_active
            yield f"data: {json.dumps(described(state, job))}\n\n"
            if is_over:
                return
        elif silent > _SIGN_OF_LIFE:
            silent = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(_PAUSE)
        silent += _PAUSE
