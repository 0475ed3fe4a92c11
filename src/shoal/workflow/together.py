"""Check releases that exist already: what they reveal together about the people in the raw table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.composition.companions import Companions
from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.table.given import table_of
from shoal.table.induced import with_induced
from shoal.table.orders import with_orders


def check_releases(recipe: Recipe, manifests: Iterable[str | Path]) -> dict[str, Any]:
    """Check released tables together, as `anonymize` does with `also`, without making another release.

    Parameters
    ----------
    recipe : Recipe
        Says where the raw table is, what is sensitive, and the k and the goals that must remain.
    manifests : iterable of str or Path
        Of the releases; their files are next to them.

    Returns
    -------
    dict
        As `composition` in the JSON of `shoal anonymize`. The verdict is "no attack found" or "refused".
    """
    companions = Companions.of(recipe, manifests, accepted=True)
    if len(companions.also) < 2:
        message = "Fewer than two releases are given."
        raise RecipeError("recipe.invalid", message, "name the manifests of two or more")
    table = table_of(None, recipe, also=companions.known_before())
    known = Companions(with_induced(with_orders(recipe, table), table), companions.also, accepted=True)
    found = known.check(table)
    if found is None:
        message = "Releases of this kind cannot be checked together."
        raise RecipeError("recipe.not_available", message, "see docs/composition.md")
    return found
