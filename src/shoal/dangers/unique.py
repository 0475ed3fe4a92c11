"""Values that only one row, or one person, has: they identify people as well as an identifier does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.arrays import IntArray
from shoal.dangers.danger import MIN_ROWS, NOTABLE, Danger, is_accepted, part, shown
from shoal.dangers.scene import Codes, Scene, Values
from shoal.errors import Fault, RecipeError
from shoal.recipe import Recipe

REFUSED = 0.5  # share of rows with a unique value above which a kept column is refused


def refuse_unique(values: Values, recipe: Recipe) -> None:
    """Refuse kept columns that are unique on most rows of a table, unless the recipe accepts them."""
    people = None if recipe.subject is None else values.codes(recipe.subject)
    own = {name: own_rows(values.codes(name), people) for name in recipe.named("keep")}
    refuse_own(own, values.table.height, recipe)


def refuse_own(own: Mapping[str, int], rows: int, recipe: Recipe) -> None:
    """Refuse kept columns that are unique on most rows; `own` counts the rows with a unique value."""
    faults = [
        _fault(name, number, rows, recipe)
        for name, number in own.items()
        if rows >= MIN_ROWS and number > REFUSED * rows and not is_accepted(recipe, "unique", name)
    ]
    if faults:
        raise RecipeError.from_faults(faults)


def _fault(name: str, own: int, rows: int, recipe: Recipe) -> Fault:
    message = (
        f"Kept column `{name}` {_has(own, rows, recipe)}: it identifies people as well as an identifier does."
    )
    hint = (
        "give it the role identifier, quasi or drop, or accept the risk: "
        f'accept = ["unique"] in [columns.{name}] (--accept {name}=unique)'
    )
    return Fault("danger.unique_kept", message, hint)


def unique(scene: Scene) -> list[Danger]:
    """Find kept and sensitive columns with unique values in a notable share of the released rows."""
    people = None if scene.encoded.person is None else scene.encoded.person[scene.inside]
    own = {name: own_rows(scene.codes(name)[scene.inside], people) for name in scene.shown}
    return unique_dangers(own, scene.released, scene.recipe)


def unique_dangers(own: dict[str, int], rows: int, recipe: Recipe) -> list[Danger]:
    """Report the columns in which a notable share of the rows has a unique value; `own` counts these."""
    refuse_own({name: own[name] for name in recipe.named("keep")}, rows, recipe)
    return [
        _danger(name, number, rows, recipe)
        for name, number in own.items()
        if rows >= MIN_ROWS and number > NOTABLE * rows
    ]


def _danger(name: str, own: int, rows: int, recipe: Recipe) -> Danger:
    role = "Kept" if recipe.columns[name].role == "keep" else "Sensitive"
    message = (
        f"{role} column `{name}` {_has(own, rows, recipe)}: an attacker who knows such a value finds the row."
    )
    numbers = {"own": shown(own, rows), "rows": rows}
    return Danger("danger.unique", (name,), message, numbers, accepted=is_accepted(recipe, "unique", name))


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
