"""How long to search: rounds, steps and temperatures, by rules that hold for any table."""

from __future__ import annotations

import time
from dataclasses import dataclass

from shoal.arrays import FloatArray
from shoal.recipe.options import LocalSearchOptions

BLOCK_ROWS, _MOST_CLASSES = 6000, 250  # of a block: a step looks at all of its classes
_WIDE_ROWS, _WIDE_CLASSES = 2000, 400  # the same where every row looks at all of them
_BLOCK_CLASSES = 60  # at least, for large k, where a table has more
_FEW_CLASSES = 20  # at least, where it has fewer: small blocks need many rounds, but all cores take part
# The first temperature, in what a row costs on average, up to some k, and by which power of k it rises
# beyond: a step of large classes changes more rows.
_WARMTH, _COOL_K, _WARMER = 1.5, 10, 0.45
_HOTTEST = 0.1  # no more than k rows lose that get so much wider in one column, where rows cost much anyway
# What a step may make worse before passes repair it, in what a class loses on average: up to k = `_PLAIN_K`,
# and at least. In between it falls with a power of k, as passes take longer.
_PATIENCE, _LEAST_PATIENCE, _LESS_PATIENCE = 2.0, 0.7, 0.65
# Up to this k, and where there are few classes in all, rows settle among all classes of a block. That saves
# more and takes longer, so there are fewer rounds.
_WIDE_K, _WIDE_ROUNDS = 10, 0.87
_PLAIN_K = 5  # for which efforts say how many rounds there are
_MORE = 0.55  # by which power of k there are more for larger k: a table has fewer classes then
_ROOM = 1.5  # times k rows that a class may have on average before it counts as larger
_FULL_ROUNDS = 30_000  # rows up to which all rounds are made
_FEWER = 0.25  # by which power of the number of rows there are fewer above
_FULL_COLUMNS = 30  # quasi columns up to which all rounds are made
_LEAST_ROUNDS = 2  # the last one is cold


@dataclass(frozen=True)
class Effort:
    """What one word of effort means."""

    rounds: int  # for k = `_PLAIN_K`, up to `_FULL_ROUNDS` rows
    steps: float  # for each class and round
    most: float  # times as many rounds for large k
    most_of_few: float  # the same where there are few classes


EFFORTS = {
    "quick": Effort(rounds=7, steps=1.5, most=2.2, most_of_few=3.2),
    "normal": Effort(rounds=22, steps=4.0, most=4.5, most_of_few=3.2),
    "high": Effort(rounds=200, steps=4.0, most=4.5, most_of_few=3.8),
}


@dataclass(frozen=True)
class Plan:
    """What is done in one round."""

    steps: float  # for each class
    temperature: float
    patience: float
    is_wide: bool  # rows settle among all classes of a block
    is_first: bool
    is_last: bool


class Schedule:
    """Tells how far the search is, how warm it is, and when it ends.

    A number of rounds, or with `seconds` as many as there is time for. Large k have more, up to five times
    as many: classes are fewer then, so a round takes less time. Large tables have fewer, two
    fifths as many at a million rows: rows find others like them sooner there, and nobody waits for hours.
    Wide tables have fewer too, a tenth as many at 300 quasi columns: a step takes longer in proportion to
    the columns, and saves less, since rows of hundreds of columns are about equally far from each other. The
    temperature, up to which steps that lose more may be accepted, falls linearly to 0. It begins at a share
    of what a row costs on average: where rows cost little, so do the changes that a step makes. Where they
    cost much, these changes are still those of a column or two, so there is a limit to it.
    """

    def __init__(self, options: LocalSearchOptions, k: int, n_rows: int, highest_costs: FloatArray) -> None:
        self._effort = EFFORTS[options.effort]
        self._begin, self._seconds = time.monotonic(), options.seconds
        self._rounds = 0
        patience: float = _PATIENCE * (_PLAIN_K / max(_PLAIN_K, k)) ** _LESS_PATIENCE
        self._patience = max(_LEAST_PATIENCE, patience)
        self._hottest = _HOTTEST * k * float(highest_costs.mean())
        self._warmth: float = _WARMTH * max(1.0, k / _COOL_K) ** _WARMER
        self._has_few = n_rows <= _BLOCK_CLASSES * k
        self._is_wide = k <= _WIDE_K or self._has_few
        fewer: float = min(1.0, _FULL_ROUNDS / n_rows) ** _FEWER
        fewer *= min(1.0, _FULL_COLUMNS / len(highest_costs))
        fewer *= _WIDE_ROUNDS if self._is_wide else 1.0
        self._fewer, self._k = fewer, k
        self.begin(k)

    def begin(self, rows_of_class: float) -> None:
        """Set the number of rounds; where goals make classes much larger than k, there are as many more."""
        k = max(self._k, rows_of_class / _ROOM)
        most = self._effort.most_of_few if self._has_few else self._effort.most
        more: float = min(most, max(1.0, (k / _PLAIN_K) ** _MORE))
        self._all_rounds = max(_LEAST_ROUNDS, round(self._effort.rounds * more * self._fewer))

    @property
    def share(self) -> float:
        """How much of the search is done."""
        if self._seconds is not None:
            return min(1.0, (time.monotonic() - self._begin) / self._seconds)
        return min(1.0, self._rounds / self._all_rounds)

    @property
    def is_late(self) -> bool:
        """Whether the time is up, so that what has not begun is dropped."""
        return self._seconds is not None and self.share >= 1.0

    def share_within(self, done: float) -> float:
        """Return how much of the search is done when so much of the round is."""
        return self.share if self._seconds is not None else min(1.0, (self._rounds + done) / self._all_rounds)

    @property
    def summary(self) -> str:
        """What was done, in words."""
        limit = "" if self._seconds is None else f" in {self._seconds:g} seconds (not the same every time)"
        return f"{self._rounds} rounds{limit}"

    def next_round(self) -> None:
        """Count a round."""
        self._rounds += 1

    def plan(self, cost_of_row: float, loss_of_class: float) -> Plan:
        """Return what is done in the next round; the last one is cold."""
        last = 1.0 if self._seconds is not None else (self._all_rounds - 1) / self._all_rounds
        warmest = min(self._warmth * cost_of_row, self._hottest)
        return Plan(
            steps=self._effort.steps,
            temperature=warmest * max(0.0, 1.0 - self.share / last),
            patience=self._patience * loss_of_class,
            is_wide=self._is_wide,
            is_first=self._rounds == 0,
            is_last=self._seconds is not None or self._rounds + 1 == self._all_rounds,
        )

    def classes_of_block(self, rows_of_class: float) -> int:
        """Return how many classes are searched together."""
        rows, most = (_WIDE_ROWS, _WIDE_CLASSES) if self._is_wide else (BLOCK_ROWS, _MOST_CLASSES)
        least = _FEW_CLASSES if self._has_few else _BLOCK_CLASSES
        return max(least, min(most, int(rows / rows_of_class)))
