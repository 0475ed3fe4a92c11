"""The shape of errors, for the description of the API."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Fault(BaseModel):
    """A single problem."""

    code: str
    message: str
    hint: str


class Error(BaseModel):
    """What went wrong, as on the command line."""

    code: str = Field(description="Stable between versions.")
    message: str = Field(description="Names columns and numbers, never a cell.")
    hint: str = Field(description="What to do.")
    faults: list[Fault] = Field(description="All problems, if there are several.")


class Failure(BaseModel):
    """The body of every response that is no success."""

    error: Error
