"""Put the rows of a table into given boxes, in groups of at least k rows that meet all goals.

Boxes overlap, so a row may be inside several. Its box is found in two passes over the boxes, each from the
narrowest to the widest:

1. A box takes the rows inside it that no narrower box has taken, if they are at least k and meet all goals.
   Otherwise they are left to wider boxes.
2. A box that contains rows without a group adds them to its own group, if it has one, and asks the groups of
   other boxes for their rows inside it, one group after the other, until that suffices. The cheapest group is
   asked first: cost is the number of rows that it would give, times how much wider their new box is. It gives
   all its rows inside the box, or none if the rows that it keeps would be too few or fail a goal.

Rows that have no group after that are held back. A box around everything can ask all groups for all their
rows. So rows are held back only where all rows of the table together are too few or fail a goal.

Both passes decide about sets of rows, and never choose among rows with equal values. So the order of rows
does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from shoal.arrays import BoolArray, IntArray, LongArray
from shoal.privacy.goalset import GoalSet, by_class
from shoal.recode.inside import PublishedBoxes, by_width

HELD_BACK = -1


def group_rows(boxes: PublishedBoxes, widths: list[Fraction], k: int, goals: GoalSet | None) -> IntArray:
    """Return the box of each row, or `HELD_BACK`.

    Parameters
    ----------
    boxes : PublishedBoxes
        The boxes and the rows.
    widths : list of Fraction
        The width of each box.
    k : int
        The smallest number of rows in a group.
    goals : GoalSet or None
        What else a group must meet; it counts people where there is a subject column.
    """
    eligible = np.ones(boxes.encoded.n_rows, dtype=bool)
    if goals is None:
        return _Grouping(boxes, widths, eligible, lambda rows: len(rows) >= k).run()
    while True:
        goals.set_released(eligible)
        box = _Grouping(boxes, widths, eligible, goals.is_good).run()
        # Some goals compare a group with all rows that are shown, and these may now be fewer. Then the rows
        # that were held back stay so, and all others are grouped again.
        eligible = box >= 0
        if _all_good(box, goals):
            return box


def _all_good(box: IntArray, goals: GoalSet) -> bool:
    """Return whether all groups meet the goals, compared with the rows that are shown."""
    goals.set_released(box >= 0)
    rows, ends = by_class(box)
    return all(goals.is_good(group) for group in np.split(rows, ends) if len(group))


class _Grouping:
    """The two passes. `box` has the box of each row so far, `HELD_BACK` for a row without a group."""

    def __init__(
        self,
        boxes: PublishedBoxes,
        widths: list[Fraction],
        eligible: BoolArray,
        is_good: Callable[[LongArray], bool],
    ) -> None:
        self.boxes, self.widths, self.order = boxes, widths, by_width(widths)
        self.rows = np.flatnonzero(eligible)
        self.is_good = is_good
        self.box = np.full(len(eligible), HELD_BACK, np.int32)

    def run(self) -> IntArray:
        """Return the box of each row."""
        for asks_others in (False, True):
            waiting = self.rows[self.box[self.rows] == HELD_BACK]
            for box in self.order:
                group = self.boxes.inside(box, waiting)
                if len(group) and asks_others:
                    group = self._with_others(box)
                if len(group) and self.is_good(group):
                    self.box[group] = box
                    waiting = waiting[self.box[waiting] == HELD_BACK]
        return self.box

    def _with_others(self, box: int) -> LongArray:
        """Return the rows without a group, those of the box, and those of other groups that it needs."""
        inside = self.boxes.inside(box, self.rows)
        box_of_row = self.box[inside]
        group: LongArray = inside[(box_of_row == HELD_BACK) | (box_of_row == box)]
        sizes = np.bincount(box_of_row + 1, minlength=len(self.widths) + 1)[1:].tolist()
        others = [at for at in self.order if sizes[at] and at != box]
        costs = {at: sizes[at] * (self.widths[box] - self.widths[at]) for at in others}
        for other in sorted(others, key=costs.__getitem__):  # stable: of equal costs, the narrowest box
            if self.is_good(group):
                break
            given = inside[box_of_row == other]
            kept = np.setdiff1d(np.flatnonzero(self.box == other), given)
            if len(kept) == 0 or self.is_good(kept):
                group = np.union1d(group, given)
        return group
