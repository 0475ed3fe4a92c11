"""The kinds of columns on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kinds_line(kinds: Mapping[str, Mapping[str, Any]]) -> str:
    """Tell the kinds of the quasi columns in one line: those that were found, then those given.

    Examples
    --------
    >>> kinds_line({"age": {"kind": "numeric", "found": True}, "born": {"kind": "date", "found": False}})
    'kinds found: age numeric; given: born date'
    """
    parts = []
    for title, is_found in (("found", True), ("given", False)):
        listed = [f"{name} {of['kind']}" for name, of in kinds.items() if of["found"] is is_found]
        if listed:
            parts.append(f"{title}: {', '.join(listed)}")
    return f"kinds {'; '.join(parts)}"
