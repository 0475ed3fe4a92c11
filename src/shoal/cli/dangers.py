"""What the commands print about dangers that somebody has accepted; of all others they warn on stderr."""

from __future__ import annotations

from typing import Any


def accepted_lines(result: dict[str, Any]) -> list[str]:
    """Say which dangers were taken knowingly."""
    return [f"  ACCEPTED: {danger['message']}" for danger in result["dangers"] if danger["accepted"]]
