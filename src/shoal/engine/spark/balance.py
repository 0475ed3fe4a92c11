"""Rows in = rows released + rows left out: counted by different hands, and compared.

A row can be lost or doubled where nobody looks: in a shuffle, when a lost machine's work is done again, or
because the input changes while it is read. So no number here is the difference of two others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import EngineError

_CHANGED = "nobody may change the input while it is anonymized: use a copy of it"
_LOST = "try again, with an input that nobody changes meanwhile; if that fails too, report it"


def check_encoded(read: int, kept: int, missing: int, unknown: int) -> None:
    """Check that the rows that were encoded are those that were read first, with values known from then."""
    if unknown:
        message = (
            f"{unknown:,} of {read:,} rows have values that the first reading of the table did not find."
        )
        raise EngineError("engine.rows", message, _CHANGED)
    if kept + missing != read:
        message = f"The table had {read:,} rows when it was first read, and {kept + missing:,} later."
        raise EngineError("engine.rows", message, _CHANGED)


def check_cells(reports: Sequence[dict[str, Any]], rows: int, allowed: int) -> None:
    """Check that the cells together got every row once, and suppressed no more than they may."""
    got, suppressed = (sum(report[name] for report in reports) for name in ("rows", "suppressed"))
    if got != rows:
        raise EngineError("engine.rows", f"{rows:,} rows were to be clustered, and cells got {got:,}.", _LOST)
    if suppressed > allowed:
        message = f"Cells suppressed {suppressed:,} rows, and {max(0, allowed):,} were allowed."
        raise EngineError("engine.rows", message, "this is a bug in shoal: please report it with the recipe")


def check_released(read: int, released: int, suppressed: int, missing: int) -> None:
    """Check that every row that was read is released or was left out by somebody who counted it."""
    if released + suppressed + missing != read:
        message = (
            f"Of {read:,} rows {released:,} are released, {suppressed:,} were suppressed, and {missing:,} "
            "were left out for a missing value: that does not add up."
        )
        raise EngineError("engine.rows", message, _LOST)
