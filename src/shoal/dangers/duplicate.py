"""Sensitive columns that duplicate a quasi column: an attacker who knows one knows the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from shoal.dangers.danger import MIN_ROWS, NOTABLE, SMALLEST, Danger, acceptance, part, shown
from shoal.dangers.rules import by_chance, follows, rules
from shoal.dangers.scene import Codes, Scene
from shoal.recipe import Recipe
from shoal.table.columns import QuasiColumn
from shoal.table.frames import series
from shoal.table.sensitive import comparable

_MIN_SUPPORT = 2
_SAME = 0.9  # share of the rows with repeated values in which each column determines the other


class DuplicateCount(NamedTuple):
    """What shows whether a sensitive column duplicates a quasi column; counts of parts of a table add up.

    `follow` counts the rows in which each value determines the other, `released` those of them that are
    released, and `chance` how many there would be if the columns were independent. `repeated` counts the rows
    with a value that repeats, `equal` those whose texts are equal, where these hardly repeat.
    """

    rows: int
    values: int = 0
    others: int = 0
    follow: int = 0
    released: int = 0
    repeated: int = 0
    chance: float = 0.0
    equal: int = 0

    def same(self, released: int) -> int:
        """Return in how many of the released rows the columns are the same; 0 unless that is the rule."""
        if _cannot_correspond(self.values, self.others):
            return 0
        if self.follow >= max(SMALLEST, _SAME * self.repeated, NOTABLE * self.rows) and (
            self.follow - self.chance > NOTABLE * self.rows
        ):
            return self.released
        return released if self.equal == self.rows else 0


def duplicate(scene: Scene) -> list[Danger]:
    """Find them among the raw columns: equal, or with values that correspond one to one."""
    if scene.released < MIN_ROWS:
        return []
    quasi = [column.name for column in scene.encoded.columns]
    return duplicate_dangers(duplicate_counts(scene), quasi, scene.released, scene.recipe)


def duplicate_counts(scene: Scene) -> Iterator[DuplicateCount]:
    """Compare every sensitive column with every quasi column of a table, or of a part of it.

    Rules of a part are learned from its rows alone. Where a column has a single value, they show nothing.
    """
    for name in scene.recipe.named("sensitive"):
        for column in scene.encoded.columns:
            yield _count(scene, name, column)


def duplicate_dangers(
    counts: Iterable[DuplicateCount], quasi: Sequence[str], released: int, recipe: Recipe
) -> list[Danger]:
    """Report the duplicates among the pairs that `duplicate_counts` has compared."""
    pairs = product(recipe.named("sensitive"), quasi)
    return [
        _danger(name, column, number, released, recipe)
        for (name, column), count in zip(pairs, counts, strict=True)
        if released >= MIN_ROWS and (number := count.same(released))
    ]


def _count(scene: Scene, name: str, column: QuasiColumn) -> DuplicateCount:
    codes, quasi = scene.codes(name), column.codes.astype(np.int64)
    values, others = _different(codes), _different(quasi)
    count = DuplicateCount(len(codes), values, others)
    if _cannot_correspond(values, others):
        # A single value of each is no evidence. Many values of one and few of the other are evidence against.
        return count if values == others else count._replace(repeated=len(codes))
    there, back = rules(codes, quasi, _MIN_SUPPORT), rules(quasi, codes, _MIN_SUPPORT)
    both = follows(there, codes, quasi) & follows(back, quasi, codes)
    repeated = (np.append(there.times, 0)[codes] >= _MIN_SUPPORT) | (back.times[quasi] >= _MIN_SUPPORT)
    has_few_repeats = values == others and 2 * values > len(codes)
    return count._replace(
        follow=int(both.sum()),
        released=int(both[scene.inside].sum()),
        repeated=int(repeated.sum()),
        chance=by_chance(there, codes, quasi, _MIN_SUPPORT) if both.any() else 0.0,
        equal=len(codes) if has_few_repeats and _are_equal(scene, name, column.name) else 0,
    )


def _cannot_correspond(values: int, others: int) -> bool:
    """A single value reveals nothing, and many cannot correspond to few one to one."""
    return min(values, others) < 2 or max(values, others) > 2 * min(values, others)


def _different(codes: Codes) -> int:
    return int(np.count_nonzero(np.bincount(codes[codes >= 0])))


def _are_equal(scene: Scene, name: str, quasi: str) -> bool:
    """Compare two columns' texts row by row, which also finds copies of columns without repeated values."""
    table = scene.values.table
    texts, others = comparable(series(table, name)), comparable(series(table, quasi))
    return bool(texts.eq_missing(others).all()) and texts.null_count() < len(texts)


def _danger(name: str, quasi: str, number: int, rows: int, recipe: Recipe) -> Danger:
    message = (
        f"Sensitive column `{name}` duplicates quasi column `{quasi}` in {part(number, rows, 'rows')}: "
        f"an attacker who knows a person's `{quasi}` knows `{name}` without the release, and can infer the "
        f"generalized `{quasi}` from `{name}`."
    )
    numbers = {"same": shown(number, rows), "rows": rows}
    return Danger(
        "danger.duplicate",
        (name, quasi),
        message,
        numbers,
        **acceptance(recipe, "duplicate", name),
        refused_as="danger.duplicate",
        remedy=f"give `{name}` or `{quasi}` the role drop",
    )
