"""Values that only one row, or one person, has: they identify people as well as an identifier does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.arrays import IntArray
from shoal.dangers.danger import MIN_ROWS, MOST, NOTABLE, Danger, acceptance, is_refused, part, shown
from shoal.dangers.scene import Codes, Scene, Values
from shoal.recipe import Recipe


def unique(scene: Scene) -> list[Danger]:
    """Find kept and sensitive columns with unique values in a notable share of the released rows."""
    people = None if scene.encoded.person is None else scene.encoded.person[scene.inside]
    own = {name: own_rows(scene.codes(name)[scene.inside], people) for name in scene.shown}
    return unique_dangers(own, scene.released, scene.recipe)


def unique_raw(values: Values, recipe: Recipe, *, lost: int = 0) -> list[Danger]:
    """Find them in a raw table, of which at most `lost` rows will not be released.

    Leaving out other rows can only add unique values, so what is found here is found in the release too.
    """
    people = None if recipe.subject is None else values.codes(recipe.subject)
    own = {name: own_rows(values.codes(name), people) for name in recipe.named("keep", "sensitive")}
    return unique_dangers(own, values.table.height, recipe, lost=lost)


def unique_dangers(own: Mapping[str, int], rows: int, recipe: Recipe, *, lost: int = 0) -> list[Danger]:
    """Report the columns in which a notable share of the rows has a unique value; `own` counts these."""
    return [
        _danger(name, number, rows, recipe)
        for name, number in own.items()
        if rows >= MIN_ROWS and number - lost > NOTABLE * rows
    ]


def _danger(name: str, own: int, rows: int, recipe: Recipe) -> Danger:
    is_kept = recipe.columns[name].role == "keep"
    effect = (
        "it identifies people as well as an identifier does"
        if is_kept and own > MOST * rows
        else "an attacker who knows such a value finds the row"
    )
    role = "Kept" if is_kept else "Sensitive"
    return Danger(
        "danger.unique",
        (name,),
        f"{role} column `{name}` {_has(own, rows, recipe)}: {effect}.",
        {"own": shown(own, rows), "rows": rows},
        **acceptance(recipe, "unique", name),
        refused_as=_refused_as(name, own, rows, recipe),
        remedy=f"give `{name}` the role identifier, quasi or drop",
    )


def _refused_as(name: str, own: int, rows: int, recipe: Recipe) -> str:
    if not is_refused(own, rows, recipe, name):
        return ""
    is_kept = recipe.columns[name].role == "keep"
    return "danger.unique_kept" if is_kept and own > MOST * rows else "danger.unique"


def _has(own: int, rows: int, recipe: Recipe) -> str:
    whose = "row" if recipe.subject is None else "person"
    return f"has a value that no other {whose} has in {part(own, rows, 'rows')}"


def own_rows(codes: Codes, people: Codes | IntArray | None) -> int:
    """Count the rows whose value only one row, or only one person where people are known, has."""
    present = codes >= 0
    times = np.bincount(codes[present])
    if people is None:
        return int((times == 1).sum())
    width = int(people.max(initial=0)) + 1
    owned = np.unique(codes[present] * width + people[present]) // width
    return int(times[np.bincount(owned, minlength=len(times)) == 1].sum())
