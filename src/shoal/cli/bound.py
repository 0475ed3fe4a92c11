"""The lower bound of the loss on the command line: the flag, and what is printed beside a loss."""

from __future__ import annotations

from typing import Annotated, Any

import typer

NoBound = Annotated[
    bool, typer.Option("--no-bound", help="Skip the lower bound of the loss: it saves a few seconds.")
]


def bound_lines(result: dict[str, Any]) -> list[str]:
    """Say how far the loss of a release is from what every release must lose; nothing without a bound."""
    if result["bound"] is None:
        return []
    il = result["loss"]["il"]
    if il is None:  # typical values are no boxes, but their classes are
        il = result["loss_tight"]["il"] if "loss_tight" in result else None
    line = f"lower bound of Total IL: {told_bound(result)}"
    if il is not None and result["bound"] > 0:
        line += f"; here it is {told(il)}, {il / result['bound']:.2f} times that"
    return [line]


def told_bound(result: dict[str, Any]) -> str:
    """Write a bound, whether it is an estimate, and how it was found."""
    kind = "an estimate: " if result["bound_is_estimate"] else ""
    return f"{told(result['bound'])} ({kind}{result['bound_how']})"


def told(loss: float) -> str:
    """Write a loss: whole numbers where it is large."""
    return f"{loss:,.0f}" if abs(loss) >= 1000 else f"{loss:.4g}"
