"""How much of a bound is done."""

from __future__ import annotations

from collections.abc import Callable

Share = Callable[[float], None]  # called with the share of the work that is done


def silent(share: float) -> None:
    """Progress that nobody looks at."""


def part(tick: Share, begin: float, end: float) -> Share:
    """Report the progress of a part of the work as its part of the whole."""
    return lambda share: tick(begin + share * (end - begin))
