"""The chart of releases: risk against loss. The template draws what is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

WIDTH, HEIGHT = 440, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 34, 50  # room for labels, which are larger on small screens
_KS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_NEAR = 12  # points closer than this share a label
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)


@dataclass(frozen=True)
class Point:
    """A release in the chart: its place, that of its bound, and the numbers of those that lie there."""

    x: float
    y: float
    floor: float | None
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class RiskLoss:
    """The chart: points, and ticks with their labels."""

    points: list[Point]
    xs: list[tuple[float, str]]
    ys: list[tuple[float, str]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def risk_against_loss(releases: Sequence[dict[str, Any]]) -> RiskLoss | None:
    """Place the releases that have a risk and a loss; None if there is none."""
    known = [one for one in releases if one["highest_risk"] and one["gcp"] is not None]
    if not known:
        return None
    risks: list[float] = [one["highest_risk"] for one in known]
    low, high = min(risks) / 1.6, min(1.0, max(risks) * 1.6)
    most: float = max(max(one["gcp"] for one in known) * 1.2, 0.004)

    def x(risk: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * log10(risk / low) / log10(high / low), 1)

    def y(loss: float) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * loss / most, 1)

    points: list[Point] = []
    for one in known:
        floor = None
        if one["bound"] is not None and one["loss"]:
            floor = y(one["gcp"] * min(1.0, one["bound"] / one["loss"]))
        _add(points, Point(x(one["highest_risk"]), y(one["gcp"]), floor, (one["number"],)))
    step = next((step for step in _STEPS if most / step <= 6), _STEPS[-1])
    ticks = [at * step for at in range(int(most / step) + 1)]
    return RiskLoss(
        points=points,
        xs=[(x(1 / k), f"1/{k}") for k in _KS if low <= 1 / k <= high],
        ys=[(y(tick), f"{100 * tick:.3g} %") for tick in ticks],
    )


def _add(points: list[Point], new: Point) -> None:
    """Add a point, or its number to one that lies in the same place."""
    for at, old in enumerate(points):
        if abs(old.x - new.x) < _NEAR and abs(old.y - new.y) < _NEAR:
            points[at] = Point(old.x, old.y, old.floor, old.numbers + new.numbers)
            return
    points.append(new)
