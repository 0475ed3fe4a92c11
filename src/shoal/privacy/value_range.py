"""Range: the largest number of every class is at least e above its smallest.

With l-diversity of k distinct values this is (k, e)-anonymity [zhang2007]_: distinct values that are close,
salaries of 4,990 and 5,010, reveal as much as one value. A union of two classes has no smaller range.

.. [zhang2007] Zhang, Koudas, Srivastava, Yu. Aggregate Query Answering on Anonymized Tables. ICDE 2007.
   doi:10.1109/ICDE.2007.367857
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shoal.privacy.goal import Counts, Measure, Obstacle
from shoal.privacy.limits import Limits, Values
from shoal.recipe.goals import ValueRange
from shoal.table.sensitive import in_units


def measure(goal: ValueRange) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    return Measure(kernel.RANGE, goal.e)


def limits(goal: ValueRange, values: Values) -> Limits:
    """Return what the values of every class keep to: two are different."""
    return Limits(np.ones(values.n), 2)


def obstacle(goal: ValueRange, name: str, counts: Counts) -> Obstacle:
    """Return what in the table makes the goal infeasible."""
    if not counts.any():
        return Obstacle(f"e = {goal.e} is asked for, but {name} has no values.", "remove the goal")
    # How far apart they are would reveal the table's extremes.
    return Obstacle(f"e = {goal.e} is asked for, but the values of {name} are closer.", "lower e")


def holds_for_texts(goal: ValueRange, texts: Iterable[str]) -> bool:
    """Return whether the numbers that some texts stand for meet the goal as one class."""
    numbers, units = in_units(np.array([float(text) for text in texts], np.float64))
    return len(numbers) > 0 and bool((numbers.max() - numbers.min()) / units >= goal.e)
