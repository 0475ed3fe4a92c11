"""What several published tables about the same people reveal together.

This is the check of section 5 of the specification; docs/composition.md explains what it does and does not
mean. Its slow twin, with every choice that the definition leaves open, is tests/reference/composition.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import LongArray
from shoal.composition.together import Group, JointGoal, Rows, Value, box_pieces
from shoal.composition.view import View
from shoal.errors import InfeasibleError, RecipeError
from shoal.table.columns import Encoded

NO_ATTACK_FOUND, REFUSED = "no attack found", "refused"
FEW = 10  # smaller counts of rows are not shown
_MAX_VIEWS = 62  # one bit each in an integer


@dataclass(frozen=True, repr=False)
class Composition:
    """The result of the check.

    Parameters
    ----------
    k, views : int
        What was asked for, and the number of tables.
    rows : Rows
        Row by row.
    overlap : tuple of int
        For each view, how many rows of the current table are or may be in it.
    ignored : tuple of tuples of str
        For each view, its quasi columns that are no longer quasi columns and were ignored.
    links : tuple of tuples of str
        The sets of unchanged columns by which views were compared.
    """

    k: int
    views: int
    rows: Rows
    overlap: tuple[int, ...]
    ignored: tuple[tuple[str, ...], ...]
    links: tuple[tuple[str, ...], ...]

    @property
    def holds(self) -> bool:
        """Whether no attack was found, which does not mean that there is none."""
        return bool(self.rows.holds(self.k).all())

    @property
    def verdict(self) -> str:
        """One of two: "no attack found" or "refused"."""
        return NO_ATTACK_FOUND if self.holds else REFUSED

    @property
    def checked(self) -> int:
        """The number of rows that were checked."""
        return int(self.rows.checked.sum())

    @property
    def below_m(self) -> int:
        """Rows for which fewer than k values remain possible."""
        return int((self.rows.checked & (self.rows.m < self.k)).sum())

    @property
    def below_j(self) -> int:
        """Rows that share all boxes with fewer than k people, and whose value links the views."""
        return int((self.rows.checked & ~self.rows.j_holds).sum())

    @property
    def below_goals(self) -> dict[str, int]:
        """Rows whose remaining values do not meet a goal."""
        return {name: int((self.rows.checked & ~holds).sum()) for name, holds in self.rows.goal_holds.items()}

    @property
    def refused_rows(self) -> int:
        """Rows that fail any of the tests."""
        return int((~self.rows.holds(self.k)).sum())

    @property
    def worst_m(self) -> int | None:
        """The smallest number of remaining values; None when no row was checked."""
        return self._worst(self.rows.m)

    @property
    def worst_j(self) -> int | None:
        """The smallest number of people who share all boxes of a row; None when no row was checked."""
        return self._worst(self.rows.j)

    @property
    def m_counts(self) -> list[tuple[int, int]]:
        """The number of rows for each M below k that occurs; finally k, with all rows that have k or more."""
        return self._counts(self.rows.m)

    @property
    def j_counts(self) -> list[tuple[int, int]]:
        """The same for J."""
        return self._counts(self.rows.j)

    def _worst(self, numbers: LongArray) -> int | None:
        return int(numbers[self.rows.checked].min()) if self.checked else None

    def _counts(self, numbers: LongArray) -> list[tuple[int, int]]:
        found = np.bincount(np.minimum(numbers[self.rows.checked], self.k), minlength=self.k + 1)
        return [
            (value, int(found[value])) for value in range(1, self.k + 1) if found[value] or value == self.k
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what may be published: where a count is hidden, the others are rounded to tens.

        Without the rounding, a single hidden count would follow from the others and the number of
        rows.
        """
        exact = [count for counts in (self.m_counts, self.j_counts) for _, count in counts]
        exact += [self.below_m, self.below_j, self.refused_rows, *self.below_goals.values()]
        hides = any(0 < count < FEW for count in exact)

        def shown(count: int) -> int | str:
            return f"<{FEW}" if 0 < count < FEW else round(count, -1) if hides else count

        def listed(counts: list[tuple[int, int]]) -> list[list[int | str]]:
            return [[f">={self.k}" if at == self.k else at, shown(count)] for at, count in counts]

        return {
            "verdict": self.verdict,
            "holds": self.holds,
            "views": self.views,
            "k": self.k,
            "rows": self.checked,
            "refused_rows": shown(self.refused_rows),
            "below_m": shown(self.below_m),
            "below_j": shown(self.below_j),
            "below_goals": {name: shown(count) for name, count in self.below_goals.items()},
            "worst_m": self.worst_m,
            "worst_j": self.worst_j,
            "m": listed(self.m_counts),
            "j": listed(self.j_counts),
            "links": [list(columns) for columns in self.links],
            "ignored": [list(columns) for columns in self.ignored],
        }

    def raise_if_refused(self) -> None:
        """Raise `composition.refused` unless no attack was found."""
        if self.holds:
            return
        published = self.to_dict()
        raise InfeasibleError(
            "composition.refused",
            f"The {self.views} tables together reveal more than k = {self.k} allows, for "
            f"{published['refused_rows']} of {self.checked} rows: for {published['below_m']}, fewer than k "
            f"values remain possible, and {published['below_j']} can be linked across tables.",
            'publish one table, or projections of one (views_by = "projection"), or accept the risk '
            "(--accept-composition)",
        )

    def __repr__(self) -> str:
        published = self.to_dict()
        return f"Composition({self.verdict}: {self.views} views, {published['refused_rows']} rows refused)"


def check(
    encoded: Encoded, table: pl.DataFrame, views: Sequence[View], k: int, goals: Sequence[JointGoal] = ()
) -> Composition:
    """Check what several tables about the same people reveal together.

    All views are compared by the columns that all of them publish unchanged. Where some of the views share
    more columns, they are also compared by these: for every set of columns that two views share, all the
    views that have it.

    Parameters
    ----------
    encoded : Encoded
        The rows of the raw table, with all quasi columns of our views.
    table : polars.DataFrame
        The raw table.
    views : sequence of View
        Ours, and those published earlier. If there are any of ours, only the rows in them are checked.
    k : int
        How many values must remain possible, and how many people must share all boxes.
    goals : sequence of JointGoal
        What must hold for the remaining values; tested where the goal's columns are shared.

    Raises
    ------
    DataError
        `data.kind` when an earlier release has a value that cannot be read with the current table.
    PromiseError
        When a row of ours is not inside its own box.
    """
    if not 0 < len(views) <= _MAX_VIEWS:
        message = f"{len(views)} tables cannot be checked together, only 1 to {_MAX_VIEWS}."
        raise RecipeError("recipe.not_available", message, "publish fewer views")
    boxes = [box_pieces(encoded, view) for view in views]
    goals = [_cached(goal) for goal in goals]
    found: Rows | None = None
    overlap = [0] * len(views)
    links = list(_links(views, table))
    for link, chosen in links:
        group = Group.of(encoded, table, [views[at] for at in chosen], [boxes[at] for at in chosen], link)
        of_group = group.check(k, goals)
        found = of_group if found is None else _worse(found, of_group)
        for at, count in zip(chosen, group.is_in.sum(axis=1).tolist(), strict=True):
            overlap[at] = max(overlap[at], count)
    assert found is not None  # the first link is that of all views
    names = {column.name for column in encoded.columns}
    ignored = tuple(tuple(name for name in view.names if name not in names) for view in views)
    return Composition(k, len(views), found, tuple(overlap), ignored, tuple(link for link, _ in links))


def _cached(goal: JointGoal) -> JointGoal:
    """Cache the result of a goal for each multiset."""
    known: dict[frozenset[tuple[Value, int]], bool] = {}

    def holds(multiset: Mapping[Value, int]) -> bool:
        key = frozenset(multiset.items())
        if key not in known:
            known[key] = bool(goal.holds(multiset))
        return known[key]

    return goal._replace(holds=holds)


def _links(views: Sequence[View], table: pl.DataFrame) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Yield the sets of columns by which views are compared, and the views with each; all views first."""
    shown = [set(view.values.columns) & set(table.columns) for view in views]
    done = {tuple(sorted(set.intersection(*shown)))}
    yield next(iter(done)), list(range(len(views)))
    for one, other in combinations(shown, 2):
        link = tuple(sorted(one & other))
        if link not in done:
            done.add(link)
            yield link, [at for at, columns in enumerate(shown) if columns >= set(link)]


def _worse(one: Rows, other: Rows) -> Rows:
    """Return the worse of two results, row by row."""
    checked = one.checked | other.checked

    def least(first: LongArray, second: LongArray) -> LongArray:
        smaller = np.minimum(np.where(one.checked, first, second), np.where(other.checked, second, first))
        return np.where(checked, smaller, 0)

    names = [*one.goal_holds, *(name for name in other.goal_holds if name not in one.goal_holds)]
    everything = np.ones(len(checked), dtype=bool)
    return Rows(
        checked,
        least(one.m, other.m),
        least(one.j, other.j),
        (one.exempt | ~one.checked) & (other.exempt | ~other.checked) & checked,
        one.j_holds & other.j_holds,
        {n: one.goal_holds.get(n, everything) & other.goal_holds.get(n, everything) for n in names},
    )
