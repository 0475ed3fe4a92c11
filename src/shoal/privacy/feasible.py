"""Find infeasible goals before any work is done: those that the whole table fails as one class.

If two classes meet a goal, so does their union. So when one class of all rows fails, every partition has
a class that fails. Leaving out rows can help: those with the most frequent value, because that evens out
the distribution.

With a subject column, classes may share people, and then a union can be worse than both: it has as many
values, but fewer people than the two together. The whole table then only proves that there are too few
people or too few different values; anything else has to be tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, LongArray
from shoal.errors import Fault, InfeasibleError
from shoal.privacy.goal import Obstacle
from shoal.privacy.goalset import GoalSet, obstacle_of
from shoal.recipe.goals import Goal, LDiversity, ValueRange
from shoal.table.columns import Encoded, SensitiveColumn


def rows_to_leave_out(goals: GoalSet, may_suppress: int, random: np.random.Generator) -> BoolArray:
    """Mark the fewest rows without which the whole table meets every goal; raise if they are too many.

    They are drawn at random from the rows with a value that is too frequent.
    """
    from shoal.kernels import goals as kernel

    left_out = np.zeros(goals.n_rows, dtype=bool)
    tally: Any = kernel.empty_tally(goals.kernel)
    kernel.count_rows(goals.kernel, tally, np.arange(goals.n_rows), True)
    faults = faults_of(goals, tally, may_suppress)
    if not faults:
        return left_out
    order = random.permutation(goals.n_rows)
    waiting: dict[tuple[int, int], list[int]] = {}  # rows of a value that is too frequent, the next one last
    for _ in range(may_suppress):
        failing = _failing(goals, tally)
        if not failing:
            break
        key = failing[0], _most_frequent(goals, tally, failing[0])
        if key not in waiting:
            waiting[key] = order[goals.sensitive[key[0]].codes[order] == key[1]].tolist()
        while waiting[key] and left_out[waiting[key][-1]]:
            waiting[key].pop()
        if not waiting[key]:
            break  # no row has a value
        row = waiting[key].pop()
        kernel.count_rows(goals.kernel, tally, np.array([row]), False)
        left_out[row] = True
    if _failing(goals, tally) or tally.size[kernel.PEOPLE] < goals.k:
        raise InfeasibleError.from_faults(faults)
    return left_out


def _failing(goals: GoalSet, tally: Any) -> list[int]:
    """List the goals that the whole table fails; those that compare a class with it never fail."""
    from shoal.kernels import goals as kernel

    met = kernel.goals_met(goals.kernel, tally)
    return [g for g, goal in enumerate(goals.asked) if _is_decisive(goals, goal) and not met[g]]


def _is_decisive(goals: GoalSet, goal: Goal) -> bool:
    """Return whether a goal that the whole table fails is infeasible for every partition."""
    if goals.counts_people:
        return isinstance(goal, ValueRange) or (isinstance(goal, LDiversity) and goal.variant == "distinct")
    return not goal.compares


def _most_frequent(goals: GoalSet, tally: Any, g: int) -> int:
    """Return the value that most people have."""
    counts = tally.counts[goals.kernel.begin[g] : goals.kernel.begin[g + 1]]
    return int(counts.argmax()) if len(counts) else 0


def faults_of(goals: GoalSet, tally: Any, may_suppress: int) -> list[Fault]:
    """Return the faults of the whole table, counted in the tally."""
    from shoal.kernels.goals import PEOPLE

    faults = []
    if tally.size[PEOPLE] < goals.k:
        message = f"k = {goals.k} people are asked for, but the table has {int(tally.size[PEOPLE])}."
        faults.append(Fault("infeasible.goal", message, "lower k, or add people"))
    for g in _failing(goals, tally):
        found = _obstacle(goals, tally, g)
        suppressed = f" At most {may_suppress} rows may be left out." if may_suppress else ""
        faults.append(Fault("infeasible.goal", found.message + suppressed, found.hint))
    return faults


def _obstacle(goals: GoalSet, tally: Any, g: int) -> Obstacle:
    goal = goals.asked[g]
    counts = tally.counts[goals.kernel.begin[g] : goals.kernel.begin[g + 1]]
    names = ", ".join(f"`{name}`" for name in goal.columns)
    name = f"column {names}" if len(goal.columns) == 1 else f"columns {names} together"
    return obstacle_of(goal, name, counts)


@dataclass(frozen=True, repr=False)  # a repr would show counts of values
class Counted:
    """What a whole table has of the values that one goal counts.

    Parameters
    ----------
    column : SensitiveColumn
        Its codes are not looked at.
    people : ndarray of shape (n_values,), int64
        How many people have each value.
    holders : int
        How many people have any.
    """

    column: SensitiveColumn
    people: LongArray
    holders: int


def faults_of_counts(
    counted: Sequence[Counted], goals: Sequence[Goal], k: int, people: int, may_suppress: int, *, shared: bool
) -> list[Fault]:
    """Return the goals that no partition of a table meets, from counts alone: quick for any number of rows.

    Each goal is judged by itself, as if all rows that may be suppressed were suppressed in its favour. So
    what is found is infeasible; goals that only fail together are found when rows are clustered. `shared`
    says that people may have several rows.
    """
    nobody = np.zeros(0, np.int32)
    columns = tuple(replace(one.column, codes=nobody, whole=one.people) for one in counted)
    rows = Encoded((), nobody.astype(np.int64), sensitive=columns, person=nobody if shared else None)
    asked = GoalSet(rows, list(goals), k)
    levelled = [_levelled(one.people, may_suppress) for one in counted]
    hopeless = set(_failing(asked, _tally(asked, counted, levelled, people)))
    tally = _tally(asked, counted, [one.people for one in counted], people)
    failing = _failing(asked, tally)
    found = faults_of(asked, tally, may_suppress)
    n_others = len(found) - len(failing)  # too few people
    return found[:n_others] + [
        fault for g, fault in zip(failing, found[n_others:], strict=True) if g in hopeless
    ]


def _tally(goals: GoalSet, counted: Sequence[Counted], counts: Sequence[LongArray], people: int) -> Any:
    from shoal.kernels import goals as kernel

    size = np.zeros(2, np.int64)
    size[kernel.PEOPLE] = size[kernel.ROWS] = people
    lost = [int(one.people.sum() - left.sum()) for one, left in zip(counted, counts, strict=True)]
    return kernel.empty_tally(goals.kernel)._replace(
        counts=np.concatenate([*counts, np.zeros(0, np.int64)]).astype(np.int64),
        pairs=np.array([left.sum() for left in counts], np.int64),
        holders=np.array([one.holders - gone for one, gone in zip(counted, lost, strict=True)], np.int64),
        size=size,
    )


def _levelled(counts: LongArray, rows: int) -> LongArray:
    """Take rows away from the most frequent values, one by one, until all are equally frequent.

    Examples
    --------
    >>> _levelled(np.array([9, 4, 1]), 6).tolist(), _levelled(np.array([9, 4, 1]), 13).tolist()
    ([4, 3, 1], [1, 1, 1])
    """
    present = counts[counts > 0]
    low, high = (int(present.min()), int(present.max())) if len(present) else (0, 0)
    rows = min(rows, int(np.maximum(counts - low, 0).sum()))
    while low < high:  # find the level above which nothing is left
        level = (low + high) // 2
        low, high = (level + 1, high) if np.maximum(counts - level, 0).sum() > rows else (low, level)
    left: LongArray = np.minimum(counts, low)
    spare = rows - int((counts - left).sum())
    left[np.flatnonzero(left == low)[::-1][:spare]] -= 1
    return left
