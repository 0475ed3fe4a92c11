"""What OKA and systematic clustering share when they even out the sizes of classes under privacy goals."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import BoolArray, IntArray, LongArray

_MOST_WANTS = 50_000_000  # classes times values, above which no class is preferred


def wants_of(goals: Any, labels: IntArray, n_classes: int, *, prefers: bool) -> Any:
    """Return what each class wants; None, so that none is preferred, with people or with too many values."""
    from shoal.kernels.filling import empty_wants, fill_wants
    from shoal.kernels.goals import empty_tally

    if goals is None or not prefers:
        return None
    n_values, n_goals = len(goals.whole), len(goals.kind)
    one_row_each = len(goals.person) == int(goals.person.max(initial=-1)) + 1
    if not one_row_each or n_classes * n_values > _MOST_WANTS:
        return None
    wants = empty_wants(n_classes, n_values, n_goals, empty_tally(goals).room)
    fill_wants(goals, wants, labels)
    return wants


def given_up(goals: Any, tally: Any, rows: LongArray, labels: IntArray, n_classes: int, k: int) -> BoolArray:
    """Mark which of the rows, class by class in the order in which they would go, a class gives up."""
    from shoal.kernels.filling import spared

    begins = np.searchsorted(labels[rows], np.arange(n_classes + 1))
    marks: BoolArray = spared(goals, tally, rows, begins, k)
    return marks
