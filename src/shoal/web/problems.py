"""Errors as responses: JSON for the API, a page for people. Neither quotes what was sent, or a cell."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from shoal.errors import ShoalError
from shoal.web.refusals import Refusal, error_json, shoal_json
from shoal.web.render import page

_TITLES = {403: "Not allowed", 404: "Not found", 409: "Changed elsewhere", 413: "Too large"}


def add_handlers(app: FastAPI) -> None:
    """Turn every error into a response."""
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(ShoalError, _failed)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(HTTPException, _http)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _respond(request, error.status, error.to_dict())


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, ShoalError)
    return _respond(request, 422, shoal_json(error))


async def _misunderstood(request: Request, error: Exception) -> Response:
    """Name the parts of a request that are wrong, not what was sent."""
    assert isinstance(error, RequestValidationError)
    faults = [
        {"code": "web.invalid", "message": f"{_path(fault['loc'])}: {fault['msg']}", "hint": ""}
        for fault in error.errors()
    ]
    message = "The request is not understood: " + "; ".join(str(fault["message"]) for fault in faults[:3])
    return _respond(request, 422, error_json("web.invalid", message, "see /docs", faults))


async def _http(request: Request, error: Exception) -> Response:
    if isinstance(error, Refusal):  # raised while a body was read
        return await _refused(request, error)
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        body = error_json("web.not_found", "There is no such page.", "start from the list of projects")
    else:
        body = error_json("web.refused", str(error.detail))
    return _respond(request, error.status_code, body)


def _path(place: tuple[int | str, ...]) -> str:
    return ".".join(map(str, place))


def _respond(request: Request, status: int, body: dict[str, Any]) -> Response:
    if request.url.path.startswith("/api"):
        return JSONResponse(body, status)
    title = _TITLES.get(status, "That did not work")
    return page(request, "problem.html", status=status, title=title, error=body["error"])
