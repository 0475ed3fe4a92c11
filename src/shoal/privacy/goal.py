"""What each goal's file provides: how the kernels count it, and why a table cannot meet it."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.arrays import LongArray

Counts = LongArray


@dataclass(frozen=True)
class Measure:
    """A goal as `kernels.goals` takes it: its kind, its threshold, and a second parameter."""

    kind: int
    bound: float
    second: float = 0.0


@dataclass(frozen=True)
class Obstacle:
    """Why no partition of a table meets a goal: the number that rules it out, and what to do."""

    message: str
    hint: str


def share_obstacle(asked: str, name: str, counts: Counts, hint: str) -> Obstacle:
    """Return the obstacle that one value is too frequent."""
    most, all_values = int(counts.max()), int(counts.sum())
    return Obstacle(
        f"{asked} is asked for, but one value makes up {most} of {all_values} values of {name}.", hint
    )
