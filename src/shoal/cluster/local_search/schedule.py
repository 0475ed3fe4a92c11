"""How long to search: rounds, steps and temperatures, by rules that hold for any table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import sqrt

from shoal.options import LocalSearchOptions

BLOCK_ROWS = 3000
_BLOCK_CLASSES = 60  # at least, for large k
_WARMTH = 0.5  # the first temperature, in what a row costs on average


@dataclass(frozen=True)
class Effort:
    """What one word of effort means."""

    tried: int  # cuts of a group that are rolled out
    rounds: int
    steps: float  # for each class and round, where k is 6


EFFORTS = {
    "quick": Effort(tried=4, rounds=4, steps=0.4),
    "normal": Effort(tried=8, rounds=20, steps=0.95),
    "high": Effort(tried=8, rounds=60, steps=4.0),
}


class Schedule:
    """Tells how far the search is, how warm it is, and when it ends.

    A number of rounds, or with `seconds` as many as there is time for. The temperature, up to which steps
    that lose more may stand, falls linearly to 0. It begins at a share of what a row costs on average:
    where rows cost little, so do the changes that a step makes.
    """

    def __init__(self, options: LocalSearchOptions) -> None:
        self.effort = EFFORTS[options.effort]
        self._begin, self._seconds = time.monotonic(), options.seconds
        self._rounds = 0

    @property
    def share(self) -> float:
        """How much of the search is done."""
        if self._seconds is not None:
            return min(1.0, (time.monotonic() - self._begin) / self._seconds)
        return min(1.0, self._rounds / self.effort.rounds)

    @property
    def is_late(self) -> bool:
        """Whether the time is up, so that what has not begun is dropped."""
        return self._seconds is not None and self.share >= 1.0

    def share_within(self, done: float) -> float:
        """Return how much of the search is done when so much of the round is."""
        return (
            self.share if self._seconds is not None else min(1.0, (self._rounds + done) / self.effort.rounds)
        )

    @property
    def told(self) -> str:
        """What was done, in words."""
        limit = "" if self._seconds is None else f" in {self._seconds:g} seconds (not the same every time)"
        return f"{self._rounds} rounds{limit}"

    def next_round(self) -> None:
        """Count a round."""
        self._rounds += 1

    def temperature(self, cost_of_row: float) -> float:
        """Return the temperature of the next round; the last one is cold."""
        last = 1.0 if self._seconds is not None else (self.effort.rounds - 1) / self.effort.rounds
        return _WARMTH * cost_of_row * max(0.0, 1.0 - self.share / last) if last > 0 else 0.0

    def steps(self, k: int) -> float:
        """Return how many steps are tried for each class: large classes can be changed in more ways."""
        return self.effort.steps * min(2.0, sqrt(k / 6))

    def classes_of_block(self, rows_of_class: float) -> int:
        """Return how many classes are searched together."""
        return max(_BLOCK_CLASSES, int(BLOCK_ROWS / rows_of_class))
