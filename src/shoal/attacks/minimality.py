"""Attacks by somebody who knows that values are generalized only as far as needed.

- Ends: if ranges are as narrow as possible, both ends are values of somebody in the class. Where only one
  person inside the box has that value, this person is in the class for certain.
- Goals (Wong, Fu, Wang, Pei 2007, "Minimality attack in privacy preserving data publishing"): k people with
  equal quasi values need no generalization for k. If they are generalized all the same, a goal was the
  reason, so one sensitive value is too frequent among them: the most frequent one where they may be.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shoal.attacks.counting import pairs
from shoal.attacks.inference import known_counts, most_frequent
from shoal.attacks.recovery import Inside, generalized, one_of_each
from shoal.attacks.result import Finding, Result, counted, mean_result, percent
from shoal.attacks.tables import Flags, Ints, Tables, together

MIN_PEOPLE = 10  # of fewer people, nothing is said
_GROUPS = 2000  # groups that are looked at
_NOTABLE = 0.1  # how much better than without the release a guess is


def by_ends(tables: Tables, inside: Inside) -> list[Result]:
    """Find people by the ends of ranges."""
    found = {name: _pinned(tables, name, inside) for name in tables.ends if _may_be_tight(tables, name)}
    found = {name: each for name, each in found.items() if each[0]}
    if not found or not tables.recipe.shape.has_classes:
        return []
    tight = [name for name, (ends, attained, _) in found.items() if ends == attained]
    pinned = np.unique(np.concatenate([np.array([], np.int64), *(found[name][2] for name in tight)]))
    rows = int(tables.sizes[inside.classes].sum())
    unique = sum(_unique_ends(tables, name) for name in tight)
    if tight:
        message = (
            f"{percent(len(pinned) / rows)} of the rows are pinned to a class: only one person in the box "
            f"has the value at an end of its range. In the whole table, {counted(unique, 'ends')} are the "
            'value of one person only. With a `grid` and `bounds = "snapped"`, ends are nobody\'s values.'
        )
    else:
        message = "Ends of ranges need not be anybody's values, so they show nobody."
    finding: Finding = "exposed" if len(pinned) else "none"
    ends, attained = (sum(each[at] for each in found.values()) for at in (0, 1))
    details = {
        "pinned": len(pinned), "ends": ends, "tight": attained / ends, "unique_ends": unique,
        "sampled": inside.sampled,
    }  # fmt: skip
    return [
        mean_result(
            "range-ends", "singling out", len(pinned) / rows, rows, baseline=_unique_people(tables, found),
            guess=0.0, finding=finding, message=message, columns=tuple(found), details=details,
        )
    ]  # fmt: skip


def _may_be_tight(tables: Tables, name: str) -> bool:
    """Return whether ranges follow the values; those of a hierarchy or a grid do not."""
    column, output = tables.recipe.columns[name], tables.recipe.output
    return column.hierarchy is None and (output.bounds == "tight" or column.grid is None)


def _pinned(tables: Tables, name: str, inside: Inside) -> tuple[int, int, Ints]:
    """Return the ends of ranges, how many are values of somebody inside, and who alone has one."""
    axis = tables.quasi[name]
    cells, ends = axis.cells[inside.classes], tables.ends[name]
    is_range = (generalized(axis) & ends.is_range)[cells]
    first, times = one_of_each(tables.raw_classes), np.bincount(tables.raw_classes)
    codes, weight = axis.codes[first[inside.kind]], times[inside.kind]
    attained, who = 0, [np.array([], np.int64)]
    for end, is_value in ((axis.low, ends.low), (axis.high, ends.high)):
        written = is_range & is_value[cells]
        hit = (codes == end[cells][inside.box]) & written[inside.box]
        number = np.bincount(inside.box[hit], weight[hit], len(cells))
        attained += int((number > 0).sum())
        alone = hit & (number[inside.box] == 1)
        who.append(inside.box[alone] * tables.n_people + inside.kind[alone])
    return 2 * int(is_range.sum()), attained, np.concatenate(who)


def _unique_ends(tables: Tables, name: str) -> int:
    """Count the values that one person alone has and that are an end of a range."""
    axis, ends = tables.quasi[name], tables.ends[name]
    cells = np.unique(axis.cells)
    cells = cells[(generalized(axis) & ends.is_range)[cells]]
    values = [end[cells][flags[cells]] for end, flags in ((axis.low, ends.low), (axis.high, ends.high))]
    alone = np.bincount(axis.codes, minlength=axis.size) == 1
    return int(alone[np.unique(np.concatenate(values))].sum())


def _unique_people(tables: Tables, names: Iterable[str]) -> float:
    """Return the share of people who alone have a value of one of the columns."""
    alone: Flags = np.zeros(tables.n_people, np.bool_)
    for name in names:
        axis = tables.quasi[name]
        alone |= (np.bincount(axis.codes, minlength=axis.size) == 1)[axis.codes]
    return float(alone.mean())


# Groups that were generalized because of a goal.


def by_goals(tables: Tables) -> list[Result]:
    """Guess the value that made a goal fail, for people who need no generalization for k."""
    columns = {goal.columns[0] for goal in tables.recipe.privacy.goal if len(goal.columns) == 1}
    names = [name for name in tables.sensitive if name in columns]
    if not names or not tables.has_boxes or not tables.recipe.shape.has_classes:
        return []
    groups = _needless(tables)
    if not len(groups):
        return []
    found = (_guessed(tables, name, groups) for name in names)
    return [result for result in found if result is not None]


def _needless(tables: Tables) -> Ints:
    """Return the groups of at least k equal people that no class publishes as they are."""
    sizes = np.bincount(tables.raw_classes)
    first = one_of_each(tables.raw_classes)
    axes = list(tables.quasi.values())
    exact = np.ones(len(tables.sizes), np.bool_)
    for axis in axes:
        exact &= (axis.low == axis.high)[axis.cells]
    n_exact = int(exact.sum())
    columns = [(np.concatenate([axis.low[axis.cells[exact]], axis.codes[first]]), axis.size) for axis in axes]
    key = together(columns, n_exact + len(first))
    large = (sizes >= tables.k) & ~np.isin(key[n_exact:], key[:n_exact])
    found = np.flatnonzero(large)
    if len(found) > _GROUPS:
        found = np.sort(np.random.Generator(np.random.PCG64(0)).choice(found, _GROUPS, replace=False))
    return found


def _guessed(tables: Tables, name: str, groups: Ints) -> Result | None:
    column, known = tables.unchanged[name], known_counts(tables, name)
    rank = np.full(int(tables.raw_classes.max()) + 1, -1)
    rank[groups] = np.arange(len(groups))
    group = rank[tables.raw_classes]
    asked = (group >= 0) & (column.raw != column.missing)
    times = np.zeros((len(groups), column.size), np.int64)
    np.add.at(times, (group[asked], column.raw[asked]), 1)
    people = int(times.sum())
    if people < MIN_PEOPLE:
        return None
    first = np.empty(len(groups), np.int64)
    first[group[group >= 0]] = np.flatnonzero(group >= 0)
    axes = list(tables.quasi.values())
    right = 0.0
    for box, point in pairs(axes, [axis.of_points(first) for axis in axes]):
        person, value, ties = most_frequent(known, box, point)
        right += float((times[person, value] / ties).sum())
    success, top = right / people, int(times.max(axis=1).sum()) / people
    whole = np.bincount(known.value, known.times)
    base = float(whole.max() / whole.sum())
    finding: Finding = "exposed" if success - base > _NOTABLE else "none"
    message = (
        f"{counted(people, 'people')} share their quasi values with at least k = {tables.k}, but "
        f"were generalized, so a goal failed for them: the most frequent `{name}` around them is right for "
        f"{percent(success)}; without the release, {percent(base)}."
    )
    return mean_result(
        "minimality", "inference", success, people, baseline=top, guess=base, finding=finding,
        message=message, columns=(name,), details={"groups": len(groups), "people": people},
    )  # fmt: skip
