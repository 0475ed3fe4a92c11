"""Anatomy against its original: whether people are in groups that have their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shoal.recipe import ANATOMY_COUNT, ANATOMY_GROUP, Recipe
from shoal.verifier.cells.covers import Key
from shoal.verifier.originals.axis import Axis, Ints, covering_axis, equal_axis
from shoal.verifier.originals.flow import unmatched
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.reading.value import settled
from shoal.verifier.verdict import Problem, count

_SEVERAL = object()  # represents several values

Counts = dict[tuple[tuple[str | None, ...], str | None], int]


def group_problems(
    session: Session, parts: tuple[Loaded, Loaded], original: Loaded, recipe: Recipe
) -> list[Problem]:
    """Check that people can be in groups that have their values.

    Whether all can be at the same time is a three-dimensional matching, which is NP-hard. It is decided
    for people whose quasi and kept values go with one sensitive value in the original; all others are
    checked from both sides: against the values of their group, and each value of a group against the
    people in it.
    """
    (name,) = recipe.named("sensitive")
    known = [name for name in recipe.named("quasi", "keep") if name not in recipe.perturbed]
    people = _counted(session, parts[0], known, ANATOMY_GROUP, recipe)
    raw = _counted(session, original, known, name, recipe)
    values = _counted(session, parts[1], [name], ANATOMY_GROUP, recipe, times=ANATOMY_COUNT)
    wrong = max(_without_value(people, values, raw), *_without_person(people, values, raw))
    if not wrong:
        return []
    rows = f"{count(wrong, 'row')} {'is' if wrong == 1 else 'are'}"
    message = f"{rows} in a group that does not have the `{name}` of the original rows with these values."
    return [Problem("verify.original_match", message)]


def _counted(
    session: Session, part: Loaded, names: list[str], with_name: str, recipe: Recipe, *, times: str = ""
) -> Counts:
    """Count the rows with each combination of cells and each cell of one more column."""
    cells = ", ".join(f"{settled(part.column(n), recipe.columns[n].kind, marked=part.marked)}" for n in names)
    other = part.column(with_name)
    if with_name in recipe.columns:
        other = settled(other, recipe.columns[with_name].kind, marked=part.marked)
    number = f"CAST(sum(CAST({part.column(times)} AS BIGINT)) AS BIGINT)" if times else "count(*)"
    missing = [recipe.input.missing] * (len(names) + (with_name in recipe.columns))
    found = session.rows(f"SELECT {cells}, {other}, {number} FROM {part.table} GROUP BY ALL", missing)
    return {(tuple(row[:-2]), row[-2]): int(row[-1]) for row in found}


def _without_value(people: Counts, values: Counts, raw: Counts) -> int:
    """Return how many people cannot be raw rows with a value that their group has."""
    of_group: dict[str | None, set[Key]] = {}
    for (value,), group in values:
        of_group.setdefault(group, set()).add(value)
    known = _Numbers()
    same = equal_axis(known.of(q for q, _ in raw), known.of(q for q, _ in people), len(known.seen))
    in_group = _in_group(of_group, [group for _, group in people], [value for _, value in raw])
    return unmatched([same, in_group], _amounts(people), _amounts(raw))


def _without_person(people: Counts, values: Counts, raw: Counts) -> tuple[int, int]:
    """Return how many people exceed their value's count in their group, and how many values lack a person.

    People whose other values go with a single sensitive one have that one; the rest share what is left.
    """
    only: dict[Key, Key] = {}
    for known, value in raw:
        only[known] = _SEVERAL if known in only else value
    left = {(value, group): number for ((value,), group), number in values.items()}
    members: dict[str | None, set[Key]] = {}
    for (known, group), number in people.items():
        if only.get(known, _SEVERAL) is _SEVERAL:
            members.setdefault(group, set()).add(known)
        else:
            at = (only[known], group)
            left[at] = left.get(at, 0) - number
    too_many = -sum(number for number in left.values() if number < 0)
    wanted = {(value, group): number for (value, group), number in left.items() if number > 0}
    several = {at: number for at, number in raw.items() if only[at[0]] is _SEVERAL}
    numbers = _Numbers()
    same = equal_axis(numbers.of(v for _, v in several), numbers.of(v for v, _ in wanted), len(numbers.seen))
    in_group = _in_group(members, [group for _, group in wanted], [known for known, _ in several])
    return too_many, unmatched([same, in_group], _amounts(wanted), _amounts(several))


def _in_group(
    of_group: dict[str | None, set[Key]], groups: Sequence[str | None], things: Sequence[Key]
) -> Axis:
    """Build the axis on which each group covers the things that belong to it."""
    group, thing = _Numbers(), _Numbers()
    boxes, points = group.of(groups), thing.of(things)
    covers = [frozenset(of_group.get(each, ())) for each in group.seen]
    return covering_axis(list(thing.seen), points, covers, boxes)


class _Numbers:
    """Numbers for things, in the order in which they come."""

    def __init__(self) -> None:
        self.seen: dict[Key, int] = {}

    def of(self, things: Iterable[Key]) -> Ints:
        """Number things; those that were seen have the same number."""
        return np.array([self.seen.setdefault(thing, len(self.seen)) for thing in things], np.int64)


def _amounts(counts: dict[Any, int]) -> Ints:
    return np.array(list(counts.values()), np.int64)
