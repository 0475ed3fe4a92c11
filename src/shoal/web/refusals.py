"""Requests that the page refuses, and the one shape that all errors have."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, TableChoiceError, printable


class Refusal(Exception):  # noqa: N818  # not a failure: the request is understood, and declined
    """A request that is refused.

    Parameters
    ----------
    status : int
        Of the HTTP response.
    code : str
        Stable between versions; `docs/web.md` lists them.
    message, hint : str
        A sentence without any cell of a table, and what to do.
    """

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.message, self.hint = printable(message), printable(hint)

    def to_dict(self) -> dict[str, Any]:
        """Return the error as in JSON; the command line's errors have the same shape."""
        return error_json(self.code, self.message, self.hint)


def error_json(code: str, message: str, hint: str = "", faults: Any = ()) -> dict[str, Any]:
    """Return an error as in JSON."""
    return {"error": {"code": code, "message": message, "hint": hint, "faults": list(faults)}}


def not_found(what: str, hint: str = "it may have been renamed or removed") -> Refusal:
    """Build the refusal of something that does not exist."""
    return Refusal(404, "web.not_found", f"There is no {what}.", hint)


def shoal_json(error: ShoalError) -> dict[str, Any]:
    """Return an error of shoal as in JSON, with all its faults."""
    body = error_json(error.code, error.message, error.hint, [dict(vars(fault)) for fault in error.faults])
    if isinstance(error, TableChoiceError):
        body["error"]["choices"] = list(error.choices)
    return body


def internal_json(error: BaseException) -> dict[str, Any]:
    """Return an unexpected error as in JSON: its kind and place, not its message, which may quote a cell."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "shoal" in Path(f.filename).parts]
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    hint = "please report this line and your recipe, not your data"
    return error_json("internal", f"Internal error: {type(error).__name__}{place}.", hint)
