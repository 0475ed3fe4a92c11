"""Sensitive columns that duplicate a quasi column: an attacker who knows one knows the other."""

from __future__ import annotations

import numpy as np

from shoal.arrays import BoolArray
from shoal.dangers.danger import MIN_ROWS, NOTABLE, SMALLEST, Danger, is_accepted, part, shown
from shoal.dangers.rules import by_chance, follows, rules
from shoal.dangers.scene import Codes, Scene
from shoal.table.columns import QuasiColumn
from shoal.table.frames import series
from shoal.table.sensitive import comparable

_MIN_SUPPORT = 2
_SAME = 0.9  # share of the rows with repeated values in which each column determines the other


def duplicate(scene: Scene) -> list[Danger]:
    """Find them among the raw columns: equal, or with values that correspond one to one."""
    if scene.released < MIN_ROWS:
        return []
    return [
        _danger(scene, name, column.name, number)
        for name in scene.recipe.named("sensitive")
        for column in scene.encoded.columns
        if (number := _same_rows(scene, name, column))
    ]


def _same_rows(scene: Scene, name: str, column: QuasiColumn) -> int:
    """Count the released rows in which one column determines the other; 0 unless that is the rule."""
    codes, quasi = scene.codes(name), column.codes.astype(np.int64)
    values, others = _different(codes), _different(quasi)
    if min(values, others) < 2 or max(values, others) > 2 * min(values, others):
        return 0  # a single value reveals nothing, and many cannot correspond to few one to one
    both = _correspond(codes, quasi)
    if both is not None:
        return int(both[scene.inside].sum())
    has_few_repeats = values == others and 2 * values > len(codes)
    return scene.released if has_few_repeats and _are_equal(scene, name, column.name) else 0


def _different(codes: Codes) -> int:
    return int(np.count_nonzero(np.bincount(codes[codes >= 0])))


def _correspond(codes: Codes, quasi: Codes) -> BoolArray | None:
    """Mark the rows whose two values correspond one to one; None unless nearly all repeated ones do."""
    there, back = rules(codes, quasi, _MIN_SUPPORT), rules(quasi, codes, _MIN_SUPPORT)
    both = follows(there, codes, quasi) & follows(back, quasi, codes)
    repeated = (np.append(there.times, 0)[codes] >= _MIN_SUPPORT) | (back.times[quasi] >= _MIN_SUPPORT)
    number, of = int(both.sum()), int(repeated.sum())
    if number < max(SMALLEST, _SAME * of, NOTABLE * len(codes)):
        return None
    surplus = number - by_chance(there, codes, quasi, _MIN_SUPPORT)
    return both if surplus > NOTABLE * len(codes) else None


def _are_equal(scene: Scene, name: str, quasi: str) -> bool:
    """Compare two columns' texts row by row, which also finds copies of columns without repeated values."""
    table = scene.values.table
    texts, others = comparable(series(table, name)), comparable(series(table, quasi))
    return bool(texts.eq_missing(others).all()) and texts.null_count() < len(texts)


def _danger(scene: Scene, name: str, quasi: str, number: int) -> Danger:
    rows = scene.released
    message = (
        f"Sensitive column `{name}` duplicates quasi column `{quasi}` in {part(number, rows, 'rows')}: "
        f"an attacker who knows a person's `{quasi}` knows `{name}` without the release, and can infer the "
        f"generalized `{quasi}` from `{name}`."
    )
    numbers = {"same": shown(number, rows), "rows": rows}
    accepted = is_accepted(scene.recipe, "duplicate", name)
    return Danger("danger.duplicate", (name, quasi), message, numbers, accepted=accepted)
