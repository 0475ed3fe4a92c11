"""What all requests share, and how a request gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from shoal.web.folder import Folder
from shoal.web.previews import Previews
from shoal.web.projects import Project, Projects
from shoal.web.settings import Settings

if TYPE_CHECKING:
    from shoal.web.jobs import Jobs


@dataclass(frozen=True)
class State:
    """What all requests share."""

    settings: Settings
    served: Folder
    projects: Projects
    jobs: Jobs
    previews: Previews


def state_of(request: Request) -> State:
    """Return what all requests share."""
    state: State = request.app.state.shoal
    return state


Shared = Annotated[State, Depends(state_of)]


def _project(name: str, state: Shared) -> Project:
    return state.projects.get(name)


Named = Annotated[Project, Depends(_project)]  # the project named in the address
